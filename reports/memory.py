"""memory_two_way as sides, pairs and groups to draw: figures of gates/evidence_memory_two_way.cc."""

from dataclasses import dataclass, field

import evidence_shapes as shapes
import text_forms as forms

# Drawn and listed in this order; weights last, as they are backed by the file where it is mapped.
CATEGORIES = ("planes", "f16_cache", "kv", "scratch", "graph", "weights")


def figure(figures, *path):
    """The value at `path`, or MISSING."""
    for name in path:
        figures = figures.get(name, forms.MISSING) if isinstance(figures, dict) else forms.MISSING
    return figures


def is_size(value):
    """A number of bytes that a machine can hold, so one that can be drawn."""
    return forms.is_number(value) and 0 <= value < 1 << 60


@dataclass
class MemorySide:
    """One direction of memory_two_way, in bytes; what is no number stays as it is."""

    now: dict
    booked_anonymous: object
    system_anonymous: object
    peak_total: object
    peak_resident: object
    peak: dict = field(default_factory=dict)
    file_backed: frozenset = frozenset()

    @property
    def total(self):
        return sum(self.now.values())

    @property
    def unbooked(self):
        return difference(self.system_anonymous, self.booked_anonymous)

    @staticmethod
    def of(figures):
        """None where there is nothing to draw."""
        now = figure(figures, "now")
        if not isinstance(now, dict):
            return None
        now = {name: v for name, v in now.items() if is_size(v)}
        if not now:
            return None
        peak = figure(figures, "peak")
        names = ("booked_anonymous", "system_anonymous", "peak_total", "peak_resident")
        side = MemorySide(now, *[figure(figures, n) for n in names], peak if isinstance(peak, dict) else {})
        # The figures do not say which category is backed by the file; the two sums do.
        if now.get("weights") and side.total - now["weights"] == side.booked_anonymous:
            side.file_backed = frozenset({"weights"})
        return side


def difference(a, b):
    return a - b if forms.is_number(a) and forms.is_number(b) else forms.MISSING


@dataclass
class MemoryPair:
    """One cell: on against off."""

    cell: object
    on: MemorySide
    off: MemorySide

    @property
    def model(self):
        return self.cell.model

    @property
    def held(self):
        return difference(self.on.total, self.off.total)

    @property
    def at_peak(self):
        return difference(self.on.peak_total, self.off.peak_total)

    @property
    def declared(self):
        """What the matrix declares, where the cell tells it: blocks of `relations` and `budget`."""
        told = {n: v for n, v in self.cell.figures.items() if n in ("relations", "relation", "declared", "budget", "claims", "may_cost")}
        return shapes.blocks_of(told)[0] if told else []

    @property
    def relations_checked(self):
        return figure(self.cell.figures, "relations_checked")

    @property
    def changed(self):
        """(category, difference) of the categories that are not the same both ways."""
        names = [n for n in in_order({*self.on.now, *self.off.now}) if self.on.now.get(n, 0) != self.off.now.get(n, 0)]
        return [(n, self.on.now.get(n, 0) - self.off.now.get(n, 0)) for n in names]


def in_order(names):
    return sorted(set(names) - set(CATEGORIES)) + [n for n in CATEGORIES if n in names]


@dataclass
class MemoryTable:
    groups: list = field(default_factory=list)  # (gate, [MemoryPair])
    categories: list = field(default_factory=list)  # those that hold a byte anywhere
    missing: list = field(default_factory=list)  # cells that have no figures


def memory(cells):
    table, names, groups = MemoryTable(), set(), {}
    for cell in (c for c in cells if c.kind == "memory_two_way"):
        on, off = (MemorySide.of(cell.figures.get(word)) for word in ("on", "off"))
        if on is None or off is None:
            table.missing.append(cell)
            continue
        groups.setdefault(cell.gate, []).append(MemoryPair(cell, on, off))
        names |= {name for side in (on, off) for name, v in side.now.items() if v > 0}
    table.groups = list(groups.items())
    table.categories = in_order(names)
    return table


def spoken(gate, pairs):
    """A gate's plot in words, for readers who do not see it."""
    parts = []
    for pair in pairs:
        sides = [f"{word} {forms.mib(side.total, 1)} MiB ("
                 + ", ".join(f"{n} {forms.mib(side.now[n], 1)}" for n in in_order(side.now) if side.now[n] > 0) + ")"
                 for word, side in (("on", pair.on), ("off", pair.off))]
        parts.append(f"{pair.model}: " + ", ".join(sides))
    return f"Memory held with {gate} on and off. " + "; ".join(parts) + "."


def block(figures):
    """Both sides of a cell as one table of categories, or None."""
    on, off = (MemorySide.of(figures.get(word)) for word in ("on", "off"))
    if on is None or off is None:
        return None
    rows = [[n, *[forms.mib(v) for v in (on.now.get(n, forms.MISSING), off.now.get(n, forms.MISSING))],
             forms.signed_mib(difference(on.now.get(n, 0), off.now.get(n, 0))),
             *[forms.mib(side.peak.get(n, forms.MISSING)) for side in (on, off)]]
            for n in in_order({*on.now, *off.now})]
    rows.append(["all", forms.mib(on.total), forms.mib(off.total), forms.signed_mib(on.total - off.total),
                 forms.mib(on.peak_total), forms.mib(off.peak_total)])
    rows.append(["anonymous, booked", forms.mib(on.booked_anonymous), forms.mib(off.booked_anonymous),
                 forms.signed_mib(difference(on.booked_anonymous, off.booked_anonymous)), forms.NONE, forms.NONE])
    rows.append(["anonymous, system", forms.mib(on.system_anonymous), forms.mib(off.system_anonymous),
                 forms.signed_mib(difference(on.system_anonymous, off.system_anonymous)), forms.NONE, forms.NONE])
    rows.append(["resident", forms.NONE, forms.NONE, forms.NONE, forms.mib(on.peak_resident), forms.mib(off.peak_resident)])
    return shapes.Block("table", "MiB", heads=["", "on", "off", "on \u2212 off", "peak on", "peak off"], rows=rows)
