"""Tests of the plot: deterministic, themed by CSS variables, and its texts escaped."""

import re
import unittest
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import bundle_testing
import memory
import plots
from memory import MemoryPair, MemorySide

CATEGORIES = ["planes", "f16_cache", "kv", "scratch", "graph", "weights"]


def pair(model, sides):
    return MemoryPair(SimpleNamespace(model=model, figures={}), *sides)


def draw(model="small-k", label="a plot", categories=CATEGORIES, most=20 << 20, prefix="m0-", count=1):
    sides = [MemorySide.of(bundle_testing.memory_side(n)) for n in (0, 9 << 20)]
    return plots.memory_of_gate([pair(model, sides)] * count, categories, label, most, prefix)


def texts(svg):
    root = ElementTree.fromstring(svg.replace("xlink:href", "href"))
    return ["".join(e.itertext()) for e in root.iter() if e.tag == "text"]


class Plot(unittest.TestCase):
    def test_the_same_figures_give_the_same_bytes(self):
        self.assertEqual(draw(), draw())

    def test_it_says_what_it_shows(self):
        seen = texts(draw())
        for text in ("small-k", "on", "off", "7.0 MiB", "16.0 MiB", "MiB held after the same request"):
            self.assertIn(text, seen)

    def test_the_ids_of_two_plots_are_apart(self):
        one, two = (set(re.findall(r' id="([^"]+)"', draw(prefix=prefix))) for prefix in ("m0-", "m1-"))
        self.assertTrue(one and two)
        self.assertEqual(one & two, set())
        svg = draw()
        for name in re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', svg):
            self.assertIn(f' id="{name[0] or name[1]}"', svg)

    def test_one_scale_for_all_gates(self):
        def width(svg):  # of the first bar of kv
            path = re.search(r'<path d="([^"]*)"[^>]*style="fill: var\(--series-3\)', svg)[1]
            xs = [float(x) for x in re.findall(r"[ML] ([\d.]+)", path)]
            return max(xs) - min(xs)
        self.assertAlmostEqual(width(draw(most=20 << 20)) / width(draw(most=40 << 20)), 2, places=3)

    def test_more_pairs_than_can_be_drawn_are_left_to_the_table(self):
        self.assertEqual(texts(draw(count=plots.MOST_PAIRS + 5)).count("small-k"), plots.MOST_PAIRS)

    def test_its_colours_are_the_pages(self):
        svg = draw()
        self.assertEqual(set(re.findall(r"#[0-9a-fA-F]{6}\b", svg)), set())
        for name in ("ink", "muted", "rule", "surface", "series-2", "series-3", "series-6"):
            self.assertIn(f"var(--{name})", svg)

    def test_a_category_keeps_its_colour(self):
        one, two = draw(categories=["f16_cache", "kv"]), draw(categories=["kv"])
        self.assertIn("var(--series-2)", one)
        self.assertNotIn("var(--series-2)", two)
        self.assertIn("var(--series-3)", two)

    def test_it_asks_for_nothing_and_styles_nothing_else(self):
        svg = draw()
        for text in ("http", "<style", "<image", "@import", "<?xml", "<!DOCTYPE"):
            self.assertNotIn(text, svg)

    def test_names_are_texts(self):
        hostile = '</text><script>alert("1")</script> $\\frac{1}{0}$ #010101 & \u4e2d'
        svg = draw(model=hostile, label=hostile)
        self.assertNotIn("<script", svg)
        self.assertEqual(len([t for t in texts(svg) if t.startswith("</text><script>alert(")]), 1)
        self.assertEqual(ElementTree.fromstring(svg.replace("xlink:href", "href")).get("aria-label"), hostile)

    def test_nothing_held_is_drawn(self):
        empty = MemorySide({}, 0, 0, None, None)
        svg = plots.memory_of_gate([pair("small-k", (empty, empty))], [], "a plot", 0, "m0-")
        self.assertEqual(texts(svg).count("0.0 MiB"), 2)

    def test_a_system_figure_of_another_type_is_left_out(self):
        for system in ("many", None, -5, 1e308):
            odd = MemorySide({"kv": 1 << 20}, 0, system, None, None)
            self.assertEqual(texts(plots.memory_of_gate([pair("small-k", (odd, odd))], ["kv"], "a plot", 1 << 20, "m0-")).count("1.0 MiB"), 2)

    def test_each_known_category_has_a_colour(self):
        self.assertEqual(set(plots.SERIES), set(memory.CATEGORIES))

    def test_a_legend_finds_the_colours(self):
        self.assertEqual([plots.swatch(n) for n in ("planes", "weights", "another")], ["--series-1", "--series-6", "--series-7"])


if __name__ == "__main__":
    unittest.main()
