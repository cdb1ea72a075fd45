"""Reads a bundle (docs/bundle.md) as data that may be hostile.

bundle.json is read strictly: a missing member, a wrong type or an unknown schema version is a
BundleError that names its place. Files below raw/ are opened by sha256 alone, never by a name.
"""

import errno
import hashlib
import json
import os
import re
import stat
import unicodedata

SCHEMA = 1
MAX_BUNDLE_BYTES = 64 << 20
MAX_RAW_BYTES = 256 << 20
MAX_DEPTH = 40

OUTCOMES = ("pass", "fail", "flaky", "unsupported", "skipped", "error")
VERDICTS = ("proven", "refuted", "unproven", "error")
PAIR_STATUSES = ("shared", "not_applicable", "out_of_scope")

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class BundleError(Exception):
    """One sentence: where, what, and what to do."""


class Member:
    """A value of the bundle and its place in it, read by expected type."""

    def __init__(self, value, place):
        self.value = value
        self.place = place

    def _expect(self, kind, word):
        # bool is an int to Python, but not to JSON.
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is not bool):
            raise BundleError(f"{self.place}: must be {word}, is {_type_word(self.value)}")
        return self.value

    def text(self):
        return self._expect(str, "a text")

    def flag(self):
        return self._expect(bool, "true or false")

    def number(self):
        return self._expect((int, float), "a number")

    def integer(self):
        return self._expect(int, "a whole number")

    def table(self):
        return self._expect(dict, "an object")

    def one_of(self, words):
        if self.text() not in words:
            raise BundleError(f"{self.place}: unknown word '{_short(self.value)}', known are {', '.join(words)}")
        return self.value

    def items(self):
        return [Member(v, f"{self.place}[{i}]") for i, v in enumerate(self._expect(list, "a list"))]

    def texts(self):
        return [item.text() for item in self.items()]

    def __contains__(self, name):
        return name in self.table()

    def __getitem__(self, name):
        if name not in self.table():
            raise BundleError(f"{self.place}: lacks the member '{name}'")
        return Member(self.value[name], f"{self.place}: {name}" if self.place == "bundle.json" else f"{self.place}.{name}")


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
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
    except RecursionError:
        raise BundleError(f"{path}: nested too deeply") from None
    except ValueError as error:  # of the encoding, too
        raise BundleError(f"{path}: is no JSON ({error})") from None
    root = Member(_clean(value, "bundle.json"), "bundle.json")
    schema = root["schema"].integer()
    if schema != SCHEMA:
        raise BundleError(f"bundle.json: schema version {schema} is unknown, this page reads version {SCHEMA}; "
                          "render it with the revision that wrote it")
    return root


class RawFolder:
    """raw/ of a bundle: files named by their sha256."""

    def __init__(self, folder):
        self._folder = os.path.join(folder, "raw")

    def state(self, sha256, size):
        """How the file of an attachment stands: "intact", or what is wrong with it."""
        if not _SHA256.match(sha256):
            return "no sha256"
        try:
            data = self._bytes(sha256)
        except BundleError:
            return "too large to check"
        except OSError:
            return "missing"
        if len(data) != size:
            return "wrong size"
        return "intact" if hashlib.sha256(data).hexdigest() == sha256 else "altered"

    def _bytes(self, sha256):
        raw = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            return _read_regular(sha256, MAX_RAW_BYTES, dir_fd=raw)
        finally:
            os.close(raw)
