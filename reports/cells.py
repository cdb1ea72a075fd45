"""The cells of a bundle, each with its evidence as blocks that read well."""

from dataclasses import dataclass, field

import evidence_shapes as shapes
import kinds
import measures
import streams
import text_forms as forms
from bundle_file import OUTCOMES, BundleError, parse_json

UNKNOWN = "unknown"  # an outcome that no bundle knows
_LONGEST_ANCHOR = 200


@dataclass
class Attachment:
    name: str
    sha256: str
    size: str
    state: str  # of the file in raw/: "intact", "missing", ...
    value: object = None  # what it holds, where it is JSON that was read
    blocks: list = field(default_factory=list)
    left_out: int = 0  # blocks
    note: str = ""  # why there are no blocks


@dataclass
class Cell:
    """One cell; `outcome` may also be "pending", or "unknown"."""

    kind: str
    gate: str
    model: str
    outcome: str
    number: int
    category: str = ""
    agreement: str = ""
    reason: str = ""
    figures: dict = field(default_factory=dict)
    seconds: object = 0.0
    labels: list = field(default_factory=list)
    attachments: list = field(default_factory=list)
    runs: list = field(default_factory=list)
    waived: bool = False
    told: str = ""  # the word that stands for an unknown outcome
    fork: object = None

    @property
    def id(self):
        return f"{self.kind}/{self.gate}/{self.model}"

    @property
    def anchor(self):
        # Names of a hostile bundle may hold anything, so an odd one is reached by its number.
        plain = len(self.id) <= _LONGEST_ANCHOR and all(c.isascii() and (c.isalnum() or c in "/_.-") for c in self.id)
        return self.id if plain else f"cell-{self.number}"

    @property
    def headline(self):
        """What it looked at; for a cell that looked at nothing, why."""
        if self.outcome in ("skipped", "unsupported"):
            return forms.cut(self.reason, 300)
        return measures.headline(self.kind, self.figures)

    @property
    def passed(self):
        return kinds.passed(self.kind)

    @property
    def advice(self):
        return kinds.advice(self.kind, self.id, self.outcome, self.category)

    @property
    def figure_blocks(self):
        if not self.figures:
            return []
        if self.kind != "memory_two_way":
            return shapes.blocks_of(self.figures)[0]
        both = measures.memory_block(self.figures)
        rest = {n: v for n, v in self.figures.items() if n not in ("on", "off")} if both else self.figures
        return [*([both] if both else []), *shapes.blocks_of(rest)[0]]

    @property
    def shown_labels(self):
        return self.labels[:80], max(0, len(self.labels) - 80)

    def evidence(self):
        """(where, value) of everything structured that the cell holds: its figures, then its attachments."""
        return [("figures", self.figures), *[(a.name, a.value) for a in self.attachments if a.value is not None]]


def _said_once(value):
    """An attachment whose arms wrote the same streams shows them once, and labels that are the same, too."""
    arms = streams.arms_of(value)
    if len(arms) < 2 or any(len(a.streams) != len(arms[0].streams) or streams.first_difference(arms[0].streams, a.streams) for a in arms):
        return value
    return _referring(value, arms[0], arms[0].streams)


def _referring(value, arm, kept):
    if not isinstance(value, dict):
        return value
    if not shapes.is_streams(value.get("streams")) or value["streams"] is kept:
        return {n: _referring(v, arm, kept) for n, v in value.items()}
    same = {"streams": f"token for token and digest for digest those of {arm.name}"}
    if streams.label_words(value.get("labels")) == arm.labels and arm.labels:
        same["labels"] = f"those of {arm.name}"
    return {n: same.get(n, v) for n, v in value.items()}


def read_attachment(member, raw):
    name, sha256, size = member["name"].text(), member["sha256"].text(), member["bytes"].integer()
    state, data = raw.read(sha256, size)
    a = Attachment(name, sha256, forms.size(size), state)
    if state != "intact":
        return a
    if data is None:
        a.note = "too large to be shown here"
    elif not data:
        a.note = "empty"
    elif data.lstrip()[:1] in (b"{", b"["):
        try:
            a.value = parse_json(data, "it", "it")
        except BundleError as error:
            a.note = forms.cut(str(error), 300)
    if a.value is not None:
        a.blocks, a.left_out = shapes.blocks_of(_said_once(a.value))
    elif data:
        a.blocks = shapes.text_blocks(data)
    return a


def read_cell(member, number, raw):
    kind, gate, model = (member[name].text() for name in ("kind", "gate", "model"))
    outcome = member["outcome"].word_of(OUTCOMES, UNKNOWN)
    cell = Cell(kind, gate, model, outcome, number, told=member["outcome"].text() if outcome == UNKNOWN else "")
    for name in ("category", "agreement", "reason"):
        setattr(cell, name, member[name].text())
    cell.figures = member["figures"].table()
    cell.seconds = member["seconds"].number()
    cell.waived = member["waived"].flag()
    cell.labels = member["labels"].texts()
    cell.runs = [run.word_of(OUTCOMES, UNKNOWN) for run in member["runs"].items()]
    cell.attachments = [read_attachment(a, raw) for a in member["attachments"].items()]
    if outcome in ("fail", "flaky", UNKNOWN):
        cell.fork = streams.fork_in([(a.name, a.value) for a in cell.attachments if a.value is not None], cell.reason)
    return cell


def read_cells(root, raw):
    cells = [read_cell(member, i, raw) for i, member in enumerate(root["cells"].items()) if member.table()]
    for member in root["pending"].items():
        words = member.text().split("/")
        if len(words) != 3:
            root.problems.add(f"{member.place}: must be KIND/GATE/MODEL, is '{forms.cut(member.text(), 80)}'")
            continue
        cells.append(Cell(*words, "pending", len(cells)))
    seen = set()
    for number, cell in enumerate(cells):
        cell.number = number
        if cell.id in seen:
            root.problems.add(f"bundle.json: cells: {forms.cut(cell.id, 200)} stands twice; only the first is shown")
        seen.add(cell.id)
    return list({cell.id: cell for cell in reversed(cells)}.values())[::-1]
