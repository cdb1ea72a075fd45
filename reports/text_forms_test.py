"""Tests of how figures are written."""

import unittest

import text_forms as forms


class TextForms(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(forms.number(1234567), "1,234,567")
        self.assertEqual(forms.number(0.00123456789), "0.00123457")
        self.assertEqual(forms.number(0), "0")

    def test_what_is_no_number_stays_a_text_and_what_is_missing_says_so(self):
        for form in (forms.number, forms.mib, forms.signed_mib, forms.size, forms.seconds, forms.percent, forms.nats):
            for value, text in ((None, "null"), ("12", "12"), (True, "true"), ([1, "a"], "1, a"), ({}, "empty"),
                                ({"a": [1, {"b": None}]}, "a[0] 1, a[1].b null"), (forms.MISSING, "missing")):
                self.assertEqual(form(value), text, (form, value))

    def test_a_long_text_is_cut_and_says_how_long_it_is(self):
        self.assertEqual(forms.cut("a" * 2000), "a" * 2000)
        self.assertEqual(forms.cut("a" * 2001), "a" * 2000 + "… (cut here, 2,001 characters in all)")
        self.assertEqual(forms.number("9" * 81), "9" * 80 + "… (cut here, 81 characters in all)")

    def test_what_is_too_large_to_be_read_is_short(self):
        for form in (forms.mib, forms.signed_mib, forms.size, forms.seconds, forms.percent, forms.nats):
            self.assertLess(len(form(1e308)), 20, form)

    def test_bytes(self):
        self.assertEqual(forms.mib(5 << 20), "5.00")
        self.assertEqual(forms.mib(1536 << 10, 1), "1.5")
        self.assertEqual([forms.size(n) for n in (0, 1023, 1024, 1 << 20, 3 << 30)],
                         ["0 B", "1,023 B", "1.0 KiB", "1.0 MiB", "3.0 GiB"])

    def test_a_difference_bears_its_sign_unless_it_rounds_to_nothing(self):
        self.assertEqual([forms.signed_mib(n) for n in (1 << 20, -(1 << 20), 0, -1)], ["+1.00", "\u22121.00", "0.00", "0.00"])

    def test_a_share_is_never_rounded_to_all_or_nothing(self):
        self.assertEqual([forms.share(*p) for p in ((1, 3), (0, 3), (3, 3), (1, 99999), (99998, 99999), (1, 0), (None, 3))],
                         ["33.3 %", "0.0 %", "100.0 %", "<0.1 %", ">99.9 %", "–", "–"])

    def test_counts(self):
        self.assertEqual([forms.count_of(n, "cell") for n in (0, 1, 2)], ["0 cells", "1 cell", "2 cells"])

    def test_names(self):
        self.assertEqual([forms.plain(n) for n in ("free_steps", "FG_MMQ_RAW")], ["free steps", "FG_MMQ_RAW"])

    def test_nested_figures_become_paths(self):
        figures = {"a": {"b": 1, "c": {"d": "x"}}, "levels": ["plain", "avx2"], "rows": [{"n": 1}], "none": None, "empty": {}, "on": True}
        self.assertEqual(forms.flat(figures), [("a.b", "1"), ("a.c.d", "x"), ("levels", "plain, avx2"), ("rows[0].n", "1"),
                                               ("none", "null"), ("empty", "empty"), ("on", "true")])


if __name__ == "__main__":
    unittest.main()
