"""Tests of how figures are written."""

import unittest

import text_forms as forms


class TextForms(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(forms.number(1234567), "1,234,567")
        self.assertEqual(forms.number(0.00123456789), "0.00123457")
        self.assertEqual(forms.number(0), "0")

    def test_what_is_no_number_is_a_dash(self):
        for value in (None, "12", True, [1], {}):
            for form in (forms.number, forms.mib, forms.signed_mib, forms.size, forms.seconds, forms.percent):
                self.assertEqual(form(value), "–", (form, value))

    def test_bytes(self):
        self.assertEqual(forms.mib(5 << 20), "5.00")
        self.assertEqual(forms.mib(1536 << 10, 1), "1.5")
        self.assertEqual([forms.size(n) for n in (0, 1023, 1024, 1 << 20)], ["0 B", "1,023 B", "1.0 KiB", "1.0 MiB"])

    def test_a_difference_bears_its_sign_unless_it_rounds_to_nothing(self):
        self.assertEqual([forms.signed_mib(n) for n in (1 << 20, -(1 << 20), 0, -1)], ["+1.00", "\u22121.00", "0.00", "0.00"])

    def test_counts(self):
        self.assertEqual([forms.count_of(n, "cell") for n in (0, 1, 2)], ["0 cells", "1 cell", "2 cells"])

    def test_nested_figures_become_paths(self):
        figures = {"a": {"b": 1, "c": {"d": "x"}}, "levels": ["plain", "avx2"], "rows": [{"n": 1}], "none": None, "empty": {}, "on": True}
        self.assertEqual(forms.flat(figures), [("a.b", "1"), ("a.c.d", "x"), ("levels", "plain, avx2"), ("rows[0].n", "1"),
                                               ("none", "null"), ("empty", "empty"), ("on", "true")])


if __name__ == "__main__":
    unittest.main()
