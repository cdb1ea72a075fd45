"""Arms of a cell and where their streams fork (gates/streams.cc compares them the same way).

Arms are told by their shape in an attachment: two or more members that each hold `streams`. Where no
second arm was kept, what the cell's reason says of the fork is all there is.
"""

import re
from dataclasses import dataclass, field

import evidence_shapes as shapes
import text_forms as forms

BEFORE, AFTER = 5, 6  # tokens drawn on each side of a fork


@dataclass
class Arm:
    name: str
    streams: list
    labels: list = field(default_factory=list)  # "phase op label", or "phase label"
    variables: list = field(default_factory=list)  # "NAME=VALUE"


@dataclass
class Token:
    id: str
    text: str = ""
    forked: bool = False


@dataclass
class ForkSide:
    arm: str
    tokens: list  # Token, those around the fork
    token: str  # the one chosen at the step
    token_text: str
    margin: str
    runner_up: str
    digest: str
    rest: str  # its text after what both have in common
    variables: list
    labels: list


@dataclass
class Fork:
    prompt: str
    step: int
    first: int  # step of the first token drawn
    how: str  # "the streams fork", "same token, other logits"
    sides: list
    phase: str
    common_text: str = ""
    only: list = field(default_factory=list)  # (arm, labels that it alone dispatched, in any phase)
    source: str = ""  # the attachment, or "the cell's reason"

    @property
    def steps(self):
        return range(self.first, self.first + max(len(side.tokens) for side in self.sides))


def label_words(value):
    """Labels of an arm as "phase label" texts, from a list of texts or from counts per phase."""
    if isinstance(value, list):
        return [v for v in value if isinstance(v, str)]
    if shapes.is_label_counts(value):
        return [f"{phase} {name}" for phase in ("prefill", "decode") for name in value[phase]]
    return []


def arms_of(value):
    """The arms of an attachment in its order, oldest first where it has a snapshot."""
    found = shapes.find(value, lambda v: isinstance(v, dict) and shapes.is_streams(v.get("streams")))
    arms = []
    for path, part in found:
        variables = part.get("variables")
        variables = [f"{n}={forms.scalar(v)}" for n, v in variables.items()] if isinstance(variables, dict) else []
        name = part.get("name") if isinstance(part.get("name"), str) else path.split(".")[-1]
        arms.append(Arm(forms.cut(name or "this arm", 80), part["streams"], label_words(part.get("labels")), variables))
    return sorted(arms, key=lambda arm: arm.name != "snapshot")


def _part(stream, name, step):
    values = stream.get(name)
    return values[step] if isinstance(values, list) and 0 <= step < len(values) else forms.MISSING


def _same(a, b, step):
    return (_part(a, "tokens", step) == _part(b, "tokens", step) and _part(a, "tokens", step) is not forms.MISSING
            and _part(a, "digests", step) == _part(b, "digests", step))


def first_difference(a, b):
    """(index of the stream, step) where two lists of streams first differ, or None."""
    for i, (one, other) in enumerate(zip(a, b)):
        for step in range(max(len(one["tokens"]), len(other["tokens"]))):
            if not _same(one, other, step):
                return i, step
    return None


def common(a, b):
    """Longest common beginning of two texts."""
    n = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return a[:n]


def _token(stream, step, forked=False):
    return Token(forms.cut(forms.scalar(_part(stream, "tokens", step)).replace(",", ""), 24),
                 _piece(stream, step), forked)


def _piece(stream, step):
    """The text of one token, where the bundle tells it."""
    piece = _part(stream, "pieces", step)
    return forms.cut(piece, 40) if isinstance(piece, str) else ""


def _margin(stream, step):
    top = _part(stream, "top", step)
    if not (isinstance(top, list) and len(top) == 2):
        return str(forms.MISSING)
    return forms.number(top[0] - top[1]) if all(forms.is_number(v) for v in top) else "not finite"


def _runner_up(stream, step):
    ids = _part(stream, "top_tokens", step)
    return forms.cut(forms.scalar(ids[1]).replace(",", ""), 24) if isinstance(ids, list) and len(ids) == 2 else ""


def _side(arm, index, step, first, shared, phase):
    stream = arm.streams[index]
    last = min(len(stream["tokens"]), step + AFTER + 1)
    text = stream.get("text") if isinstance(stream.get("text"), str) else ""
    return ForkSide(arm.name, [_token(stream, s, s == step) for s in range(first, max(last, step + 1))],
                    _token(stream, step).id, _piece(stream, step), _margin(stream, step), _runner_up(stream, step),
                    shapes.short_digest(_part(stream, "digests", step)), forms.cut(text[len(shared):], 160), arm.variables,
                    [w for w in arm.labels if w.split(" ")[0] == phase])


def _text_of(arm, index):
    text = arm.streams[index].get("text")
    return text if isinstance(text, str) else ""


def fork_of(a, b, source):
    """The first fork of two arms, or None."""
    where = first_difference(a.streams, b.streams)
    if where is None:
        return None
    index, step = where
    one = a.streams[index]
    fed = one.get("prompt_tokens")
    prefilled = isinstance(fed, list) and len(fed) >= 16
    phase = "prefill" if step == 0 and prefilled else "decode"
    shared = common(_text_of(a, index), _text_of(b, index))
    first = max(0, step - BEFORE)
    same = _part(one, "tokens", step) == _part(b.streams[index], "tokens", step)
    sides = [_side(arm, index, step, first, shared, phase) for arm in (a, b)]
    # Over all phases: what prefill left in the KV store is what later steps read.
    only = [(x.name, [w for w in x.labels if w not in y.labels]) for x, y in ((a, b), (b, a))]
    tail = shared if len(shared) <= 200 else "…" + shared[-200:]
    return Fork(forms.cut(forms.scalar(one["prompt"]), 80), step, first, "same token, other logits" if same else "the streams fork", sides, phase,
                tail, [(arm, words) for arm, words in only if words], source)


_SIDE = r"(.{1,400}?) chose (?:token (-?\d{1,12}) \(margin ([^)]{1,40})\)|nothing)"
_REASON = re.compile(r"prompt '(.{0,200}?)', step (\d{1,9}): ([^:]{1,60}): " + _SIDE + r", " + _SIDE, re.S)


def fork_told(reason):
    """The fork that a cell's reason tells (gates/streams.cc: FindFork), or None."""
    match = _REASON.search(reason[:2000])
    if match is None:
        return None
    prompt, step, how = match[1], int(match[2]), match[3]
    sides = []
    for name, token, margin in (match.groups()[3:6], match.groups()[6:9]):
        token = token or "nothing"
        sides.append(ForkSide(name, [Token(token, "", True)], token, "", margin or str(forms.MISSING), "", "", "", [], []))
    return Fork(prompt, step, step, how, sides, "", source="the cell's reason; the other arm's stream is not attached")


def fork_in(attachments, reason):
    """The fork of a cell: of (name, value) attachments, else what its reason says."""
    for name, value in attachments:
        arms = arms_of(value)
        for other in arms[1:]:
            fork = fork_of(arms[0], other, name)
            if fork is not None:
                return fork
    fork = fork_told(reason)
    return _filled(fork, attachments) if fork is not None else None


def _filled(fork, attachments):
    """With the tokens around it, where one arm's stream was kept: up to the fork they are the other's too."""
    for name, value in attachments:
        for _, found in shapes.find(value, shapes.is_streams):
            for stream in (s for s in found if s["prompt"] == fork.prompt):
                known = next((s for s in fork.sides if s.token == _token(stream, fork.step).id), None)
                if known is not None:
                    return _fill(fork, known, stream, name)
    return fork


def _fill(fork, known, stream, name):
    fork.first = max(0, fork.step - BEFORE)
    for side in fork.sides:
        side.tokens = [_token(stream, s) for s in range(fork.first, fork.step)] + side.tokens
    last = min(len(stream["tokens"]), fork.step + AFTER + 1)
    known.tokens += [_token(stream, s) for s in range(fork.step + 1, last)]
    known.token_text, known.runner_up = _piece(stream, fork.step), _runner_up(stream, fork.step)
    known.digest = shapes.short_digest(_part(stream, "digests", fork.step))
    fork.source = f"the cell's reason and {forms.cut(name, 80)}; the other arm's stream is not attached"
    return fork
