"""Evidence as blocks that read well, told by its shape and not by who made it.

Figures and attachments are JSON of any form (gates/evidence_KIND.cc). What has a known shape (streams,
labels, digests, degradations, deviations, ...) is shown as such; all else as plain tables. Every block is
bounded: what is cut says how much there was.
"""

import re
from dataclasses import dataclass, field

import text_forms as forms

MOST_ROWS = 60
MOST_BLOCKS = 40
MOST_DEPTH = 6
_HEX64 = re.compile(r"[0-9a-f]{64}\Z")
CLASSES = ("noise", "rounding", "bug")


@dataclass
class Block:
    """One piece: `form` is "pairs", "table", "list", "streams" or "text"."""

    form: str
    title: str = ""
    heads: list = field(default_factory=list)
    rows: list = field(default_factory=list)  # pairs: (name, text); table: [text]; list: text; streams: StreamRow
    text: str = ""
    left_out: int = 0  # rows that were cut


@dataclass
class StreamRow:
    prompt: str
    fed: str  # how many tokens the prompt has
    count: int
    tokens: str
    digests: str
    text: str


def is_hex64(value):
    return isinstance(value, str) and bool(_HEX64.match(value))


def is_stream(value):
    return isinstance(value, dict) and isinstance(value.get("tokens"), list) and "prompt" in value


def is_streams(value):
    return isinstance(value, list) and bool(value) and all(is_stream(v) for v in value)


def is_degradation(value):
    return isinstance(value, dict) and {"from", "to", "reason"} <= set(value)


def is_deviation(value):
    return isinstance(value, dict) and sum(forms.is_number(value.get(name)) for name in CLASSES) >= 2


def is_counts(value):
    return isinstance(value, dict) and bool(value) and all(forms.is_number(v) for v in value.values())


def is_scalar(value):
    return not isinstance(value, (dict, list))


def is_flat(value):
    return is_scalar(value) or isinstance(value, list) and all(is_scalar(v) for v in value)


def is_label_counts(value):
    """{"prefill": {LABEL: n}, "decode": {LABEL: n}, ...}"""
    if not isinstance(value, dict):
        return False
    phases = [value.get(name) for name in ("prefill", "decode")]
    return all(isinstance(p, dict) for p in phases) and any(is_counts(p) for p in phases)


def stream_row(stream):
    tokens, digests = stream["tokens"], stream.get("digests")
    digests = digests if isinstance(digests, list) else []
    fed = stream.get("prompt_tokens")
    return StreamRow(
        forms.scalar(stream["prompt"]), f"{len(fed):,}" if isinstance(fed, list) else forms.scalar(stream.get("prompt_tokens", forms.MISSING)),
        len(tokens), forms.cut(" ".join(forms.scalar(t).replace(",", "") for t in tokens[:512])),
        forms.cut(" ".join(short_digest(d) for d in digests[:512])) or str(forms.MISSING),
        forms.cut(forms.scalar(stream.get("text", forms.MISSING)), 600))


def short_digest(value):
    return value[:8] if is_hex64(value) else forms.cut(forms.scalar(value), 16)


class Blocks:
    """Walks a value once; `blocks` is what to show."""

    def __init__(self, value, title=""):
        self.blocks = []
        self.left_out = 0
        self._walk(value, title, 0)

    def _add(self, form, title, **members):
        rows = members.get("rows")
        if rows is not None and len(rows) > MOST_ROWS:
            members.update(rows=rows[:MOST_ROWS], left_out=len(rows) - MOST_ROWS)
        if len(self.blocks) < MOST_BLOCKS:
            self.blocks.append(Block(form, title, **members))
        else:
            self.left_out += 1

    def _walk(self, value, title, depth):
        if depth > MOST_DEPTH or is_scalar(value):
            self._add("list", title, rows=[forms.cut(forms.scalar(value))])
        elif isinstance(value, list):
            self._list(value, title, depth)
        else:
            self._dict(value, title, depth)

    def _list(self, value, title, depth):
        if is_streams(value):
            self._add("streams", title, rows=[stream_row(s) for s in value])
        elif all(isinstance(v, dict) for v in value) and value:
            self._records(value, title)
        elif all(forms.is_number(v) for v in value) and value:
            self._add("list", title, rows=[forms.cut(", ".join(forms.scalar(v) for v in value))])
        else:
            self._add("list", title, rows=[forms.cut(forms.scalar(v)) for v in value] or ["empty"])

    def _records(self, records, title):
        heads = list(dict.fromkeys(name for r in records[:MOST_ROWS] for name in r))[:12]
        self._add("table", title, heads=[forms.plain(h) for h in heads],
                  rows=[[forms.cut(forms.scalar(r.get(h, forms.MISSING)), 400) for h in heads] for r in records])

    def _dict(self, value, title, depth):
        if is_label_counts(value):
            self._labels(value, title)
        elif len(value) > 1 and all(is_hex64(v) for v in value.values()):
            self._digests(value, title)
        elif len(value) > 1 and all(isinstance(v, dict) and v and all(is_flat(x) for x in v.values()) for v in value.values()):
            self._table_of(value, title)
        else:
            self._members(value, title, depth)

    def _members(self, value, title, depth):
        pairs = [(forms.plain(name), self._figure(name, v)) for name, v in value.items() if is_scalar(v) or not v]
        pairs += [(forms.plain(name), forms.cut(forms.scalar(v), 400)) for name, v in value.items()
                  if isinstance(v, list) and v and all(is_scalar(x) for x in v) and len(v) <= 8]
        if pairs:
            self._add("pairs", title, rows=pairs)
        for name, v in value.items():
            if is_scalar(v) or not v or (isinstance(v, list) and all(is_scalar(x) for x in v) and len(v) <= 8):
                continue
            self._walk(v, f"{title}, {forms.plain(name)}" if title else forms.plain(name), depth + 1)

    @staticmethod
    def _figure(name, value):
        if "bytes" in name.split("_") and forms.is_number(value) and abs(value) >= 1024:
            return f"{value:,} bytes ({forms.size(value)})"
        return forms.cut(forms.scalar(value), 600)

    def _table_of(self, value, title):
        heads = list(dict.fromkeys(name for v in list(value.values())[:MOST_ROWS] for name in v))[:12]
        self._add("table", title, heads=["", *[forms.plain(h) for h in heads]],
                  rows=[[name, *[forms.cut(forms.scalar(v.get(h, forms.MISSING)), 200) for h in heads]] for name, v in value.items()])

    def _labels(self, value, title):
        rest = {name: v for name, v in value.items() if name not in ("prefill", "decode")}
        names = sorted({*value["prefill"], *value["decode"]})
        rows = [[name, *[forms.number(value[phase][name]) if name in value[phase] else forms.NONE for phase in ("prefill", "decode")]]
                for name in names]
        self._add("table", title or "labels", heads=["label", "prefill", "decode"], rows=rows)
        if rest:
            self._members(rest, title, 0)

    def _digests(self, value, title):
        groups = {}
        for name, digest in value.items():
            groups.setdefault(digest, []).append(name)
        for digest, names in groups.items():
            self._add("list", f"{title}: {forms.count_of(len(names), 'time')} {digest}" if title else digest, rows=names)


def blocks_of(value, title=""):
    """([Block], how many more were left out)"""
    walked = Blocks(value, title)
    return walked.blocks, walked.left_out


def find(value, wanted, path="", depth=0):
    """Every (path, part) of a value whose shape is `wanted`, outermost first."""
    if wanted(value):
        return [(path, value)]
    if depth > MOST_DEPTH:
        return []
    parts = value.items() if isinstance(value, dict) else enumerate(value[:200]) if isinstance(value, list) else ()
    return [hit for name, part in parts for hit in find(part, wanted, f"{path}.{name}" if path else str(name), depth + 1)]


def text_blocks(data):
    """An attachment that is no JSON: its first lines, or its first bytes."""
    head = data[:4096]
    try:
        text = head.decode("utf-8", errors="strict" if len(data) <= 4096 else "ignore")
        binary = "\x00" in text
    except UnicodeDecodeError:
        binary = True
    if binary:
        rows = [head[i : i + 16].hex(" ") for i in range(0, min(len(head), 128), 16)]
        return [Block("text", f"the first {min(len(data), 128)} of {len(data):,} bytes", text="\n".join(rows))]
    lines = text.split("\n")
    shown = forms.cut("\n".join(lines[:40]), 3000)
    more = f"the first lines of {len(data):,} bytes" if len(lines) > 40 or len(data) > 3000 else ""
    return [Block("text", more, text=shown)]
