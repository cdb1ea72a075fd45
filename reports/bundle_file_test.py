"""Tests of reading a bundle: each refusal with its full text, and raw files that are not what they should be."""

import json
import os
import tempfile
import unittest

import bundle_testing
from bundle_file import BundleError, Member, RawFolder, load_bundle


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
        self.assertGreater(len(root["cells"].items()), 30)

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
        self.assertEqual(self.refusal('{"schema": "1"}'), "bundle.json: schema: must be a whole number, is a text")
        self.assertEqual(self.refusal('{"schema": true}'), "bundle.json: schema: must be a whole number, is true or false")
        self.assertEqual(self.refusal("{}"), "bundle.json: lacks the member 'schema'")
        self.assertEqual(self.refusal("[]"), "bundle.json: must be an object, is a list")

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
    def test_refusals_name_the_place(self):
        root = Member({"cells": [{"outcome": "great", "seconds": "1", "runs": {}}]}, "bundle.json")
        cell = root["cells"].items()[0]
        for read, text in [
                (lambda: cell["outcome"].one_of(("pass", "fail")), "bundle.json: cells[0].outcome: unknown word 'great', known are pass, fail"),
                (lambda: cell["seconds"].number(), "bundle.json: cells[0].seconds: must be a number, is a text"),
                (lambda: cell["runs"].items(), "bundle.json: cells[0].runs: must be a list, is an object"),
                (lambda: cell["model"], "bundle.json: cells[0]: lacks the member 'model'")]:
            with self.assertRaises(BundleError) as caught:
                read()
            self.assertEqual(str(caught.exception), text)


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
        self.assertEqual(self.raw.state(self.sha256, 8), "intact")

    def test_changed(self):
        self.assertEqual(self.raw.state(self.sha256, 7), "wrong size")
        with open(self.path, "wb") as file:
            file.write(b"evidencE")
        self.assertEqual(self.raw.state(self.sha256, 8), "altered")

    def test_missing(self):
        os.remove(self.path)
        self.assertEqual(self.raw.state(self.sha256, 8), "missing")
        os.rmdir(os.path.dirname(self.path))
        self.assertEqual(self.raw.state(self.sha256, 8), "missing")

    def test_names_lead_nowhere_else(self):
        outside = os.path.join(self.folder, "secret")
        with open(outside, "wb") as file:
            file.write(b"evidence")
        for name in ("../secret", outside, "", ".", self.sha256.upper(), self.sha256 + "\n", "../raw/" + self.sha256):
            self.assertEqual(self.raw.state(name, 8), "no sha256", name)

    def test_links_are_not_followed(self):
        moved = os.path.join(self.folder, "moved")
        os.rename(self.path, moved)
        os.symlink(moved, self.path)
        self.assertEqual(self.raw.state(self.sha256, 8), "missing")
        os.remove(self.path)
        os.rename(moved, self.path)
        os.rename(os.path.join(self.folder, "raw"), os.path.join(self.folder, "elsewhere"))
        os.symlink("elsewhere", os.path.join(self.folder, "raw"))
        self.assertEqual(self.raw.state(self.sha256, 8), "missing")

    def test_what_is_no_file_is_not_waited_for(self):
        os.remove(self.path)
        os.mkfifo(self.path)
        self.assertEqual(self.raw.state(self.sha256, 8), "missing")


if __name__ == "__main__":
    unittest.main()
