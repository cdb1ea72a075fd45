"""The self-check's result: its schema, and that each fault was killed for the right reason.

`flipgate selfcheck` says that the right kinds turned red; a cell can be red for a wrong reason. selfcheck_reasons.json
holds, per fault of the engine and kind that it lists, the category of the failure (or some, with | between) and what its
reason must say. The result
is the one that the CTest `selfcheck.cpu` has just written; a fault of another device has its reasons here and is not in it.
"""

import copy
import json
import re
import unittest

import jsonschema

import programs

RESULT = programs.ROOT / "out" / "selfcheck" / "selfcheck.json"
REASONS = json.loads((programs.ROOT / "tests" / "selfcheck_reasons.json").read_text())


def load_schema():
    schema = json.loads((programs.ROOT / "docs" / "schema" / "selfcheck.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


class SelfCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = load_schema()
        cls.result = json.loads(RESULT.read_text())
        cls.faults = json.loads(programs.run(programs.ENGINE, "faults", "--json").stdout)

    def test_the_result_is_of_this_engine_and_whole(self):
        hello = programs.ask_hello()
        self.assertEqual(self.result["build"]["sha256"], hello["build"]["sha256"])
        self.assertTrue(self.result["complete"])
        self.assertEqual(self.result["selection"], {"faults": [], "kinds": []})

    def test_it_has_the_shape_of_its_schema(self):
        self.assertEqual([f"{list(e.path)}: {e.message}" for e in self.schema.iter_errors(self.result)], [])
        self.assertEqual(set(self.schema.schema["properties"]), set(self.result))
        for path, value in [(["schema"], 2), (["verdict"], "proven"), (["faults", 0, "state"], "dead"), (["exit"], 2),
                            (["faults", 0, "trials", 0, "reason"], ""), (["faults", 0, "trials", 0, "cell"], "parity"),
                            (["control", "cells"], -1), (["hashes", "engine"], "abc"), (["extra"], 1)]:
            spoilt = copy.deepcopy(self.result)
            place = spoilt
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            self.assertFalse(self.schema.is_valid(spoilt), f"{path} = {value!r}")

    def test_every_fault_and_kind_of_the_engine_has_an_expected_reason(self):
        listed = {(fault["name"], kind) for fault in self.faults for kind in fault["kinds"]}
        expected = {(fault, kind) for fault, kinds in REASONS.items() for kind in kinds}
        self.assertEqual(listed, expected)

    def test_each_was_killed_for_the_right_reason(self):
        trials = {(fault["name"], trial["kind"]): trial
                  for fault in self.result["faults"] for trial in fault["trials"] if trial["claimed"]}
        elsewhere = {fault["name"] for fault in self.faults if fault["device"] not in ("any", "cpu")}
        self.assertFalse(elsewhere & {fault["name"] for fault in self.result["faults"]})
        for fault, kinds in REASONS.items():
            if fault in elsewhere:
                continue
            for kind, expected in kinds.items():
                with self.subTest(fault=fault, kind=kind):
                    trial = trials[(fault, kind)]
                    self.assertEqual(trial["state"], "killed", trial["reason"])
                    self.assertIn(trial["category"], expected["category"].split("|"), trial["reason"])
                    self.assertRegex(trial["reason"], re.compile(expected["reason"], re.DOTALL))

    def test_no_bundle_of_a_trial_is_a_proof(self):
        for fault in self.result["faults"]:
            for trial in fault["trials"]:
                bundle = json.loads((RESULT.parent / trial["bundle"] / "bundle.json").read_text())
                self.assertEqual(bundle["fault"], fault["name"])
                self.assertNotEqual(bundle["verdict"], "proven")


if __name__ == "__main__":
    unittest.main()
