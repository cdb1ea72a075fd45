"""The registry, defaults.yaml and the matrix speak of the same gates, in the same order.

Adding a gate is one entry in the registry, one row of defaults.yaml and one block of the matrix; a row that was left out,
or put elsewhere, is a mistake of reading that no program would notice.
"""

import json
import unittest

import yaml

import programs


def keys(path, *steps):
    place = yaml.safe_load((programs.ROOT / path).read_text())
    for step in steps:
        place = place[step]
    return list(place)


class Gates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = programs.run(programs.ENGINE, "gates", "--json", "--class", "cpu")
        cls.registry = [gate["name"] for gate in json.loads(done.stdout)["gates"]]

    def test_the_registry_has_gates(self):
        self.assertGreater(len(self.registry), 1)
        self.assertEqual(len(set(self.registry)), len(self.registry))

    def test_defaults_have_a_row_for_each(self):
        self.assertEqual(keys("promotion/defaults.yaml", "gates"), self.registry)

    def test_the_matrix_has_a_block_for_each(self):
        self.assertEqual(keys("gates/matrix.yaml", "gates"), self.registry)

    def test_each_kind_speaks_of_each(self):
        for kind in keys("gates/matrix.yaml", "cells"):
            self.assertEqual(keys("gates/matrix.yaml", "cells", kind), ["default", *self.registry], kind)

    def test_each_kind_that_is_measured_has_cells_and_the_reverse(self):
        self.assertEqual(keys("gates/matrix.yaml", "cells"), keys("gates/matrix.yaml", "evidence"))


if __name__ == "__main__":
    unittest.main()
