"""From a bundle to what the page shows. Judges nothing: verdicts and outcomes are the bundle's own,
and where they contradict each other the page says so."""

import re
from dataclasses import dataclass, field

import behaviour
import evidence_shapes as shapes
import kinds
import labels
import measures
import memory
import text_forms as forms
from bundle_file import OUTCOMES, PAIR_STATUSES, VERDICTS
from cells import UNKNOWN, read_cells

MEANINGS = {
    "proven": "Every cell in scope passed: on this class and commit the evidence stands for the default as it is.",
    "refuted": "At least one cell failed: on this class the default does not hold what it claims.",
    "unproven": "Nothing refutes the default, but evidence is missing: this run cannot support it either.",
    "error": "The harness or the machine failed before the evidence was whole: nothing follows from this run.",
    UNKNOWN: "The bundle tells no verdict that exists: nothing follows from this page.",
}
SLOWEST = 12


@dataclass
class Box:
    """Where a row of the matrix meets a kind."""

    cells: list = field(default_factory=list)
    shared_with: str = ""
    shared: list = field(default_factory=list)  # the cells of the row that it is shared with
    reason: str = ""  # why it is not applicable
    status: str = ""

    @property
    def empty(self):
        return not (self.cells or self.shared_with or self.reason)


@dataclass
class Row:
    """A gate, or `default`."""

    name: str
    stage: str
    bits: str
    kind: str  # "switch", "mode"
    value: str  # what it resolves to with nothing set
    needs: list
    verdict: str  # "" where the bundle tells none
    reasons: list
    boxes: list  # one a kind
    cells: list


@dataclass
class Waiver:
    cell: str
    issue: str
    owner: str
    reason: str
    expires: str
    expired: bool
    target: object = None  # the Cell, or None


@dataclass
class KindTime:
    kind: str
    cells: int
    seconds: float
    share: str  # length of its bar, in percent of the longest


class BundleView:
    """What page.html.j2 shows, one attribute a part."""

    def __init__(self, root, raw):
        self._root = root
        self.problems = root.problems
        self.verdict = root["verdict"].word_of(VERDICTS, UNKNOWN)
        self.meaning = MEANINGS[self.verdict]
        self.reasons = root["reasons"].texts()
        self.subject = root["subject"].text()
        self.hardware_class = root["hardware_class"].text()
        self.started = root["started"].text()
        self.seconds = root["seconds"].number()
        self.complete = root["complete"].flag()
        self.jobs = root["jobs"].integer()
        self.fault = root["fault"].text() if "fault" in root else ""
        self.selection = root["selection"].texts()
        self.cells = read_cells(root, raw)
        self._by_id = {cell.id: cell for cell in self.cells}
        self.waivers = self._read_waivers()
        self.pending = [cell for cell in self.cells if cell.outcome == "pending"]
        self.counts = [(word, n) for word in (*OUTCOMES, "pending", UNKNOWN)
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
        self.toolchain = [(forms.cut(name, 80), text) for name, text in forms.flat(self.build.get("toolchain", {}))
                          if name and text not in ("", "empty")]
        self.hashes = [(name, member.text()) for name, member in root["hashes"].members()]
        self.snapshot = {name: root["snapshot"][name].text()
                         for name in ("engine", "defaults", "commit", "program_sha256", "absent")}
        self.variables = [(name, member.text()) for name, member in root["variables"].members()]
        self.models = [(name, _text(loaded.table().get("model"), "sha256"), _model_facts(loaded.table()), shapes.blocks_of(loaded.table())[0])
                       for name, loaded in root["models"].members()]
        self.content_sha256 = root["content_sha256"].text()

    def _read_matrix(self):
        root = self._root
        pairs = [(p["kind"].text(), p["gate"].text(), p["status"].word_of(PAIR_STATUSES, UNKNOWN), p) for p in root["pairs"].items()]
        seen = in_order((), [c.kind for c in self.cells] + [kind for kind, *_ in pairs])
        self.kinds = [(kind, kinds.question(kind)) for kind in in_order([k for k in kinds.KINDS if k in seen], seen)]
        names = in_order(root["rows"].texts(), [c.gate for c in self.cells] + [gate for _, gate, *_ in pairs])
        by_pair = {(kind, gate): (status, member) for kind, gate, status, member in pairs}
        root["gate_verdicts"].table()
        told = {_text(g.table(), "name"): g.table() for g in root["gates"].items()}
        self.rows = [self._row(name, told.get(name, {}), by_pair) for name in names]
        self.rows_apart = [row for row in self.rows if row.reasons and row.verdict != self.verdict]

    def _row(self, name, told, by_pair):
        verdicts = self._root["gate_verdicts"]
        verdict, reasons = "", []
        if name in verdicts:
            verdict = verdicts[name]["verdict"].word_of(VERDICTS, UNKNOWN)
            reasons = verdicts[name]["reasons"].texts()
        needs = told.get("needs")
        value = told.get("value", "")
        return Row(name, _text(told, "stage").replace("_", "-"), _text(told, "bits"), _text(told, "kind"),
                   forms.cut(forms.scalar(value), 40), [forms.cut(forms.scalar(n), 80) for n in needs[:20]] if isinstance(needs, list) else [],
                   verdict, reasons, [self._box(kind, name, by_pair) for kind, _ in self.kinds],
                   [c for c in self.cells if c.gate == name])

    def _box(self, kind, row, by_pair):
        box = Box(self._cells_of(kind, row))
        status, member = by_pair.get((kind, row), ("", None))
        box.status = status
        if status == "shared":
            box.shared_with = member["shared_with"].text()
            box.shared = self._cells_of(kind, box.shared_with)
        elif status == "not_applicable":
            box.reason = member["reason"].text()
        return box

    def _cells_of(self, kind, row):
        return [cell for cell in self.cells if (cell.kind, cell.gate) == (kind, row)]

    def _read_measures(self):
        names = [kind for kind, _ in self.kinds]
        self.memory = memory.memory(self.cells)
        self.deviations = measures.deviations(self.cells)
        self.parity = measures.parity(self.cells)
        self.lattice = measures.lattice(self.cells)
        self.lattice_rows = [(table.cell, table.figures) for table in self.lattice]
        self.quality = measures.quality(self.cells)
        self.forks = [cell for cell in self.cells if cell.fork is not None]
        loads = [(name, loaded.table()) for name, loaded in self._root["models"].members()]
        self.degradations = behaviour.degradations(self.cells, loads)
        self.planes = behaviour.planes(loads)
        self.refusals = behaviour.refusals(self.cells)
        self.reuse = behaviour.reuse(self.cells)
        self.kind_tables = behaviour.kind_tables(self.cells, names)
        self.blind_spots = [(b["phase"].text(), b["op"].text(), b["label"].text(), b["count"].integer())
                            for b in self._root["blind_spots"].items()]
        self.labels = labels.label_table(self.cells, self.blind_spots, names)
        self._read_times(names)

    def _read_times(self, names):
        timed = [cell for cell in self.cells if cell.outcome != "pending" and forms.is_number(cell.seconds) and cell.seconds >= 0]
        self.cell_seconds = sum(cell.seconds for cell in timed)
        self.slowest = sorted(timed, key=lambda cell: -cell.seconds)[:SLOWEST]
        sums = [(k, [c.seconds for c in timed if c.kind == k]) for k in names]
        longest = max([sum(s) for _, s in sums] or [0])
        self.times = [KindTime(k, len(s), sum(s), f"{100 * sum(s) / longest:.1f}" if longest > 0 else "0") for k, s in sums]

    def linked(self, sentence):
        """The sentence as (text, cell) pieces; cell is None where the text names none."""
        sentence = forms.cut(sentence, 4000)
        ids = sorted((i for i in self._by_id if i in sentence), key=len, reverse=True)
        if not ids:
            return [(sentence, None)]
        pieces = re.split("(" + "|".join(map(re.escape, ids)) + ")", sentence)
        return [(text, self._by_id.get(text)) for text in pieces if text]

    count_of = staticmethod(forms.count_of)
    label_box = staticmethod(labels.count_text)

    def hash_of(self, name):
        return dict(self.hashes).get(name, "")

    def bar_of(self, cell):
        """Length of a cell's bar, in percent of the slowest one's."""
        longest = self.slowest[0].seconds
        return f"{100 * cell.seconds / longest:.1f}" if longest > 0 else "0"

    def device_rows(self):
        return [(forms.cut(forms.plain(name), 80), text) for name, text in forms.flat(self.device) if text not in ("", "empty")]

    def cells_by_kind(self):
        return [(kind, question, [c for c in self.cells if c.kind == kind]) for kind, question in self.kinds]

    def passed(self, kind):
        return kinds.passed(kind)

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
        counts.table()
        for word in (*OUTCOMES, "pending"):
            told = counts[word].integer() if word in counts else 0
            seen = sum(cell.outcome == word for cell in self.cells)
            if told != seen:
                found.append(f"it counts {forms.number(told)} as {word}, but lists {seen:,}")
        for row in self.rows:
            own = sum(cell.outcome != "pass" for cell in row.cells)
            if row.verdict == "proven" and own:
                found.append(f"it says that {forms.cut(row.name, 80)} is proven, but {forms.count_of(own, 'cell')} of it did not pass")
        return found


def in_order(first, others):
    """`first`, then those of `others` that it lacks, each once."""
    return list(dict.fromkeys([*first, *others]))


def _text(table, name):
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def _model_facts(loaded):
    model = loaded.get("model") if isinstance(loaded.get("model"), dict) else {}
    words = [f"{name} {forms.scalar(model[name])}" for name in ("layers", "width", "vocabulary", "context")
             if forms.is_number(model.get(name))]
    tensors = model.get("tensors")
    if isinstance(tensors, dict) and tensors:
        words.append("tensors " + ", ".join(f"{forms.cut(forms.scalar(n), 40)} {forms.cut(name, 80)}" for name, n in list(tensors.items())[:40]))
    return ", ".join([_text(model, "architecture") or "model", *words])
