"""Tests of the plot: deterministic, themed by CSS variables, and its texts escaped."""

import re
import unittest
import xml.etree.ElementTree as ElementTree

import bundle_testing
import measures
import plots
from measures import MemorySide

CATEGORIES = ["planes", "f16_cache", "kv", "scratch", "graph", "weights"]


def draw(gate="FG_MMQ", model="small-k", label="a plot", categories=CATEGORIES):
    sides = [MemorySide.of(bundle_testing.memory_side(n)) for n in (0, 9 << 20)]
    return plots.memory_both_ways([(gate, [(model, *sides)])], categories, label)


def texts(svg):
    root = ElementTree.fromstring(svg.replace("xlink:href", "href"))
    return ["".join(e.itertext()) for e in root.iter() if e.tag == "text"]


class Plot(unittest.TestCase):
    def test_the_same_figures_give_the_same_bytes(self):
        self.assertEqual(draw(), draw())

    def test_it_says_what_it_shows(self):
        seen = texts(draw())
        for text in ("FG_MMQ", "small-k", "on", "off", "7.0 MiB", "16.0 MiB", "f16_cache", "weights (file-backed)",
                     "anonymous, as the system counts", "MiB held after the same request"):
            self.assertIn(text, seen)

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
        svg = draw(gate=hostile, model=hostile, label=hostile)
        self.assertNotIn("<script", svg)
        self.assertEqual(texts(svg).count(hostile), 2)
        self.assertEqual(ElementTree.fromstring(svg.replace("xlink:href", "href")).get("aria-label"), hostile)

    def test_nothing_held_is_drawn(self):
        empty = MemorySide({}, 0, 0, None, None)
        svg = plots.memory_both_ways([("FG_MMQ", [("small-k", empty, empty)])], [], "a plot")
        self.assertEqual(texts(svg).count("0.0 MiB"), 2)

    def test_each_known_category_has_a_colour(self):
        self.assertEqual(set(plots.SERIES), set(measures.CATEGORIES))


if __name__ == "__main__":
    unittest.main()
