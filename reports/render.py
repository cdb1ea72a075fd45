#!/usr/bin/env python3
"""Renders the page of a bundle: OUT_DIR/bundle.json and raw/ become OUT_DIR/report.html.

One self-contained file: styles and plots are inside, it has no script and asks for nothing. Reads the
bundle only, runs nothing, and takes whatever the bundle holds as text.

Exit codes: 0 written, 2 the bundle cannot be rendered or the page cannot be written.
"""

import argparse
import functools
import os
import sys
import tempfile

import jinja2
from markupsafe import Markup

import bundle_view
import memory
import plots
import text_forms as forms
from bundle_file import BundleError, RawFolder, load_bundle

_HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = "report.html"


def render(folder):
    """The page of the bundle in `folder`, as text. BundleError says what is wrong with it."""
    view = bundle_view.BundleView(load_bundle(folder), RawFolder(folder))
    with open(os.path.join(_HERE, "page.css"), encoding="utf-8") as file:
        css = Markup(file.read())
    return _environment().get_template("page.html.j2").render(view=view, css=css, memory_plots=memory_plots(view.memory), swatch=plots.swatch)


@functools.cache
def _environment():
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=_bounded)
    environment.filters.update(mib=forms.mib, signed_mib=forms.signed_mib, seconds=forms.seconds, number=forms.number, cut=forms.cut,
                               plain=forms.plain, percent=forms.percent, breakable=breakable)
    return environment


def _bounded(value):
    """Whatever the templates print: a text of a bundle is never longer than a reader can bear."""
    return forms.cut(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def breakable(name):
    """FG_MMQ_RAW may be broken after its underscores."""
    return Markup("_<wbr>").join(forms.cut(name, 200).split("_"))


def memory_plots(table):
    """One plot a gate, all of one scale."""
    ends = [end for _, pairs in table.groups for pair in pairs for side in (pair.on, pair.off)
            for end in (side.total, side.system_anonymous) if memory.is_size(end)]
    return [plots.memory_of_gate(pairs, table.categories, memory.spoken(forms.cut(gate, 80), pairs[: plots.MOST_PAIRS]), max(ends), f"m{i}-")
            for i, (gate, pairs) in enumerate(table.groups)]


def replace_file(path, text):
    """Whole or not at all: a reader never sees half a page."""
    folder = os.path.dirname(path)
    fd, temporary = tempfile.mkstemp(prefix=".report-", suffix=".html", dir=folder)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="render.py", description=__doc__.split("\n\n")[0],
                                     epilog="Exit codes: 0 written, 2 the bundle cannot be rendered or the page not written.")
    parser.add_argument("out_dir", metavar="OUT_DIR", help="folder that `flipgate run` wrote: bundle.json and raw/; "
                        f"{PAGE} is written there")
    folder = parser.parse_args(arguments).out_dir
    path = os.path.join(folder, PAGE)
    try:
        replace_file(path, render(folder))
    except BundleError as error:
        print(f"render.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"render.py: {path}: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
