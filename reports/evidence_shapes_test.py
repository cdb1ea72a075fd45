"""Tests of how evidence becomes blocks: known shapes as such, the rest as plain tables, all of it bounded."""

import json
import unittest

import bundle_testing
import evidence_shapes as shapes


def blocks(value, title=""):
    return shapes.blocks_of(value, title)[0]


class Shapes(unittest.TestCase):
    def test_streams(self):
        block = blocks([bundle_testing.stream("creation", [11, 1200], " and the")])[0]
        self.assertEqual(block.form, "streams")
        row = block.rows[0]
        self.assertEqual((row.prompt, row.fed, row.count, row.tokens, row.text), ("creation", "24", 2, "11 1200", " and the"))
        self.assertRegex(row.digests, r"^[0-9a-f]{8} [0-9a-f]{8}$")

    def test_a_stream_that_lacks_and_confuses(self):
        row = blocks([{"prompt": 5, "tokens": ["<b>", None, 3], "digests": ["x" * 99], "text": 7}])[0].rows[0]
        self.assertEqual((row.prompt, row.fed, row.tokens, row.digests, row.text),
                         ("5", "missing", "<b> null 3", "x" * 16 + "… (cut here  99 characters in all)".replace("  ", ", "), "7"))

    def test_counts_of_labels(self):
        block = blocks({"labels": {"prefill": {"a": 1200}, "decode": {"b": 2}, "prefills": 4}})
        self.assertEqual(block[0].heads, ["label", "prefill", "decode"])
        self.assertEqual(block[0].rows, [["a", "1,200", "–"], ["b", "–", "2"]])
        self.assertEqual(block[1].rows, [("prefills", "4")])

    def test_digests_are_grouped(self):
        one, other = bundle_testing.digest("1"), bundle_testing.digest("2")
        found = blocks({"digests": {"A=1": one, "A=0": one, "B=1": other}})
        self.assertEqual([(b.title, b.rows) for b in found], [(f"digests: 2 times {one}", ["A=1", "A=0"]), (f"digests: 1 time {other}", ["B=1"])])

    def test_records_become_a_table_with_all_their_members(self):
        block = blocks({"planes": [{"plane": "scales", "bytes": 4096}, {"plane": "expanded", "type": "q6_K"}]})[0]
        self.assertEqual((block.title, block.heads), ("planes", ["plane", "bytes", "type"]))
        self.assertEqual(block.rows, [["scales", "4,096", "missing"], ["expanded", "missing", "q6_K"]])

    def test_an_object_of_objects_becomes_a_table(self):
        block = blocks({"matmul": {"noise": 1, "bug": 0}, "exp": {"noise": 2, "bug": None}})[0]
        self.assertEqual((block.heads, block.rows), (["", "noise", "bug"], [["matmul", "1", "0"], ["exp", "2", "null"]]))

        block = blocks({"modes": {"1": {"mode": "1", "reasons": []}, "2": {"mode": "1", "reasons": ["width", "needs"]}}})[0]
        self.assertEqual(block.rows, [["1", "1", "empty"], ["2", "1", "width, needs"]])

    def test_plain_figures(self):
        found = blocks({"a_b": 1, "peak_bytes": 2097152, "levels": ["plain", "avx2"], "none": None, "empty": [], "deep": {"x": {"y": True}}})
        self.assertEqual(found[0].rows, [("a b", "1"), ("peak bytes", "2,097,152 bytes (2.0 MiB)"), ("none", "null"), ("empty", "empty"),
                                         ("levels", "plain, avx2")])
        self.assertEqual([(b.title, b.rows) for b in found[1:]], [("deep, x", [("y", "true")])])

    def test_what_is_long_or_deep_or_many_is_cut_and_says_so(self):
        block = blocks([{"n": i} for i in range(1000)])[0]
        self.assertEqual((len(block.rows), block.left_out), (shapes.MOST_ROWS, 1000 - shapes.MOST_ROWS))
        found, left_out = shapes.blocks_of({f"m{i}": {"a": {"b": 1, "c": [1, [2]]}} for i in range(100)})
        self.assertEqual(len(found), shapes.MOST_BLOCKS)
        self.assertGreater(left_out, 0)
        deep = json.loads("[" * 30 + "1" + "]" * 30)
        self.assertLess(len(str(blocks({"deep": deep}))), 2000)
        self.assertRegex(blocks({"t": "a" * 5000})[0].rows[0][1], r"a… \(cut here, 5,000 characters in all\)$")

    def test_shapes_are_found_wherever_they_stand(self):
        value = {"x": [{"from": "A=2", "to": "A=1", "reason": "width"}], "y": {"z": {"noise": 1, "rounding": 2}}}
        self.assertEqual([path for path, _ in shapes.find(value, shapes.is_degradation)], ["x.0"])
        self.assertEqual([path for path, _ in shapes.find(value, shapes.is_deviation)], ["y.z"])
        for no in ({"noise": 1}, {"noise": "1", "bug": "2"}, [], None, "noise"):
            self.assertFalse(shapes.is_deviation(no))


class Text(unittest.TestCase):
    def test_lines(self):
        self.assertEqual((shapes.text_blocks(b"a\nb\n")[0].title, shapes.text_blocks(b"a\nb\n")[0].text), ("", "a\nb\n"))
        block = shapes.text_blocks(b"line\n" * 2000)[0]
        self.assertEqual((block.title, block.text.count("line")), ("the first lines of 10,000 bytes", 40))

    def test_bytes(self):
        block = shapes.text_blocks(b"\x00\x01\xff" * 100)[0]
        self.assertEqual(block.title, "the first 128 of 300 bytes")
        self.assertTrue(block.text.startswith("00 01 ff 00"))


if __name__ == "__main__":
    unittest.main()
