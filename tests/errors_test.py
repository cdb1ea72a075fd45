"""Wrong things are said well: the place, what is wrong, what to do. No traceback, no hang, the right exit code."""

import fcntl
import json
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
import unittest

import programs

MODEL = programs.ROOT / "fixtures" / "models" / "small.f16.gguf"
MATRIX = programs.ROOT / "gates" / "matrix.yaml"


class Errors(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def expect(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotIn("terminate called", done.stderr)

    def flipgate_run(self, *words, env=None, engine=programs.ENGINE):
        return programs.run(programs.FLIPGATE, "run", "--engine", engine, "--out", self.folder / "out", *words, env=env)

    def test_a_missing_model(self):
        done = programs.run(programs.ENGINE, "run", "-m", "no/such.gguf", "-p", "x")
        self.expect(done, 2, "no/such.gguf: No such file or directory")

    def test_a_truncated_model_names_the_tensor(self):
        cut = self.folder / "cut.gguf"
        cut.write_bytes(MODEL.read_bytes()[:-1])
        done = programs.run(programs.ENGINE, "info", cut)
        self.expect(done, 2, "cut.gguf", "output_norm.weight")

    def test_a_misspelt_gate_in_the_environment(self):
        done = programs.run(programs.ENGINE, "gates", env={"FG_MMQ_RWA": "1"})
        self.expect(done, 0, "FG_MMQ_RWA", "FG_MMQ_RAW")
        done = programs.run(programs.ENGINE, "gates", env={"FG_MMQ_RWA": "1", "FG_STRICT_ENV": "1"})
        self.expect(done, 2, "FG_MMQ_RWA", "FG_MMQ_RAW")

    def test_a_misspelt_gate_in_the_matrix(self):
        text = MATRIX.read_text().replace("    FG_MMQ_RAW: {shared_with: default}", "    FG_MMQ_RWA: {shared_with: default}", 1)
        matrix = self.folder / "matrix.yaml"
        matrix.write_text(text)
        line = text[:text.index("FG_MMQ_RWA")].count("\n") + 1
        self.expect(self.flipgate_run("--matrix", matrix), 2, f"matrix.yaml:{line}:5: ", "FG_MMQ_RWA", "did you mean 'FG_MMQ_RAW'?")

    def test_a_gate_exported_by_the_caller(self):
        done = self.flipgate_run("--cell", "parity", env={"FG_MMQ": "1"})
        self.expect(done, 2, "FG_MMQ", "unset")

    def test_the_one_variable_that_is_passed_on(self):
        engine = self.folder / "engine"
        engine.write_text(f"#!/bin/sh\necho \"$FG_CUBLASLT_PATH\" >> {self.folder}/seen\nexec {programs.ENGINE} \"$@\"\n")
        engine.chmod(0o755)
        done = self.flipgate_run("--cell", "liveness/default/small-k", engine=engine, env={"FG_CUBLASLT_PATH": "/opt/lt"})
        self.expect(done, 3)
        self.assertEqual(set((self.folder / "seen").read_text().split()), {"/opt/lt"})
        bundle = (self.folder / "out" / "bundle.json").read_text()
        self.assertEqual(json.loads(bundle)["variables"]["FG_CUBLASLT_PATH"], "(set)")
        self.assertNotIn("/opt/lt", bundle)

    def test_an_unwritable_folder(self):
        (self.folder / "file").write_text("x")
        done = programs.run(programs.FLIPGATE, "run", "--engine", programs.ENGINE, "--cell", "liveness/default/small-f16",
                            "--out", self.folder / "file" / "out")
        self.expect(done, 4, "file/out")

    def test_a_missing_engine(self):
        done = programs.run(programs.FLIPGATE, "run", "--engine", "no/engine", "--out", self.folder / "out")
        self.expect(done, 2, "no/engine")

    def test_a_cell_that_does_not_exist(self):
        self.expect(self.flipgate_run("--cell", "pairty/FG_MMQ"), 2, "pairty", "parity")

    def test_a_misspelt_class(self):
        why = ("flipgate: --class cpv: unknown hardware class 'cpv'; did you mean 'cpu'?; the classes of promotion/defaults.yaml "
               "are cpu, sm_80, sm_86, sm_89, sm_90, other\n")
        for command in ("list", "snapshot", "run", "selfcheck", "doctor", "demo"):
            done = programs.run(programs.FLIPGATE, command, "--class", "cpv")
            self.assertEqual((done.returncode, done.stderr), (2, why), command)

    def test_an_unknown_fault_or_kind_of_the_selfcheck(self):
        words = [programs.FLIPGATE, "selfcheck", "--engine", programs.ENGINE, "--out", self.folder / "out"]
        done = programs.run(*words, "--fault", "nible_swapped")
        self.assertEqual((done.returncode, done.stderr), (
            2, "flipgate: --fault nible_swapped: unknown fault 'nible_swapped'; did you mean 'nibbles_swapped'?\n"))
        done = programs.run(*words, "--kind", "latice")
        self.assertEqual((done.returncode, done.stderr), (
            2, "flipgate: --kind latice: unknown kind of evidence 'latice'; did you mean 'lattice'?\n"))
        done = programs.run(*words, "--fault", "nan_logits", "--kind", "liveness")
        self.assertEqual((done.returncode, done.stderr), (2, "flipgate: nan_logits does not list liveness\n"))

    def test_an_unknown_fault_of_a_run(self):
        self.expect(self.flipgate_run("--cell", "parity/default/small-k", "--fault", "nible_swapped"), 2, "nibbles_swapped")

    def test_faults_that_no_engine_would_list(self):
        engine = self.folder / "engine"
        engine.write_text("#!/bin/sh\necho '[{\"name\": \"a/b\", \"description\": \"\", \"kinds\": []}]'\n")
        engine.chmod(0o755)
        done = programs.run(programs.FLIPGATE, "selfcheck", "--engine", engine, "--out", self.folder / "out")
        self.assertEqual((done.returncode, done.stderr), (
            4, "flipgate: head's `faults --json`: faults[0].name: may hold letters, digits, '_' and '-'\n"))

    def test_a_diff_of_what_is_no_bundle(self):
        done = programs.run(programs.FLIPGATE, "diff", self.folder, self.folder)
        self.assertEqual((done.returncode, done.stderr), (2, f"flipgate: {self.folder}: there is no such bundle\n"))
        (self.folder / "bundle.json").write_text("{}")
        done = programs.run(programs.FLIPGATE, "diff", self.folder, self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, f"^flipgate: {self.folder}: the bundle is damaged: .*\n$")

    def test_a_doctor_who_finds_a_variable(self):
        done = programs.run(programs.FLIPGATE, "doctor", "--engine", programs.ENGINE, env={"FG_MMQ": "0"})
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertIn("fail variables: FG_MMQ set here, which no run starts with; unset FG_MMQ\n", done.stdout)

    def test_a_demo_without_an_engine(self):
        done = programs.run(programs.FLIPGATE, "demo", "--engine", "no/engine")
        self.assertEqual((done.returncode, done.stderr), (2, "flipgate: no/engine: there is no such engine\n"))

    def test_a_folder_that_is_no_project(self):
        done = programs.run(programs.FLIPGATE, "list", "--project", self.folder)
        self.expect(done, 2, "flipgate.yaml")

    def test_a_model_of_another_sum(self):
        text = MATRIX.read_text()
        at = text.index('sha256: "') + len('sha256: "')
        matrix = self.folder / "matrix.yaml"
        matrix.write_text(text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1:])
        done = self.flipgate_run("--matrix", matrix, "--cell", "liveness/default/small-k")
        self.expect(done, 2, "model 'small-k'", "gave sha256", "the matrix pins")

    def test_a_setting_that_head_reads_otherwise(self):
        text = MATRIX.read_text().replace('off: {env: "0"}', 'off: {env: "off"}', 1)
        matrix = self.folder / "matrix.yaml"
        matrix.write_text(text)
        done = self.flipgate_run("--matrix", matrix, "--cell", "liveness/default/small-f16")
        self.expect(done, 2, "gate 'FG_MMQ': the matrix calls FG_MMQ=off off, but head resolves it to '1'")

    def test_an_answer_without_its_members_breaks_the_protocol(self):
        # Head answers everything, but generate without what the protocol says it holds.
        engine = self.folder / "engine"
        engine.write_text("#!/bin/sh\n"
                          f'exec {programs.ENGINE} "$@" | sed -u \'s/"prompt_tokens"/"prompt_tokenz"/\'\n')
        engine.chmod(0o755)
        done = self.flipgate_run("--cell", "liveness/default/small-f16", engine=engine)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("prompt_tokens: is missing", done.stdout)

    def test_a_second_run_into_the_same_folder(self):
        out = self.folder / "out"
        out.mkdir()
        folder = os.open(out, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        done = self.flipgate_run("--cell", "liveness/default/small-f16")
        self.expect(done, 2, "another run writes there")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([programs.FLIPGATE, "list"], cwd=programs.ROOT, stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False, env={"PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 4)
        self.assertIn("standard output cannot be written", done.stderr)

    def test_a_shallow_clone_without_the_snapshots_commit(self):
        clone = self.folder / "clone"
        made = programs.run("git", "clone", "-q", "--depth", "1", f"file://{programs.ROOT}", clone)
        self.assertEqual(made.returncode, 0, made.stderr)
        done = programs.run(programs.FLIPGATE, "snapshot", "--project", clone)
        self.expect(done, 2, "this clone is shallow: run `git fetch --unshallow`")


if __name__ == "__main__":
    unittest.main()
