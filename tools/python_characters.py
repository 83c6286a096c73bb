#!/usr/bin/env python3
"""Writes what Python's str methods know of characters: src/text/template/character_ranges.inc and character_cases.inc.

    python3.11 tools/python_characters.py

Python's own version decides on Unicode's: 3.11 has Unicode 14. Ranges of characters that answer alike, then mappings to other
cases: a delta for each character of a range with a stride, and strings where one character becomes several.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "src/text/template"

FLAGS = ["alpha", "decimal", "digit", "numeric", "space", "printable", "lower", "upper", "title", "cased", "ignorable",
         "identifier_start", "identifier"]


def flags_of(c):
    after = ("a" + c + "Σ").lower()[-1] == "ς"  # the sigma is final: c is cased, or passed over
    cased = (c + "Σ").lower()[-1] == "ς"
    answers = [c.isalpha(), c.isdecimal(), c.isdigit(), c.isnumeric(), c.isspace(), c.isprintable(), c.islower(), c.isupper(),
               c.istitle(), cased, after and not cased, c.isidentifier(), ("a" + c).isidentifier()]
    return sum(1 << i for i, yes in enumerate(answers) if yes)


def ranges():
    found = []
    for code in range(0x110000):
        flags = flags_of(chr(code)) if not 0xD800 <= code < 0xE000 else 0
        if found and found[-1][2] == flags:
            found[-1][1] = code
        else:
            found.append([code, code, flags])
    return [f for f in found if f[2]]


def mappings(convert):
    """(runs of single characters, characters that become several)"""
    runs, several = [], []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        to = convert(chr(code))
        if to == chr(code):
            continue
        if len(to) > 1:
            several.append((code, to))
            continue
        delta = ord(to) - code
        last = runs[-1] if runs else None
        if last and last[3] == delta and code - last[1] in ((1, 2) if last[0] == last[1] else (last[2],)):
            last[2] = code - last[1]
            last[1] = code
        else:
            runs.append([code, code, 1, delta])
    return runs, several


def lines(items, width=118):
    line = "   "
    for item in items:
        if len(line) + len(item) + 1 > width:
            yield line
            line = "   "
        line += " " + item
    yield line


def folded(c):
    return c.casefold() if c.casefold() != c.lower() else c  # only where it is not the lower case


def write(name, parts):
    head = [f"// Made by tools/python_characters.py with Python {sys.version_info[0]}.{sys.version_info[1]}.", "// clang-format off"]
    (FOLDER / name).write_text("\n".join(head + parts) + "\n")


def main():
    found = lines(f"{{{a},{b - a + 1},{f}}}," for a, b, f in ranges())
    write("character_ranges.inc", ["constexpr CharacterRange character_ranges[] = {", *found, "};"])
    parts = []
    for name, convert in [("lower", str.lower), ("upper", str.upper), ("title", str.title), ("fold", folded)]:
        runs, several = mappings(convert)
        texts = ("".join(f"\\x{byte:02x}" for byte in to.encode()) for _, to in several)
        parts += [f"constexpr CaseRun {name}_runs[] = {{", *lines(f"{{{a:#x},{b:#x},{s},{d}}}," for a, b, s, d in runs), "};"]
        parts += [f"constexpr CaseString {name}_strings[] = {{",
                  *lines(f'{{{code:#x},"{text}"}},' for (code, _), text in zip(several, texts)), "};"]
    write("character_cases.inc", parts)


if __name__ == "__main__":
    main()
