#!/usr/bin/env python3
"""Prints src/text/unicode_tables.inc: what the package `tokenizers` takes for what, character by character, so that models get the
tokens they were trained with. Its categories are those of Unicode 8. Canonical decompositions are Unicode's own and never change.

    pip install tokenizers==0.23.3
    python tools/unicode_tables.py > src/text/unicode_tables.inc
"""
import unicodedata

from tokenizers import normalizers, pre_tokenizers

EVERYTHING = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
COLUMNS = 110
RAW = ("LATIN", "GREEK", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA")


def bert(**on):
    defaults = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**(defaults | on)).normalize_str


def wrapped(pieces, before, between):
    line = before
    for p in pieces:
        if len(line) + len(p) > COLUMNS and line != before:
            print(line.rstrip())
            line = before
        line += p + between
    print(line.rstrip())


def ranges(name, comment, chars):
    spans = []
    for c in map(ord, chars):
        if spans and spans[-1][1] == c - 1:
            spans[-1][1] = c
        else:
            spans.append([c, c])
    print(f"/// {comment}\nconstexpr CharRange {name}[] = {{")
    wrapped([f"{{0x{a:04x}, 0x{b:04x}}}," for a, b in spans], "    ", " ")
    print("};")


def quoted(c):
    if unicodedata.category(c)[0] == "L" and unicodedata.name(c, "").startswith(RAW):
        return c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def is_word(c):
    """As \\w of regular expressions (Unicode Technical Standard 18): nearly what has these categories."""
    return unicodedata.category(c) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc") or c in "\u200c\u200d"


def main():
    clean, strip, nfd = bert(clean_text=True), bert(strip_accents=True), normalizers.NFD().normalize_str
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    print("// Made by tools/unicode_tables.py.\n// clang-format off")
    ranges("controls", "Left out of clean text.", [c for c in EVERYTHING if not clean(c)])
    ranges("marks", "Marks without width: accents.", [c for c in EVERYTHING if not strip(c) and nfd(c) == c])
    ranges("punctuation", "Words of their own.", [c for c in EVERYTHING if len(split(f"a{c}b")) == 3])
    ranges("word_characters", "Characters of which words may consist.", [c for c in EVERYTHING if is_word(c)])
    by_mark = {}
    for c in EVERYTHING:
        parts = unicodedata.decomposition(c)
        if parts and parts[0] != "<" and nfd(c) != c:
            base, *mark = (chr(int(p, 16)) for p in parts.split())
            by_mark.setdefault(mark[0] if mark else "", []).append(quoted(c) + quoted(base))
    print("/// By the second character of a decomposition (0: there is none) pairs: a character, and its first.")
    print("constexpr Decompositions decompositions[] = {")
    for mark, pairs in sorted(by_mark.items()):
        print(f"    {{0x{ord(mark) if mark else 0:04x},")
        lines, line = [], ""
        for p in pairs:
            if len(line) + len(p) > COLUMNS // 2:
                lines, line = [*lines, line], ""
            line += p
        for text in [*lines, line]:
            print(f'     U"{text}"' + ("}," if text is line else ""))
    print("};\n// clang-format on")


main()
