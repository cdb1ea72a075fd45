"""The JSON Schemas of matrix and bundle against what the program reads and writes, and against spoilt copies.

gates/testing/example_bundle.json is held by gates/bundle_test.cc to what the program writes.
"""
import copy
import json
import pathlib
import unittest

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent


class TextLoader(yaml.SafeLoader):
    """Without YAML 1.1's booleans: on, off, yes and no are text, as the program reads them."""


TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def schema(name):
    loaded = json.loads((ROOT / "docs/schema" / name).read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def spoilt(document, path, value):
    """A copy with `value` at `path`; None removes what is there."""
    document = copy.deepcopy(document)
    place = document
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


class BundleSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = schema("bundle.schema.json")
        cls.bundle = json.loads((ROOT / "gates/testing/example_bundle.json").read_text())

    def test_the_example_is_valid(self):
        self.assertEqual([e.message for e in self.schema.iter_errors(self.bundle)], [])

    def test_the_schema_names_what_the_program_writes(self):
        self.assertEqual(set(self.schema.schema["properties"]), set(self.bundle))
        self.assertEqual(set(self.schema.schema["$defs"]["cell"]["properties"]), set(self.bundle["cells"][0]))

    def test_spoilt_copies_are_not(self):
        for path, value in [
            (["schema"], 2), (["schema"], None), (["verdict"], "passed"), (["verdikt"], "proven"), (["cells"], None),
            (["cells", 0, "outcome"], "passed"), (["cells", 0, "outcome"], None), (["cells", 0, "extra"], 1),
            (["cells", 0, "reason"], "a pass with a reason"), (["cells", 3, "reason"], ""), (["cells", 0, "seconds"], -1),
            (["cells", 0, "attachments", 0, "sha256"], "../x"), (["cells", 0, "runs"], ["fail"]), (["cells", 3, "runs", 0], "failed"),
            (["hashes", "engine"], "abc"), (["hashes", "engines"], ""), (["started"], "yesterday"), (["rows"], ["FG_A"]),
            (["pairs", 0, "status"], "blank"), (["pairs", 0, "reason"], ""), (["pairs", 1, "shared_with"], None),
            (["pending"], ["parity"]), (["variables", "A"], 1), (["counts", "pass"], -1), (["counts", "fail"], None),
            (["waivers", 0, "expires"], "never"), (["content_sha256"], ""), (["jobs"], 0), (["fault"], None),
        ]:
            self.assertFalse(self.schema.is_valid(spoilt(self.bundle, path, value)), f"{path} = {value!r}")


class MatrixSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = schema("matrix.schema.json")
        cls.matrix = yaml.load((ROOT / "gates/matrix.yaml").read_text(), TextLoader)

    def test_the_matrix_is_valid(self):
        self.assertEqual([f"{list(e.path)}: {e.message}" for e in self.schema.iter_errors(self.matrix)], [])

    def test_spoilt_copies_are_not(self):
        gate = ["gates", "FG_MMQ_RAW"]
        for path, value in [
            (["version"], 2), (["version"], 1.1), (["models"], {}), (["models", "small-k", "from"], "/etc/passwd"),
            (["models", "small-k", "from"], "../f"), (["models", "small-k", "sha256"], "1"), (["models", "small-k", "url"], "x"),
            (["models", "a/b"], {"from": "f", "quantize": "f16", "sha256": "1" * 64}),
            (["models", "small-k", "synth"], {"shape": "narrow", "mix": "q4_0", "seed": 1}), (["models", "small-k", "from"], None),
            (["models", "small-narrow", "synth", "seed"], None), (["models", "small-narrow", "synth", "seed"], -1),
            (["evidence", "lattice", "distinct_paths", "small-k"], 0), (["evidence", "lattice", "distinct_paths"], None),
            (["evidence", "lattice", "only"], []), (["evidence", "reuse_neutral", "prompts"], "p"),
            (["evidence", "backstop", "agreement"], "bitwise"), (["cells", "readers"], None),
            (["tolerances", "near"], 0.1), (["tolerances", "near"], {"value": 1}), ([*gate, "needs"], None),
            ([*gate, "set"], {"on": {"env": "1"}}), ([*gate, "bits"], "equal"), ([*gate, "live"], {}), ([*gate, "live"], None),
            ([*gate, "live", "x"], "w16(q4_K)"), ([*gate, "claims"], {"memory": "faster"}), ([*gate, "may_cost"], {"memory": "much"}),
            (["gates", "no"], {}), (["evidence", "parity", "agreement"], "bitwise"),
            (["evidence", "lattice", "agreement"], "kl_of_quantization"), (["evidence", "quality", "agreement", "kl"], "bitwise"),
            (["evidence", "quality", "agreement", "kl"], "0.001"), (["evidence", "lattice", "threads"], []),
            (["evidence", "lattice", "tokens"], 0), (["evidence", "latice"], {}), (["evidence", "lattice", "timeout"], "60"),
            (["classes"], {}), (["classes", "cpu", "probe"], []), (["classes", "cpu", "probe"], None), (["classes", "sm_90", "cells"], 0),
            (["models", "small-k", "no_pins"], ""), ([*gate, "scope"], []), (["evidence", "lattice", "scope"], []),
            (["evidence", "parity", "classes", "sm_90", "scope"], ["cpu"]), (["evidence", "parity", "classes", "sm_90", "threads"], [1]),
            (["evidence", "parity", "agreement", "layers"], "bitwise"), (["evidence", "determinism", "agreement", "arms"], "bitwise"),
            (["evidence", "determinism", "repeats"], 0), (["evidence", "sanitizer", "tools"], []), (["evidence", "sanitizer", "command"], None),
            (["evidence", "sanitizer", "eager"], {}), (["evidence", "reuse_neutral", "classes", "sm_90", "eager"], {"FG_CAPTURE": [0]}),
            (["cells", "lattice"], None), (["cells", "lattice", "default"], None), (["cells", "lattice", "FG_MMQ"], "yes"),
            (["cells", "lattice", "FG_MMQ"], {"not_applicable": ""}), (["cells", "lattice", "FG_MMQ"], {"shared_with": "a", "required": ["b"]}),
        ]:
            self.assertFalse(self.schema.is_valid(spoilt(self.matrix, path, value)), f"{path} = {value!r}")


if __name__ == "__main__":
    unittest.main()
