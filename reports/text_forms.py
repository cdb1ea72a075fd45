"""How figures are written on the page. What is missing says so; what has another type stays a text."""

NONE = "–"  # en dash: nothing to tell
MIB = 1024.0 * 1024.0

# Longest text of a bundle that the page repeats; of a figure in a table.
LONGEST, LONGEST_FIGURE = 2000, 80


class _Missing:
    """Stands where a bundle lacks a member; JSON's null is a value of its own."""

    def __str__(self):
        return "missing"

    __repr__ = __str__

    def __bool__(self):
        return False


MISSING = _Missing()


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def cut(text, most=LONGEST):
    """The text, or its beginning and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… (cut here, {len(text):,} characters in all)"


def shown(value, form):
    """A number in its form; any other value as the text that it is."""
    return form(value) if is_number(value) else cut(scalar(value), LONGEST_FIGURE)


def fixed(value, spec):
    """A number to fixed places, unless it is too large for that to be read."""
    return format(value, spec) if abs(value) < 1e15 else f"{value:.6g}"


def number(value):
    """1234567 -> "1,234,567"; 0.00123456789 -> "0.00123457"."""
    return shown(value, lambda v: f"{v:,}" if isinstance(v, int) else f"{v:.6g}")


def mib(value, digits=2):
    return shown(value, lambda v: fixed(v / MIB, f",.{digits}f"))


def signed_mib(value):
    def form(v):
        text = fixed(v / MIB, "+,.2f")
        return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "\u2212")
    return shown(value, form)


def size(value):
    """A number of bytes in the unit that reads best."""
    def form(v):
        for unit, scale in (("GiB", MIB * 1024), ("MiB", MIB), ("KiB", 1024.0)):
            if abs(v) >= scale:
                return f"{fixed(v / scale, ',.1f')} {unit}"
        return f"{v:,} B"
    return shown(value, form)


def seconds(value):
    return shown(value, lambda v: fixed(v, ",.2f"))


def percent(value):
    return shown(value, lambda v: fixed(100 * v, ".2f") + " %")


def nats(value):
    """Small and to be compared by eye: as many places in each row."""
    return shown(value, lambda v: fixed(v, ".7f"))


def share(part, whole):
    """part of whole in percent; rounds neither up to all nor down to nothing."""
    if not (is_number(part) and is_number(whole) and whole > 0):
        return NONE
    value = 100 * part / whole
    if 0 < value < 0.05:
        return "<0.1 %"
    if 99.95 <= value < 100:
        return ">99.9 %"
    return f"{value:.1f} %"


def count_of(n, word):
    """1, "cell" -> "1 cell"; 2 -> "2 cells"."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def plain(name):
    """free_steps -> "free steps"; the name of a variable stays what it is."""
    return name if any(c.isupper() for c in name) else name.replace("_", " ")


def flat(value, path=""):
    """Nested figures as (dotted path, value) in order; an empty list or object is one figure."""
    if isinstance(value, dict) and value:
        return [row for name, v in value.items() for row in flat(v, f"{path}.{name}" if path else name)]
    if isinstance(value, list) and value and all(not isinstance(v, (dict, list)) for v in value):
        return [(path, ", ".join(scalar(v) for v in value))]
    if isinstance(value, list) and value:
        return [row for i, v in enumerate(value) for row in flat(v, f"{path}[{i}]")]
    return [(path, scalar(value))]


def scalar(value):
    if value is None:
        return "null"
    if value is MISSING:
        return str(MISSING)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if is_number(value):
        return number(value)
    if not value:
        return "empty"
    return ", ".join(f"{path} {text}" if path else text for path, text in flat(value))
