"""Tests of memory both ways as sides, pairs and groups."""

import unittest
from types import SimpleNamespace

import bundle_testing
import memory
from text_forms import MISSING


def cell(gate="FG_MMQ", model="small-k", figures=None):
    figures = bundle_testing.figures("memory_two_way", gate, model) if figures is None else figures
    return SimpleNamespace(kind="memory_two_way", gate=gate, model=model, figures=figures)


class Memory(unittest.TestCase):
    def test_pairs_stand_by_gate_with_the_categories_that_hold_a_byte(self):
        cells = [cell(gate, model) for gate, model in [("default", "small-k"), ("default", "small-q4_0"), ("FG_MMQ_RAW", "small-k")]]
        table = memory.memory([SimpleNamespace(kind="parity", figures={}), *cells])
        self.assertEqual([(gate, [p.model for p in pairs]) for gate, pairs in table.groups],
                         [("default", ["small-k", "small-q4_0"]), ("FG_MMQ_RAW", ["small-k"])])
        self.assertEqual(table.categories, ["f16_cache", "kv", "scratch", "graph", "weights"])
        pair = table.groups[0][1][0]
        self.assertEqual((pair.held, pair.at_peak, pair.changed), (-9961472, -9961472, [("f16_cache", -9961472)]))
        self.assertEqual(table.groups[1][1][0].changed, [])
        self.assertEqual(table.missing, [])

    def test_what_is_declared_stands_beside(self):
        blocks = memory.memory([cell()]).groups[0][1][0].declared
        self.assertEqual([b.title for b in blocks], ["relations", "budget"])
        self.assertEqual(blocks[0].rows, [["on", "planes", "= 0", "0", "0"]])
        figures = {n: v for n, v in bundle_testing.figures("memory_two_way", "FG_MMQ", "small-k").items() if n in ("on", "off")}
        pair = memory.memory([cell(figures=figures)]).groups[0][1][0]
        self.assertEqual((pair.declared, pair.relations_checked), ([], MISSING))

    def test_weights_are_file_backed_only_where_the_sums_say_so(self):
        side = bundle_testing.memory_side(100)
        self.assertEqual(memory.MemorySide.of(side).file_backed, {"weights"})
        side["booked_anonymous"] += side["now"]["weights"]
        self.assertEqual(memory.MemorySide.of(side).file_backed, frozenset())
        for now in ({"kv": 5}, {"kv": 5, "weights": 0}):
            self.assertEqual(memory.MemorySide.of({**side, "now": now, "booked_anonymous": 5}).file_backed, frozenset())

    def test_an_unknown_category_is_shown_before_the_known(self):
        figures = bundle_testing.figures("memory_two_way", "FG_MMQ", "small-k")
        figures["on"]["now"]["pinned"] = 4096
        self.assertEqual(memory.memory([cell(figures=figures)]).categories[0], "pinned")

    def test_cells_without_figures_are_named(self):
        for figures in ({}, {"on": {}, "off": {}}, {"on": bundle_testing.memory_side(0)}, {"on": {"now": 3}, "off": "no"},
                        {"on": {"now": {"kv": "5"}}, "off": {"now": {"kv": -5}}}, {"on": {"now": {"kv": 1e308}}, "off": {"now": {"kv": 1 << 60}}}):
            table = memory.memory([cell(figures=figures)])
            self.assertEqual((len(table.missing), table.groups), (1, []), figures)
            self.assertIsNone(memory.block(figures))

    def test_sums_of_another_type_stay_texts(self):
        figures = bundle_testing.figures("memory_two_way", "FG_MMQ", "small-k")
        figures["on"].update(booked_anonymous="many", peak_total=None)
        del figures["on"]["system_anonymous"]
        pair = memory.memory([cell(figures=figures)]).groups[0][1][0]
        self.assertEqual((pair.at_peak, pair.on.unbooked, pair.on.booked_anonymous), (MISSING, MISSING, "many"))
        rows = {row[0]: row for row in memory.block(figures).rows}
        self.assertEqual(rows["anonymous, booked"][1:4], ["many", "13.99", "missing"])
        self.assertEqual(rows["all"][4], "null")

    def test_a_cell_shows_both_sides_in_one_table(self):
        rows = {row[0]: row for row in memory.block(bundle_testing.figures("memory_two_way", "FG_MMQ", "small-k")).rows}
        self.assertEqual(rows["f16_cache"], ["f16_cache", "2.25", "11.75", "\u22129.50", "2.25", "11.75"])
        self.assertEqual(rows["resident"], ["resident", "–", "–", "–", "30.00", "30.00"])

    def test_the_plot_in_words(self):
        _, pairs = memory.memory([cell()]).groups[0]
        self.assertEqual(memory.spoken("FG_MMQ", pairs),
                         "Memory held with FG_MMQ on and off. small-k: on 9.3 MiB (f16_cache 2.2, kv 1.5, scratch 0.7, graph 0.0, weights 4.8), "
                         "off 18.8 MiB (f16_cache 11.8, kv 1.5, scratch 0.7, graph 0.0, weights 4.8).")


if __name__ == "__main__":
    unittest.main()
