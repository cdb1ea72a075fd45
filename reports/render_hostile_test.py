"""Tests of the page with hostile bundles: every text stays a text, nothing huge breaks it, nothing leads outside."""

import copy
import json
import os
import re
import unittest
from random import Random

import bundle_testing
from page_testing import RenderTest


ODD = (None, True, -1, 0, 1e308, 1 << 63, "", "a/b", "y" * 5000, [], {}, [[]], {"": ""}, {"a": {"b": [1, {"c": None}]}}, [1, "a", None],
       {"labels": [1, None, "a b c"]}, {"prefill": {"a": 1}, "decode": {"b": None}}, {"noise": 1, "rounding": 1e300, "bug": 2})


def places(value, path=()):
    """Every path into a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *[p for name, part in parts for p in places(part, (*path, name))]]


def damage(random, value):
    """Takes one part away, or puts something odd in its place."""
    *way, last = random.choice([p for p in places(value) if p and p != ("schema",)])
    for name in way:
        value = value[name]
    if isinstance(value, dict) and random.random() < 0.3:
        del value[last]
    else:
        value[last] = copy.deepcopy(random.choice(ODD))


class Hostile(RenderTest):
    ATTACK = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}&amp;</style></svg>"

    # What the page looks up, so that the rest is still shown; another word is doubted (bundle_view_test.py).
    WORDS = {"kind", "outcome", "runs", "status", "verdict", "pending"}

    def poison(self, value):
        if isinstance(value, dict):
            return {k: v if k in self.WORDS else self.poison(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.poison(v) for v in value]
        return value + self.ATTACK if isinstance(value, str) else value

    def attach_poison(self, bundle):
        """Raw evidence of each form, whose every text attacks."""
        cell = bundle["cells"][0]
        name = f"{cell['kind']}/{cell['gate']}/{cell['model']}"
        cell["outcome"], cell["attachments"] = "fail", []
        values = [self.poison(bundle_testing.arms((1, 2), "x")), {self.ATTACK: {self.ATTACK: [self.ATTACK, {self.ATTACK: self.ATTACK}]}},
                  [{"from": self.ATTACK, "to": self.ATTACK, "reason": self.ATTACK}], {"labels": {"prefill": {self.ATTACK: 1}, "decode": {}}},
                  {"refusals": [self.ATTACK], self.ATTACK: {"noise": 1, "rounding": 1, "bug": 1}},
                  {"sets": [{"labels": [self.ATTACK], "combinations": [self.ATTACK]}], "d": {self.ATTACK: "0" * 64, "b": "1" * 64}}]
        for i, data in enumerate([json.dumps(v).encode() for v in values] + [self.ATTACK.encode()]):
            bundle_testing.attach(self.folder, bundle, name, self.ATTACK + str(i), data)

    def test_huge_texts_are_cut_and_say_how_long_they_were(self):
        bundle = bundle_testing.make_bundle()
        huge = "x" * 300000
        bundle.update(subject=huge, reasons=[huge], selection=[huge])
        bundle["device"]["name"] = bundle["build"]["commit"] = bundle["build"]["toolchain"]["flags"] = huge
        bundle["rows"].append(huge)
        bundle["gates"].append({"name": huge, "stage": huge, "bits": huge, "needs": [huge]})
        for cell in bundle["cells"][:3]:
            cell.update(reason=huge, agreement=huge, labels=[huge], model=huge + cell["model"], category=huge)
            cell["figures"] = {huge: huge, "deep": {huge: [huge] * 3}, "degradations": [{"from": huge, "to": huge, "reason": huge}], "refusal": huge}
        cell = bundle["cells"][0]
        bundle_testing.attach(self.folder, bundle, f"{cell['kind']}/{cell['gate']}/{cell['model']}", huge, json.dumps({"t": huge, huge: [huge]}).encode())
        page = self.page(bundle)
        self.assertEqual(page.unbalanced, [])
        self.assertIn("(cut here, 300,000 characters in all)", page.words())
        self.assertNotIn("x" * 4500, self.source)
        self.assertLess(len(self.source), 1500000)

    def test_many_of_everything_stay_bearable(self):
        bundle = bundle_testing.make_bundle()
        bundle_testing.attach(self.folder, bundle, "optout/default/small-k", "many.json",
                              json.dumps({f"m{i}": [{"n": j} for j in range(500)] for i in range(300)}).encode())
        bundle["blind_spots"] = [{"phase": "prefill", "op": "x", "label": f"l{i}", "count": i} for i in range(2000)]
        page = self.page(bundle)
        self.assertEqual(page.unbalanced, [])
        for text in ("440 more rows are in the raw file", "260 more parts are in the raw file.", "1940 more stand in the table", "more labels are in bundle.json"):
            self.assertIn(text, page.words())

    def test_every_text_of_the_bundle_is_a_text_on_the_page(self):
        poisoned = self.poison(bundle_testing.bad_bundle(self.folder))
        for table in (poisoned["device"], poisoned["variables"], poisoned["hashes"], poisoned["build"]["toolchain"]):
            table[self.ATTACK] = "a name of an attacker's"
        poisoned["models"][self.ATTACK] = {"model": {"tensors": {self.ATTACK: 1}}}
        for cell in poisoned["cells"]:
            cell["figures"][self.ATTACK] = 1
            if "on" in cell["figures"]:
                cell["figures"]["on"]["now"][self.ATTACK] = 1 << 20
        self.attach_poison(poisoned)
        page = self.page(poisoned)
        self.assertEqual(page.unbalanced, [])
        self.assertFalse({tag for tag, _ in page.tags} & {"script", "img"})
        self.assertFalse([a for a in page.attributes if a[1].startswith("on")])
        self.assertGreater(page.words().count("<script>alert(1)</script>"), 400)
        self.assertNotIn("49", re.findall(r"script>(\S{1,3})", page.words()))
        self.assertEqual(self.source.count("</style>"), 1)

    def test_a_damaged_bundle_is_still_a_page(self):
        whole = bundle_testing.bad_bundle(self.folder)
        whole["cells"] = [c for c in whole["cells"] if c["kind"] != "memory_two_way" or c["gate"] == "FG_MMQ"]
        for seed in range(30):
            random, bundle, raw = Random(seed), copy.deepcopy(whole), bundle_testing.arms((1, 2), "x")
            bundle["counts"] = bundle_testing.count(bundle)
            for _ in range(3):
                damage(random, raw)
            bundle_testing.attach(self.folder, bundle, "optout/FG_MMQ/small-k", "a.json", json.dumps(raw).encode())
            bundle_testing.end_cell(bundle, "optout/FG_MMQ/small-k", "fail", "no")
            for _ in range(8):
                damage(random, bundle)
            with open(os.path.join(self.folder, "bundle.json"), "w", encoding="utf-8") as file:
                json.dump(bundle, file)
            page = self.page()
            self.assertEqual((page.unbalanced, page.open), ([], []), seed)
            self.assertEqual(len(page.ids), len(set(page.ids)), seed)

    def test_raw_files_are_reached_by_their_sum_alone(self):
        bundle = bundle_testing.make_bundle()
        bundle["cells"][0]["attachments"] = [{"name": "../../etc/passwd", "sha256": "../../../../etc/passwd", "bytes": 1}]
        words = self.page(bundle).words()
        self.assertIn("../../etc/passwd is no sha256", words)
        self.assertNotIn("root:", words)


if __name__ == "__main__":
    unittest.main()
