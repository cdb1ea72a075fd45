"""Tests of reading a bundle: each refusal with its full text, and raw files that are not what they should be."""

import json
import os
import tempfile
import unittest

import bundle_testing
from bundle_file import MAX_SHOWN_BYTES, BundleError, Member, Problems, RawFolder, load_bundle


class LoadBundle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "bundle.json")

    def refusal(self, data):
        with open(self.path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        with self.assertRaises(BundleError) as caught:
            load_bundle(self.folder)
        return str(caught.exception).replace(self.path, "PATH")

    def test_a_whole_bundle_is_read(self):
        bundle_testing.write_bundle(self.folder, bundle_testing.make_bundle())
        root = load_bundle(self.folder)
        self.assertEqual(root["verdict"].text(), "proven")
        self.assertEqual(len(root["cells"].items()), bundle_testing.CELLS)
        self.assertEqual(root.problems.texts, [])

    def test_no_bundle(self):
        with self.assertRaises(BundleError) as caught:
            load_bundle(self.folder)
        self.assertEqual(str(caught.exception), f"{self.path}: cannot be read (No such file or directory); "
                         "give the folder that `flipgate run` wrote")

    def test_a_link_is_not_followed(self):
        os.symlink("/etc/hostname", self.path)
        with self.assertRaisesRegex(BundleError, "cannot be read"):
            load_bundle(self.folder)

    def test_what_is_no_file_is_not_waited_for(self):
        os.mkfifo(self.path)
        with self.assertRaisesRegex(BundleError, "is no regular file"):
            load_bundle(self.folder)

    def test_unknown_schema_version(self):
        self.assertEqual(self.refusal('{"schema": 2}'), "bundle.json: schema version 2 is unknown, this page reads version 1; "
                         "render it with the revision that wrote it")
        for text, word in (('{"schema": "one"}', "one"), ('{"schema": true}', "true"), ("{}", "missing"), ("[]", "missing"), ('{"schema": null}', "null")):
            self.assertEqual(self.refusal(text), f"bundle.json: schema version {word} is unknown, this page reads version 1; "
                             "render it with the revision that wrote it")

    def test_no_json(self):
        self.assertEqual(self.refusal('{"schema": 1,'),
                         "PATH: is no JSON (Expecting property name enclosed in double quotes: line 1 column 14 (char 13))")
        self.assertEqual(self.refusal('{"schema": NaN}'), "PATH: is no JSON (NaN is no JSON)")
        self.assertEqual(self.refusal('{"schema": 1, "schema": 1}'), "PATH: is no JSON (the member 'schema' stands twice in one object)")
        self.assertRegex(self.refusal(b'{"schema": "\xff"}'), "^PATH: is no JSON .*utf-8")

    def test_what_would_break_later(self):
        self.assertEqual(self.refusal("[" * 100000), "PATH: nested too deeply")
        self.assertEqual(self.refusal('{"a": ' + "[" * 50 + "]" * 50 + "}"),
                         "bundle.json.a" + "[0]" * 40 + ": nested deeper than 40 levels")
        self.assertEqual(self.refusal('{"schema": 1e999}'), "bundle.json.schema: a number that is not finite")
        self.assertEqual(self.refusal('{"schema": [99999999999999999999]}'), "bundle.json.schema[0]: a number beyond 64 bits")
        self.assertRegex(self.refusal('{"schema": ' + "9" * 5000 + "}"), "^PATH: is no JSON ")

    def test_marks_that_mislead_are_replaced(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "t": "a\u202eb\x00c\ud800d\u200be\nf"}, file)
        self.assertEqual(load_bundle(self.folder)["t"].text(), "a\ufffdb\ufffdc\ufffdd\ufffde\nf")


class Members(unittest.TestCase):
    def read(self, value):
        return Member(value, "bundle.json", Problems())

    def test_what_is_wrong_is_booked_with_its_place_and_something_neutral_stands_in(self):
        root = self.read({"cells": [{"outcome": "great", "seconds": "1", "runs": {}, "waived": 1, "figures": [], "reason": 5, "bytes": None}]})
        cell = root["cells"].items()[0]
        self.assertEqual([cell["outcome"].word_of(("pass", "fail"), "unknown"), cell["seconds"].number(), cell["runs"].items(), cell["waived"].flag(),
                          cell["figures"].table(), cell["reason"].text(), cell["bytes"].integer(), cell["model"].text()],
                         ["unknown", "1", [], False, {}, "5", None, "missing"])
        self.assertEqual(root.problems.texts, [
            "bundle.json: cells[0].outcome: unknown word 'great', known are pass, fail",
            "bundle.json: cells[0].seconds: must be a number, is a text",
            "bundle.json: cells[0].runs: must be a list, is an object",
            "bundle.json: cells[0].waived: must be true or false, is a number",
            "bundle.json: cells[0].figures: must be an object, is a list",
            "bundle.json: cells[0].reason: must be a text, is a number",
            "bundle.json: cells[0].bytes: must be a whole number, is null",
            "bundle.json: cells[0]: lacks the member 'model'"])

    def test_what_is_missing_is_booked_once_and_below_it_nothing(self):
        root = self.read({})
        for _ in range(2):
            self.assertEqual(root["snapshot"]["engine"].text(), "missing")
            self.assertEqual(root["cells"].items(), [])
        self.assertEqual(root.problems.texts, ["bundle.json: lacks the member 'snapshot'", "bundle.json: lacks the member 'cells'"])

    def test_problems_are_counted_beyond_those_that_are_kept(self):
        root = self.read({})
        for i in range(60):
            root[f"m{i}"].text()
        self.assertEqual((len(root.problems.texts), root.problems.total), (Problems.MOST, 60))


class Raw(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.bundle = bundle_testing.make_bundle()
        self.path = bundle_testing.attach(self.folder, self.bundle, "parity/default/small-k", "a.json", b"evidence")
        self.sha256 = os.path.basename(self.path)
        self.raw = RawFolder(self.folder)

    def test_intact(self):
        self.assertEqual(self.raw.read(self.sha256, 8), ("intact", b"evidence"))

    def test_what_is_large_is_checked_and_not_shown(self):
        data = b" " * (MAX_SHOWN_BYTES + 1)
        path = bundle_testing.attach(self.folder, self.bundle, "parity/default/small-k", "b", data)
        self.assertEqual(self.raw.read(os.path.basename(path), len(data)), ("intact", None))
        self.assertEqual(self.raw.read(os.path.basename(path), 8), ("wrong size", None))

    def test_changed(self):
        self.assertEqual(self.raw.read(self.sha256, 7), ("wrong size", None))
        with open(self.path, "wb") as file:
            file.write(b"evidencE")
        self.assertEqual(self.raw.read(self.sha256, 8), ("altered", None))

    def test_missing(self):
        os.remove(self.path)
        self.assertEqual(self.raw.read(self.sha256, 8), ("missing", None))
        os.rmdir(os.path.dirname(self.path))
        self.assertEqual(self.raw.read(self.sha256, 8), ("missing", None))

    def test_names_lead_nowhere_else(self):
        outside = os.path.join(self.folder, "secret")
        with open(outside, "wb") as file:
            file.write(b"evidence")
        for name in ("../secret", outside, "", ".", self.sha256.upper(), self.sha256 + "\n", "../raw/" + self.sha256):
            self.assertEqual(self.raw.read(name, 8), ("no sha256", None), name)

    def test_links_are_not_followed(self):
        moved = os.path.join(self.folder, "moved")
        os.rename(self.path, moved)
        os.symlink(moved, self.path)
        self.assertEqual(self.raw.read(self.sha256, 8), ("missing", None))
        os.remove(self.path)
        os.rename(moved, self.path)
        os.rename(os.path.join(self.folder, "raw"), os.path.join(self.folder, "elsewhere"))
        os.symlink("elsewhere", os.path.join(self.folder, "raw"))
        self.assertEqual(self.raw.read(self.sha256, 8), ("missing", None))

    def test_what_is_no_file_is_not_waited_for(self):
        os.remove(self.path)
        os.mkfifo(self.path)
        self.assertEqual(self.raw.read(self.sha256, 8), ("missing", None))


if __name__ == "__main__":
    unittest.main()
