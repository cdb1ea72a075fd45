"""What the page knows of the kinds of evidence: their order and questions (gates/evidence_kinds.cc; the
tests hold them equal), what a cell of each says when it passes, and what to do when it does not.

A kind that is not here still gets its row, its cells and its evidence, after these.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    question: str
    passed: str  # what a pass says
    look: str  # where to look when it fails
    checks_values: bool = True  # its cells hold values against other values, so a label they reach is checked


KINDS = {
    "parity": Kind(
        "is the number right?",
        "Each pinned operation gave the bits of the numpy model of the arithmetic, and the model's logits lie within their "
        "tolerance of float64.",
        "The reason names the first operation or step. Hold that operation against docs/arithmetic.md; its deviations by class are under "
        "Deviations. A bug that several labels share lies in what they share."),
    "greedy_contrast": Kind(
        "did the promotion only move the switch?",
        "The snapshot, given the gates by name, and head wrote the same tokens from the same logits, byte for byte.",
        "See Forks for the step. A fork on the row default alone means that the default changes more than the gates named; a fork on a "
        "gate's row means that its own path moved since the snapshot."),
    "lattice": Kind(
        "is some combination wrong that nobody tried?",
        "All combinations of the gates that keep the bits, on each instruction-set level, gave one digest.",
        "The reason names the combination that differs from the first. Those under the odd digest share a gate, a level or a "
        "number of threads: begin there."),
    "quality": Kind(
        "does another numeric path still answer as well?",
        "On held text the path stays within its tolerances of the same weights in f32.",
        "Compare the figures with those of the other rows on this model. A path may be right by its own arithmetic (parity passes) "
        "and still answer worse."),
    "liveness": Kind(
        "is the gate alive where it is on?",
        "The gate's labels were dispatched as often as the model's tensors demand, and none of them is a fallback.",
        "The reason names the label and both counts. A label with ! is a fallback that nobody asked for: its degradation says why.",
        checks_values=False),
    "optout": Kind(
        "does 0 bring the old path back?",
        "With the gate at 0 the old labels are back, the new ones gone, and the stream is the snapshot's.",
        "A label fault means that 0 no longer leads to the old path; a fork means that the old path itself moved. Until this "
        "passes there is no way out."),
    "decode_neutral": Kind(
        "did a prefill gate leak into decode?",
        "No gate was read in phase decode; labels, launches and streams of one-row forwards are the same over all settings.",
        "The reason names the gate that was read or the label that differs. Move the read to the choice of kernel for 16 rows or more."),
    "reuse_neutral": Kind(
        "did a gate reach the graph?",
        "Graphs were built and reused alike over all settings, and turns that reuse them equal turns on graphs built anew.",
        "Other identities mean that a gate stands in a graph's parameters; a fork after the first turn means that reused state, such "
        "as a row of the KV store, is not what a new graph reads."),
    "mixed_quant": Kind(
        "is it safe on models it was not tuned on?",
        "On a model that the fast paths were not made for, the mode came down with the right reason and the stream is that of mode 0.",
        "Compare the degradations listed with the model's weights. A missing one is the flag at registration; a fork is a weight that "
        "reads what a fused producer did not write."),
    "backstop": Kind(
        "does a broken promise speak up?",
        "Each forced violation ended in a refusal that names node and cause, no token came out, and the engine went on serving.",
        "A violation without a refusal has read memory that nobody wrote. Do not flip a default on this: hold the plane cache's checks "
        "against docs/design.md first."),
    "readers": Kind(
        "do dumps and traces still see true values?",
        "With each reader active the mode came down, the stream stayed the same, and what was dumped equals mode 0.",
        "The reason names the reader and the node. A dump that differs shows a buffer that its producer skipped."),
    "memory_two_way": Kind(
        "what does each direction cost?",
        "The ledger, the system's figures, the declared relations and the budget agree with the gate on and with it off.",
        "relation: a cache or plane is built that should not be, or has other bytes than its formula. unbooked: memory that no category "
        "holds. budget: the gate costs more than the matrix allows.",
        checks_values=False),
    "determinism": Kind(
        "does the same question always get the same answer?",
        "Repeats gave the same bits in one process, in a fresh one and with every number of threads; between ways of asking, tokens agree "
        "wherever the margin exceeds the tolerance.",
        "The reason names the arm and the first step. Repeats that differ in one process are a race or memory that nobody wrote; thread counts "
        "that differ are a sum cut by them; arms that differ take other kernels, and one of them is wrong by more than its rounding."),
    "sanitizer": Kind(
        "does a kernel touch what is not its own?",
        "Each tool watched a prefill with an odd tail and some steps of decode, and closed with no error.",
        "The tool's own report is attached, with kernel, address and thread. Run the tool by hand on that kernel's test; a race is between the "
        "two accesses that it names.",
        checks_values=False),
}

_OUTCOMES = {
    "pass": "Nothing to do.",
    "flaky": "It failed and then passed on the same input, so something undefined decides: threads, memory that nobody wrote, time. Running it "
             "again is no cure. {again} repeats it.",
    "unsupported": "This machine or engine cannot tell. The run stays unproven until a machine that can has run this cell.",
    "skipped": "It did not run; the reason says what is missing. The run stays unproven until it has.",
    "error": "The harness, the snapshot or the machine failed, not the engine under test: mend that, then {again}.",
    "pending": "The run was cut off before this cell ended; run the matrix again.",
    "unknown": "The bundle gives it an outcome that does not exist; flipgate verify says what else is wrong.",
}
_CATEGORIES = {
    "crash": "Head's engine died. Start it by hand with the cell's variables under a debugger.",
    "protocol": "Head's engine answered outside the protocol (docs/probe.md).",
    "oracle": "Head agrees with its other arm, but not with the float64 oracle: both arms may share the fault.",
}


def question(kind):
    return KINDS[kind].question if kind in KINDS else ""


def passed(kind):
    return KINDS[kind].passed if kind in KINDS else ""


def advice(kind, cell_id, outcome, category):
    """What to do about a cell that ended so."""
    again = f"flipgate run --cell {cell_id}"
    if outcome != "fail":
        return _OUTCOMES.get(outcome, "").format(again=again)
    words = [_CATEGORIES[category]] if category in _CATEGORIES else []
    if kind in KINDS:
        words.append(KINDS[kind].look)
    return " ".join([*words, f"To repeat it: {again}."])
