"""The CTest side of the matrix (cmake/FlipgateMatrix.cmake), with a program that plays flipgate.

Each case configures a project of its own, runs ctest in it and reads the JUnit file that ctest writes: what counts is
that no kind of missing evidence comes out green.
"""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Answers from the file `play.json` beside it: cells, run_code, bundle (cell -> exit code), verdict, signal.
PLAYER = f"""#!{sys.executable}
import json, os, pathlib, signal, sys
here = pathlib.Path(__file__).parent
play = json.loads((here / "play.json").read_text())
command, arguments = sys.argv[1], sys.argv[2:]
value = lambda name: arguments[arguments.index(name) + 1]
if command == "list":
    if play.get("list_error"):
        print(play["list_error"], file=sys.stderr)
        sys.exit(2)
    print("\\n".join(play["cells"]))
elif command == "run":
    (here / "runs").open("a").write(" ".join(arguments) + "\\n")
    if play["bundle"] is not None:
        pathlib.Path(value("--out")).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(value("--out")) / "bundle.json").write_text(json.dumps(play["bundle"]))
    print("proven: all cells passed", flush=True)
    if play.get("signal"):
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(play["run_code"])
elif command == "verify":
    sys.exit(play.get("verify_code", 0))
elif command == "cell-status":
    bundle = json.loads((pathlib.Path(value("--bundle")) / "bundle.json").read_text())
    name = arguments[2] if len(arguments) > 2 else "verdict"
    print(name, bundle[name])
    sys.exit(bundle[name])
"""

CELLS = ["parity/FG_A/m", "parity/default/m", "lattice/default/m"]
GREEN = {"parity/FG_A/m": 0, "parity/default/m": 0, "lattice/default/m": 0, "verdict": 0}


class MatrixTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="flipgate_matrix_test"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "cmake").symlink_to(ROOT / "cmake")
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\nenable_testing()\n"
            "include(cmake/FlipgateMatrix.cmake)\n"
            'flipgate_matrix_tests(cpu OUT "${CMAKE_SOURCE_DIR}/out" PROGRAM "${CMAKE_SOURCE_DIR}/player"\n'
            "                      ARGUMENTS --without quality --jobs 2)\n")
        player = self.folder / "player"
        player.write_text(PLAYER)
        player.chmod(player.stat().st_mode | stat.S_IXUSR)
        self.play(cells=CELLS, run_code=0, bundle=GREEN)
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.folder, "-B", self.folder / "build"], check=True, capture_output=True)

    def play(self, **answers):
        (self.folder / "play.json").write_text(json.dumps(answers))

    def ctest(self, *arguments):
        """ctest's exit code, and how each test ended: pass, failed, skipped, not run."""
        report = self.folder / "junit.xml"
        report.unlink(missing_ok=True)
        done = subprocess.run(["ctest", "--test-dir", self.folder / "build", "--no-tests=error", "--output-junit", report,
                               *arguments], capture_output=True, text=True)
        states = {}
        if report.exists():
            words = {"run": "pass", "fail": "failed", "notrun": "not run", "disabled": "not run"}
            for case in ElementTree.parse(report).getroot().iter("testcase"):
                skipped = case.find("skipped")
                word = words[case.get("status")]
                if skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
                    word = "skipped"
                states[case.get("name")] = word
        self.said = done.stdout
        return done.returncode, states

    def test_all_green(self):
        code, states = self.ctest()
        self.assertEqual(code, 0, self.said)
        self.assertEqual(states, {"matrix.cpu": "pass", "verdict.cpu": "pass", "cpu/parity/FG_A/m": "pass",
                                  "cpu/parity/default/m": "pass", "cpu/lattice/default/m": "pass"})
        self.assertEqual((self.folder / "runs").read_text(),
                         f"--class cpu --out {self.folder}/out --project {self.folder} --without quality --jobs 2\n")

    def test_each_cell_has_the_outcome_of_this_run(self):
        self.play(cells=CELLS, run_code=1, bundle={**GREEN, "parity/FG_A/m": 1, "lattice/default/m": 77, "verdict": 1})
        code, states = self.ctest()
        self.assertNotEqual(code, 0)
        self.assertEqual(states, {"matrix.cpu": "pass", "verdict.cpu": "failed", "cpu/parity/FG_A/m": "failed",
                                  "cpu/parity/default/m": "pass", "cpu/lattice/default/m": "skipped"})

    def test_everything_skipped_is_not_green(self):
        self.play(cells=CELLS, run_code=3, bundle={**{cell: 77 for cell in CELLS}, "verdict": 3})
        code, states = self.ctest()
        self.assertNotEqual(code, 0)
        self.assertEqual(states["verdict.cpu"], "failed")
        self.assertEqual(states["cpu/parity/FG_A/m"], "skipped")

    def assert_nothing_measured(self):
        code, states = self.ctest()
        self.assertNotEqual(code, 0, self.said)
        self.assertEqual(states["matrix.cpu"], "failed", self.said)
        for name, state in states.items():
            if name != "matrix.cpu":
                self.assertEqual(state, "not run", name)

    def test_a_run_that_failed_leaves_no_old_bundle_to_read(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/bundle.json").write_text(json.dumps(GREEN))
        for run_code in (2, 4):
            self.play(cells=CELLS, run_code=run_code, bundle=None)
            self.assert_nothing_measured()

    def test_a_run_that_wrote_nothing(self):
        self.play(cells=CELLS, run_code=0, bundle=None)
        self.assert_nothing_measured()

    def test_a_run_that_was_cut_off(self):
        self.play(cells=CELLS, run_code=3, bundle=GREEN, verify_code=1)
        self.assert_nothing_measured()

    def test_the_pass_phrase_before_a_crash(self):
        self.play(cells=CELLS, run_code=0, bundle=GREEN, signal=True)
        self.assert_nothing_measured()

    def test_a_matrix_that_cannot_be_read(self):
        self.play(cells=[], run_code=0, bundle=GREEN, list_error="m.yaml:3:1: the key 'FG_A' stands twice")
        code, states = self.ctest()
        self.assertNotEqual(code, 0)
        self.assertEqual(states, {"matrix.cpu": "failed", "verdict.cpu": "not run"})
        self.assertFalse((self.folder / "runs").exists())

    def test_no_cell_at_all(self):
        self.play(cells=[], run_code=0, bundle={"verdict": 0})
        self.assertNotEqual(self.ctest()[0], 0)

    def test_a_program_that_is_not_built(self):
        (self.folder / "player").unlink()
        code, states = self.ctest()
        self.assertNotEqual(code, 0)
        self.assertEqual(states["matrix.cpu"], "failed")

    def test_a_filter(self):
        self.assertEqual(self.ctest("-R", "FG_A"), (0, {"matrix.cpu": "pass", "cpu/parity/FG_A/m": "pass"}))
        self.assertEqual(self.ctest("-L", "evidence.lattice"), (0, {"matrix.cpu": "pass", "cpu/lattice/default/m": "pass"}))
        self.assertEqual(self.ctest("-L", "gate.FG_A")[0], 0)
        self.assertNotEqual(self.ctest("-R", "no such test")[0], 0)


if __name__ == "__main__":
    unittest.main()
