"""What the tests of the page share: a page as a browser would see it, and what HTML does not allow."""

import tempfile
import unittest
from html.parser import HTMLParser
from unittest import mock

import bundle_testing
import plots
import render

# Elements that have no end.
VOID = {"meta", "br", "hr", "img", "link", "input", "wbr"}
# What a paragraph cannot hold: the parser would end it there.
BLOCKS = {"p", "div", "ul", "ol", "dl", "table", "section", "details", "blockquote", "pre", "h1", "h2", "h3", "h4", "nav", "header", "footer", "main"}
PARENTS = {"li": {"ul"}, "tr": {"thead", "tbody"}, "td": {"tr"}, "th": {"tr"}, "thead": {"table"}, "tbody": {"table"}, "caption": {"table"},
           "summary": {"details"}, "dt": {"div"}, "dd": {"div"}}
CHILDREN = {"ul": {"li"}, "table": {"caption", "thead", "tbody"}, "thead": {"tr"}, "tbody": {"tr"}, "tr": {"th", "td"}, "dl": {"div"}}


class Page(HTMLParser):
    """What a browser would see: elements, ids, links, text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.attributes, self.text, self.open, self.unbalanced = [], [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._nest(tag, [name for name, _ in attrs])
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def _nest(self, tag, names):
        """Books what HTML does not allow to stand there."""
        parent = self.open[-1] if self.open else ""
        inside = set(self.open)
        wrong = (tag in PARENTS and parent not in PARENTS[tag] or parent in CHILDREN and tag not in CHILDREN[parent]
                 or tag in BLOCKS and inside & {"p", "span", "code", "b", "summary", "h2", "h3"} or tag == "a" and "a" in inside
                 or len(names) != len(set(names)))
        if wrong:
            self.unbalanced.append((f"<{tag}> in {self.open}", self.getpos()))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append((tag, self.getpos()))

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def words(self):
        return " ".join(" ".join(self.text).split())


DRAWN = {}


def draw_once(pairs, categories, label, most, prefix, draw=plots.memory_of_gate):
    """The same plot is drawn once for all tests: matplotlib takes its time."""
    key = repr([[(p.model, p.on, p.off) for p in pairs], categories, label, most, prefix])
    if key not in DRAWN:
        DRAWN[key] = draw(pairs, categories, label, most, prefix)
    return DRAWN[key]


class RenderTest(unittest.TestCase):
    def setUp(self):
        patch = mock.patch("plots.memory_of_gate", draw_once)
        patch.start()
        self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def page(self, bundle=None):
        if bundle is not None:
            bundle_testing.write_bundle(self.folder, bundle)
        self.source = render.render(self.folder)
        return Page(self.source)
