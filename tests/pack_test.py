"""scripts/pack: the folder runs where there is neither git nor compiler nor Python, and says what was changed in it."""

import hashlib
import json
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
import unittest

import yaml

import programs

CELL = "parity/default/small-f16"


def git(*words):
    return subprocess.run(["git", "-C", programs.ROOT, *words], check=True, capture_output=True).stdout


class Pack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pack_test")
        cls.addClassCleanup(folder.cleanup)
        cls.here = Path(folder.name)
        out = cls.here / "packed"
        cls.head = git("rev-parse", "HEAD").decode().strip()
        done = programs.run("scripts/pack", "--out", out, "--build", programs.BIN.parent, "--allow-dirty", timeout=900)
        assert done.returncode == 0, done.stderr
        cls.said = done.stdout
        cls.pack = cls.here / "elsewhere"
        shutil.move(out, cls.pack)
        cls.stamp = json.loads((cls.pack / "stamp.json").read_text())
        # What a bare machine has of the programs that a run may start.
        cls.path = cls.here / "path"
        cls.path.mkdir()
        for program in ("gzip", "sh"):
            (cls.path / program).symlink_to(shutil.which(program))

    def flipgate(self, *words):
        return subprocess.run([self.pack / "bin" / "flipgate", *words], cwd=self.pack, capture_output=True, text=True, check=False,
                              timeout=300, env={"PATH": str(self.path)})

    def run_cell(self, out):
        done = self.flipgate("run", "--class", "cpu", "--cell", CELL, "--out", str(out))
        bundle = json.loads((out / "bundle.json").read_text())
        return done, bundle

    def test_the_stamp_says_what_git_says(self):
        if git("rev-parse", "HEAD").decode().strip() != self.head:
            self.skipTest("HEAD moved while this test ran")
        self.assertEqual(self.stamp["commit"], self.head)
        project = yaml.safe_load((programs.ROOT / "flipgate.yaml").read_text())
        tree = git("ls-tree", "-r", "-z", self.head, "--", *project["engine"]["paths"])
        self.assertEqual(self.stamp["engine"], hashlib.sha256(tree).hexdigest())
        clean = not git("status", "--porcelain", "--untracked-files=all")
        build = programs.ask_hello()["build"]
        fresh = build["engine_hash"] == self.stamp["engine"] and not build["dirty"]
        self.assertEqual(self.stamp["dirty"], not (clean and fresh))
        self.assertEqual(sorted(self.stamp["defaults"]), sorted(["cpu", "sm_80", "sm_86", "sm_89", "sm_90", "other"]))
        self.assertEqual(self.stamp["files"]["bin/flipgate"], hashlib.sha256((self.pack / "bin/flipgate").read_bytes()).hexdigest())

    def test_it_is_small_and_brings_its_libraries(self):
        size = sum((self.pack / file).stat().st_size for file in self.stamp["files"])  # a run leaves more
        self.assertLess(size, 60 << 20)
        for program in (self.pack / "bin").iterdir():
            needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("not found", needed)
            for line in needed.splitlines():
                name, _, path = line.partition(" => ")
                if (self.pack / "lib" / name.strip()).exists():
                    self.assertEqual(Path(path.split()[0]).resolve(), (self.pack / "lib" / name.strip()).resolve(), program)

    def test_a_cell_runs_without_git(self):
        done, bundle = self.run_cell(self.here / "first")
        self.assertEqual(done.returncode, 3, done.stderr)  # the rest of the matrix was not asked for
        outcomes = {f"{c['kind']}/{c['gate']}/{c['model']}": c["outcome"] for c in bundle["cells"]}
        self.assertEqual(outcomes[CELL], "pass")
        for name in ("engine", "suite", "recipe"):
            self.assertEqual(bundle["hashes"][name], self.stamp[name])
        self.assertEqual(bundle["hashes"]["defaults"], self.stamp["defaults"]["cpu"])
        self.assertEqual(bundle["build"]["dirty"], self.stamp["dirty"])
        self.assertEqual(bundle["snapshot"]["program_sha256"], self.stamp["snapshots"]["cpu"]["program_sha256"])
        # Back here it is intact.
        self.assertEqual(programs.run(programs.FLIPGATE, "verify", self.here / "first").returncode, 0)

    def test_a_changed_file_is_said(self):
        waivers = self.pack / "gates" / "waivers_of_mine.yaml"
        prompt = sorted((self.pack / "fixtures" / "hostile").iterdir())[0]
        before = prompt.read_bytes()
        prompt.write_bytes(before + b"\n")
        waivers.write_text("version: 1\n")
        page, kept = self.pack / "reports" / "render.py", self.here / "render.py"
        page.rename(kept)
        try:
            done, bundle = self.run_cell(self.here / "second")
        finally:
            prompt.write_bytes(before)
            waivers.unlink()
            kept.rename(page)
        said = (f"this folder is not as it was packed (3 files: {prompt.relative_to(self.pack)}, gates/waivers_of_mine.yaml (added), "
                "reports/render.py (gone)): its evidence counts as dirty\n")
        self.assertIn(said, done.stdout)
        self.assertTrue(bundle["build"]["dirty"])
        # A page that cannot be rendered there is no error of the run: it is rendered here.
        self.assertEqual(done.returncode, 3)
        self.assertIn("the page was not rendered", done.stderr)
        self.assertIn("render it where the project is\n", done.stderr)
        self.assertEqual(programs.run("/usr/bin/python3", "reports/render.py", self.here / "second").returncode, 0)

    @unittest.skipIf(shutil.which("nvidia-smi"), "this machine may have a GPU, and all of its tests would run")
    def test_the_check_of_a_gpu_wants_one(self):
        done = programs.run(self.pack / "scripts" / "gpu-check", cwd=self.pack)
        self.assertEqual(done.returncode, 4)
        self.assertIn("gpu-check: no GPU to check: ", done.stderr)

    def test_the_doctor_knows_a_pack(self):
        done = self.flipgate("doctor", "--json")
        found = {f["name"]: f for f in json.loads(done.stdout)["findings"]}
        self.assertIn(f"packed from commit {self.head[:12]}", found["tree"]["text"])
        self.assertEqual(found["gzip"]["level"], "ok")
        self.assertEqual(found["/usr/bin/python3"]["level"], "ok")  # named in full, so the path does not hide it
        self.assertNotIn("cmake", found)


class Refusals(unittest.TestCase):
    def test_words_and_folders_that_cannot_be_meant(self):
        with tempfile.TemporaryDirectory() as folder:
            for words, said in [
                (["--owt", "x"], "pack: unknown word '--owt'; usage: scripts/pack [--out DIR] [--build DIR] [--allow-dirty]\n"),
                (["--out"], "pack: --out needs a folder\n"),
                (["--out", folder], f"pack: {folder}: is there and is no pack; remove it, or give another --out\n"),
                (["--out", f"{folder}/x", "--build", folder, "--allow-dirty"],
                 f"pack: {folder}: is no configured build of this project\n"),
            ]:
                done = programs.run("scripts/pack", *words)
                self.assertEqual((done.returncode, done.stderr), (2, said))

    def test_a_tree_with_changes_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder) / "clone"
            subprocess.run(["git", "clone", "-q", "--shared", programs.ROOT, clone], check=True)
            (clone / "base" / "more.h").write_text("")
            done = programs.run("scripts/pack", "--build", programs.BIN.parent, cwd=clone)
            self.assertEqual((done.returncode, done.stderr),
                             (2, "pack: the tree has changes that no commit has; commit first, or give --allow-dirty:\n"
                                 "?? base/more.h\n"))
            stamp = programs.run(programs.FLIPGATE, "stamp", programs.BIN.parent, cwd=clone)
            self.assertEqual(stamp.returncode, 2)
            self.assertIn("the tree has changes that no commit has:\n?? base/more.h\n", stamp.stderr)
            self.assertFalse(os.path.exists(programs.BIN.parent / "stamp.json"))


if __name__ == "__main__":
    unittest.main()
