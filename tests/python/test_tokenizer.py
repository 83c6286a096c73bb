"""Tokenizers from Python, and beside the package `tokenizers` on every character there is."""
import json

import numpy as np
import pytest

import lathe
from lathe import Padding, Tokenizer, Truncation
from support import ROOT, missing

FOLDER = ROOT / "tests/data/tokenizer"
BASE = json.loads((FOLDER / "tokenizer.json").read_text())


@pytest.fixture(scope="module")
def plain():
    return Tokenizer(FOLDER).with_truncation(None).with_padding(None)


def test_as_recorded():
    seen = 0
    for variant in json.loads((FOLDER / "recorded.json").read_text())["variants"]:
        tokenizer = Tokenizer.parse(json.dumps(BASE | variant["changes"]))
        for r in variant["records"]:
            if "batch" in r:
                got = tokenizer.encode_batch([text if pair is None else (text, pair) for text, pair in r["texts"]])
                assert [e.ids for e in got] == [e["ids"] for e in r["batch"]]
            else:
                text = r["text"] if r["pair"] is None else (r["text"], r["pair"])
                e = tokenizer.encode(text, r["special"])
                assert (e.ids, e.tokens, e.type_ids) == (r["ids"], r["tokens"], r["type_ids"]), r
            seen += 1
    assert seen > 300


def test_offsets_are_characters(plain):
    text = "Ça va? 你好"
    e = plain.encode((text, "A man"))
    for (begin, end), sequence, token in zip(e.offsets, e.sequence, e.tokens):
        if sequence is None:
            assert (begin, end) == (0, 0) and token in ("[CLS]", "[SEP]")
    assert [text[a:b] for (a, b), s in zip(e.offsets, e.sequence) if s == 0][-2:] == ["你", "好"]
    assert len(e) == len(e.ids) == sum(e.attention_mask)


def test_inputs_of_models(plain):
    with pytest.raises(lathe.Error, match="with_padding"):
        plain(["a", "a b c"])
    inputs = plain.with_padding(Padding(multiple_of=4))(["a", "a b c"])
    assert {v.dtype for v in inputs.values()} == {np.dtype("int64")}
    assert inputs["input_ids"].shape == (2, 8)
    assert inputs["attention_mask"].sum(1).tolist() == [3, 5]


def test_what_it_says_of_itself(plain):
    as_said = Tokenizer(FOLDER / "tokenizer.json")
    assert as_said.truncation == Truncation(128) and as_said.padding == Padding(length=128, id=0)
    assert plain.truncation is None and plain.padding is None
    assert len(plain) == len(BASE["model"]["vocab"])
    assert plain.id_of("[SEP]") == 102 and plain.token_of(102) == "[SEP]"
    assert plain.id_of("nothing") is None and plain.token_of(10**9) == ""
    assert plain.with_truncation(Truncation(3, left=True)).encode("a b c").tokens == ["[CLS]", "c", "[SEP]"]


def test_errors(plain):
    with pytest.raises(lathe.Error, match="E1001"):
        Tokenizer("absent")
    with pytest.raises(lathe.Error, match="WordPiece"):
        Tokenizer.parse(json.dumps(BASE | {"model": {"type": "Words"}}))
    with pytest.raises(lathe.Error, match="only_first"):
        plain.with_truncation(Truncation(4, "both"))
    for wrong in (3, ("a", "b", "c"), ["a", 2]):
        with pytest.raises(TypeError):
            plain.encode(wrong)
    with pytest.raises(TypeError, match="whole characters"):
        plain.encode("\ud800")


def test_every_character_is_what_it_is_there():
    tokenizers = pytest.importorskip("tokenizers")
    letters = "ab"
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 4, "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}
    for flags in ((True, True, True, True), (True, False, False, False), (False, True, False, True), (False, False, True, False)):
        keys = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        document = BASE | {"model": model, "truncation": None, "padding": None, "post_processor": None}
        document["normalizer"] = {"type": "BertNormalizer"} | dict(zip(keys, flags))
        theirs, ours = tokenizers.Tokenizer.from_str(json.dumps(document)), Tokenizer.parse(json.dumps(document))
        # Between two letters: what stays is unknown, what is left out is not seen, what separates makes two words.
        texts = [letters[0] + chr(c) + letters[1] for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x3300 or c % 7 == 0)]
        for text, a, b in zip(texts, theirs.encode_batch(texts), ours.encode_batch(texts)):
            assert (a.ids, a.offsets) == (b.ids, b.offsets), f"U+{ord(text[1]):04X}"


def test_normalizers_in_any_order():
    tokenizers = pytest.importorskip("tokenizers")
    rng = np.random.default_rng(3)
    flags = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    lower = {"type": "Lowercase"}
    bert = [{"type": "BertNormalizer"} | dict(zip(flags, values)) for values in ((True, True, None, False), (True, False, True, False), (False, True, False, True), (True, True, True, True))]
    sequence = lambda *parts: {"type": "Sequence", "normalizers": list(parts)}  # noqa: E731
    chains = [sequence(lower, b) for b in bert] + [sequence(b, lower) for b in bert]
    chains += [sequence(), sequence(lower, lower), sequence(bert[0], bert[1], bert[2]), sequence(lower, sequence(bert[1]), sequence()), sequence(bert[2], lower, bert[1])]
    letters = list("aAbBzZ \t\n\u0000\u00c4\u00e4\u0130\u0131\u1e9e\u00df\u0307\u0301\u4f60\u03a3\u03c2\u01c5\ufb01\u212b\u2126\ud55c.,!") + ["i\u0307", "\u0049\u0307"]
    texts = ["".join(rng.choice(letters, 12)) for _ in range(400)]
    vocabulary = {t: i for i, t in enumerate(["[UNK]", *sorted({c for t in texts for c in t + t.lower()}), *sorted({"##" + c for t in texts for c in t + t.lower()})])}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary}
    for normalizer in chains:
        document = BASE | {"model": model, "truncation": None, "padding": None, "post_processor": None, "normalizer": normalizer}
        document["added_tokens"] = [{"id": len(vocabulary), "content": "AZ", "special": False, "normalized": True, "single_word": False, "lstrip": False, "rstrip": False}]
        theirs, ours = tokenizers.Tokenizer.from_str(json.dumps(document)), Tokenizer.parse(json.dumps(document))
        for text, a, b in zip(texts, theirs.encode_batch(texts), ours.encode_batch(texts)):
            assert (a.ids, a.tokens, a.offsets) == (b.ids, b.tokens, b.offsets), (normalizer, text)
