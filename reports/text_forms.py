"""How figures are written on the page. A figure that is missing or of another type is a dash."""

NONE = "–"  # en dash

MIB = 1024.0 * 1024.0


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(value):
    """1234567 -> "1,234,567"; 0.00123456789 -> "0.00123457"."""
    if not is_number(value):
        return NONE
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def mib(value, digits=2):
    return f"{value / MIB:,.{digits}f}" if is_number(value) else NONE


def signed_mib(value):
    if not is_number(value):
        return NONE
    text = f"{value / MIB:+,.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "\u2212")


def size(value):
    """A file's size in the unit that reads best."""
    if not is_number(value):
        return NONE
    for unit, scale in (("MiB", MIB), ("KiB", 1024.0)):
        if value >= scale:
            return f"{value / scale:,.1f} {unit}"
    return f"{value:,} B"


def seconds(value):
    return f"{value:,.2f}" if is_number(value) else NONE


def percent(value):
    return f"{100 * value:.2f} %" if is_number(value) else NONE


def count_of(n, word):
    """1, "cell" -> "1 cell"; 2 -> "2 cells"."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


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
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return number(value) if is_number(value) else "empty"
