#!/usr/bin/env python3
"""Prints src/text/tokenizer_tables.inc: what the package `tokenizers` knows of each character. Its parts follow different versions of
Unicode (regular expressions, normalization, digits, scripts, clusters), so every table is asked of the package, character by character.
Only combining classes and the kinds of clusters come from elsewhere: the package says which characters have one.

    pip install tokenizers==0.23.3 regex==2026.11.19 sentencepiece==0.2.3
    python tools/tokenizer_tables.py > src/text/tokenizer_tables.inc

Tables of classes are runs: letters say the class, digits in base 36 how many characters have it.
"""
import unicodedata

import regex
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as pieces
from tokenizers import Regex, normalizers, pre_tokenizers

COUNT = 0x110000
ALL = [c for c in range(COUNT) if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, ALL))
COLUMNS = 104
CATEGORIES = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cs".split()
SCRIPTS = "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Devanagari Bengali Tamil Bopomofo".split()


def base36(n):
    digits = ""
    while True:
        n, d = divmod(n, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[d] + digits
        if not n:
            return digits


def matched(pattern):
    """The code points that a pattern of one character matches."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str(TEXT) for c in piece}


def literal(name, comment, text):
    print(f"/// {comment}\nconstexpr std::string_view {name} =")
    lines = [text[i : i + COLUMNS] for i in range(0, len(text), COLUMNS)]
    print("\n".join(f'    "{line}"' for line in lines) + ";")


def runs(name, comment, of, wide=False):
    text, start = "", 0
    for c in range(1, COUNT + 1):
        if c == COUNT or of[c] != of[start]:
            v = of[start]
            text += (chr(65 + v // 26) + chr(65 + v % 26) if wide else chr(65 + v)) + base36(c - start)
            start = c
    literal(name, comment, text)


def flags(members):
    return [int(c in members) for c in range(COUNT)]


def categories():
    of = [0] * COUNT
    for i, name in enumerate(CATEGORIES):
        if i:
            for c in matched(rf"\p{{{name}}}") if name != "Cs" else range(0xD800, 0xE000):
                of[c] = i
    return of


def scripts_of_patterns():
    of = [0] * COUNT
    for i, name in enumerate(SCRIPTS):
        for c in matched(rf"\p{{{name}}}"):
            of[c] = i + 1
    return of


def scripts_that_split():
    """Numbers for what UnicodeScripts takes for the same script; 0 joins everything."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    apart = lambda a, b: len(split(chr(a) + chr(b))) > 1  # noqa: E731
    of, known, last = [0] * COUNT, [], None
    for c in ALL:
        if last is not None and not apart(last, c) and not (of[last] == 0) and not (c in JOINING):
            of[c] = of[last]
        elif c in JOINING:
            of[c] = 0
        else:
            for number, example in enumerate(known):
                if not apart(example, c):
                    of[c] = number + 1
                    break
            else:
                known.append(c)
                of[c] = len(known)
        last = c
    return of


def joining():
    """What stands between two scripts without a split."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    return {c for c in ALL if len(split("a" + chr(c))) == 1 and len(split("я" + chr(c))) == 1}


def changed(normalize):
    return {c: n for c in ALL if (n := normalize(chr(c))) != chr(c)}


def mapping(name, comment, table):
    text, last = "", 0
    for c, to in sorted(table.items()):
        text += base36(c - last) + ":" + ".".join(base36(ord(t)) for t in to) + ";"
        last = c
    literal(name, comment, text)


def distances(name, comment, table):
    """Runs of characters whose images are equally far away: step, first, count, distance."""
    text, items, i, last = "", sorted(table.items()), 0, 0
    while i < len(items):
        c, to = items[i]
        step = items[i + 1][0] - c if i + 1 < len(items) and items[i + 1][0] - c <= 2 else 1
        n = 1
        while i + n < len(items) and items[i + n][0] == c + n * step and items[i + n][1] - items[i + n][0] == to - c:
            n += 1
        distance = to - c
        text += f"{base36(c - last)}:{step}.{base36(n)}.{'-' if distance < 0 else ''}{base36(abs(distance))};"
        last = c
        i += n
    literal(name, comment, text)


def bert(**on):
    defaults = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**(defaults | on)).normalize_str


def clusters():
    """1 for what joins what is before, 2 for what joins what is behind, 3 for what joins nothing. The package composes letters and accents
    that are a cluster, and no others."""
    compose = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
    table = pieces.ModelProto.FromString(compose).normalizer_spec.precompiled_charsmap
    normal = normalizers.Precompiled(table).normalize_str
    of = [0] * COUNT
    for name, value in {"Extend": 1, "ZWJ": 1, "SpacingMark": 1, "Prepend": 2, "Control": 3, "CR": 3, "LF": 3}.items():
        for c in map(ord, regex.findall(rf"\p{{Grapheme_Cluster_Break={name}}}", TEXT)):
            alone = normal(chr(c))
            joins = {1: normal("e\u0301" + chr(c)) != "é" + alone, 2: normal(chr(c) + "e\u0301") != alone + "é", 3: True}[value]
            of[c] = value if joins else 0
    return of


def main():
    global JOINING
    nfd, nfkd, nfc = (n().normalize_str for n in (normalizers.NFD, normalizers.NFKD, normalizers.NFC))
    hangul = range(0xAC00, 0xD7A4)
    print("// Made by tools/tokenizer_tables.py.\n// clang-format off")
    literal("category_names", "The classes of `categories`, by two letters each.", "".join(CATEGORIES))
    runs("categories", "General categories by regular expressions.", categories(), wide=True)
    literal("script_names", "The classes of `pattern_scripts` from 1 on.", " ".join(SCRIPTS))
    runs("pattern_scripts", "Scripts by regular expressions.", scripts_of_patterns())
    JOINING = joining()
    runs("splitting_script_runs", "Scripts by UnicodeScripts; 0 joins.", scripts_that_split(), wide=True)
    word = lambda c: len(pre_tokenizers.Whitespace().pre_tokenize_str("a" + chr(c) + "a")) == 1  # noqa: E731
    runs("word_runs", "Characters of words (Whitespace, single_word).", flags({c for c in ALL if word(c)}))
    runs("pattern_word_runs", "What \\\\w matches.", flags(matched(r"\w")))
    numeric = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    runs("numeric_runs", "Digits.", flags({c for c in ALL if len(numeric("a" + chr(c))) == 2}))
    strip = normalizers.StripAccents().normalize_str
    runs("combining_runs", "What StripAccents takes away.", flags({c for c in ALL if not strip(chr(c))}))
    clean, bare = bert(clean_text=True), bert(strip_accents=True)
    runs("control_runs", "What clean text leaves out.", flags({c for c in ALL if not clean(chr(c))}))
    runs("accent_runs", "What BertNormalizer takes for accents.", flags({c for c in ALL if not bare(chr(c)) and nfd(chr(c)) == chr(c)}))
    punctuation = pre_tokenizers.Punctuation().pre_tokenize_str
    runs("punctuation_runs", "Punctuation.", flags({c for c in ALL if len(punctuation(f"a{chr(c)}b")) == 3}))
    lower = {c: n for c, n in changed(normalizers.Lowercase().normalize_str).items() if len(n) == 1}
    distances("lower_letters", "Lower case of one letter.", {c: ord(n) for c, n in lower.items()})
    canonical = {c: n for c, n in changed(nfd).items() if c not in hangul}
    mapping("canonical", "Canonical decompositions, whole.", canonical)
    mapping("compatible", "Other compatibility decompositions, whole.", {c: n for c, n in changed(nfkd).items() if c not in hangul and n != nfd(chr(c))})
    # U+0345 has the highest class of all, 240: whatever has a lower one moves before it.
    classes = [0] * COUNT
    for c in ALL:
        k = unicodedata.combining(chr(c))
        last = "\u0345"
        if k and (k == 240 or nfd("a" + last + chr(c)) != "a" + last + nfd(chr(c))):
            classes[c] = k
    runs("combining_classes", "Canonical combining classes.", classes, wide=True)
    pairs = {}
    for c in canonical:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and nfc("".join(chr(int(p, 16)) for p in parts)) == chr(c):
            pairs[c] = [chr(int(p, 16)) for p in parts]
    mapping("compositions", "Characters, and the two that become them.", pairs)
    runs("cluster_runs", "Grapheme clusters: 1 joins what is before, 2 what is behind, 3 nothing.", clusters())
    print("// clang-format on")


main()
