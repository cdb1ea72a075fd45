"""The scripts: what counts as passed, failed and skipped, when lint is skipped, and which classes a machine runs."""

from pathlib import Path
import os
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


# Programs that say what the test wrote beside them. `hello` of the engine is the file of that name.
ENGINE = """#!/bin/sh
here=${0%/*}
[ "$*" = "probe --device cuda" ] || exit 9
[ -e "$here/hello" ] || { echo "fg-engine: no driver: install one" >&2; exit 4; }
cat "$here/hello"
"""
FLIPGATE = """#!/bin/sh
here=${0%/*}
echo "$*" >>"$here/said"
[ "$1" != list ] || [ ! -e "$here/no_cells" ] || exit 2
[ "$1" = run ] || exit 0
case "$*" in *sm_90*) code=$(cat "$here/gpu_code") ;; *) code=$(cat "$here/cpu_code") ;; esac
[ "$code" != dead ] || kill -9 $$
exit "$code"
"""
TESTS = """#!/bin/sh
cat "${0}.says"
exit "$(cat "${0}.code")"
"""
HELLO = '{"id":1,"ok":true,"build":{"version":"0.1.0"},"device":{"capability":"9.0","class":"sm_90","name":"GPU"}}'


def machine_without_gpu(folder):
    """A folder for PATH with this machine's programs but nvidia-smi, which a driver puts among them."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in os.scandir(place):
            link = folder / program.name
            if program.name != "nvidia-smi" and not os.path.lexists(link):
                link.symlink_to(program.path)
    return folder


class TreeOfScripts(unittest.TestCase):
    """A folder with the scripts under test and programs that are scripts of a few lines."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.bin = self.root / "build" / "bin"
        self.bin.mkdir(parents=True)
        (self.root / "scripts").mkdir()
        for name in ("gate", "gpu-check", "gpu-class"):
            shutil.copy(programs.ROOT / "scripts" / name, self.root / "scripts")
        self.program(self.root / "scripts" / "setup", "#!/bin/sh\n")
        self.program(self.root / "scripts" / "build", "#!/bin/sh\n")
        self.program(self.bin / "fg-engine", ENGINE)
        self.program(self.bin / "flipgate", FLIPGATE)

    def program(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def gpu(self, hello=HELLO):
        (self.bin / "libfg_cuda.so").write_text("")
        (self.bin / "hello").write_text(hello)

    def codes(self, cpu, gpu):
        (self.bin / "cpu_code").write_text(str(cpu))
        (self.bin / "gpu_code").write_text(str(gpu))
        (self.bin / "said").unlink(missing_ok=True)

    def said(self):
        return (self.bin / "said").read_text().splitlines()

    def script(self, name, *words):
        # No nvidia-smi of the machine's: what there is stands below build/bin.
        path = self.root / "programs"
        if not path.exists():
            machine_without_gpu(path)
        return programs.run(self.root / "scripts" / name, *words, cwd=self.root, env={"PATH": str(path)})


class Gate(TreeOfScripts):
    def test_without_a_gpu_the_cpu_alone(self):
        self.codes(0, 1)
        done = self.script("gate")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.said(), ["snapshot --class cpu", "run --class cpu"])

    def test_a_build_with_cuda_says_why_the_cpu_alone(self):
        self.codes(3, 1)
        (self.bin / "libfg_cuda.so").write_text("")
        done = self.script("gate")
        self.assertEqual((done.returncode, done.stderr), (3, "gate: the CPU alone: fg-engine: no driver: install one\n"))

    def test_of_two_classes_the_first_of_2_1_4_3_0(self):
        self.gpu()
        for cpu, gpu, code in [(0, 0, 0), (0, 3, 3), (3, 0, 3), (3, 4, 4), (4, 1, 1), (1, 2, 2), (0, "dead", 4), (0, 9, 4)]:
            self.codes(cpu, gpu)
            self.assertEqual(self.script("gate").returncode, code, (cpu, gpu))
        self.assertEqual(self.said(), ["snapshot --class cpu", "run --class cpu", "list --cells --class sm_90",
                                       "snapshot --class sm_90", "run --class sm_90"])

    def test_a_gpu_without_cells_is_said(self):
        self.gpu()
        self.codes(0, 1)
        (self.bin / "no_cells").write_text("")
        done = self.script("gate")
        self.assertEqual((done.returncode, done.stderr), (0, "gate: the CPU alone: the matrix has no cell for sm_90\n"))

    def test_words_are_those_of_one_run(self):
        self.gpu()
        self.codes(1, 0)
        self.assertEqual(self.script("gate", "--cell", "parity/FG_MMQ").returncode, 1)
        self.assertEqual(self.said(), ["snapshot --class cpu", "run --cell parity/FG_MMQ"])


class GpuClass(TreeOfScripts):
    def test_the_class_or_why_there_is_none(self):
        def says():
            done = self.script("gpu-class", "build/bin")
            return done.returncode, done.stdout
        self.assertEqual(says(), (1, "build/bin/libfg_cuda.so is not here: the engine was built without CUDA\n"))
        self.gpu()
        self.assertEqual(says(), (0, "sm_90\n"))
        self.gpu(HELLO.replace("sm_90", "cpu"))
        self.assertEqual(says(), (1, "the engine runs on the CPU\n"))
        self.gpu("{}")
        self.assertEqual(says(), (1, "the engine's hello names no class: {}\n"))
        os.remove(self.bin / "hello")
        self.assertEqual(says(), (1, "fg-engine: no driver: install one\n"))


class GpuCheck(TreeOfScripts):
    def plant(self, name, says, code):
        self.program(self.bin / name, TESTS)
        (self.bin / f"{name}.says").write_text(says)
        (self.bin / f"{name}.code").write_text(str(code))

    def test_no_gpu_is_an_error(self):
        done = self.script("gpu-check")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr, "gpu-check: no GPU to check: build/bin/libfg_cuda.so is not here: "
                                      "the engine was built without CUDA\n")

    def test_each_end_is_told_apart(self):
        self.gpu()
        passed, failed = "[  PASSED  ] 7 tests.\n", "[  FAILED  ] Kernel.Case (3 ms)\n[  PASSED  ] 6 tests.\n"
        for says, code, matrix, wanted, line in [
            (passed, 0, 0, 0, "pass     fg-gpu-tests: 7 tests"),
            (passed, 0, 3, 3, "pass     fg-gpu-tests: 7 tests"),
            ("[  PASSED  ] 1 test.\n", 0, 1, 1, "pass     fg-gpu-tests: 1 tests"),
            (failed, 1, 0, 1, "fail     fg-gpu-tests: out/latest/sm_90/fg-gpu-tests.log"),
            (failed, 1, 4, 1, "fail     fg-gpu-tests: out/latest/sm_90/fg-gpu-tests.log"),
            # A pass phrase before a crash, and an end that ran nothing.
            (passed, 139, 0, 4, "error    fg-gpu-tests: ended with 139, 7 tests passed: out/latest/sm_90/fg-gpu-tests.log"),
            ("", 0, 0, 4, "error    fg-gpu-tests: ended with 0, 0 tests passed: out/latest/sm_90/fg-gpu-tests.log"),
            ("[  PASSED  ] 0 tests.\n", 0, 0, 4,
             "error    fg-gpu-tests: ended with 0, 0 tests passed: out/latest/sm_90/fg-gpu-tests.log"),
        ]:
            self.plant("fg-gpu-tests", says, code)
            self.plant("fg-gpu-engine-tests", passed, 0)
            self.codes(0, matrix)
            done = self.script("gpu-check", "--jobs", "1")
            self.assertEqual(done.returncode, wanted, done.stdout)
            self.assertIn(line + "\n", done.stdout)
            self.assertEqual(self.said(), ["run --class sm_90 --jobs 1"])

    def test_tests_that_are_not_there_are_no_pass(self):
        self.gpu()
        self.plant("fg-gpu-tests", "[  PASSED  ] 7 tests.\n", 0)
        self.codes(0, 0)
        done = self.script("gpu-check")
        self.assertEqual(done.returncode, 4)
        self.assertIn("error    fg-gpu-engine-tests: is not here", done.stdout)


if __name__ == "__main__":
    unittest.main()
