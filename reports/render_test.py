"""Tests of the page itself: whole, self-contained, readable, the same each time; and of the command."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import unittest
from unittest import mock

import bundle_testing
import render
from page_testing import DRAWN, RenderTest

HERE = os.path.dirname(os.path.abspath(__file__))


class Whole(RenderTest):
    def check(self, page, cells):
        self.assertEqual(page.unbalanced, [])
        self.assertEqual(page.open, [])
        self.assertTrue(self.source.startswith("<!DOCTYPE html>\n<html lang="))
        self.assertEqual(len(page.ids), len(set(page.ids)))
        for cell in cells:
            self.assertIn(cell, page.words())
            self.assertIn(cell, page.ids)
        for tag, name, value in page.attributes:
            if name in ("href", "xlink:href"):
                self.assertTrue(value.startswith("#") and value[1:] in page.ids, f"<{tag} {name}={value}> leads nowhere")

    def check_self_contained(self, page):
        self.assertNotRegex(self.source, r"(?i)https?:|file:|//[a-z]|@import|javascript:")
        for tag, name, value in page.attributes:
            self.assertNotIn(name, ("src", "srcset", "action", "ping", "poster"), tag)
            self.assertFalse(name.startswith("on"), f"<{tag} {name}>")
        self.assertFalse({tag for tag, _ in page.tags} & {"script", "link", "iframe", "object", "img", "base", "form"})
        self.assertNotRegex(self.source, r"url\((?!#)")

    def test_a_proven_bundle(self):
        bundle = bundle_testing.make_bundle()
        page = self.page(bundle)
        self.check(page, [f"{c['kind']}/{c['gate']}/{c['model']}" for c in bundle["cells"]])
        self.check_self_contained(page)
        words = page.words()
        for text in ("✓ proven", "75 cells: 75 pass", "Example Processor 3000 @ 2.40GHz", "0123456789ab clean", "shared with default : pass",
                     "n/a its bits differ; the lattice holds it on and varies the rest", "promoted, other bits", "96 119 plain, avx2 1 20 64 61",
                     "No blind spot is listed", "FG_MMQ_A_FUSE needs MMQ promoted 2 (mode) same 9 of 9", "at most 0.0020000", "mixed_quant FG_MMQ_A_FUSE small-q4_0 mode 2 mode 1 weight_mix",
                     "each setting 4 44 96 2", "small-k scales q4_K FG_MMQ_Q4K_DSC 30 1.0 MiB",
                     "matmul mmq.q4_K.nb 900 124 0", "on planes = 0 0 0", "f16_cache −9.50", "It asks: does a broken promise speak up? A pass says: Each forced violation ended in a refusal", "flipgate verify OUT", "GNU 12.2.0", "FG_THREADS", bundle["content_sha256"], bundle["hashes"]["suite"]):
            self.assertIn(text, words)
        for text in ("Fault planted", "The run was cut off", "contradicts itself", "Why it is", "A part of the matrix"):
            self.assertNotIn(text, words)

    def test_a_refuted_bundle_with_every_outcome(self):
        bundle = bundle_testing.bad_bundle(self.folder)
        page = self.page()
        self.check(page, [f"{c['kind']}/{c['gate']}/{c['model']}" for c in bundle["cells"]] + bundle["pending"])
        self.check_self_contained(page)
        words = page.words()
        for text in ("✗ refuted", "Fault planted: nibbles_swapped", "The run was cut off 2 cells of 75", "0123456789ab dirty", "✗ fail waived",
                     "≈ flaky", "∅ unsupported", "– skipped", "! error", "… pending", "Runs fail, fail, pass", "2026-11-01 expired",
                     "labels.json is missing", "streams.json, 2.2 KiB, intact", "1 blind spot", "gemm.f16.q6_K matmul prefill blind spot 9×",
                     "blk.1.attn_q: the plane is that of another node backstop/FG_MMQ_A_FUSE/small-k , refusals.json.stale plane",
                     "load of small-q4_0 by default FG_MMQ_A_FUSE=2 FG_MMQ_A_FUSE=1 weight_mix",
                     "What to do: See Forks for the step.", "flipgate run --cell quality/FG_MMQ/small-q4_0"):
            self.assertIn(text, words)
        self.assertEqual(words.count("✗ fail waived") + words.count("✗ fail small-k waived"), 2)  # in the matrix and at the cell

    def test_a_fork_is_drawn_as_two_rows_of_tokens(self):
        bundle_testing.bad_bundle(self.folder)
        words = self.page().words()
        for text in ("Where streams forked greedy_contrast/FG_MMQ_RAW_NB/small-k ✗ fail the streams fork at step 2 of prompt creation",
                     "step 0 1 ✗ 2 3 snapshot 11 12 13 14 head 11 12 97 14", "head chose 97 before 7 margin 1.25", "text and the moon was up",
                     "Only snapshot dispatched prefill mmq.q4_K.nb", "Only head dispatched prefill mmq.q4_K.raw", "variables FG_MMQ=1 FG_MMQ_RAW=0"):
            self.assertEqual(words.count(text), 1 if "forked" in text else 2, text)  # in its section and at the cell
        self.assertEqual(self.source.count('<td class="at">'), 4)

    def test_unproven_error_and_a_part(self):
        bundle = bundle_testing.make_bundle()
        bundle.update(verdict="unproven", reasons=["39 cells skipped: a, b"], selection=["parity/default", "without quality"])
        bundle["snapshot"] = dict.fromkeys(bundle["snapshot"], "") | {"absent": "head is the snapshot, so there is nothing to contrast"}
        words = self.page(bundle).words()
        for text in ("? unproven", "Why it is unproven 39 cells skipped: a, b", "The run was told: parity/default , without quality",
                     "head is the snapshot, so there is nothing to contrast"):
            self.assertIn(text, words)
        bundle.update(verdict="error", reasons=["1 cell ended in an error: x"])
        self.assertIn("Why it is an error 1 cell ended", self.page(bundle).words())

    def test_many_reasons_are_all_there(self):
        bundle = {**bundle_testing.make_bundle(), "verdict": "unproven", "reasons": [f"reason {i}." for i in range(20)]}
        words = self.page(bundle).words()
        self.assertIn("12 more", words)
        for i in range(20):
            self.assertIn(f"reason {i}.", words)

    def test_no_cell_measured_memory(self):
        bundle = bundle_testing.make_bundle()
        bundle["cells"] = [c for c in bundle["cells"] if c["kind"] != "memory_two_way"]
        page = self.page(bundle)
        self.assertNotIn("plot", [a.get("class") for tag, a in page.tags if tag == "svg"])
        self.assertIn("No cell of this run measured memory.", page.words())

    def test_a_bundle_without_any_cell(self):
        bundle = bundle_testing.make_bundle()
        bundle.update(cells=[], pairs=[], models={}, verdict="unproven", gates=[], device={}, build={}, variables={})
        page = self.page(bundle)
        self.check(page, [])
        for text in ("0 cells", "No cell has ended.", "No figures of the lattice", "No cell of this run names a label", "No cell of this run tells a refusal"):
            self.assertIn(text, page.words())

    def test_a_bundle_of_nothing_but_its_version(self):
        with open(os.path.join(self.folder, "bundle.json"), "w", encoding="utf-8") as file:
            file.write('{"schema": 1}')
        page = self.page()
        self.check(page, [])
        for text in ("? no verdict", "subject missing on class missing", "This bundle is not as a bundle should be", "lacks the member 'cells'",
                     "no model was loaded"):
            self.assertIn(text, page.words())

    def test_every_member_of_a_wrong_type(self):
        for odd in (5, "text", None, [5, [], {}], {"a": {"b": [1]}}):
            bundle = {name: odd for name in bundle_testing.make_bundle()} | {"schema": 1}
            bundle["cells"] = [odd, {name: odd for name in bundle_testing.make_bundle()["cells"][0]}]
            with open(os.path.join(self.folder, "bundle.json"), "w", encoding="utf-8") as file:
                json.dump(bundle, file)
            page = self.page()
            self.assertEqual(page.unbalanced, [])
            self.assertIn("This bundle is not as a bundle should be", page.words())

    def test_figures_of_a_wrong_type_and_missing_ones(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.find_cell(bundle, "quality/default/small-k")["figures"] = {"positions": "many", "kl_mean_nats": None, "tolerances": 3}
        bundle_testing.find_cell(bundle, "parity/default/small-k")["figures"] = {"ops": [1, 2], "path": 7, "op_deviation": {"noise": "x", "rounding": 1, "bug": 0}}
        words = self.page(bundle).words()
        self.assertIn("default small-k many null missing missing missing missing bitwise ✓ pass", words)
        self.assertIn("default small-k 1, 2 missing missing missing missing 7 missing missing missing ✓ pass", words)
        self.assertIn("all x 1 0", words)

    def test_a_contradiction_is_said(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.end_cell(bundle, "parity/default/small-k", "fail", "no")
        self.assertIn("This bundle contradicts itself it says proven, but 1 cell did not pass", self.page(bundle).words())

    def test_a_bundle_as_the_suite_writes_it(self):
        """gates/bundle_test.cc holds this file to what the program writes."""
        with open(os.path.join(HERE, "../gates/testing/example_bundle.json"), encoding="utf-8") as file:
            bundle = json.load(file)
        page = self.page(bundle)
        self.check(page, [f"{c['kind']}/{c['gate']}/{c['model']}" for c in bundle["cells"]] + bundle["pending"])
        self.assertNotIn("contradicts itself", page.words())

    def test_the_same_bundle_gives_the_same_page(self):
        bundle = bundle_testing.make_bundle()
        self.page(bundle)
        first = self.source
        DRAWN.clear()
        self.page(bundle)
        self.assertEqual(self.source, first)

    def test_and_so_does_another_process(self):
        bundle_testing.bad_bundle(self.folder)
        pages = []
        for seed in ("1", "2"):
            subprocess.run([sys.executable, os.path.join(HERE, "render.py"), self.folder], check=True, capture_output=True, timeout=120,
                           env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"})
            with open(os.path.join(self.folder, "report.html"), encoding="utf-8") as file:
                pages.append(file.read())
        self.assertEqual(pages[0], pages[1])


class Readable(RenderTest):
    def test_tables_and_plot_are_told_to_those_who_do_not_see_them(self):
        page = self.page(bundle_testing.make_bundle())
        for tag, attributes in page.tags:
            if tag == "th":
                self.assertIn(attributes.get("scope"), ("row", "col"))
        plots = [a for tag, a in page.tags if tag == "svg"]
        self.assertTrue(all(a["role"] == "img" and a["aria-label"] for a in plots))
        self.assertTrue(any("Memory held with FG_MMQ on and off. small-k: on 9.3 MiB" in a["aria-label"] for a in plots))
        self.assertTrue(any(a["aria-label"] == "noise 17,920 (97.2 %), rounding 512 (2.8 %), bug 0 (0.0 %)" for a in plots))
        for tag, a in page.tags:  # what scrolls can be reached without a mouse
            if a.get("class", "").startswith("scroll"):
                self.assertEqual((a["tabindex"], a["role"], bool(a["aria-label"])), ("0", "region", True))
        self.assertEqual(next(a for tag, a in page.tags if tag == "html")["lang"], "en")

    def test_colour_is_never_the_only_sign(self):
        bundle_testing.bad_bundle(self.folder)
        boxes = re.findall(r'<li><a href="#[^"]*" class="is-(\w+)">(.*?)</a>', self.page() and self.source, re.S)
        self.assertEqual(len(boxes), bundle_testing.CELLS)
        for word, content in boxes:
            self.assertRegex(content, rf'aria-hidden="true">[^<]</span>\s*<span class="word[^"]*">{word}</span>')

    def test_a_link_leads_into_its_details(self):
        """A browser opens the <details> that holds the target of a link, so the target must be inside."""
        page = self.page(bundle_testing.make_bundle())
        at = page.tags.index(("div", {"class": "body", "id": "parity/default/small-k"}))
        self.assertIn("details", [tag for tag, _ in page.tags[:at]][-20:])
        self.assertEqual(self.source.count('<details class="cell"'), bundle_testing.CELLS)

    def test_contrast(self):
        with open(os.path.join(HERE, "page.css"), encoding="utf-8") as file:
            css = file.read()
        schemes = re.findall(r":root \{(.*?)\}", css, re.S)
        self.assertEqual(len(schemes), 3)  # light, dark, print
        words = ("pass", "fail", "flaky", "unsupported", "skipped", "error")
        pairs = [(w, f"{w}-ground") for w in words] + [(t, g) for t in ("ink", "muted", "link") for g in ("ground", "surface")]
        for scheme in schemes:
            colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", scheme))
            for text, ground in pairs:
                self.assertGreaterEqual(contrast(colours[text], colours[ground]), 4.5, f"{text} on {ground}")


def contrast(a, b):
    """The contrast ratio of WCAG 2."""
    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear))
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


class Command(RenderTest):
    def write_bundle(self):
        bundle = bundle_testing.make_bundle()
        bundle["cells"] = [c for c in bundle["cells"] if c["kind"] != "memory_two_way"]
        bundle_testing.write_bundle(self.folder, bundle)

    def run_command(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, "render.py"), *arguments], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})

    def test_it_writes_the_page_beside_the_bundle(self):
        self.write_bundle()
        result = self.run_command(self.folder)
        path = os.path.join(self.folder, "report.html")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, path + "\n", ""))
        with open(path, encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("<!DOCTYPE html>"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["bundle.json", "report.html"])

    def test_from_the_folder_itself(self):
        self.write_bundle()
        self.assertEqual(self.run_command(".").returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "report.html")))

    def test_help_and_usage(self):
        result = self.run_command("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("OUT_DIR", result.stdout)
        for arguments in ((), ("a", "b"), ("--nope", "a")):
            self.assertEqual(self.run_command(*arguments).returncode, 2, arguments)

    def test_a_refusal_is_one_line_and_leaves_the_old_page(self):
        bundle = bundle_testing.make_bundle()
        bundle["schema"] = 2
        bundle_testing.write_bundle(self.folder, bundle)
        page = os.path.join(self.folder, "report.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("old")
        result = self.run_command(self.folder)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", "render.py: bundle.json: schema version 2 is unknown, this page reads version 1; "
                                                                                   "render it with the revision that wrote it\n"))
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_no_folder(self):
        result = self.run_command("nowhere")
        self.assertEqual((result.returncode, result.stderr), (2, "render.py: nowhere/bundle.json: cannot be read (No such file or directory); "
                                                              "give the folder that `flipgate run` wrote\n"))

    def test_a_page_that_cannot_be_written(self):
        self.write_bundle()
        os.mkdir(os.path.join(self.folder, "report.html"))
        result = self.run_command(self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, f"render.py: {self.folder}/report.html: cannot be written (Is a directory)\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["bundle.json", "report.html"])

    def test_a_write_that_stops_half_way_leaves_the_old_page(self):
        self.write_bundle()
        page = os.path.join(self.folder, "report.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("old")
        errors = io.StringIO()
        with mock.patch("os.replace", side_effect=OSError(28, "No space left on device")), contextlib.redirect_stderr(errors):
            self.assertEqual(render.main([self.folder]), 2)
        self.assertEqual(errors.getvalue(), f"render.py: {page}: cannot be written (No space left on device)\n")
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["bundle.json", "report.html"])


if __name__ == "__main__":
    unittest.main()
