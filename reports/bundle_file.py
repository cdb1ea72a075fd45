"""Reads a bundle (docs/bundle.md) as data that may be hostile.

What is no JSON, or of an unknown schema version, is a BundleError. Members that are missing or of
another type are booked with their place, and the rest is shown. Files below raw/ are opened by
sha256 alone, never by a name.
"""

import errno
import hashlib
import json
import os
import re
import stat
import unicodedata

from text_forms import MISSING, cut, scalar

SCHEMA = 1
MAX_BUNDLE_BYTES = 64 << 20
MAX_RAW_BYTES = 256 << 20
MAX_SHOWN_BYTES = 4 << 20  # of an attachment that is read to be shown
MAX_DEPTH = 40

OUTCOMES = ("pass", "fail", "flaky", "unsupported", "skipped", "error")
VERDICTS = ("proven", "refuted", "unproven", "error")
PAIR_STATUSES = ("shared", "not_applicable", "out_of_scope")

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class BundleError(Exception):
    """One sentence: where, what, and what to do."""


class Problems:
    """What is not as docs/bundle.md says, in the order in which it was met. Only the first are kept."""

    MOST = 40

    def __init__(self):
        self.texts = []
        self.total = 0

    def add(self, text):
        if text in self.texts:
            return
        self.total += 1
        if len(self.texts) < self.MOST:
            self.texts.append(text)


class Member:
    """A value of the bundle and its place in it, read by expected type.

    A reader wants to see what there is, so nothing here stops the page: what is missing or has another
    type is booked in `problems`, and a neutral value stands in for it.
    """

    def __init__(self, value, place, problems):
        self.value = value
        self.place = place
        self.problems = problems

    def _is(self, kind, word):
        # bool is an int to Python, but not to JSON.
        if isinstance(self.value, kind) and not (isinstance(self.value, bool) and kind is not bool):
            return True
        if self.value is not MISSING:  # that was booked where it was looked for
            self.problems.add(f"{self.place}: must be {word}, is {_type_word(self.value)}")
        return False

    def text(self):
        """A text; of another type, the text that it makes; "missing"."""
        return self.value if self._is(str, "a text") else cut(scalar(self.value), 200)

    def flag(self):
        return self.value if self._is(bool, "true or false") else False

    def number(self):
        """A number, else the value as it is: forms.shown() makes it a text."""
        self._is((int, float), "a number")
        return self.value

    def integer(self):
        self._is(int, "a whole number")
        return self.value

    def table(self):
        return self.value if self._is(dict, "an object") else {}

    def word_of(self, words, other):
        """One of `words`; anything else is `other`."""
        if not self._is(str, "a text"):
            return other
        if self.value in words:
            return self.value
        self.problems.add(f"{self.place}: unknown word '{_short(self.value)}', known are {', '.join(words)}")
        return other

    def items(self):
        if not self._is(list, "a list"):
            return []
        return [Member(v, f"{self.place}[{i}]", self.problems) for i, v in enumerate(self.value)]

    def texts(self):
        return [item.text() for item in self.items()]

    def members(self):
        return [(name, self[name]) for name in self.table()]

    def __contains__(self, name):
        return isinstance(self.value, dict) and name in self.value

    def __getitem__(self, name):
        value = self.table().get(name, MISSING)
        if value is MISSING and isinstance(self.value, dict):
            self.problems.add(f"{self.place}: lacks the member '{_short(name)}'")
        place = f"{self.place}: {_short(name)}" if self.place == "bundle.json" else f"{self.place}.{_short(name)}"
        return Member(value, place, self.problems)


def _type_word(value):
    if value is None:
        return "null"
    words = {bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return words.get(type(value), "a number")


def _short(text):
    return text if len(text) <= 60 else text[:57] + "..."


def _clean_text(text):
    """Replaces what does not print or reorders its surroundings (controls, bidi marks, lone surrogates)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n" else c for c in text)


def _clean(value, place, depth=0):
    if depth > MAX_DEPTH:
        raise BundleError(f"{place}: nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, list):
        return [_clean(v, f"{place}[{i}]", depth + 1) for i, v in enumerate(value)]
    if isinstance(value, dict):
        return {_clean_text(k): _clean(v, f"{place}.{_short(_clean_text(k))}", depth + 1) for k, v in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 64:
        raise BundleError(f"{place}: a number beyond 64 bits")
    if isinstance(value, float) and value - value != 0:
        raise BundleError(f"{place}: a number that is not finite")
    return value


def _refuse_constant(word):
    raise ValueError(f"{word} is no JSON")


def _refuse_twice(pairs):
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member '{_short(_clean_text(twice))}' stands twice in one object")
    return table


def _read_regular(name, limit, dir_fd=None):
    """The bytes of a regular file, not through a link. OSError, or BundleError beyond `limit` bytes."""
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dir_fd)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise BundleError(f"{os.path.basename(name)}: larger than {limit >> 20} MiB")
    return data


def load_bundle(folder):
    """The root Member of FOLDER/bundle.json, of a schema version that this page knows."""
    path = os.path.join(folder, "bundle.json")
    try:
        data = _read_regular(path, MAX_BUNDLE_BYTES)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror}); give the folder that `flipgate run` wrote") from None
    root = Member(parse_json(data, path, "bundle.json"), "bundle.json", Problems())
    schema = root.value.get("schema", MISSING) if isinstance(root.value, dict) else MISSING
    if schema != SCHEMA or isinstance(schema, bool):
        raise BundleError(f"bundle.json: schema version {cut(scalar(schema), 60)} is unknown, this page reads version {SCHEMA}; "
                          "render it with the revision that wrote it")
    return root


def parse_json(data, path, place):
    """Bytes -> their value, its texts clean; BundleError names `path`, or the place in it."""
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
    except RecursionError:
        raise BundleError(f"{path}: nested too deeply") from None
    except ValueError as error:  # of the encoding, too
        raise BundleError(f"{path}: is no JSON ({error})") from None
    return _clean(value, place)


class RawFolder:
    """raw/ of a bundle: files named by their sha256."""

    def __init__(self, folder):
        self._folder = os.path.join(folder, "raw")

    def read(self, sha256, size):
        """(state, bytes) of an attachment: "intact" and its bytes (None where it is too large to show), or
        what is wrong with it and None."""
        if not _SHA256.match(sha256):
            return "no sha256", None
        try:
            data = self._bytes(sha256)
        except BundleError:
            return "too large to check", None
        except OSError:
            return "missing", None
        if len(data) != size:
            return "wrong size", None
        if hashlib.sha256(data).hexdigest() != sha256:
            return "altered", None
        return "intact", data if len(data) <= MAX_SHOWN_BYTES else None

    def _bytes(self, sha256):
        raw = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            return _read_regular(sha256, MAX_RAW_BYTES, dir_fd=raw)
        finally:
            os.close(raw)
