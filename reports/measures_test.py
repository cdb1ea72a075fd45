"""Tests of the tables that the page makes of figures, also of figures that are missing or of another type."""

import unittest
from types import SimpleNamespace

import bundle_testing
import measures
from text_forms import MISSING


def cell(kind, gate="default", model="small-k", figures=None, attached=None):
    figures = bundle_testing.figures(kind, gate, model) if figures is None else figures
    return SimpleNamespace(kind=kind, gate=gate, model=model, figures=figures,
                           evidence=lambda: [("figures", figures), *([("a.json", attached)] if attached is not None else [])])


class Headlines(unittest.TestCase):
    def test_each_kind_says_what_it_looked_at(self):
        for kind, text in [("parity", "61 operations, 18 planes, 131,072 logits, 93 tokens"), ("greedy_contrast", "256 tokens, 250 oracle tokens"),
                           ("lattice", "96 combinations, 1 digest, 20 paths"), ("quality", "KL 0.0012346 nats, top-1 98.52 %"),
                           ("liveness", "1 rule, 312 prefill matmuls"), ("optout", "256 tokens"), ("decode_neutral", "5 settings, 16 tokens"),
                           ("reuse_neutral", "10 settings, 4 graphs, 44 reuses, 640 tokens"), ("mixed_quant", "mode 1 for 2 (weight_mix), 96 tokens"),
                           ("backstop", "2 refusals, 67,584 logits, 32 tokens"), ("readers", "5 readers, 812 nodes, 160 tokens"),
                           ("memory_two_way", "9.3 MiB on, 18.8 MiB off"),
                           ("determinism", "36 repeats, 288 tokens, 6 oracle tokens"), ("sanitizer", "6 clean runs, 8 tokens")]:
            self.assertEqual(measures.headline(kind, bundle_testing.figures(kind, "FG_MMQ", "small-k")), text)

    def test_figures_that_say_nothing(self):
        for kind in (*bundle_testing.KINDS, "a kind of tomorrow"):
            for figures in ({}, {"ops": "61", "kl_mean_nats": None, "on": {}, "off": [], "combinations": True, "tokens_compared": {}, "modes": {"2": 5}}):
                self.assertEqual(measures.headline(kind, figures), "", kind)


class Deviations(unittest.TestCase):
    def test_all_operations_then_each(self):
        group, = measures.deviations([cell("parity"), cell("quality")])
        self.assertEqual([(d.name, d.noise, d.rounding, d.bug, d.worst) for d in group.rows],
                         [("", 17920, 512, 0, 0.4375), ("matmul mmq.q4_K.nb", 900, 124, 0, 0.4375), ("rms_norm", 512, 0, 0, 0.01)])

    def test_cells_that_tell_the_same_stand_together(self):
        other = bundle_testing.figures("parity", "x", "y")
        other["op_deviation"]["bug"] = 3
        groups = measures.deviations([cell("parity"), cell("parity", model="small-q4_0"), cell("parity", "FG_MMQ"), cell("parity", "FG_NEW", figures=other)])
        self.assertEqual([[(gate, [c.model for c in cells]) for gate, cells in g.by_gate] for g in groups],
                         [[("default", ["small-k", "small-q4_0"]), ("FG_MMQ", ["small-k"])], [("FG_NEW", ["small-k"])]])

    def test_wherever_they_stand(self):
        figures = {"planes": {"bytes": {"noise": 5, "rounding": 0, "bug": 0}}}
        group, = measures.deviations([cell("tomorrow", figures=figures, attached={"deep": [{"noise": 1, "bug": 1}]})])
        self.assertEqual([(d.name, d.noise, d.rounding, d.bug, d.worst) for d in group.rows],
                         [("bytes", 5, 0, 0, MISSING), ("0", 1, MISSING, 1, MISSING)])

    def test_bars_show_even_one_bug_among_many(self):
        d = measures.Deviation("", 10**9, 0, 1, MISSING)
        self.assertEqual(d.bars, [("noise", "0.00", "99.21"), ("bug", "99.21", "0.79")])
        self.assertEqual(measures.Deviation("", 1e308, 1e308, 0, MISSING).bars, [])
        self.assertEqual(measures.Deviation("", 1, 1, 2, MISSING).bars, [("noise", "0.00", "25.00"), ("rounding", "25.00", "25.00"), ("bug", "50.00", "50.00")])
        self.assertEqual(measures.Deviation("", 0, "x", None, MISSING).bars, [])
        self.assertEqual(d.spoken, "noise 1,000,000,000 (>99.9 %), rounding 0 (0.0 %), bug 1 (<0.1 %)")


class Tables(unittest.TestCase):
    def test_parity(self):
        self.assertEqual(measures.parity([cell("parity")])[0][1], ["61", "18", "18,432", "131,072", "0.00341797", "int8", "0.25", "93", "3"])

    def test_quality_against_its_tolerances(self):
        _, positions, aspects, exact = measures.quality([cell("quality")])[0]
        self.assertEqual((positions, exact), ("812", "21.3987"))
        self.assertEqual(aspects, [("0.0012346", "0.0020000"), ("98.52 %", "98.00 %"), ("1.00156", "1.00500"), ("21.4321", "25")])

    def test_quality_that_tells_little(self):
        figures = {"positions": "four", "perplexity": 2, "perplexity_f32": 0, "tolerances": {"kl": {"value": 0.5, "cause": "x"}, "top1": "high"}}
        _, positions, aspects, exact = measures.quality([cell("quality", figures=figures)])[0]
        self.assertEqual((positions, exact), ("four", "0"))
        self.assertEqual(aspects, [("missing", "0.5000000"), ("missing", "high"), ("missing", ""), ("2", "")])

    def test_a_cell_without_any_figure_has_no_row(self):
        for table in (measures.parity, measures.lattice, measures.quality, measures.deviations):
            self.assertEqual(table([cell(kind, figures={"x": "y"}) for kind in bundle_testing.KINDS]), [])


class Lattice(unittest.TestCase):
    def test_figures(self):
        table, = measures.lattice([cell("lattice")])
        self.assertEqual(table.figures, ["96", "119", "plain, avx2", "1", "20", "64", "61"])
        older, = measures.lattice([cell("lattice", figures={"combinations": 2, "levels": [], "distinct_label_sets": 3})])
        self.assertEqual(older.figures, ["2", "missing", "empty", "missing", "3", "missing", "missing"])

    def test_sets_of_labels_and_how_many_combinations_fell_on_each(self):
        sets = [{"labels": ["a", "b"], "combinations": ["X=0"]}, {"labels": ["a", "c"], "combinations": ["X=1", "X=2"]}, {"labels": ["a"], "count": 7}]
        table, = measures.lattice([cell("lattice", attached={"label_sets": sets})])
        self.assertEqual([(s.labels, s.count, s.combinations) for s in table.sets], [([], 7, []), (["c"], 2, ["X=1", "X=2"]), (["b"], 1, ["X=0"])])
        self.assertEqual((table.common, table.most), (["a"], 7))

    def test_sets_that_name_their_first_combination_alone(self):
        table, = measures.lattice([cell("lattice", attached={"paths": [{"first": "X=0", "labels": ["a"]}, {"first": 5, "labels": ["b"]}]})])
        self.assertEqual([(s.labels, s.count, s.first) for s in table.sets], [(["a"], MISSING, "X=0"), (["b"], MISSING, "")])

    def test_digests_are_grouped(self):
        one, other = bundle_testing.digest("1"), bundle_testing.digest("2")
        table, = measures.lattice([cell("lattice", attached={"digests": {"X=0": one, "X=1": other, "X=2": one}})])
        self.assertEqual(table.digests, [(one, ["X=0", "X=2"]), (other, ["X=1"])])

    def test_many_combinations_are_cut(self):
        table, = measures.lattice([cell("lattice", attached={"s": [{"labels": [], "combinations": list(range(150))}]})])
        names, more = table.sets[0].shown
        self.assertEqual((table.sets[0].count, len(names), more), (150, 100, 50))


if __name__ == "__main__":
    unittest.main()
