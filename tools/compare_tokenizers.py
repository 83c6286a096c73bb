#!/usr/bin/env python3
"""Holds Lathe's tokenizers against the libraries that their files belong to, on drawn, hostile strings: tokenizer.json against the package
`tokenizers` (ids, offsets, tokens and decoded texts), models of SentencePiece against `sentencepiece`, ranks against `tiktoken` (ids and
decoded texts).

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 tiktoken==0.14.0
    python tools/compare_tokenizers.py 100000 tokenizer.json...   # files of published models, from packages or checkpoints
    python tools/compare_tokenizers.py 100000 tokenizer.model...
    python tools/compare_tokenizers.py 100000 own.tiktoken --pattern ' ?[a-z]+|.'
"""
import argparse
import base64
import pathlib
import random
import sys

import lathe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/python"))
import tokenizer_documents as documents  # noqa: E402


def of_json(file):
    import tokenizers

    theirs = tokenizers.Tokenizer.from_file(file)
    theirs.no_truncation()
    theirs.no_padding()
    ours = lathe.Tokenizer(file).with_truncation(None).with_padding(None)
    return lambda text: documents.difference(theirs, ours, text)


def of_texts(ours, encode, decode):
    def difference(text):
        want = encode(text)
        got = ours.encode(text).ids
        if got != want:
            return "ids", got, want
        back, whole = ours.decode(want, False), decode(want)
        return None if back == whole else ("decode", back, whole)

    return difference


def of_pieces(file):
    import sentencepiece

    theirs = sentencepiece.SentencePieceProcessor(model_file=file)
    return of_texts(lathe.Tokenizer(file), theirs.encode, theirs.decode)


def of_ranks(file, pattern):
    import tiktoken

    lines = (line.split() for line in pathlib.Path(file).read_text().splitlines() if line)
    ranks = {b"" if token == "=" else base64.b64decode(token): int(rank) for token, rank in lines}
    special = {"<|endoftext|>": max(ranks.values()) + 1, "<|im_start|>": max(ranks.values()) + 2}
    theirs = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    ours = lathe.Tokenizer(file, pattern=pattern, special_tokens=special)
    return of_texts(ours, lambda text: theirs.encode(text, allowed_special="all"), theirs.decode)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pattern", help="the files are ranks; the regular expression that splits texts")
    options = parser.parse_args()
    total = 0
    for file in options.files:
        if options.pattern:
            difference = of_ranks(file, options.pattern)
        else:
            difference = (of_json if file.endswith(".json") else of_pieces)(file)
        rng, different = random.Random(options.seed), 0
        for _ in range(options.count):
            text = documents.text(rng)
            found = difference(text)
            different += found is not None
            if found and different <= 3:
                print(repr(text), *found)
        print(f"{file}: {options.count} strings, {different} differ", flush=True)
        total += different
    return 1 if total else 0


sys.exit(main())
