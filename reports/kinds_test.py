"""Tests of what the page knows of the kinds: it knows the suite's, and says of each what to do."""

import os
import re
import unittest

import bundle_testing
import kinds
from bundle_file import OUTCOMES

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def suites_kinds():
    with open(os.path.join(ROOT, "gates/evidence_kinds.cc"), encoding="utf-8") as file:
        return re.findall(r'\{"(\w+)",\s*"([^"]+)"', file.read())


class Kinds(unittest.TestCase):
    def test_every_kind_of_the_suite_is_known_with_its_question_in_its_order(self):
        self.assertEqual([(name, kinds.question(name)) for name in kinds.KINDS], suites_kinds())

    def test_the_tests_bundles_have_them_all(self):
        self.assertEqual(set(bundle_testing.KINDS), set(kinds.KINDS))

    def test_each_kind_says_what_a_pass_means_and_what_to_do(self):
        for name in kinds.KINDS:
            self.assertTrue(kinds.passed(name).endswith("."), name)
            advice = kinds.advice(name, f"{name}/FG_MMQ/small-k", "fail", "mismatch")
            self.assertTrue(advice.endswith(f"To repeat it: flipgate run --cell {name}/FG_MMQ/small-k."), advice)
            self.assertGreater(len(advice), 100)

    def test_each_outcome_has_its_advice(self):
        said = [kinds.advice("parity", "parity/default/a", word, "") for word in (*OUTCOMES, "pending", "unknown")]
        self.assertEqual(len(set(said)), len(said))
        self.assertNotIn("", said)
        self.assertIn("flipgate run --cell parity/default/a repeats it", said[OUTCOMES.index("flaky")])

    def test_a_category_comes_first(self):
        self.assertTrue(kinds.advice("optout", "optout/default/a", "fail", "crash").startswith("Head's engine died."))

    def test_a_kind_of_tomorrow(self):
        self.assertEqual((kinds.question("tomorrow"), kinds.passed("tomorrow")), ("", ""))
        self.assertEqual(kinds.advice("tomorrow", "tomorrow/{again}/a", "fail", "x"), "To repeat it: flipgate run --cell tomorrow/{again}/a.")


if __name__ == "__main__":
    unittest.main()
