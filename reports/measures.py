"""What the kinds of evidence measured, as headlines and tables.

Figures come from the cells as they are in the bundle. Each kind's are listed in its file
gates/evidence_KIND.cc; one that is missing says so and never stops the page.
"""

from dataclasses import dataclass, field

import evidence_shapes as shapes
import memory
import text_forms as forms
from memory import figure

memory_block = memory.block


def _headline_memory(figures):
    sides = [memory.MemorySide.of(figures.get(word)) for word in ("on", "off")]
    if None in sides:
        return ""
    return f"{forms.mib(sides[0].total, 1)} MiB on, {forms.mib(sides[1].total, 1)} MiB off"


def _counts(*wanted):
    """A headline of plain counts: (name, word) pairs."""
    def headline(figures):
        seen = [(figure(figures, name), word) for name, word in wanted]
        return ", ".join(forms.count_of(n, word) for n, word in seen if isinstance(n, int) and not isinstance(n, bool))
    return headline


def _headline_quality(figures):
    kl, top1 = figure(figures, "kl_mean_nats"), figure(figures, "top1_agreement")
    if not (forms.is_number(kl) and forms.is_number(top1)):
        return ""
    return f"KL {forms.nats(kl)} nats, top-1 {forms.percent(top1)}"


def _headline_modes(figures):
    """"mode 1 for 2 (weight_mix), 80 tokens": what came of the highest mode asked for."""
    words, modes = [], figures.get("modes")
    if isinstance(modes, dict) and modes and isinstance(modes[max(modes)], dict):
        told = modes[max(modes)]
        reasons = told.get("reasons")
        why = f" ({forms.cut(forms.scalar(reasons), 100)})" if reasons else ""
        words.append(f"mode {forms.cut(forms.scalar(told.get('mode', forms.MISSING)), 20)} for {forms.cut(max(modes), 20)}{why}")
    tokens = _counts(("tokens_compared", "token"))(figures)
    return ", ".join([*words, *([tokens] if tokens else [])])


_HEADLINES = {
    "parity": _counts(("ops", "operation"), ("planes", "plane"), ("logits", "logit"), ("tokens_compared", "token")),
    "greedy_contrast": _counts(("tokens_compared", "token"), ("oracle_tokens_compared", "oracle token")),
    "lattice": _counts(("combinations", "combination"), ("distinct_digests", "digest"),
                       ("distinct_label_sets", "label set"), ("distinct_paths", "path")),
    "quality": _headline_quality,
    "liveness": _counts(("rules_checked", "rule"), ("prefill_matmuls", "prefill matmul")),
    "optout": _counts(("tokens_compared", "token"), ("rules_checked", "rule")),
    "decode_neutral": _counts(("settings", "setting"), ("tokens_compared", "token")),
    "reuse_neutral": _counts(("settings", "setting"), ("graphs_built", "graph"), ("graphs_reused", "reuse"), ("tokens_compared", "token")),
    "mixed_quant": _headline_modes,
    "backstop": _counts(("refusals", "refusal"), ("logits", "logit"), ("tokens_compared", "token")),
    "readers": _counts(("readers", "reader"), ("nodes_compared", "node"), ("tokens_compared", "token")),
    "memory_two_way": _headline_memory,
    "determinism": _counts(("repeats_compared", "repeat"), ("tokens_compared", "token"), ("oracle_tokens_compared", "oracle token")),
    "sanitizer": _counts(("clean_runs", "clean run"), ("tokens_compared", "token")),
}


def headline(kind, figures):
    """A few words on what a cell looked at; "" where the figures do not say."""
    if kind in _HEADLINES:
        return _HEADLINES[kind](figures)
    counts = [(n, v) for n, v in figures.items() if isinstance(v, int) and not isinstance(v, bool)]
    return ", ".join(f"{v:,} {forms.plain(forms.cut(n, 40))}" for n, v in counts[:4])


def _rows(cells, kind, columns):
    """(cell, [text, ..]) for each cell of `kind` that has at least one of the figures."""
    rows = []
    for cell in (c for c in cells if c.kind == kind):
        values = [figure(cell.figures, *path) for path, _ in columns]
        if any(v is not forms.MISSING for v in values):
            rows.append((cell, [form(v) for v, (_, form) in zip(values, columns)]))
    return rows


@dataclass
class Deviation:
    """One operation, or all of them: how many values lie in each class of magnitude."""

    name: str  # "" for all operations together
    noise: object
    rounding: object
    bug: object
    worst: object  # largest deviation as a share of its tolerance

    @property
    def classes(self):
        return [(word, getattr(self, word)) for word in shapes.CLASSES]

    @property
    def total(self):
        return sum(v for _, v in self.classes if forms.is_number(v))

    @property
    def bars(self):
        """(class, start, width) in percent; a class that holds anything is at least visible."""
        if not self.total < 1e300:  # no sum that a share could be taken of
            return []
        held = [(word, max(100 * v / self.total, 0.8)) for word, v in self.classes if forms.is_number(v) and v > 0]
        scale, start, bars = 100 / (sum(width for _, width in held) or 1), 0.0, []
        for word, width in held:
            bars.append((word, f"{start:.2f}", f"{width * scale:.2f}"))
            start += width * scale
        return bars

    @property
    def spoken(self):
        return ", ".join(f"{word} {forms.number(value)} ({forms.share(value, self.total)})" for word, value in self.classes)


@dataclass
class DeviationGroup:
    """Cells that tell the very same deviations (the operations do not depend on the model), and these."""

    cells: list
    rows: list

    @property
    def by_gate(self):
        gates = {}
        for cell in self.cells:
            gates.setdefault(cell.gate, []).append(cell)
        return list(gates.items())


def deviations(cells):
    """Those of every cell that tells any, whatever its kind, as DeviationGroups."""
    groups = {}
    for cell in cells:
        rows = [row for _, value in cell.evidence() for path, part in shapes.find(value, shapes.is_deviation)
                for row in _deviations_of(path, part)][:200]
        if rows:
            key = repr([(r.name, r.noise, r.rounding, r.bug, r.worst) for r in rows])
            groups.setdefault((cell.kind, key), DeviationGroup([], rows)).cells.append(cell)
    return list(groups.values())


def _deviation(name, part):
    worst = next((part[n] for n in ("worst_share_of_tolerance", "worst") if n in part), forms.MISSING)
    return Deviation(forms.cut(name, 80), *[part.get(n, forms.MISSING) for n in shapes.CLASSES], worst)


def _deviations_of(path, part):
    """All operations together, then each, where they stand inside."""
    last = path.split(".", 1)[-1]
    rows = [_deviation("" if last in ("op_deviation", "deviation", "") else last, part)]
    for name, inner in part.items():
        rows += [_deviation(where or name, value) for where, value in shapes.find(inner, shapes.is_deviation)]
    return rows


def parity(cells):
    return _rows(cells, "parity", [
        (("ops",), forms.number), (("planes",), forms.number), (("op_values",), forms.number), (("logits",), forms.number), (("logit_worst",), forms.number),
        (("path",), forms.number), (("logit_tolerance",), forms.number), (("tokens_compared",), forms.number), (("free_steps",), forms.number)])


# Aspect -> (figure, form); what a tolerance is found under: gates/evidence_quality.cc.
_ASPECTS = {"kl": (lambda f: figure(f, "kl_mean_nats"), forms.nats), "top1": (lambda f: figure(f, "top1_agreement"), forms.percent),
            "perplexity": (lambda f: _ratio(f), lambda v: forms.shown(v, lambda x: f"{x:.5f}")),
            "held": (lambda f: figure(f, "perplexity"), forms.number)}


def _ratio(figures):
    path, exact = figure(figures, "perplexity"), figure(figures, "perplexity_f32")
    return path / exact if forms.is_number(path) and forms.is_number(exact) and exact else forms.MISSING


def quality(cells):
    """(cell, positions, [(measured, tolerance), ..] per aspect, perplexity f32)"""
    rows = []
    for cell in (c for c in cells if c.kind == "quality"):
        figures = cell.figures
        if not any(n in figures for n in ("positions", "kl_mean_nats", "top1_agreement", "perplexity", "perplexity_f32")):
            continue
        limits = next((figures[n] for n in ("tolerances", "tolerance", "limits") if isinstance(figures.get(n), dict)), {})
        aspects = [(form(measure(figures)), _limit(limits.get(name, forms.MISSING), form)) for name, (measure, form) in _ASPECTS.items()]
        rows.append((cell, forms.number(figure(figures, "positions")), aspects, forms.number(figure(figures, "perplexity_f32"))))
    return rows


def _limit(value, form):
    value = value.get("value", value) if isinstance(value, dict) else value
    return "" if value is forms.MISSING else form(value)


@dataclass
class LabelSet:
    labels: list  # those that not all sets have
    count: object
    combinations: list
    first: str  # one of them, where the rest is not told

    @property
    def shown(self):
        return self.combinations[:100], max(0, len(self.combinations) - 100)


@dataclass
class Lattice:
    cell: object
    figures: list  # text per column
    sets: list = field(default_factory=list)
    common: list = field(default_factory=list)
    digests: list = field(default_factory=list)  # (digest, [combination])

    @property
    def most(self):
        return max([s.count for s in self.sets if forms.is_number(s.count)] or [1])


def _is_label_sets(value):
    return (isinstance(value, list) and bool(value)
            and all(isinstance(v, dict) and isinstance(v.get("labels"), list) for v in value))


def _label_sets(found):
    sets = [(entry, [forms.scalar(label) for label in entry["labels"]]) for entry in found[:200]]
    common = [label for label in sets[0][1] if all(label in labels for _, labels in sets)] if len(sets) > 1 else []
    out = []
    for entry, labels in sets:
        names = next((entry[n] for n in ("combinations", "corners", "names") if isinstance(entry.get(n), list)), [])
        count = next((entry[n] for n in ("count", "combinations") if forms.is_number(entry.get(n))), len(names) or forms.MISSING)
        first = entry.get("first")
        out.append(LabelSet([label for label in labels if label not in common], count,
                            [forms.cut(forms.scalar(n), 300) for n in names], forms.cut(first, 300) if isinstance(first, str) else ""))
    return sorted(out, key=lambda s: -s.count if forms.is_number(s.count) else 0), common


def lattice(cells):
    columns = [(("combinations",), forms.number), (("corners",), forms.number), (("levels",), forms.number), (("distinct_digests",), forms.number),
               (("distinct_paths",), forms.number), (("tokens_per_combination",), forms.number),
               (("oracle_tokens_compared",), forms.number)]
    tables = []
    for cell, texts in _rows(cells, "lattice", columns):
        if "distinct_paths" not in cell.figures:
            texts[4] = forms.number(figure(cell.figures, "distinct_label_sets"))
        table = Lattice(cell, texts)
        for _, value in cell.evidence():
            for _, found in shapes.find(value, _is_label_sets)[:1]:
                table.sets, table.common = _label_sets(found)
            for _, found in shapes.find(value, lambda v: isinstance(v, dict) and bool(v) and all(shapes.is_hex64(x) for x in v.values()))[:1]:
                groups = {}
                for name, digest in found.items():
                    groups.setdefault(digest, []).append(forms.cut(name, 300))
                table.digests = list(groups.items())
        tables.append(table)
    return tables
