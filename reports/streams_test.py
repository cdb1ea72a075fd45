"""Tests of where streams fork: computed from both arms, or read from the reason where only one was kept."""

import unittest

import bundle_testing
import streams

STREAM = bundle_testing.stream


def fork(value, reason=""):
    return streams.fork_in([("streams.json", value)], reason)


class Arms(unittest.TestCase):
    def test_the_snapshot_comes_first(self):
        arms = streams.arms_of(bundle_testing.arms())
        self.assertEqual([(a.name, a.variables) for a in arms], [("snapshot", ["FG_MMQ=1", "FG_MMQ_RAW=0"]), ("head", ["FG_MMQ=1"])])
        self.assertEqual(arms[0].labels, ["prefill mmq.q4_K.nb", "prefill rms_norm", "decode row.q4_K"])

    def test_arms_in_a_list_and_deeper(self):
        value = {"arms": [{"name": "[A=0]", "streams": [STREAM("p", [1], "a")]}, {"name": 5, "streams": [STREAM("p", [2], "b")]}]}
        self.assertEqual([a.name for a in streams.arms_of(value)], ["[A=0]", "1"])
        for no in (None, 5, {}, {"streams": []}, {"streams": [1]}, {"streams": [{"tokens": 1, "prompt": "p"}]}):
            self.assertEqual(streams.arms_of(no), [])


class Forks(unittest.TestCase):
    def test_equal_arms_do_not_fork(self):
        self.assertIsNone(fork(bundle_testing.arms()))

    def test_the_first_token_that_differs(self):
        found = fork(bundle_testing.arms((11, 12, 97, 14), " and the moon was up"))
        self.assertEqual((found.prompt, found.step, found.first, found.how, found.phase, found.source),
                         ("creation", 2, 0, "the streams fork", "decode", "streams.json"))
        old, new = found.sides
        self.assertEqual((old.arm, old.token, old.margin, old.runner_up), ("snapshot", "13", "1.25", "7"))
        self.assertEqual((new.arm, new.token), ("head", "97"))
        self.assertEqual([(t.id, t.forked) for t in new.tokens], [("11", False), ("12", False), ("97", True), ("14", False)])
        self.assertEqual((found.common_text, old.rest, new.rest), (" and the ", "sun was up", "moon was up"))
        self.assertEqual(found.only, [("snapshot", ["prefill mmq.q4_K.nb"]), ("head", ["prefill mmq.q4_K.raw"])])
        self.assertEqual(old.labels, ["decode row.q4_K"])

    def test_the_same_token_from_other_logits(self):
        value = bundle_testing.arms()
        value["head"]["streams"][0] = STREAM("first", [1, 2], " a b", salt="other")
        found = fork(value)
        self.assertEqual((found.prompt, found.step, found.how, found.phase), ("first", 0, "same token, other logits", "prefill"))
        self.assertNotEqual(found.sides[0].digest, found.sides[1].digest)

    def test_a_short_prompt_is_never_a_prefill(self):
        value = {n: {"streams": [{**STREAM("p", [i], "a"), "prompt_tokens": [1]}]} for i, n in enumerate("ab")}
        self.assertEqual(fork(value).phase, "decode")

    def test_only_the_tokens_around_it_are_drawn(self):
        tokens = list(range(40))
        value = {"a": {"streams": [STREAM("p", tokens, "x")]}, "b": {"streams": [STREAM("p", [*tokens[:20], 99, *tokens[21:]], "y")]}}
        found = fork(value)
        self.assertEqual((found.step, found.first, len(found.sides[0].tokens)), (20, 15, streams.BEFORE + 1 + streams.AFTER))

    def test_a_stream_that_ends_early_forks_there(self):
        found = fork(bundle_testing.arms((11, 12), " and"))
        self.assertEqual((found.step, found.sides[1].token, found.sides[1].margin), (2, "missing", "missing"))

    def test_pieces_are_the_tokens_texts(self):
        value = bundle_testing.arms((11, 97, 13, 14), " x")
        value["head"]["streams"][1]["pieces"] = [" and", " a", 5]
        self.assertEqual(fork(value).sides[1].token_text, " a")
        self.assertEqual([t.text for t in fork(value).sides[1].tokens], [" and", " a", "", ""])

    def test_hostile_streams(self):
        value = {n: {"streams": [{"prompt": {"a": n}, "tokens": [{"x": n}, None], "digests": "none", "top": [[1], ["a", "b"]], "top_tokens": 7,
                                  "text": None, "labels": 3}]} for n in "ab"}
        found = fork(value)
        self.assertEqual((found.step, found.sides[0].token, found.sides[0].margin, found.sides[0].digest), (0, "x a", "missing", "missing"))
        value["a"]["streams"][0]["top"] = [["a", "b"]]
        self.assertEqual(fork(value).sides[0].margin, "not finite")


class Reasons(unittest.TestCase):
    def test_a_fork_is_read_from_the_reason(self):
        found = fork({}, "prompt 'long', step 3: the streams fork: [A=0 B=1] chose token 12 (margin 0.5), [A=1 B=1] chose token 7 (margin nan)")
        self.assertEqual((found.prompt, found.step, found.how), ("long", 3, "the streams fork"))
        self.assertEqual([(s.arm, s.token, s.margin) for s in found.sides], [("[A=0 B=1]", "12", "0.5"), ("[A=1 B=1]", "7", "nan")])
        self.assertEqual(fork({}, "prompt 'a', step 0: the streams fork: x chose nothing, y chose token 7 (margin 1)").sides[0].token, "nothing")

    def test_the_stream_that_was_kept_fills_both_rows_up_to_the_fork(self):
        reason = "with all off: prompt 'p', step 7: the streams fork: turns chose token 7 (margin 0.5), one request chose token 99 (margin 0.25)"
        kept = {"streams": [STREAM("q", [1], "x"), STREAM("p", list(range(20)), "text")], "later": [STREAM("p", [5], "y")]}
        found = streams.fork_in([("reuse.json", kept)], reason)
        self.assertEqual((found.first, list(found.steps)), (2, list(range(2, 14))))
        self.assertEqual([[(t.id, t.forked) for t in side.tokens] for side in found.sides],
                         [[(str(i), i == 7) for i in range(2, 14)], [(str(i), False) for i in range(2, 7)] + [("99", True)]])
        self.assertEqual([(s.runner_up, s.digest != "") for s in found.sides], [("7", True), ("", False)])
        self.assertEqual(found.source, "the cell's reason and reuse.json; the other arm's stream is not attached")
        other = streams.fork_in([("reuse.json", kept)], reason.replace("step 7", "step 8"))
        self.assertEqual([[t.id for t in side.tokens] for side in other.sides], [["7"], ["99"]])

    def test_other_reasons_tell_none(self):
        for reason in ("", "39 wanted, 38 seen", "prompt 'a', step 1: token 5 (margin 1)", "prompt '" * 5000):
            self.assertIsNone(fork({}, reason))


if __name__ == "__main__":
    unittest.main()
