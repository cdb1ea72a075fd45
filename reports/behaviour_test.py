"""Tests of degradations, refusals, reuse and the kinds without a section of their own."""

import json
import unittest

import behaviour
import bundle_testing
from bundle_view_test import ViewTest


class Behaviour(ViewTest):
    def test_degradations_from_figures_and_attachments_each_once(self):
        bundle = bundle_testing.make_bundle()
        entry = {"from": "FG_MMQ_A_FUSE=2", "to": "FG_MMQ_A_FUSE=0", "reason": "width"}
        attached = {"runs": [{"degradations": [entry, entry, {"from": 5, "to": None, "reason": ["a"]}]}]}
        bundle_testing.attach(self.folder, bundle, "readers/FG_MMQ_A_FUSE/small-k", "r.json", json.dumps(attached).encode())
        self.assertEqual([(d.cell.kind, d.cell.model, d.source, d.target, d.reason) for d in self.view(bundle).degradations],
                         [("mixed_quant", "small-q4_0", "FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=1", "weight_mix"),
                          ("mixed_quant", "small-f16", "FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=1", "weight_mix"),
                          ("readers", "small-k", "FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=0", "width"), ("readers", "small-k", "5", "null", "a")])

    def test_refusals_as_they_were_said(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "backstop/FG_MMQ_A_FUSE/small-k")["figures"] = {
            "refusals": ["one", {"message": "two"}, "one", 3, "a" * 64], "refused": "yes", "other": "no"}
        self.assertEqual([(where, text) for _, where, text in self.view(bundle).refusals],
                         [("refusals.0", "one"), ("refusals.1.message", "two"), ("refused", "yes")])

    def test_graphs_built_and_reused(self):
        self.assertEqual([row[1:] for row in self.view(bundle_testing.make_bundle()).reuse][:2],
                         [("nothing set", "4", "44", "2"), ("all off", "4", "44", "2")])
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "reuse_neutral/default/small-k")["figures"] = {"builds": 3, "reuses": "many", "built": 4, "reused": 1}
        self.assertEqual([row[1:] for row in self.view(bundle).reuse][0], ("all settings", "4", "1", "missing"))

    def test_other_kinds_are_tables_of_their_figures(self):
        bundle = bundle_testing.make_bundle()
        new = bundle_testing.make_cell("tomorrow", "FG_MMQ", "small-k")
        new["figures"] = {"n_seen": 5, "word": "x", "deep": {"a": 1}, "digest": "a" * 64}
        bundle["cells"] += [new, {**new, "model": "b", "figures": {"n_seen": None}}]
        tables = {t.kind: t for t in self.view(bundle).kind_tables}
        self.assertEqual(list(tables), ["reuse_neutral", "mixed_quant", "backstop", "readers", "tomorrow"])
        self.assertEqual((tables["tomorrow"].heads, [texts for _, texts in tables["tomorrow"].rows]),
                         (["n seen", "word"], [["5", "x"], ["null", "missing"]]))


if __name__ == "__main__":
    unittest.main()
