"""Tests of which evidence reached which label, and of the marks of what none did."""

import json
import unittest

import bundle_testing
import labels
from bundle_view_test import ViewTest


class Labels(ViewTest):
    def table(self, bundle):
        return self.view(bundle).labels

    def rows(self, bundle):
        return {(r.phase, r.label): r for r in self.table(bundle).rows}

    def test_labels_reached_by_value_checks(self):
        rows = self.rows(bundle_testing.make_bundle())
        row = rows["prefill", "mmq.q4_K.nb"]
        self.assertEqual((row.op, {k: len(c) for k, c in row.checked.items()}, row.seen), ("matmul", {"parity": 12, "lattice": 2}, {}))
        self.assertEqual(labels.count_text(row, "parity"), ("checked", "12 cells"))
        self.assertEqual(labels.count_text(row, "quality"), ("none", ""))

    def test_what_was_only_seen_is_set_apart(self):
        bundle = bundle_testing.make_bundle()
        value = {"variables": {}, "labels": {"prefill": {"mmq.q4_K.nb": 3, "swiglu": 2}, "decode": {}}}
        bundle_testing.attach(self.folder, bundle, "liveness/default/small-k", "labels.json", json.dumps(value).encode())
        table = self.table(bundle)
        self.assertEqual(table.kinds, [("parity", True), ("lattice", True), ("liveness", False)])
        self.assertTrue(table.default_known)
        rows = {r.label: r for r in table.rows}
        self.assertEqual(labels.count_text(rows["swiglu"], "liveness"), ("seen", "1 cell"))
        self.assertEqual((rows["swiglu"].default, rows["swiglu"].unchecked, rows["mmq.q4_K.nb"].op), (True, True, "matmul"))
        self.assertEqual(table.rows[0].label, "swiglu")  # of the default path and unchecked: first

    def test_the_snapshots_labels_and_a_cells_own_are_not_counted_as_seen(self):
        bundle = bundle_testing.make_bundle()
        cell = bundle_testing.find_cell(bundle, "greedy_contrast/default/small-k")
        cell["labels"] = ["prefill matmul mmq.q4_K.raw"]
        bundle_testing.attach(self.folder, bundle, "greedy_contrast/default/small-k", "s.json", json.dumps(bundle_testing.arms()).encode())
        rows = self.rows(bundle)
        self.assertNotIn("greedy_contrast", rows["prefill", "mmq.q4_K.nb"].seen)
        self.assertEqual(rows["prefill", "mmq.q4_K.raw"].seen, {})
        self.assertIn("greedy_contrast", rows["decode", "row.q4_K"].seen)

    def test_blind_spots_come_first(self):
        bundle = bundle_testing.make_bundle()
        bundle["blind_spots"] = [{"phase": "prefill", "op": "matmul", "label": "zz!", "count": 9}]
        row = self.table(bundle).rows[0]
        self.assertEqual((row.label, row.blind, row.default, row.fallback, row.unchecked), ("zz!", 9, True, True, True))

    def test_labels_that_are_no_labels(self):
        bundle = bundle_testing.make_bundle()
        cell = bundle_testing.find_cell(bundle, "quality/default/small-k")
        cell["labels"] = ["", "one", "a b c d e", 5]
        rows = self.rows(bundle)
        self.assertEqual([key for key in rows if "quality" in rows[key].checked], [("", ""), ("", "5"), ("", "one"), ("a", "c d e")])

    def test_a_flood_is_cut(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "quality/default/small-k")["labels"] = [f"prefill x l{i}" for i in range(1000)]
        table = self.table(bundle)
        self.assertEqual((len(table.rows), table.left_out), (labels.MOST, 1002 - labels.MOST))


if __name__ == "__main__":
    unittest.main()
