"""The scripts that CI's last line rests on: what counts as passed, failed and skipped, and when lint is skipped."""

from pathlib import Path
import shutil
import tempfile
import unittest

import programs

SUITE = ('<testsuite><testcase name="a" status="run"/>'
         '<testcase name="b" status="notrun"><skipped/></testcase>{}</testsuite>')
FAILED = '<testcase name="c" status="fail"><failure/></testcase>'


class CountTests(unittest.TestCase):
    def count(self, xml, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ctest.xml"
            if xml is not None:
                path.write_text(xml)
            done = programs.run("/usr/bin/python3", programs.ROOT / "scripts" / "count_tests.py", path, *words)
        return done.returncode, done.stdout.splitlines()

    def test_tests_and_steps_are_counted_together(self):
        for words, code, lines in [
            (["0"], 0, ["skipped: b", "1 passed, 0 failed, 1 skipped"]),
            (["0", "lint=0"], 0, ["skipped: b", "2 passed, 0 failed, 1 skipped"]),
            (["0", "lint=77"], 0, ["skipped: b", "skipped: lint", "1 passed, 0 failed, 2 skipped"]),
            (["0", "lint=1"], 1, ["skipped: b", "failed: lint", "1 passed, 1 failed, 1 skipped"]),
            (["8", "lint=0"], 1, ["skipped: b", "2 passed, 1 failed, 1 skipped"]),
        ]:
            self.assertEqual(self.count(SUITE.format(""), *words), (code, lines), words)

    def test_a_failure_is_counted_once(self):
        self.assertEqual(self.count(SUITE.format(FAILED), "1", "lint=0"),
                         (1, ["skipped: b", "failed: c", "2 passed, 1 failed, 1 skipped"]))

    def test_no_test_is_no_success(self):
        self.assertEqual(self.count("<testsuite/>", "0"), (1, ["0 passed, 0 failed, 0 skipped"]))
        self.assertEqual(self.count(None, "0", "lint=0"), (1, ["0 passed, 1 failed, 0 skipped"]))


class Lint(unittest.TestCase):
    def test_without_tools_it_is_a_skip_here_and_a_failure_in_hosted_ci(self):
        with tempfile.TemporaryDirectory() as folder:
            scripts = Path(folder) / "scripts"
            scripts.mkdir()
            for name in ("lint", "lint-requirements.txt"):
                shutil.copy(programs.ROOT / "scripts" / name, scripts)
            no_tools = {"FLIPGATE_LINT_PYTHON": "/bin/false"}
            here = programs.run(scripts / "lint", env={**no_tools, "CI": "true", "GITHUB_ACTIONS": ""}, cwd=folder)
            hosted = programs.run(scripts / "lint", env={**no_tools, "CI": "true", "GITHUB_ACTIONS": "true"}, cwd=folder)
        why = "lint: no venv could be made; see build/lint.log, and install python3-venv\n"
        self.assertEqual((here.returncode, here.stderr), (77, why + "lint: skipped: the workflows were not linted\n"))
        self.assertEqual((hosted.returncode, hosted.stderr), (1, why + "lint: failed: hosted CI must lint\n"))


if __name__ == "__main__":
    unittest.main()
