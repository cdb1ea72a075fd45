"""Holds real requests and answers of `fg-engine probe` against docs/schema/probe-*.schema.json."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINE = pathlib.Path(os.environ["FG_BINARY_DIR"]) / "bin" / "fg-engine"
sys.path.insert(0, str(ROOT / "fixtures" / "oracle"))

import tiny_model  # noqa: E402


FULL = {name: "1" for name in ("FG_MMQ_RAW", "FG_MMQ_RAW_NB", "FG_MMQ_A_TRANSPOSE", "FG_MMQ_Q6K_NB", "FG_MMQ_Q6K_EXP",
                               "FG_MMQ_Q4K_DSC")} | {"FG_MMQ_A_FUSE": "2"}


def load_schema(name):
    schema = json.loads((ROOT / "docs" / "schema" / name).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return schema


REQUEST = load_schema("probe-request.schema.json")
ANSWER = load_schema("probe-answer.schema.json")


def request_fits(request):
    return jsonschema.Draft7Validator(REQUEST).is_valid(request)


def check_answer(answer, definition):
    jsonschema.Draft7Validator(ANSWER).validate(answer)
    narrow = {"$ref": f"#/definitions/{definition}", "definitions": ANSWER["definitions"]}
    jsonschema.Draft7Validator(narrow).validate(answer)


def ask(requests, environment=None, command=(ENGINE, "probe")):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    ran = subprocess.run(command, input=lines, env=environment or {}, capture_output=True,
                         text=True, timeout=60, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = pathlib.Path(cls.folder.name)
        tiny_model.write_tiny(cls.here / "tiny.gguf", "q4_K")
        (cls.here / "x.bin").write_bytes(struct.pack("<2f", 0.0, 1.0))
        (cls.here / "tokens.bin").write_bytes(struct.pack("<16i", *range(16)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def good_requests(self):
        one = {"file": str(self.here / "x.bin"), "dtype": "f32", "shape": [2]}
        tokens = {"file": str(self.here / "tokens.bin"), "dtype": "i32", "shape": [16]}
        return [
            {"request": "hello"},
            {"request": "memory"},
            {"request": "load", "model": str(self.here / "tiny.gguf"), "context": 64, "batch": 32},
            {"request": "generate", "prompt": "In the beginning was the word", "max_tokens": 3, "top": 2},
            {"request": "generate", "session": "s", "tokens": list(range(20)), "max_tokens": 2, "reuse": False,
             "rows_per_forward": 16, "stop_at_eos": False, "digests": False,
             "sampling": {"temperature": 0.8, "seed": 2**64 - 1, "top_k": 5, "top_p": 0.5}},
            {"request": "score", "tokens": [1, 2, 3], "first": 1, "out": str(self.here / "logits.bin")},
            {"request": "bench", "prefill": 16, "decode": 2, "context": 3, "repetitions": 2},
            {"request": "op", "op": "exp", "inputs": {"x": one}, "params": {}, "out": str(self.here)},
            {"request": "op", "op": "forward", "inputs": {"tokens": tokens}, "params": {"wanted": 2},
             "out": str(self.here)},
            {"request": "ledger"},
            {"request": "memory"},
            {"request": "reset"},
            {"request": "quit"},
        ]

    def test_every_request_and_its_answer_fit(self):
        requests = [{"id": i, **request} for i, request in enumerate(self.good_requests())]
        environment = {"FG_MMQ": "1", "FG_MQM": "off", "FG_FAULT": "nan_logits", "FG_CPU_LEVEL": "plain", **FULL}
        answers = ask(requests, environment)
        self.assertEqual(len(answers), len(requests))
        for request, answer in zip(requests, answers):
            with self.subTest(request["request"]):
                self.assertTrue(request_fits(request))
                self.assertTrue(answer["ok"], answer)
                self.assertEqual(answer["id"], request["id"])
                check_answer(answer, request["request"])
        words = set(REQUEST["definitions"]["without_fields"]["properties"]["request"]["enum"])
        words |= {option["$ref"].rsplit("/", 1)[1] for option in REQUEST["oneOf"]} - {"without_fields"}
        self.assertEqual({request["request"] for request in requests}, words)
        load = answers[2]
        self.assertEqual(load["planes"][0]["plane"], "scales")
        self.assertEqual(load["fuse_mode"]["asked"], "2")
        ledger = answers[9]
        for part in ("dispatch", "gate_reads"):  # an empty list would hold nothing against the schema
            self.assertTrue(ledger[part], part)
        self.assertTrue(ledger["graphs"]["identities"])

    def on_device(self, requests):
        """A copy of the engine beside a plugin that needs no hardware (engine/testing/fake_plugin.cc)."""
        folder = self.here / "device"
        folder.mkdir(exist_ok=True)
        shutil.copy(ENGINE, folder)
        shutil.copy(ENGINE.parents[1] / "fake_plugins" / "1" / "libfg_cuda.so", folder)
        return ask(requests, command=(folder / "fg-engine", "probe", "--device", "cuda"))

    def test_the_answers_on_a_device_fit(self):
        requests = [{"id": i, **request} for i, request in enumerate(self.good_requests())]
        answers = self.on_device(requests)
        for request, answer in zip(requests, answers, strict=True):
            with self.subTest(request["request"]):
                self.assertTrue(answer["ok"], answer)
                check_answer(answer, request["request"])
        self.assertIn("multiprocessors", answers[0]["device"])
        self.assertNotIn("levels", answers[0]["device"])
        self.assertNotIn("device", answers[1])
        self.assertIn("device", answers[2]["memory"])
        self.assertIn("device", answers[10])
        self.assertTrue(answers[9]["replays"])
        fatal = [requests[2], {"id": "f", "request": "generate", "tokens": [250]}]
        error = self.on_device(fatal)[1]
        check_answer(error, "error")
        self.assertEqual((error["error"]["kind"], error["error"]["kernel"]), ("device", "fake.step 64x96"))
        half = {**answers[0], "device": {**answers[0]["device"], "level": "avx2"}}
        with self.assertRaises(jsonschema.ValidationError):
            check_answer(half, "hello")

    def test_what_the_schema_refuses_the_engine_refuses(self):
        bad = [
            {"request": "helo"},
            {"request": "hello", "more": 1},
            {"request": "load"},
            {"request": "load", "model": ""},
            {"request": "load", "model": "m", "batch": 0},
            {"request": "generate"},
            {"request": "generate", "prompt": "a", "tokens": [1]},
            {"request": "generate", "tokens": []},
            {"request": "generate", "tokens": [-1]},
            {"request": "generate", "prompt": "a", "top": 65},
            {"request": "generate", "prompt": "a", "sampling": {"top_p": 0}},
            {"request": "generate", "prompt": "a", "sampling": {"heat": 1}},
            {"request": "score", "tokens": [1]},
            {"request": "bench", "prefill": 0},
            {"request": "bench", "prefill": 1, "repetitions": 0},
            {"request": "op", "op": "expp", "inputs": {}, "out": "o"},
            {"request": "op", "op": "exp", "inputs": {"x": {"file": "f"}}, "out": "o"},
            {"request": "op", "op": "exp", "inputs": {}, "params": {"a": "b"}, "out": "o"},
            {"request": "op", "op": "exp", "inputs": {}, "out": "o", "violate": "dead_write"},
            {"request": "op", "op": "forward", "inputs": {}, "out": "o", "violate": "dead"},
        ]
        requests = [{"id": f"r{i}", **request} for i, request in enumerate(bad)] + [{"request": "hello"}]
        for request, answer in zip(requests, ask(requests), strict=True):
            with self.subTest(request):
                self.assertFalse(request_fits(request))
                self.assertFalse(answer["ok"])
                self.assertEqual(answer["error"]["kind"], "bad_request")
                self.assertEqual(answer["id"], request.get("id"))
                check_answer(answer, "error")

    def test_failures_that_are_no_mistakes_of_the_request_fit(self):
        (self.here / "cut.gguf").write_bytes((self.here / "tiny.gguf").read_bytes()[:-1000])
        requests = [
            {"id": 1, "request": "load", "model": str(self.here / "none.gguf")},
            {"id": 2, "request": "load", "model": str(self.here / "cut.gguf")},
        ]
        answers = ask(requests)
        for answer in answers:
            check_answer(answer, "error")
        self.assertEqual([answer["error"]["kind"] for answer in answers], ["io", "bad_model"])

    def test_the_schemas_can_refuse(self):
        good = ask([{"id": 1, "request": "hello"}])[0]
        check_answer(good, "hello")
        for damage in ({"protocol": 2}, {"extra": 1}, {"gates": [{}]}, {"ok": False}, {"id": None}):
            with self.assertRaises(jsonschema.ValidationError):
                check_answer({**good, **damage}, "hello")
        for member in good:
            with self.assertRaises(jsonschema.ValidationError):
                check_answer({k: v for k, v in good.items() if k != member}, "hello")


if __name__ == "__main__":
    unittest.main()
