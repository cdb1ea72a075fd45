#!/usr/bin/env python3
"""Write unicode_ranges.inc: the code points of \\p{L}, \\p{N} and \\s as sorted ranges.

    make_unicode_ranges.py > unicode_ranges.inc

Needs the PyPI package unicodedata2 in the version that UNICODE names: the interpreter's own tables are
older than those of the regular-expression library whose splits the vocabularies were made with.
"""
import sys

import unicodedata2

UNICODE = "16.0.0"
# White_Space (UAX #44) beyond the separators, categories Zs, Zl and Zp.
CONTROL_SPACES = {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85}


def ranges(member):
    """Inclusive (first, last) pairs of the code points for which member holds."""
    out = []
    for code in range(0x110000):
        if not member(code):
            continue
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def category(code):
    return unicodedata2.category(chr(code))


def emit(name, comment, pairs):
    print(f"\n// {comment}: {sum(last - first + 1 for first, last in pairs)} code points.")
    print(f"constexpr CodeRange {name}[] = {{")
    cells = [f"{{0x{first:X}, 0x{last:X}}}," for first, last in pairs]
    line = "   "
    for cell in cells:
        if len(line) + 1 + len(cell) > 100:
            print(line)
            line = "   "
        line += " " + cell
    print(line)
    print("};")


def main():
    if unicodedata2.unidata_version != UNICODE:
        sys.exit(f"make_unicode_ranges: Unicode {UNICODE} is needed, "
                 f"unicodedata2 has {unicodedata2.unidata_version}")
    print(f"// Unicode {UNICODE}, inclusive ranges. Made by make_unicode_ranges.py; do not edit.")
    emit("kLetters", "General category L*", ranges(lambda code: category(code)[0] == "L"))
    emit("kNumbers", "General category N*", ranges(lambda code: category(code)[0] == "N"))
    emit("kSpaces", "Property White_Space",
         ranges(lambda code: category(code)[0] == "Z" or code in CONTROL_SPACES))


if __name__ == "__main__":
    main()
