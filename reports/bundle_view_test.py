"""Tests of what the page shows of a bundle, and of the bundles that it doubts."""

import json
import os
import tempfile
import unittest

import jsonschema

import bundle_testing
from bundle_file import RawFolder, load_bundle
from bundle_view import BundleView
from kinds import KINDS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class ViewTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def view(self, bundle):
        bundle_testing.write_bundle(self.folder, bundle)
        return BundleView(load_bundle(self.folder), RawFolder(self.folder))


class Fixture(unittest.TestCase):
    def test_it_keeps_the_format(self):
        """What these tests are made with is what the suite writes."""
        with open(os.path.join(ROOT, "docs/schema/bundle.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        with tempfile.TemporaryDirectory() as folder:
            bundle_testing.bad_bundle(folder)
            with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as file:
                jsonschema.validate(json.load(file), schema)
            bundle_testing.write_bundle(folder, bundle_testing.make_bundle())
            with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as file:
                jsonschema.validate(json.load(file), schema)


class Matrix(ViewTest):
    def test_rows_and_kinds(self):
        view = self.view(bundle_testing.make_bundle())
        self.assertEqual([row.name for row in view.rows], ["default", *bundle_testing.GATES])
        self.assertEqual([kind for kind, _ in view.kinds], list(KINDS))
        default, mmq = view.rows[0], view.rows[1]
        self.assertEqual([cell.model for cell in default.boxes[0].cells], ["small-k", "small-q4_0", "small-f16"])
        self.assertEqual((mmq.stage, mmq.bits, mmq.verdict, mmq.kind, mmq.value, mmq.needs), ("promoted", "other", "proven", "switch", "1", []))
        self.assertEqual([(r.kind, r.value, r.needs) for r in view.rows if r.name == "FG_MMQ_A_FUSE"], [("mode", "2", ["FG_MMQ"])])
        self.assertEqual(mmq.boxes[2].reason, "its bits differ; the lattice holds it on and varies the rest")
        self.assertEqual(mmq.boxes[6].shared_with, "default")
        self.assertEqual([cell.id for cell in mmq.boxes[6].shared], ["decode_neutral/default/small-k", "decode_neutral/default/small-q4_0"])
        self.assertEqual(view.contradictions, [])

    def test_every_outcome_is_counted(self):
        bundle_testing.bad_bundle(self.folder)
        view = BundleView(load_bundle(self.folder), RawFolder(self.folder))
        self.assertEqual(dict(view.counts), {"pass": 65, "fail": 3, "flaky": 1, "unsupported": 2, "skipped": 1, "error": 1, "pending": 2})
        self.assertEqual(view.contradictions, [])
        self.assertEqual([cell.id for cell in view.cells if cell.waived], ["memory_two_way/FG_MMQ/small-k"])
        self.assertEqual([(w.expired, w.target.outcome) for w in view.waivers], [(False, "fail"), (True, "pass")])
        self.assertEqual([(cell.id, a.state) for cell, a in view.damaged], [("liveness/FG_MMQ/small-q4_0", "missing")])

    def test_what_the_rows_leave_out_is_not_lost(self):
        bundle = bundle_testing.make_bundle()
        bundle["rows"].remove("FG_MMQ_RAW")
        bundle["cells"].append(bundle_testing.make_cell("tomorrow", "FG_NEW", "large"))
        view = self.view(bundle)
        self.assertEqual([row.name for row in view.rows], ["default", "FG_MMQ", *bundle_testing.GATES[2:], "FG_MMQ_RAW", "FG_NEW"])
        self.assertEqual(view.kinds[-1], ("tomorrow", ""))
        self.assertEqual([cell.id for cell in view.rows[-1].boxes[-1].cells], ["tomorrow/FG_NEW/large"])

    def test_out_of_scope(self):
        bundle = bundle_testing.make_bundle()
        bundle["pairs"] = [{"kind": "lattice", "gate": "FG_MMQ", "status": "out_of_scope"}]
        self.assertTrue(self.view(bundle).rows[1].boxes[2].empty)

    def test_cells_named_in_a_sentence_are_linked(self):
        view = self.view(bundle_testing.make_bundle())
        pieces = view.linked("2 cells failed: parity/FG_MMQ_RAW/small-k, parity/FG_MMQ/small-k and more")
        self.assertEqual([(text, cell and cell.id) for text, cell in pieces],
                         [("2 cells failed: ", None), ("parity/FG_MMQ_RAW/small-k", "parity/FG_MMQ_RAW/small-k"), (", ", None),
                          ("parity/FG_MMQ/small-k", "parity/FG_MMQ/small-k"), (" and more", None)])

    def test_time_by_kind(self):
        bundle = bundle_testing.make_bundle()
        for cell in bundle["cells"]:
            cell["seconds"] = {"lattice": 4, "quality": 1.5}.get(cell["kind"], 0)
        bundle_testing.find_cell(bundle, "parity/default/small-k")["seconds"] = "long"
        times = {t.kind: t for t in self.view(bundle).times}
        self.assertEqual([(times[k].cells, times[k].seconds, times[k].share) for k in ("lattice", "quality", "parity")],
                         [(2, 8, "100.0"), (5, 7.5, "93.8"), (11, 0, "0.0")])

    def test_slowest_cells(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "quality/FG_MMQ/small-k")["seconds"] = 10
        bundle_testing.find_cell(bundle, "quality/default/small-k")["seconds"] = 5
        view = self.view(bundle)
        self.assertEqual([(cell.id, view.bar_of(cell)) for cell in view.slowest[:2]],
                         [("quality/FG_MMQ/small-k", "100.0"), ("quality/default/small-k", "50.0")])
        for cell in bundle["cells"]:
            cell["seconds"] = 0
        view = self.view(bundle)
        self.assertEqual(view.bar_of(view.slowest[0]), "0")


class Doubts(ViewTest):
    def test_a_verdict_that_its_cells_do_not_carry(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.end_cell(bundle, "parity/FG_MMQ/small-k", "fail", "wrong")
        self.assertEqual(self.view(bundle).contradictions,
                         ["it says proven, but 1 cell did not pass", "it says that FG_MMQ is proven, but 1 cell of it did not pass"])

    def test_proven_on_nothing(self):
        bundle = bundle_testing.make_bundle()
        bundle["cells"], bundle["counts"] = [], {}
        self.assertEqual(self.view(bundle).contradictions, ["it says proven, but holds no cell"])

    def test_proven_with_a_fault(self):
        bundle = bundle_testing.make_bundle()
        bundle["fault"] = "nibbles_swapped"
        self.assertEqual(self.view(bundle).contradictions, ["it says proven, but a fault was planted"])

    def test_counts_and_completeness(self):
        bundle = bundle_testing.make_bundle()
        bundle["verdict"] = "unproven"
        bundle["pending"] = ["parity/FG_NEW/small-k"]
        bundle["counts"] = {**bundle_testing.count(bundle), "pass": 99}
        self.assertEqual(self.view(bundle).contradictions, ["it says that it is complete, but 1 cell never ended",
                                                            f"it counts 99 as pass, but lists {bundle_testing.CELLS}"])


class Faulty(ViewTest):
    """Nothing but another schema keeps a bundle from being shown; what is wrong with it is said."""

    def problems(self, bundle):
        bundle["counts"] = bundle["counts"] or {"pass": 0}
        return self.view(bundle).problems.texts

    def test_each_missing_member_is_named(self):
        for name in bundle_testing.make_bundle():
            bundle = bundle_testing.make_bundle()
            bundle["counts"] = bundle_testing.count(bundle)
            del bundle[name]
            with open(os.path.join(self.folder, "bundle.json"), "w", encoding="utf-8") as file:
                json.dump(bundle, file)
            if name == "schema":
                continue
            texts = BundleView(load_bundle(self.folder), RawFolder(self.folder)).problems.texts
            self.assertEqual(texts, [] if name == "fault" else [f"bundle.json: lacks the member '{name}'"])

    def test_each_member_of_another_type_is_named(self):
        for name in bundle_testing.make_bundle():
            if name == "schema":
                continue
            bundle = bundle_testing.make_bundle()
            bundle["counts"] = bundle_testing.count(bundle)
            bundle[name] = 1.5 if name != "seconds" else "1"
            self.assertRegex(self.problems(bundle)[0], rf"^bundle.json: {name}: must be ", name)

    def test_each_member_of_a_cell_is_missed_and_typed(self):
        for name in bundle_testing.make_bundle()["cells"][0]:
            bundle = bundle_testing.make_bundle()
            del bundle["cells"][1][name]
            self.assertEqual(self.problems(bundle), [f"bundle.json: cells[1]: lacks the member '{name}'"])
            bundle = bundle_testing.make_bundle()
            bundle["cells"][1][name] = None
            self.assertRegex(self.problems(bundle)[0], rf"^bundle.json: cells\[1\].{name}: must be .*, is null$")

    def test_words_that_are_not_known(self):
        bundle = bundle_testing.make_bundle()
        bundle["verdict"] = "great"
        bundle["cells"][3]["outcome"] = "passed"
        bundle["pairs"][0]["status"] = "maybe"
        self.assertEqual(self.problems(bundle), [
            "bundle.json: verdict: unknown word 'great', known are proven, refuted, unproven, error",
            "bundle.json: cells[3].outcome: unknown word 'passed', known are pass, fail, flaky, unsupported, skipped, error",
            "bundle.json: pairs[0].status: unknown word 'maybe', known are shared, not_applicable, out_of_scope"])
        view = self.view(bundle)
        self.assertEqual((view.verdict, view.cells[3].outcome, view.cells[3].told), ("unknown", "unknown", "passed"))
        self.assertEqual(dict(view.counts)["unknown"], 1)

    def test_a_cell_twice_or_half(self):
        bundle = bundle_testing.make_bundle()
        bundle["pending"] = ["parity/default/small-k", "parity"]
        bundle["cells"].append("parity")
        self.assertEqual(self.problems(bundle)[:3], [
            f"bundle.json: cells[{bundle_testing.CELLS}]: must be an object, is a text",
            "bundle.json: pending[1]: must be KIND/GATE/MODEL, is 'parity'",
            "bundle.json: cells: parity/default/small-k stands twice; only the first is shown"])
        self.assertEqual(len(self.view(bundle).cells), bundle_testing.CELLS)


if __name__ == "__main__":
    unittest.main()
