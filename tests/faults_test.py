"""Each planted fault turns the right cell red for the right reason, and a healthy engine none.

A matrix that cannot fail proves nothing. The table below holds, per fault of the engine's own list, the cell that must
fail, the category and what its reason must say.
"""

import json
from pathlib import Path
import re
import tempfile
import unittest

import programs

# fault: (cell, category, what the reason must say)
TABLE = {
    "nibbles_swapped": ("parity/FG_MMQ_RAW_NB/small-k", "op", r"matmul\.q4_K.*\(y_int8\): \d+ of \d+ values differ"),
    "min_dropped": ("parity/FG_MMQ_RAW_NB/small-k", "op", r"matmul\.q4_K.*\(y_int8\): \d+ of \d+ values differ"),
    "raw_tail_skipped": ("lattice/default/small-k", "fork", r"FG_MMQ_RAW=1 FG_MMQ_RAW_NB=0\] chose token"),
    "coarse_activations": ("quality/FG_MMQ/small-k", "quality", r"tolerance \w+_of_quantization wants"),
    "dead_fast_path": ("liveness/FG_MMQ_RAW_NB/small-k", "label", r"'mmq\.q4_K\.nb' was counted 0 times"),
    "optout_ignored": ("optout/FG_MMQ_RAW_NB/small-k", "label", r"mmq\.q4_K\.(nb|raw)"),
    "gate_read_in_decode": ("decode_neutral/default/small-k", "leak", r"FG_MMQ was read \d+ times in phase decode"),
    "cache_leaked": ("memory_two_way/FG_MMQ/small-k", "relation", r"f16_cache holds \d+ bytes, the matrix wants"),
    "unbooked_memory": ("memory_two_way/FG_MMQ/small-k", "unbooked", r"the ledger books"),
    "default_moves_more": ("greedy_contrast/default/small-k", "fork", r"snapshot chose token \d+ .*head chose"),
    "nan_logits": ("parity/default/small-k", "logits", r"logit 0 is nan"),
    "crash": ("greedy_contrast/default/small-k", "crash",
              r"engine 'head' died while it answered generate \(request \d+: session '\w+'.*signal SIGSEGV"),
}


def run_cell(cell, out, fault=None):
    words = [programs.FLIPGATE, "run", "--cell", cell, "--out", out, "--engine", programs.ENGINE]
    done = programs.run(*words, *(["--fault", fault] if fault else []))
    bundle = json.loads((Path(out) / "bundle.json").read_text())
    name = dict(zip(("kind", "gate", "model"), cell.split("/")))
    found = [c for c in bundle["cells"] if all(c[k] == v for k, v in name.items())]
    return done, bundle, found[0]


class Faults(unittest.TestCase):
    def test_every_fault_of_the_engine_is_in_the_table(self):
        listed = json.loads(programs.run(programs.ENGINE, "faults", "--json").stdout)
        names = {entry["name"]: entry["kinds"] for entry in listed}
        self.assertEqual(set(names), set(TABLE))
        for fault, (cell, _, _) in TABLE.items():
            self.assertIn(cell.split("/")[0], names[fault], f"{fault} is claimed by another kind")

    def test_each_fault_turns_its_cell_red(self):
        for fault, (cell, category, reason) in TABLE.items():
            with self.subTest(fault=fault), tempfile.TemporaryDirectory() as out:
                done, bundle, found = run_cell(cell, out, fault)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertEqual(bundle["verdict"], "refuted")
                self.assertEqual(bundle["fault"], fault)
                self.assertEqual((found["outcome"], found["category"]), ("fail", category), found["reason"])
                self.assertTrue(re.search(reason, found["reason"]), found["reason"])

    def test_the_same_cells_pass_without_a_fault(self):
        for cell in sorted({row[0] for row in TABLE.values()}):
            with self.subTest(cell=cell), tempfile.TemporaryDirectory() as out:
                done, bundle, found = run_cell(cell, out)
                self.assertEqual(found["outcome"], "pass", found["reason"])
                # One cell is not the whole matrix: that is missing evidence, never a proof.
                self.assertEqual((done.returncode, bundle["verdict"]), (3, "unproven"))

    def test_an_unknown_fault_is_refused_with_the_nearest_name(self):
        with tempfile.TemporaryDirectory() as out:
            done = programs.run(programs.FLIPGATE, "run", "--cell", "parity/default/small-k", "--out", out,
                                "--engine", programs.ENGINE, "--fault", "nible_swapped")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("nibbles_swapped", done.stderr)


if __name__ == "__main__":
    unittest.main()
