"""Files of tokenizers beside the libraries that they belong to: models of SentencePiece beside the package `sentencepiece`, ranks
beside `tiktoken`; ids and decoded texts of drawn strings."""

import base64
import io
import json
import random
import struct

import pytest
import tokenizer_documents as documents

import lathe

sentencepiece = pytest.importorskip("sentencepiece")
tiktoken = pytest.importorskip("tiktoken")

SYMBOLS = ["<|im_start|>", "[MASK]", "don", "▁you", "日本", "e\u0301"]


def sentences(seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(documents.WORDS, k=8)) + rng.choice(["", ".", " 日本語 é 12", "  😀!"]) for _ in range(1500)]


def trained(**options):
    """The bytes of a model of SentencePiece."""
    model = io.BytesIO()
    defaults = {"vocab_size": 400, "hard_vocab_limit": False, "character_coverage": 0.999, "minloglevel": 2, "num_threads": 1}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences()), model_writer=model, **(defaults | options))
    return model.getvalue()


MODELS = {
    "unigram": {},
    "unigram of t5": {"byte_fallback": False, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "user_defined_symbols": ["<extra_id_0>"]},
    "unigram with bytes": {"byte_fallback": True, "vocab_size": 700, "user_defined_symbols": SYMBOLS},
    "unigram as it is": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "unigram folded": {"normalization_rule_name": "nmt_nfkc_cf", "control_symbols": ["<ctl>", "the"]},
    "unigram with suffixes": {"treat_whitespace_as_suffix": True, "user_defined_symbols": SYMBOLS},
    "unigram of phrases": {"split_by_whitespace": False, "split_by_unicode_script": False, "split_by_number": False},
    "bpe": {"model_type": "bpe"},
    "bpe of llama": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 700, "normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True, "allow_whitespace_only_pieces": True},
    "bpe with symbols": {"model_type": "bpe", "user_defined_symbols": SYMBOLS, "normalization_rule_name": "nfkc"},
    "bpe with suffixes": {"model_type": "bpe", "treat_whitespace_as_suffix": True, "normalization_rule_name": "nfkc_cf", "unk_surface": "?"},
    "words": {"model_type": "word", "user_defined_symbols": ["<sep>"]},
    "characters": {"model_type": "char", "add_dummy_prefix": False, "normalization_rule_name": "nfkc"},
}


def hold(ours, theirs, texts, rng):
    for text in texts:
        want = theirs.encode(text)
        assert ours.encode(text).ids == want, text
        assert ours.decode(want) == theirs.decode(want), (text, want)
        drawn = [rng.randrange(theirs.vocab_size()) for _ in range(rng.choice([1, 2, 5]))]
        assert ours.decode(drawn) == theirs.decode(drawn), drawn


@pytest.mark.parametrize("name", MODELS)
def test_sentence_piece(tmp_path, name):
    file = tmp_path / "tokenizer.model"
    file.write_bytes(trained(**MODELS[name]))
    theirs, ours = sentencepiece.SentencePieceProcessor(model_file=str(file)), lathe.Tokenizer(file)
    assert len(ours) == theirs.vocab_size()
    rng = random.Random(name)
    texts = [documents.text(rng) for _ in range(2500)] + [" ".join(rng.sample(SYMBOLS + documents.WORDS, 6)) for _ in range(300)]
    hold(ours, theirs, texts + sentences(1)[:100], rng)


def test_equal_sums_are_rounded_alike(tmp_path):
    """Pieces of which many ways to cut a text have the same sum, behind user-defined ones."""
    message = lambda number, content: bytes([number << 3 | 2, len(content)]) + content  # noqa: E731
    score = -2.1716766357421875
    pieces = [("<unk>", 0, 2), ("x", score, 1), ("xx", 2 * score, 1), ("xxxx", 4 * score, 1), ("p", -7.31, 1), ("q", -3.77, 1)]
    pieces += [(symbol, 0, 4) for symbol in ("abc", "d", "ef", "ghijk")] + [(letter, -9, 1) for letter in "abcefghijk"]
    model = b"".join(message(1, message(1, t.encode()) + b"\x15" + struct.pack("<f", s) + bytes([0x18, kind])) for t, s, kind in pieces)
    file = tmp_path / "tokenizer.model"
    file.write_bytes(model + message(2, b"\x18\x01") + message(3, b"\x18\x00\x20\x00"))
    theirs, ours = sentencepiece.SentencePieceProcessor(model_file=str(file)), lathe.Tokenizer(file)
    rng = random.Random(1)
    for _ in range(2000):
        text = "".join(rng.choices(["p", "q", "abc", "d", "ef", "ghijk"], k=rng.randrange(1, 20))) + "x" * rng.randrange(5, 60)
        assert ours.encode(text).ids == theirs.encode(text), text


@pytest.mark.parametrize("name", ["unigram", "unigram of t5", "unigram with bytes", "unigram as it is"])
def test_unigram_of_gguf_in_a_folder(tmp_path, name):
    """What is written into an exported folder gives the tokens of SentencePiece, in the package `tokenizers` too."""
    gguf, tokenizers = pytest.importorskip("gguf"), pytest.importorskip("tokenizers")
    from test_gguf_export import write_model

    options = MODELS[name] | {"vocab_size": MODELS[name].get("vocab_size", 400)}
    if name == "unigram with bytes":
        options["user_defined_symbols"] = ["<|im_start|>", "[MASK]", "don"]
    model = trained(**options)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    normalizes = options.get("normalization_rule_name") != "identity"

    def vocabulary(w):
        kinds = [2 if pieces.is_unknown(i) else 3 if pieces.is_control(i) else 6 if pieces.is_byte(i) else 4 if pieces.id_to_piece(i) in options.get("user_defined_symbols", []) else 1 for i in range(pieces.vocab_size())]
        w.add_tokenizer_model("t5")
        w.add_token_list([pieces.id_to_piece(i) for i in range(pieces.vocab_size())])
        w.add_token_scores([pieces.get_score(i) for i in range(pieces.vocab_size())])
        w.add_token_types(kinds)
        w.add_unk_token_id(pieces.unk_id())
        w.add_eos_token_id(pieces.eos_id())
        w.add_add_eos_token(False)
        w.add_add_space_prefix(options.get("add_dummy_prefix", True))
        w.add_remove_extra_whitespaces(options.get("remove_extra_whitespaces", True))
        if normalizes:
            w.add_precompiled_charsmap(documents.charsmap_of(model))

    write_model(tmp_path / "m.gguf", gguf.GGMLQuantizationType.Q8_0, vocabulary, pieces.vocab_size())
    lathe.exporters.export(tmp_path / "m.gguf", tmp_path / "out", "text-generation-with-past")
    exact = lathe.Tokenizer.from_gguf(lathe.Gguf(tmp_path / "m.gguf"))
    ours = lathe.Tokenizer(tmp_path / "out")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "out/tokenizer.json"))
    rng, compared = random.Random(name), 0
    special = [pieces.id_to_piece(i) for i in range(pieces.vocab_size()) if pieces.is_control(i) or pieces.is_unknown(i)]
    for _ in range(2000):
        text = documents.text(rng)
        assert documents.difference(theirs, ours, text) is None, text
        # SentencePiece finds no special tokens in texts; and clusters of several characters are the business of the package.
        if any(s in text for s in special) or (normalizes and not text.isascii()):
            continue
        want = pieces.encode(text)
        assert exact.encode(text).ids == ours.encode(text).ids == want, text
        compared += 1
    assert compared > 100
    assert json.loads((tmp_path / "out/tokenizer_config.json").read_text())["eos_token"] == pieces.id_to_piece(pieces.eos_id())


def ranks_of(pattern, texts, merges):
    """Ranks as training would find them: single bytes in any order, and then pairs that are frequent."""
    import regex

    rng = random.Random(5)
    tokens = [bytes([b]) for b in range(256)]
    rng.shuffle(tokens)
    words = [[bytes([b]) for b in m.encode()] for text in texts for m in regex.findall(pattern, text)]
    for _ in range(merges):
        pairs = {}
        for word in words:
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        left, right = max(pairs, key=pairs.get)
        tokens.append(left + right)
        for i, word in enumerate(words):
            at, joined = 0, []
            while at < len(word):
                both = word[at : at + 2] == [left, right]
                joined.append(left + right if both else word[at])
                at += 1 + both
            words[i] = joined
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}


PATTERNS = {
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    "cl100k_base": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    "own": r"\p{Lu}?\p{Ll}+|\d|[^\w\s]+|\s+|\w",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_ranks(tmp_path, name):
    pattern = PATTERNS[name]
    ranks = ranks_of(pattern, sentences()[:300], 150)
    special = {"<|endoftext|>": len(ranks), "<|im_start|>": len(ranks) + 7, "[MASK]": len(ranks) + 1, "the": len(ranks) + 2}
    file = tmp_path / "own.tiktoken"
    file.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
    theirs = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    ours = lathe.Tokenizer(file, pattern=pattern, special_tokens=special)
    rng = random.Random(name)
    for text in [documents.text(rng) for _ in range(3000)] + sentences(2)[:100]:
        want = theirs.encode(text, allowed_special="all")
        assert ours.encode(text).ids == want, text
        assert ours.decode(want, skip_special_tokens=False) == theirs.decode(want), text
        drawn = rng.choices(list(ranks.values()), k=4)
        assert ours.decode(drawn) == theirs.decode(drawn), drawn
    if name == "own":
        return
    # By its name an encoding has the same pattern; its special tokens lie beyond the ranks of the file.
    named = lathe.Tokenizer(file, encoding=name)
    plain = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    for _ in range(1000):
        text = documents.text(rng)
        if "<|" not in text:
            assert named.encode(text).ids == plain.encode(text), text
