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

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402  (after the backend is chosen)
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

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
_WIDTH = 960  # points; the page shows one point as one pixel
_LEFT, _RIGHT, _HEAD, _FOOT = 190, 90, 34, 44  # room around the bars
_BAR, _PAIR, _GROUP = 17, 48, 34  # a bar, a pair of bars with its gap, a gate's heading


def _as_page_part(svg, label):
    """matplotlib's document (its texts are escaped) -> an <svg> with CSS colours and a spoken name."""
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
    system = side.system_anonymous / mib
    axes.plot([system, system], [y - _BAR / 2 - 3, y + _BAR / 2 + 3], color=_SURFACE, linewidth=5)
    axes.plot([system, system], [y - _BAR / 2 - 3, y + _BAR / 2 + 3], color=_INK, linewidth=2)
    return left, max(left, system)


def _draw_legend(figure, categories, file_backed, height):
    handles = [Patch(facecolor=SERIES.get(name, _OTHER), linewidth=0, hatch="///" if name in file_backed else None,
                     label=name + (" (file-backed)" if name in file_backed else ""))
               for name in categories]
    handles.append(Line2D([], [], color=_INK, linewidth=2, marker="|", markersize=14, linestyle="none",
                          markeredgewidth=2, label="anonymous, as the system counts"))
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, 1 - 2 / height), ncol=len(handles),
                  frameon=False, fontsize=11, handlelength=1.1, handletextpad=0.5, columnspacing=1.4,
                  borderpad=0.2)


def memory_both_ways(groups, categories, label):
    """Stacked horizontal bars: per gate and model what is held with the gate on and with it off.

    `groups` is a list of (heading, [(model, on, off)]), a side having `now` (category -> bytes),
    `file_backed` (names) and `system_anonymous` (bytes). `categories` are drawn in their order;
    file-backed ones come last, so that the anonymous part starts at zero, like the system's mark.
    `label` is the spoken name.
    """
    mib = 1024.0 * 1024.0
    rows = sum(len(pairs) for _, pairs in groups)
    height = _HEAD + _FOOT + len(groups) * _GROUP + rows * _PAIR
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's font may have it
        figure = pyplot.figure(figsize=(_WIDTH / 72, height / 72))
        try:
            axes = figure.add_axes([_LEFT / _WIDTH, _FOOT / height, (_WIDTH - _LEFT - _RIGHT) / _WIDTH,
                                    (height - _HEAD - _FOOT) / height])
            _draw_bars(axes, groups, categories, mib)
            backed = {n for _, pairs in groups for _, on, off in pairs for n in on.file_backed | off.file_backed}
            _draw_legend(figure, categories, backed, height)
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        finally:
            pyplot.close(figure)
    return _as_page_part(out.getvalue(), label)


def _draw_bars(axes, groups, categories, mib):
    y, most, totals = 0, 0.0, []
    for heading, pairs in groups:
        axes.annotate(heading, (0, y + _GROUP / 2 + 3), xycoords=("axes fraction", "data"), xytext=(-_LEFT + 2, 0),
                      textcoords="offset points", va="center", fontweight="bold")
        y += _GROUP
        for model, on, off in pairs:
            axes.annotate(model, (0, y + _BAR + 2), xycoords=("axes fraction", "data"), xytext=(-_LEFT + 2, 0),
                          textcoords="offset points", va="center", color=_INK)
            for word, side, centre in (("on", on, y + _BAR / 2), ("off", off, y + _BAR * 1.5 + 4)):
                total, end = _draw_side(axes, centre, side, categories, mib)
                axes.annotate(word, (0, centre), xycoords=("axes fraction", "data"), xytext=(-8, 0),
                              textcoords="offset points", ha="right", va="center", color=_MUTED)
                totals.append((centre, total, end))
                most = max(most, end)
            y += _PAIR
    for centre, total, end in totals:
        axes.annotate(f"{total:.1f} MiB", (end, centre), xytext=(7, 0), textcoords="offset points", va="center",
                      fontsize=11)
    axes.set_xlim(0, most * 1.02 if most > 0 else 1)
    axes.set_ylim(y, 0)
    axes.set_yticks([])
    axes.set_xlabel("MiB held after the same request", fontsize=11)
    axes.tick_params(axis="x", length=0, labelsize=11)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=_RULE, linewidth=1)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.axvline(0, color=_MUTED, linewidth=1)
