"""What the kinds of evidence measured, as tables: memory, parity, lattice, quality.

Figures come from the cells as they are in the bundle. Each kind's are listed in its file
gates/evidence_KIND.cc; one that is missing shows as a dash and never stops the page.
"""

from dataclasses import dataclass, field

import text_forms as forms

# Drawn and listed in this order; weights last, as they are backed by the file where it is mapped.
CATEGORIES = ("planes", "f16_cache", "kv", "scratch", "graph", "weights")


def figure(figures, *path):
    """The number at `path`, or None."""
    for name in path:
        figures = figures.get(name) if isinstance(figures, dict) else None
    return figures if forms.is_number(figures) else None


def _headline_memory(figures):
    totals = [MemorySide.of(figures.get(word)) for word in ("on", "off")]
    if None in totals:
        return ""
    return f"{forms.mib(totals[0].total, 1)} MiB on, {forms.mib(totals[1].total, 1)} MiB off"


def _counts(*wanted):
    """A headline of plain counts: (name, word) pairs."""
    def headline(figures):
        seen = [(figure(figures, name), word) for name, word in wanted]
        return ", ".join(forms.count_of(n, word) for n, word in seen if isinstance(n, int))
    return headline


def _nats(value):
    """Small and to be compared by eye: as many places in each row."""
    return f"{value:.7f}" if forms.is_number(value) else forms.NONE


def _headline_quality(figures):
    kl, top1 = figure(figures, "kl_mean_nats"), figure(figures, "top1_agreement")
    if kl is None or top1 is None:
        return ""
    return f"KL {_nats(kl)} nats, top-1 {forms.percent(top1)}"


_HEADLINES = {
    "parity": _counts(("ops", "operation"), ("logits", "logit"), ("tokens_compared", "token")),
    "greedy_contrast": _counts(("tokens_compared", "token"), ("oracle_tokens_compared", "oracle token")),
    "lattice": _counts(("combinations", "combination"), ("distinct_digests", "digest"),
                       ("distinct_label_sets", "label set")),
    "quality": _headline_quality,
    "liveness": _counts(("rules_checked", "rule"), ("prefill_matmuls", "prefill matmul")),
    "optout": _counts(("tokens_compared", "token"), ("rules_checked", "rule")),
    "decode_neutral": _counts(("settings", "setting"), ("tokens_compared", "token")),
    "memory_two_way": _headline_memory,
}


def headline(kind, figures):
    """A few words on what a cell looked at; "" where the figures do not say."""
    return _HEADLINES[kind](figures) if kind in _HEADLINES else ""


@dataclass
class MemorySide:
    """One direction of memory_two_way, in bytes."""

    now: dict
    booked_anonymous: int
    system_anonymous: int
    peak_total: object
    peak_resident: object
    file_backed: frozenset = frozenset()

    @property
    def total(self):
        return sum(self.now.values())

    @staticmethod
    def of(figures):
        """None where there is nothing to draw."""
        now = figures.get("now") if isinstance(figures, dict) else None
        booked, system = (figure(figures, n) for n in ("booked_anonymous", "system_anonymous"))
        if not isinstance(now, dict) or booked is None or system is None:
            return None
        now = {name: v for name, v in now.items() if forms.is_number(v) and v >= 0}
        side = MemorySide(now, booked, system, figure(figures, "peak_total"), figure(figures, "peak_resident"))
        # The figures do not say which category is backed by the file; the two sums do.
        if now.get("weights") and side.total - now["weights"] == booked:
            side.file_backed = frozenset({"weights"})
        return side


@dataclass
class MemoryTable:
    groups: list = field(default_factory=list)  # (gate, [(model, on, off)])
    categories: list = field(default_factory=list)  # those that hold a byte anywhere
    missing: list = field(default_factory=list)  # cells that have no figures

    @property
    def pairs(self):
        return [(gate, *pair) for gate, pairs in self.groups for pair in pairs]


def memory(cells):
    table, names, groups = MemoryTable(), set(), {}
    for cell in (c for c in cells if c.kind == "memory_two_way"):
        on, off = (MemorySide.of(cell.figures.get(word)) for word in ("on", "off"))
        if on is None or off is None:
            table.missing.append(cell)
            continue
        groups.setdefault(cell.gate, []).append((cell.model, on, off))
        names |= {name for side in (on, off) for name, v in side.now.items() if v > 0}
    table.groups = list(groups.items())
    known = [name for name in CATEGORIES if name in names]
    table.categories = sorted(names - set(CATEGORIES)) + known
    return table


def spoken_memory(table):
    """The plot in words, for readers who do not see it."""
    parts = [f"{gate} on {model}: {forms.mib(on.total, 1)} MiB with the gate on, {forms.mib(off.total, 1)} MiB off"
             for gate, model, on, off in table.pairs]
    return "Memory held, by category. " + "; ".join(parts) + ". The table below has the same figures."


def _rows(cells, kind, columns):
    """(cell, [text, ..]) for each cell of `kind` that has at least one of the figures."""
    rows = []
    for cell in (c for c in cells if c.kind == kind):
        texts = [form(figure(cell.figures, *path)) for path, form in columns]
        if any(t != forms.NONE for t in texts):
            rows.append((cell, texts))
    return rows


def _word(cell, name):
    """A text among the figures."""
    word = cell.figures.get(name)
    return word if isinstance(word, str) and word else forms.NONE


def parity(cells):
    deviation = "op_deviation"
    rows = _rows(cells, "parity", [
        (("ops",), forms.number), (("op_values",), forms.number), ((deviation, "noise"), forms.number),
        ((deviation, "rounding"), forms.number), ((deviation, "bug"), forms.number),
        ((deviation, "worst_share_of_tolerance"), forms.number), (("logits",), forms.number),
        (("logit_worst",), forms.number), (("logit_tolerance",), forms.number), (("tokens_compared",), forms.number),
        (("free_steps",), forms.number)])
    return [(cell, [*texts[:8], _word(cell, "path"), *texts[8:]]) for cell, texts in rows]


def quality(cells):
    def ratio(cell):
        path, exact = figure(cell.figures, "perplexity"), figure(cell.figures, "perplexity_f32")
        return f"{path / exact:.5f}" if path is not None and exact else forms.NONE
    rows = _rows(cells, "quality", [
        (("positions",), forms.number), (("kl_mean_nats",), _nats), (("top1_agreement",), forms.percent),
        (("perplexity",), forms.number), (("perplexity_f32",), forms.number)])
    return [(cell, texts + [ratio(cell)]) for cell, texts in rows]


def lattice(cells):
    rows = _rows(cells, "lattice", [
        (("combinations",), forms.number), (("distinct_digests",), forms.number),
        (("distinct_label_sets",), forms.number), (("tokens_per_combination",), forms.number),
        (("oracle_tokens_compared",), forms.number)])
    def levels(cell):
        names = cell.figures.get("levels")
        return ", ".join(forms.scalar(n) for n in names) if isinstance(names, list) and names else forms.NONE
    return [(cell, [texts[0], levels(cell)] + texts[1:]) for cell, texts in rows]
