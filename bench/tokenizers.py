#!/usr/bin/env python3
"""Measures how long Lathe and the package `tokenizers` take for a text on one thread, in turns; prints medians and their ratio.

    python bench/tokenizers.py text.txt tokenizer.json...
"""
import os
import pathlib
import statistics
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
# This file has the name of the package, which must not be looked for here.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import tokenizers  # noqa: E402

import lathe  # noqa: E402

ROUNDS = 7


def seconds(encode, text):
    start = time.perf_counter()
    encode(text)
    return time.perf_counter() - start


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    print(f"{len(text.encode())} bytes, medians of {ROUNDS} runs")
    for file in sys.argv[2:]:
        theirs = tokenizers.Tokenizer.from_file(file)
        theirs.no_truncation()
        theirs.no_padding()
        ours = lathe.Tokenizer(file).with_truncation(None).with_padding(None)
        assert ours.encode(text).ids == theirs.encode(text).ids
        both = [(seconds(ours.encode, text), seconds(theirs.encode, text)) for _ in range(ROUNDS)]
        a, b = (statistics.median(column) for column in zip(*both))
        print(f"{file}: lathe {a:.3f} s, tokenizers {b:.3f} s, {b / a:.1f} times faster")


main()
