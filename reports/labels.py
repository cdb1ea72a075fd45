"""Which evidence reached which dispatch label.

Reached by a value check: a cell books it among its `labels`. Only seen: an attachment counts it, but nothing
compared a value there. A blind spot is a label of the default path that no value check of the run reached.
"""

from dataclasses import dataclass, field

import evidence_shapes as shapes
import text_forms as forms

MOST = 400


@dataclass
class LabelRow:
    phase: str
    op: str
    label: str
    checked: dict = field(default_factory=dict)  # kind -> [cell]
    seen: dict = field(default_factory=dict)  # kind -> [cell]
    default: bool = False  # dispatched where no gate's variable was set
    blind: object = None  # how often the default path dispatches it, where it is a blind spot

    @property
    def fallback(self):
        return "!" in self.label

    @property
    def unchecked(self):
        return not self.checked


@dataclass
class LabelTable:
    kinds: list = field(default_factory=list)  # (kind, whether any of its cells checks values)
    rows: list = field(default_factory=list)
    left_out: int = 0
    default_known: bool = False


def _split(word):
    """"phase op label" -> its parts; whatever is missing is "". """
    parts = word.split(" ", 2)
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else ("", "", word)


class _Collector:
    def __init__(self):
        self.rows = {}
        self.default_known = False

    def row(self, phase, op, label):
        """Counts of an attachment name phase and label alone; the operation follows from who names all three."""
        key = (phase, label)
        if key not in self.rows:
            self.rows[key] = LabelRow(phase, op, label)
        self.rows[key].op = self.rows[key].op or op
        return self.rows[key]

    def checked(self, cell):
        for word in cell.labels:
            _book(self.row(*_split(word)).checked, cell)

    def seen(self, cell, value):
        # An arm that ran with nothing set shows the default path.
        for path, arm in shapes.find(value, lambda v: isinstance(v, dict) and "labels" in v):
            if path.split(".")[-1] == "snapshot":  # an older engine says nothing of this one's labels
                continue
            bare = arm.get("variables") == {}
            labels = arm["labels"]
            if shapes.is_label_counts(labels):
                words = [(phase, "", name) for phase in ("prefill", "decode") for name in labels[phase]]
            elif isinstance(labels, list):
                words = [_split(w) for w in labels if isinstance(w, str)]
            else:
                continue
            self.default_known = self.default_known or bare
            for word in words:
                row = self.row(*word)
                row.default = row.default or bare
                if cell not in row.checked.get(cell.kind, []):
                    _book(row.seen, cell)


def _book(table, cell):
    cells = table.setdefault(cell.kind, [])
    if cell not in cells[-1:]:
        cells.append(cell)


def _order(row):
    phases = {"prefill": 0, "decode": 1}
    return (row.blind is None, not (row.default and row.unchecked), phases.get(row.phase, 2), row.op != "matmul", row.op, row.label)


def label_table(cells, blind_spots, kind_names):
    collector = _Collector()
    for cell in cells:
        collector.checked(cell)
    for cell in cells:
        for _, value in cell.evidence():
            collector.seen(cell, value)
    for phase, op, label, count in blind_spots:
        row = collector.row(phase, op, label)
        row.blind, row.default = count, True
    rows = sorted(collector.rows.values(), key=_order)
    used = {kind for row in rows for kind in (*row.checked, *row.seen)}
    checking = {cell.kind for cell in cells if cell.labels}
    return LabelTable([(k, k in checking) for k in kind_names if k in used], rows[:MOST], max(0, len(rows) - MOST), collector.default_known)


def count_text(row, kind):
    """(word, text) of a box of the table: "checked", "seen" or "none"."""
    if kind in row.checked:
        return "checked", forms.count_of(len(row.checked[kind]), "cell")
    if kind in row.seen:
        return "seen", forms.count_of(len(row.seen[kind]), "cell")
    return "none", ""
