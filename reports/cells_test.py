"""Tests of cells and their evidence: what is shown of an attachment, and what is only said."""

import json
import unittest

import bundle_testing
from bundle_view_test import ViewTest

CELL = "greedy_contrast/default/small-k"


class Attachments(ViewTest):
    def cell(self, name, data, cell_id=CELL):
        bundle = bundle_testing.make_bundle()
        bundle_testing.attach(self.folder, bundle, cell_id, name, data)
        return next(c for c in self.view(bundle).cells if c.id == cell_id)

    def shown(self, data):
        return self.cell("a.json", data).attachments[0]

    def test_arms_that_wrote_the_same_show_it_once(self):
        a = self.shown(json.dumps(bundle_testing.arms()).encode())
        self.assertEqual([(b.title, b.form) for b in a.blocks if b.form == "streams"], [("snapshot, streams", "streams")])
        self.assertIn(("head", [("streams", "token for token and digest for digest those of snapshot")]), [(b.title, b.rows) for b in a.blocks])

    def test_labels_that_are_the_same_are_said_once_too(self):
        value = bundle_testing.arms()
        value["head"]["labels"] = value["snapshot"]["labels"]
        a = self.shown(json.dumps(value).encode())
        self.assertIn(("labels", "those of snapshot"), a.blocks[0].rows)
        self.assertEqual([b.title for b in a.blocks if b.form == "table"], ["snapshot, labels"])

    def test_arms_that_differ_show_both(self):
        a = self.shown(json.dumps(bundle_testing.arms((1, 2), "x")).encode())
        self.assertEqual([b.title for b in a.blocks if b.form == "streams"], ["head, streams", "snapshot, streams"])

    def test_texts_bytes_and_nothing(self):
        self.assertEqual(self.shown(b"line\n").blocks[0].text, "line\n")
        self.assertEqual(self.shown(b"\x00\xff").blocks[0].text, "00 ff")
        self.assertEqual((self.shown(b"").note, self.shown(b"").blocks), ("empty", []))

    def test_what_only_looks_like_json_is_a_text(self):
        a = self.shown(b'{"a": NaN}')
        self.assertEqual((a.note, a.blocks[0].text, a.value), ("it: is no JSON (NaN is no JSON)", '{"a": NaN}', None))
        self.assertEqual(self.shown(b"[" * 100000).note, "it: nested too deeply")

    def test_a_file_that_is_not_there(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, CELL)["attachments"] = [{"name": "a", "sha256": "0" * 64, "bytes": 5}, {"name": "b", "sha256": 5}, 7]
        cell = next(c for c in self.view(bundle).cells if c.id == CELL)
        self.assertEqual([(a.name, a.size, a.state, a.blocks) for a in cell.attachments],
                         [("a", "5 B", "missing", []), ("b", "missing", "no sha256", []), ("missing", "missing", "no sha256", [])])

    def test_a_fork_is_looked_for_in_what_failed_alone(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.attach(self.folder, bundle, CELL, "s.json", json.dumps(bundle_testing.arms((1,), "x")).encode())
        find = lambda: next(c for c in self.view(bundle).cells if c.id == CELL).fork
        self.assertIsNone(find())
        bundle_testing.end_cell(bundle, CELL, "fail", "they fork")
        self.assertEqual(find().prompt, "creation")


class Cells(ViewTest):
    def test_memory_is_one_table_and_the_rest(self):
        cell = next(c for c in self.view(bundle_testing.make_bundle()).cells if c.kind == "memory_two_way")
        self.assertEqual([(b.title, b.form) for b in cell.figure_blocks],
                         [("MiB", "table"), ("", "pairs"), ("relations", "table"), ("budget", "pairs")])

    def test_memory_of_another_form_is_still_shown(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "memory_two_way/default/small-k")["figures"] = {"on": "much", "off": 5}
        cell = next(c for c in self.view(bundle).cells if c.kind == "memory_two_way")
        self.assertEqual(cell.figure_blocks[0].rows, [("on", "much"), ("off", "5")])

    def test_an_odd_or_endless_name_is_reached_by_its_number(self):
        bundle = bundle_testing.make_bundle()
        bundle["cells"][0]["model"] = 'a b"'
        bundle["cells"][1]["model"] = "m" * 500
        view = self.view(bundle)
        self.assertEqual([cell.anchor for cell in view.cells[:3]], ["cell-0", "cell-1", "parity/default/small-f16"])

    def test_a_skipped_cell_says_why_in_place_of_what_it_looked_at(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.end_cell(bundle, "parity/default/small-k", "skipped", "not selected")
        self.assertEqual([cell.headline for cell in self.view(bundle).cells[:2]],
                         ["not selected", "61 operations, 18 planes, 131,072 logits, 93 tokens"])


if __name__ == "__main__":
    unittest.main()
