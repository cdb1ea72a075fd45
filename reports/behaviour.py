"""What was degraded, refused and reused, and the figures of the kinds that have no section of their own."""

from dataclasses import dataclass

import evidence_shapes as shapes
import kinds
import text_forms as forms

MOST = 200
# Shown in a section of their own, or in full by the headline of each cell.
_ELSEWHERE = ("parity", "lattice", "quality", "memory_two_way", "greedy_contrast", "liveness", "optout", "decode_neutral")


@dataclass
class Degradation:
    cell: object  # None where a model's load tells it
    where: str  # "mixed_quant", or "load of MODEL"
    source: str
    target: str
    reason: str


def _text(part, name):
    return forms.cut(forms.scalar(part.get(name, forms.MISSING)), 300)


def _is_modes(value):
    """{ASKED: {"mode": MODE, "reasons": [..]}}, as mixed_quant tells them."""
    return isinstance(value, dict) and bool(value) and all(isinstance(v, dict) and "mode" in v and "reasons" in v for v in value.values())


def _told(value):
    """(from, to, reason) of every degradation in a value."""
    rows = [(_text(part, "from"), _text(part, "to"), _text(part, "reason")) for _, part in shapes.find(value, shapes.is_degradation)]
    for _, modes in shapes.find(value, _is_modes):
        for asked, part in modes.items():
            reasons = _text(part, "reasons")
            if not part["reasons"] and part["mode"] == asked:
                reasons = "none: as asked"
            rows.append((f"mode {forms.cut(asked, 80)}", f"mode {_text(part, 'mode')}", reasons))
    return list(dict.fromkeys(rows))


def degradations(cells, models):
    """Of `models`, (name, load answer), what came down by default; then of each cell, each once."""
    rows = [Degradation(None, f"load of {forms.cut(name, 80)}", *row) for name, loaded in models for row in _told(loaded)]
    for cell in cells:
        told = dict.fromkeys(row for _, value in cell.evidence() for row in _told(value))
        rows += [Degradation(cell, cell.kind, *row) for row in told]
    return rows


def planes(models):
    """(model, [text of plane, type, gate, weights, bytes]) of the weight planes that each load built."""
    rows = []
    for name, loaded in models:
        built = loaded.get("planes")
        for part in built[:MOST] if isinstance(built, list) else []:
            if isinstance(part, dict):
                rows.append((name, [_text(part, n) for n in ("plane", "type", "gate")] + [
                    forms.number(part.get("weights", forms.MISSING)), forms.size(part.get("bytes", forms.MISSING))]))
    return rows


def _refusal_texts(value, path=""):
    """(where, text) of everything that stands under a name that speaks of refusing."""
    found = []
    parts = value.items() if isinstance(value, dict) else enumerate(value[:MOST]) if isinstance(value, list) else ()
    for name, part in parts:
        here = f"{path}.{name}" if path else str(name)
        if "refus" in here.lower() and isinstance(part, str) and part and not shapes.is_hex64(part):
            found.append((forms.plain(here), forms.cut(part, 600)))
        elif here.count(".") < shapes.MOST_DEPTH:
            found += _refusal_texts(part, here)
    return found


def refusals(cells):
    """(cell, where, what was said), each text of a cell once."""
    rows, seen = [], set()
    for cell in cells:
        for name, value in cell.evidence():
            for where, text in _refusal_texts(value, name if "refus" in name.lower() else ""):
                if (cell.id, text) not in seen:
                    seen.add((cell.id, text))
                    rows.append((cell, where, text))
    return rows


_GRAPHS = {"built": ("graphs_built", "built", "builds"), "reused": ("graphs_reused", "reused", "reuses"),
           "anew": ("graphs_built_anew", "built_anew"), "identities": ("topologies", "identities")}


def _graph_figure(part, name):
    value = next((part[n] for n in _GRAPHS[name] if n in part), forms.MISSING)
    return forms.number(len(value)) if isinstance(value, list) else forms.number(value)


def _is_graphs(value):
    return isinstance(value, dict) and all(any(forms.is_number(value.get(n)) for n in _GRAPHS[name]) for name in ("built", "reused"))


def reuse(cells):
    """(cell, where, [built, reused, built anew, identities])"""
    rows = []
    for cell in cells:
        for _, value in cell.evidence():
            for path, part in shapes.find(value, _is_graphs):
                where = forms.cut(path.removeprefix("graphs").lstrip("."), 80) or "each setting"
                rows.append((cell, where, [_graph_figure(part, name) for name in _GRAPHS]))
    return rows


@dataclass
class KindTable:
    kind: str
    question: str
    heads: list
    rows: list  # (cell, [text])
    number: int = 0


def kind_tables(cells, names):
    """The plain figures of each kind that stands nowhere else, one row a cell."""
    tables = []
    for kind in (k for k in names if k not in _ELSEWHERE):
        own = [c for c in cells if c.kind == kind and c.figures]
        heads = list(dict.fromkeys(n for c in own for n, v in c.figures.items() if shapes.is_scalar(v) and not shapes.is_hex64(v)))[:9]
        if heads:
            rows = [(c, [forms.number(c.figures.get(h, forms.MISSING)) for h in heads]) for c in own]
            tables.append(KindTable(kind, kinds.question(kind), [forms.plain(forms.cut(h, 60)) for h in heads], rows))
    return tables
