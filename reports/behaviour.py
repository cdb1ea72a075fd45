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
    cell: object
    where: str
    source: str
    target: str
    reason: str


def _text(part, name):
    return forms.cut(forms.scalar(part.get(name, forms.MISSING)), 300)


def degradations(cells):
    rows, seen = [], set()
    for cell in cells:
        for where, value in cell.evidence():
            for path, part in shapes.find(value, shapes.is_degradation):
                row = Degradation(cell, "", _text(part, "from"), _text(part, "to"), _text(part, "reason"))
                key = (cell.id, row.source, row.target, row.reason)
                if key not in seen:
                    seen.add(key)
                    rows.append(row)
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
        for _, value in cell.evidence():
            for where, text in _refusal_texts(value):
                if (cell.id, text) not in seen:
                    seen.add((cell.id, text))
                    rows.append((cell, where, text))
    return rows


def _is_graphs(value):
    return isinstance(value, dict) and any(forms.is_number(value.get(n)) for n in ("built", "builds")) and any(
        forms.is_number(value.get(n)) for n in ("reused", "reuses"))


def reuse(cells):
    """(cell, where, built, reused, identities)"""
    rows = []
    for cell in cells:
        for where, value in cell.evidence():
            for path, part in shapes.find(value, _is_graphs):
                built, reused = (next(part[n] for n in names if n in part) for names in (("built", "builds"), ("reused", "reuses")))
                ids = part.get("identities", forms.MISSING)
                rows.append((cell, forms.cut(path.removeprefix("graphs").lstrip("."), 80) or "all settings", forms.number(built), forms.number(reused),
                             forms.number(len(ids)) if isinstance(ids, list) else forms.number(ids)))
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
