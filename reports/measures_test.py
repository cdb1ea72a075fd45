"""Tests of the tables that the page makes of figures, also of figures that are missing or of another type."""

import unittest
from types import SimpleNamespace

import bundle_testing
import measures


def cell(kind, gate="default", model="small-k", figures=None):
    figures = bundle_testing.figures(kind, gate, model) if figures is None else figures
    return SimpleNamespace(kind=kind, gate=gate, model=model, figures=figures)


class Headlines(unittest.TestCase):
    def test_each_kind_says_what_it_looked_at(self):
        for kind, text in [("parity", "61 operations, 131,072 logits, 93 tokens"), ("greedy_contrast", "256 tokens, 250 oracle tokens"),
                           ("lattice", "11 combinations, 1 digest, 3 label sets"), ("quality", "KL 0.0012346 nats, top-1 98.52 %"),
                           ("liveness", "1 rule, 312 prefill matmuls"), ("optout", "256 tokens"), ("decode_neutral", "5 settings, 16 tokens"),
                           ("memory_two_way", "9.3 MiB on, 18.8 MiB off")]:
            self.assertEqual(measures.headline(kind, bundle_testing.figures(kind, "FG_MMQ", "small-k")), text)

    def test_figures_that_say_nothing(self):
        for kind in bundle_testing.KINDS:
            for figures in ({}, {"ops": "61", "kl_mean_nats": None, "on": 3, "off": [], "combinations": True, "tokens_compared": {}}):
                self.assertEqual(measures.headline(kind, figures), "", kind)
        self.assertEqual(measures.headline("a kind of tomorrow", {"n": 1}), "")


class Memory(unittest.TestCase):
    def test_pairs_stand_by_gate_with_the_categories_that_hold_a_byte(self):
        cells = [cell("memory_two_way", gate, model) for gate, model in
                 [("default", "small-k"), ("default", "small-q4_0"), ("FG_MMQ_RAW", "small-k")]]
        table = measures.memory([cell("parity"), *cells])
        self.assertEqual([(gate, [p[0] for p in pairs]) for gate, pairs in table.groups],
                         [("default", ["small-k", "small-q4_0"]), ("FG_MMQ_RAW", ["small-k"])])
        self.assertEqual(table.categories, ["f16_cache", "kv", "scratch", "graph", "weights"])
        _, _, on, off = table.pairs[0]
        self.assertEqual(off.total - on.total, 9961472)
        self.assertEqual(table.missing, [])

    def test_weights_are_file_backed_only_where_the_sums_say_so(self):
        side = bundle_testing.memory_side(100)
        self.assertEqual(measures.MemorySide.of(side).file_backed, {"weights"})
        side["booked_anonymous"] += side["now"]["weights"]
        self.assertEqual(measures.MemorySide.of(side).file_backed, frozenset())
        for now in ({"kv": 5}, {"kv": 5, "weights": 0}):
            self.assertEqual(measures.MemorySide.of({**side, "now": now, "booked_anonymous": 5}).file_backed, frozenset())

    def test_an_unknown_category_is_shown_before_the_known(self):
        figures = bundle_testing.figures("memory_two_way", "FG_MMQ", "small-k")
        figures["on"]["now"]["pinned"] = 4096
        self.assertEqual(measures.memory([cell("memory_two_way", figures=figures)]).categories[0], "pinned")

    def test_cells_without_figures_are_named(self):
        for figures in ({}, {"on": {}, "off": {}}, {"on": bundle_testing.memory_side(0)}, {"on": {"now": 3}, "off": "no"}):
            table = measures.memory([cell("memory_two_way", figures=figures)])
            self.assertEqual(len(table.missing), 1, figures)
            self.assertEqual(table.groups, [])

    def test_the_plot_is_spoken(self):
        table = measures.memory([cell("memory_two_way", "FG_MMQ")])
        self.assertEqual(measures.spoken_memory(table), "Memory held, by category. FG_MMQ on small-k: 9.3 MiB with the gate on, "
                         "18.8 MiB off. The table below has the same figures.")


class Tables(unittest.TestCase):
    def test_parity_by_magnitude(self):
        self.assertEqual(measures.parity([cell("parity")])[0][1],
                         ["61", "18,432", "17,920", "512", "0", "0.4375", "131,072", "0.00341797", "int8", "0.25", "93", "3"])

    def test_lattice(self):
        self.assertEqual(measures.lattice([cell("lattice")])[0][1], ["11", "plain, avx2", "1", "3", "64", "61"])

    def test_quality(self):
        self.assertEqual(measures.quality([cell("quality")])[0][1], ["812", "0.0012346", "98.52 %", "21.4321", "21.3987", "1.00156"])

    def test_a_missing_figure_is_a_dash_and_a_cell_without_any_has_no_row(self):
        self.assertEqual(measures.quality([cell("quality", figures={"positions": 4, "perplexity": 2, "perplexity_f32": 0})])[0][1],
                         ["4", "–", "–", "2", "0", "–"])
        self.assertEqual(measures.lattice([cell("lattice", figures={"combinations": 2, "levels": []})])[0][1], ["2", "–", "–", "–", "–", "–"])
        for table in (measures.parity, measures.lattice, measures.quality):
            self.assertEqual(table([cell(kind, figures={"x": "y"}) for kind in bundle_testing.KINDS]), [])


if __name__ == "__main__":
    unittest.main()
