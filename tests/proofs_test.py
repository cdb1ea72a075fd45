"""Each committed proof is whole, and says of itself what its folder's name says."""

import json
import unittest

import programs

PROOFS = programs.ROOT / "promotion" / "proofs"


class Proofs(unittest.TestCase):
    def test_each_is_intact_proven_and_clean(self):
        folders = [entry for entry in sorted(PROOFS.iterdir()) if entry.is_dir()]
        self.assertTrue(folders)
        page = (PROOFS / "README.md").read_text()
        for folder in folders:
            with self.subTest(folder.name):
                done = programs.run(programs.FLIPGATE, "verify", folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                bundle = json.loads((folder / "bundle.json").read_text())
                self.assertEqual(bundle["verdict"], "proven")
                self.assertFalse(bundle["build"]["dirty"])
                self.assertEqual(bundle["fault"], "")
                self.assertGreater(bundle["counts"]["pass"], 0)
                self.assertIn(f"-{bundle['hardware_class']}-", folder.name)
                self.assertTrue(folder.name.startswith(bundle["started"][:10]), bundle["started"])
                self.assertIn(f"`{folder.name}`", page)


if __name__ == "__main__":
    unittest.main()
