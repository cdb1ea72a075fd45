"""SVG plots of the page, made by matplotlib. No file, no page layout, no reading of bundles.

Colours are CSS variables of page.css, so that one picture serves the light and the dark page:
matplotlib draws in marker colours, which are then replaced in its text. The same input gives the
same bytes.
"""

import io
import logging
import re
import warnings

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # a cache of fonts is nobody's concern here

import matplotlib  # noqa: E402  (after its log is quiet)
from markupsafe import Markup, escape  # noqa: E402

import memory  # noqa: E402

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402  (after the backend is chosen)

# Marker colours: no other colour of the page may look like them.
_INK, _MUTED, _RULE, _SURFACE = "#010101", "#010102", "#010103", "#010104"
_NAMED = {_INK: "ink", _MUTED: "muted", _RULE: "rule", _SURFACE: "surface"}
# A category keeps its colour from page to page, whichever others are there.
SERIES = {"planes": "#010201", "f16_cache": "#010202", "kv": "#010203", "scratch": "#010204", "graph": "#010205",
           "weights": "#010206"}
_OTHER = "#010207"

_STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be read, searched and copied
    "svg.hashsalt": "flipgate",
    "text.parse_math": False,  # a '$' in a name is a dollar sign
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the layout is the same everywhere
    "font.size": 12,
    "text.color": _INK,
    "axes.labelcolor": _MUTED,
    "axes.edgecolor": _RULE,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "xtick.color": _MUTED,
    "ytick.color": _INK,
    "hatch.color": _SURFACE,
    "hatch.linewidth": 1.4,
}
_WIDTH = 560  # points; the page shows one point as one pixel, on a phone somewhat smaller
_LEFT, _RIGHT, _HEAD, _FOOT = 34, 82, 4, 40  # room around the bars
MOST_PAIRS = 40  # of a gate; the table beside the plot has all
_BAR, _NAME, _GAP = 17, 22, 8  # a bar, the line with a model's name, what follows a pair


def _as_page_part(svg, label, prefix):
    """matplotlib's document (its texts are escaped) -> an <svg> with CSS colours, a spoken name and ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, count=1, flags=re.S)
    svg = re.sub(r"<style.*?</style>", "", svg, count=1, flags=re.S)  # would hold for the whole page
    svg = re.sub(r' (?:xmlns(?::xlink)?|width|height|version)="[^"]*"', "", svg[: svg.index(">")]) + svg[svg.index(">") :]
    variables = {colour: f"--{name}" for colour, name in _NAMED.items()}
    variables.update({colour: f"--series-{i + 1}" for i, colour in enumerate([*SERIES.values(), _OTHER])})
    svg = re.sub(r' fill="(#01[0-9a-f]{4})"', r' style="fill: \1"', svg)  # in a hatch
    svg = re.sub(r"((?:fill|stroke): )(#01[0-9a-f]{4})\b", lambda m: f"{m[1]}var({variables[m[2]]})", svg)
    # The page's own font; every text of the plot is anchored, so widths may differ a little.
    svg = svg.replace("'DejaVu Sans', sans-serif", "var(--text)").replace("'DejaVu Sans'", "var(--text)")
    svg = re.sub(r'(<[^<>]*? id="|url\(#|xlink:href="#)', lambda m: m[1] + prefix, svg)
    head = f'<svg role="img" aria-label="{escape(label)}" class="plot" '
    return Markup(svg.replace("<svg ", head, 1).strip())


def _draw_side(axes, y, side, categories, mib):
    left = 0.0
    for name in categories:
        width = side.now.get(name, 0) / mib
        if width <= 0:
            continue
        file_backed = name in side.file_backed
        axes.barh(y, width, left=left, height=_BAR, color=SERIES.get(name, _OTHER), linewidth=0,
                  hatch="///" if file_backed else None)
        left += width
    if not memory.is_size(side.system_anonymous):
        return left, left
    system = side.system_anonymous / mib
    axes.plot([system, system], [y - _BAR / 2 - 3, y + _BAR / 2 + 3], color=_SURFACE, linewidth=5)
    axes.plot([system, system], [y - _BAR / 2 - 3, y + _BAR / 2 + 3], color=_INK, linewidth=2)
    return left, max(left, system)


def memory_of_gate(pairs, categories, label, most, prefix):
    """Stacked horizontal bars: per model what is held with the gate on and with it off.

    `pairs` is a list of memory.MemoryPair, drawn by `categories` (names, in order); `most` is the largest sum
    of the page in bytes, so that the plots of all gates have one scale. `label` is the plot in words, `prefix` sets its ids apart.
    Returns Markup.
    """
    mib = 1024.0 * 1024.0
    pairs = pairs[:MOST_PAIRS]
    height = _HEAD + _FOOT + len(pairs) * (_NAME + 2 * _BAR + 2 + _GAP)
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name in a script that DejaVu lacks: the page's font draws it
        figure = pyplot.figure(figsize=(_WIDTH / 72, height / 72))
        try:
            axes = figure.add_axes((_LEFT / _WIDTH, _FOOT / height, (_WIDTH - _LEFT - _RIGHT) / _WIDTH, 1 - (_HEAD + _FOOT) / height))
            _draw_pairs(axes, pairs, categories, mib, most / mib)
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        finally:
            pyplot.close(figure)
    return _as_page_part(out.getvalue(), label, prefix)


def _draw_pairs(axes, pairs, categories, mib, most):
    y = 0
    for pair in pairs:
        axes.annotate(pair.model if len(pair.model) <= 60 else pair.model[:57] + "...", (0, y + _NAME / 2 + 2), xycoords=("axes fraction", "data"),
                      xytext=(-_LEFT + 2, 0), textcoords="offset points", va="center", fontweight="bold",
                      bbox={"facecolor": _SURFACE, "edgecolor": "none", "pad": 1.5})  # over the axis
        y += _NAME
        for word, side in (("on", pair.on), ("off", pair.off)):
            total, end = _draw_side(axes, y + _BAR / 2, side, categories, mib)
            axes.annotate(word, (0, y + _BAR / 2), xycoords=("axes fraction", "data"), xytext=(-8, 0), textcoords="offset points",
                          ha="right", va="center", color=_MUTED)
            axes.annotate(f"{total:,.1f} MiB", (end, y + _BAR / 2), xytext=(7, 0), textcoords="offset points", va="center")
            y += _BAR + 2
        y += _GAP
    axes.set_xlim(0, most * 1.02 if most > 0 else 1)
    axes.set_ylim(y, 0)
    axes.set_yticks([])
    axes.set_xlabel("MiB held after the same request")
    axes.tick_params(axis="x", length=0)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=_RULE, linewidth=1)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.axvline(0, color=_MUTED, linewidth=1)


def swatch(name):
    """The colour of a category, for a legend in the page's own markup."""
    return f"--series-{[*SERIES, ''].index(name if name in SERIES else '') + 1}"
