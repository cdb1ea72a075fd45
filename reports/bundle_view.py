"""From a bundle to what the page shows. Judges nothing: verdicts and outcomes are the bundle's own,
and where they contradict each other the page says so."""

import re
from dataclasses import dataclass, field

import measures
import text_forms as forms
from bundle_file import OUTCOMES, PAIR_STATUSES, VERDICTS, BundleError

# The kinds' order and questions (gates/evidence_kinds.cc; bundle_view_test.py holds them equal). A
# kind that is not here still gets its column, after these.
QUESTIONS = {
    "parity": "is the number right?",
    "greedy_contrast": "did the promotion only move the switch?",
    "lattice": "is some combination wrong that nobody tried?",
    "quality": "does another numeric path still answer as well?",
    "liveness": "is the gate alive where it is on?",
    "optout": "does 0 bring the old path back?",
    "decode_neutral": "did a prefill gate leak into decode?",
    "memory_two_way": "what does each direction cost?",
}
MEANINGS = {
    "proven": "Every cell in scope passed: on this class and commit the evidence stands for the default as it is.",
    "refuted": "At least one cell failed: on this class the default does not hold what it claims.",
    "unproven": "Nothing refutes the default, but evidence is missing: this run cannot support it either.",
    "error": "The harness or the machine failed before the evidence was whole: nothing follows from this run.",
}
SLOWEST = 12


@dataclass
class Attachment:
    name: str
    sha256: str
    size: str
    state: str  # of the file in raw/: "intact", "missing", ...


@dataclass
class Cell:
    """One cell; `outcome` may also be "pending"."""

    kind: str
    gate: str
    model: str
    outcome: str
    number: int
    category: str = ""
    agreement: str = ""
    reason: str = ""
    figures: dict = field(default_factory=dict)
    seconds: float = 0.0
    labels: list = field(default_factory=list)
    attachments: list = field(default_factory=list)
    runs: list = field(default_factory=list)
    waived: bool = False

    @property
    def id(self):
        return f"{self.kind}/{self.gate}/{self.model}"

    @property
    def anchor(self):
        # Names of a hostile bundle may hold anything, so an odd one is reached by its number.
        plain = all(c.isascii() and (c.isalnum() or c in "/_.-") for c in self.id)
        return self.id if plain else f"cell-{self.number}"

    @property
    def headline(self):
        """What it looked at; for a cell that looked at nothing, why."""
        if self.outcome in ("skipped", "unsupported"):
            return self.reason
        return measures.headline(self.kind, self.figures)

    @property
    def figure_rows(self):
        rows = forms.flat(self.figures) if self.figures else []
        if self.kind != "memory_two_way":
            return rows
        units = []
        for path, text in rows:
            value = measures.figure(self.figures, *path.split("."))
            in_bytes = path.split(".")[0] in ("on", "off") and value is not None
            units.append((path, f"{text} bytes ({forms.mib(value)} MiB)" if in_bytes else text))
        return units


@dataclass
class Box:
    """Where a row of the matrix meets a kind."""

    cells: list = field(default_factory=list)
    shared_with: str = ""
    shared: list = field(default_factory=list)  # the cells of the row that it is shared with
    reason: str = ""  # why it is not applicable

    @property
    def empty(self):
        return not (self.cells or self.shared_with or self.reason)


@dataclass
class Row:
    name: str
    stage: str
    bits: str
    verdict: str  # "" where the bundle tells none
    reasons: list
    boxes: list  # one a kind


@dataclass
class Waiver:
    cell: str
    issue: str
    owner: str
    reason: str
    expires: str
    expired: bool
    target: object = None  # the Cell, or None


def read_cells(root, raw):
    cells, seen = [], set()
    for member in root["cells"].items():
        kind, gate, model = (member[name].text() for name in ("kind", "gate", "model"))
        cell = Cell(kind, gate, model, member["outcome"].one_of(OUTCOMES), len(cells))
        for name in ("category", "agreement", "reason"):
            setattr(cell, name, member[name].text())
        cell.figures = member["figures"].table()
        cell.seconds = member["seconds"].number()
        cell.waived = member["waived"].flag()
        cell.labels = member["labels"].texts()
        cell.runs = [run.one_of(OUTCOMES) for run in member["runs"].items()]
        for a in member["attachments"].items():
            sha256, size = a["sha256"].text(), a["bytes"].integer()
            cell.attachments.append(Attachment(a["name"].text(), sha256, forms.size(size), raw.state(sha256, size)))
        cells.append(cell)
    for member in root["pending"].items():
        cells.append(pending_cell(member, len(cells)))
    for cell in cells:
        if cell.id in seen:
            raise BundleError(f"bundle.json: cells: {cell.id} stands twice")
        seen.add(cell.id)
    return cells


def pending_cell(member, number):
    words = member.text().split("/")
    if len(words) != 3:
        raise BundleError(f"{member.place}: must be KIND/GATE/MODEL, is '{member.value}'")
    return Cell(*words, "pending", number)


def in_order(first, others):
    """`first`, then those of `others` that it lacks, each once."""
    return list(dict.fromkeys([*first, *others]))


class BundleView:
    """What page.html.j2 shows, one attribute a part."""

    def __init__(self, root, raw):
        self._root = root
        self.verdict = root["verdict"].one_of(VERDICTS)
        self.meaning = MEANINGS[self.verdict]
        self.reasons = root["reasons"].texts()
        self.subject = root["subject"].text()
        self.hardware_class = root["hardware_class"].text()
        self.started = root["started"].text()
        self.seconds = root["seconds"].number()
        self.complete = root["complete"].flag()
        self.jobs = root["jobs"].integer()
        self.fault = root["fault"].text()
        self.selection = root["selection"].texts()
        self.cells = read_cells(root, raw)
        self._by_id = {cell.id: cell for cell in self.cells}
        self.waivers = self._read_waivers()
        self.pending = [cell for cell in self.cells if cell.outcome == "pending"]
        self.counts = [(word, n) for word in (*OUTCOMES, "pending")
                       if (n := sum(cell.outcome == word for cell in self.cells))]
        self._read_identity()
        self._read_matrix()
        self._read_measures()
        # (cell, attachment) whose file in raw/ is not what the bundle says.
        self.damaged = [(cell, a) for cell in self.cells for a in cell.attachments if a.state != "intact"]
        self.contradictions = self._find_contradictions()

    def _read_waivers(self):
        waivers = []
        for w in self._root["waivers"].items():
            texts = [w[name].text() for name in ("cell", "issue", "owner", "reason", "expires")]
            waivers.append(Waiver(*texts, w["expired"].flag(), self._by_id.get(texts[0])))
        return waivers

    def _read_identity(self):
        root = self._root
        self.build = root["build"].table()
        self.device = root["device"].table()
        self.device_name = _text(self.device, "name")
        self.device_level = _text(self.device, "level")
        self.program_sha256 = _text(self.build, "sha256")
        self.commit = _text(self.build, "commit")
        self.dirty = self.build.get("dirty") is True
        self.toolchain = [(name, text) for name, text in forms.flat(self.build.get("toolchain", {}))
                          if name and text not in ("", "empty")]
        self.hashes = [(name, member.text()) for name, member in _members(root["hashes"])]
        self.snapshot = {name: root["snapshot"][name].text()
                         for name in ("engine", "defaults", "commit", "program_sha256", "absent")}
        self.variables = [(name, member.text()) for name, member in _members(root["variables"])]
        self.models = [(name, _text(loaded.table().get("model"), "sha256"), _model_facts(loaded.table()))
                       for name, loaded in _members(root["models"])]
        self.content_sha256 = root["content_sha256"].text()

    def _read_matrix(self):
        root = self._root
        pairs = [(p["kind"].text(), p["gate"].text(), p["status"].one_of(PAIR_STATUSES), p) for p in root["pairs"].items()]
        kinds = in_order((), [c.kind for c in self.cells] + [kind for kind, *_ in pairs])
        self.kinds = [(kind, QUESTIONS.get(kind, "")) for kind in in_order([k for k in QUESTIONS if k in kinds], kinds)]
        names = in_order(root["rows"].texts(), [c.gate for c in self.cells] + [gate for _, gate, *_ in pairs])
        by_pair = {(kind, gate): (status, member) for kind, gate, status, member in pairs}
        self.rows = [self._row(name, by_pair) for name in names]

    def _row(self, name, by_pair):
        told = {g.get("name"): g for g in (m.table() for m in self._root["gates"].items())}.get(name, {})
        verdicts = self._root["gate_verdicts"]
        verdict, reasons = "", []
        if name in verdicts:
            verdict = verdicts[name]["verdict"].one_of(VERDICTS)
            reasons = verdicts[name]["reasons"].texts()
        stage = _text(told, "stage").replace("_", "-")
        return Row(name, stage, _text(told, "bits"), verdict, reasons,
                   [self._box(kind, name, by_pair) for kind, _ in self.kinds])

    def _box(self, kind, row, by_pair):
        box = Box(self._cells_of(kind, row))
        status, member = by_pair.get((kind, row), ("", None))
        if status == "shared":
            box.shared_with = member["shared_with"].text()
            box.shared = self._cells_of(kind, box.shared_with)
        elif status == "not_applicable":
            box.reason = member["reason"].text()
        return box

    def _cells_of(self, kind, row):
        return [cell for cell in self.cells if (cell.kind, cell.gate) == (kind, row)]

    def _read_measures(self):
        self.memory = measures.memory(self.cells)
        self.parity = measures.parity(self.cells)
        self.lattice = measures.lattice(self.cells)
        self.quality = measures.quality(self.cells)
        self.blind_spots = [(b["phase"].text(), b["op"].text(), b["label"].text(), b["count"].integer())
                            for b in self._root["blind_spots"].items()]
        timed = [cell for cell in self.cells if cell.outcome != "pending"]
        self.cell_seconds = sum(cell.seconds for cell in timed)
        self.slowest = sorted(timed, key=lambda cell: -cell.seconds)[:SLOWEST]

    def linked(self, sentence):
        """The sentence as (text, cell) pieces; cell is None where the text names none."""
        ids = sorted((i for i in self._by_id if i in sentence), key=len, reverse=True)
        if not ids:
            return [(sentence, None)]
        pieces = re.split("(" + "|".join(map(re.escape, ids)) + ")", sentence)
        return [(text, self._by_id.get(text)) for text in pieces if text]

    count_of = staticmethod(forms.count_of)

    def hash_of(self, name):
        return dict(self.hashes).get(name, "")

    def bar_of(self, cell):
        """Length of a cell's bar, in percent of the slowest one's."""
        longest = self.slowest[0].seconds
        return f"{100 * cell.seconds / longest:.1f}" if longest > 0 else "0"

    def device_rows(self):
        return [(name.replace("_", " "), text) for name, text in forms.flat(self.device) if text not in ("", "empty")]

    def cells_by_kind(self):
        return [(kind, question, [c for c in self.cells if c.kind == kind]) for kind, question in self.kinds]

    def _find_contradictions(self):
        """Where the bundle's own words do not fit together; `flipgate verify` is the judge of the rest."""
        found = []
        short = [cell for cell in self.cells if cell.outcome != "pass"]
        if self.verdict == "proven" and (short or not self.cells):
            found.append(f"it says proven, but {forms.count_of(len(short), 'cell')} did not pass" if short
                         else "it says proven, but holds no cell")
        if self.verdict == "proven" and self.fault:
            found.append("it says proven, but a fault was planted")
        if self.complete and self.pending:
            found.append(f"it says that it is complete, but {forms.count_of(len(self.pending), 'cell')} never ended")
        counts = self._root["counts"]
        for word in (*OUTCOMES, "pending"):
            told = counts[word].integer() if word in counts else 0
            seen = sum(cell.outcome == word for cell in self.cells)
            if told != seen:
                found.append(f"it counts {told:,} as {word}, but lists {seen:,}")
        for row in self.rows:
            own = sum(cell.outcome != "pass" for cell in self.cells if cell.gate == row.name)
            if row.verdict == "proven" and own:
                found.append(f"it says that {row.name} is proven, but {forms.count_of(own, 'cell')} of it did not pass")
        return found


def _members(member):
    return [(name, member[name]) for name in member.table()]


def _text(table, name):
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def _model_facts(loaded):
    model = loaded.get("model") if isinstance(loaded.get("model"), dict) else {}
    words = [f"{name} {forms.scalar(model[name])}" for name in ("layers", "width", "vocabulary", "context")
             if forms.is_number(model.get(name))]
    tensors = model.get("tensors")
    if isinstance(tensors, dict) and tensors:
        words.append("tensors " + ", ".join(f"{forms.scalar(n)} {name}" for name, n in tensors.items()))
    return ", ".join([_text(model, "architecture") or "model", *words])
