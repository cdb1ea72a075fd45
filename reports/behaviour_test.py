"""Tests of degradations, refusals, reuse and the kinds without a section of their own."""

import json
import unittest

import bundle_testing
from bundle_view_test import ViewTest


class Behaviour(ViewTest):
    def told(self, bundle):
        return [(d.where, d.cell and d.cell.model, d.source, d.target, d.reason) for d in self.view(bundle).degradations]

    def test_degradations_from_loads_figures_and_attachments_each_once(self):
        bundle = bundle_testing.make_bundle()
        entry = {"from": "FG_MMQ_A_FUSE=2", "to": "FG_MMQ_A_FUSE=0", "reason": "width"}
        bundle["models"]["small-f16"]["degradations"] = [entry]
        attached = {"runs": [{"degradations": [entry, entry, {"from": 5, "to": None, "reason": ["a"]}]}]}
        bundle_testing.attach(self.folder, bundle, "readers/FG_MMQ_A_FUSE/small-k", "r.json", json.dumps(attached).encode())
        rows = self.told(bundle)
        self.assertEqual(rows[0], ("load of small-f16", None, "FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=0", "width"))
        self.assertEqual(rows[-2:], [("readers", "small-k", "FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=0", "width"), ("readers", "small-k", "5", "null", "a")])

    def test_what_came_of_each_mode(self):
        bundle = bundle_testing.make_bundle()
        self.assertEqual([row for row in self.told(bundle) if row[1] == "small-q4_0"],
                         [("mixed_quant", "small-q4_0", "mode 0", "mode 0", "none: as asked"), ("mixed_quant", "small-q4_0", "mode 1", "mode 1", "none: as asked"),
                          ("mixed_quant", "small-q4_0", "mode 2", "mode 1", "weight_mix")])
        cell = bundle_testing.find_cell(bundle, "mixed_quant/FG_MMQ_A_FUSE/small-q4_0")
        cell["figures"] = {"modes": {"2": {"mode": 1, "reasons": []}, "1": {"mode": "1", "reasons": "weight_mix"}}}
        self.assertEqual([row[2:] for row in self.told(bundle) if row[1] == "small-q4_0"],
                         [("mode 2", "mode 1", "empty"), ("mode 1", "mode 1", "weight_mix")])

    def test_planes_that_loads_built(self):
        bundle = bundle_testing.make_bundle()
        bundle["models"]["small-q4_0"]["planes"] = [{"plane": "odd", "bytes": "many"}, 5]
        bundle["models"]["small-f16"]["planes"] = "none"
        self.assertEqual(self.view(bundle).planes, [("small-k", ["scales", "q4_K", "FG_MMQ_Q4K_DSC", "30", "1.0 MiB"]),
                                                    ("small-q4_0", ["odd", "missing", "missing", "missing", "many"])])

    def test_refusals_as_they_were_said(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "backstop/FG_MMQ_A_FUSE/small-k")["figures"] = {
            "refusals": ["one", {"message": "two"}, "one", 3, "a" * 64], "refused": "yes", "other": "no"}
        bundle_testing.attach(self.folder, bundle, "backstop/FG_MMQ_A_FUSE/small-k", "refusals.json", json.dumps(bundle_testing.REFUSALS).encode())
        bundle_testing.attach(self.folder, bundle, "backstop/FG_MMQ_A_FUSE/small-k", "other.json", b'{"a": "b"}')
        self.assertEqual([(where, text) for _, where, text in self.view(bundle).refusals],
                         [("refusals.0", "one"), ("refusals.1.message", "two"), ("refused", "yes")]
                         + [(f"refusals.json.{name.replace('_', ' ')}", text) for name, text in bundle_testing.REFUSALS.items()])

    def test_graphs_built_and_reused(self):
        self.assertEqual([row[1:] for row in self.view(bundle_testing.make_bundle()).reuse][0], ("each setting", ["4", "44", "96", "2"]))
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "reuse_neutral/default/small-k")["figures"] = {
            "graphs": {"nothing set": {"built": 4, "reused": 1, "identities": ["a", "b"]}, "all off": {"built": 4, "reused": "many"}}}
        self.assertEqual([row[1:] for row in self.view(bundle).reuse][0], ("nothing set", ["4", "1", "missing", "2"]))
        self.assertEqual(len(self.view(bundle).reuse), 2)

    def test_other_kinds_are_tables_of_their_figures(self):
        bundle = bundle_testing.make_bundle()
        new = bundle_testing.make_cell("tomorrow", "FG_MMQ", "small-k")
        new["figures"] = {"n_seen": 5, "word": "x", "deep": {"a": 1}, "digest": "a" * 64}
        bundle["cells"] += [new, {**new, "model": "b", "figures": {"n_seen": None}}]
        tables = {t.kind: t for t in self.view(bundle).kind_tables}
        self.assertEqual(list(tables), ["reuse_neutral", "mixed_quant", "backstop", "readers", "determinism", "tomorrow"])
        self.assertEqual((tables["tomorrow"].heads, [texts for _, texts in tables["tomorrow"].rows]),
                         (["n seen", "word"], [["5", "x"], ["null", "missing"]]))


if __name__ == "__main__":
    unittest.main()
