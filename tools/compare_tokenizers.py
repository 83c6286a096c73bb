#!/usr/bin/env python3
"""Holds Lathe's tokenizers against the package `tokenizers`: ids, offsets, tokens and decoded texts of drawn, hostile strings.

    pip install tokenizers==0.23.3
    python tools/compare_tokenizers.py 100000 tokenizer.json...   # files of published models, from packages or checkpoints
"""
import argparse
import pathlib
import random
import sys

import tokenizers

import lathe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/python"))
import tokenizer_documents as documents  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = 0
    for file in options.files:
        theirs = tokenizers.Tokenizer.from_file(file)
        theirs.no_truncation()
        theirs.no_padding()
        ours = lathe.Tokenizer(file).with_truncation(None).with_padding(None)
        rng, different = random.Random(options.seed), 0
        for _ in range(options.count):
            text = documents.text(rng)
            found = documents.difference(theirs, ours, text)
            different += found is not None
            if found and different <= 3:
                print(repr(text), *found)
        print(f"{file}: {options.count} strings, {different} differ", flush=True)
        total += different
    return 1 if total else 0


sys.exit(main())
