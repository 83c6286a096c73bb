"""Draws files of tokenizers and texts for them, of our own making: what tests and tools hold Lathe and the package `tokenizers` against
each other with."""

WORDS = "the of and to in is that it was for on are as with his they be this have from or one had by word but not what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made may part don't it's we're I'll I'd they've I'm HELLO World".split()
SPICE = ["\n", "\r\n", "\t", "  ", "   ", " ", "\u00a0", "\u3000", "\u2028", "\u0085", "\x00", "\x07", "\ufeff", "\u200b", "\u200d", "\u00ad", "\ufffd", "'s", "'S", "'ll", "\u017f", "\u212a", "\u0130", "\u1e9e", "é", "e\u0301", "\u0301", "a\u0323\u0302", "\u1e69", "\u0344", "\u212b", "ﬁ", "½", "²", "Ⅷ", "①", "ａ", "１", "℃", "々", "日本語", "你好", "안녕", "각", "\u1100\u1161\u11a8", "हिन्दी", "नमस्ते", "ไทย", "العربية", "שלום", "😀", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "\U0001d400", "\U00020000", "\U0010ffff", "\ue000", "<s>", "</s>", "<unk>", "[CLS]", "[MASK]", "<|endoftext|>", "<|im_start|>", "▁", "Ġ", "Ċ", "##", "1", "12", "123", "1234", "3.14", "0x1F", "_", "__init__", "{}", "()", "://", "http://a.b/c?d=e", "!!!", "...", "—", "“q”", "\u0600", "\u0d4e", "\u0903", "\u093f", "ー", "カタカナ", "ひら", "к", "Я", "ё", "Ω", "ς", "ß"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = [GPT2, LLAMA3, O200K, r"\p{N}{1,3}+", r"\s++$|\s", "[一-龥぀-ゟ゠-ヿ]+", r"[\p{Lu}\p{Lo}&&[^\p{Han}]]+|\p{Han}", r"\s+", r"\w+", r"\d", "[a-z]+", "(a|b)+?c?", r"[^a-c\s]+", "(?<=a)b", "(?<!a)[b-z]", r"\bt", "a*", "", "^.", ".$", r"\n$", "(?:ab|a)(?:c|bcd)*", "(?>a+)b", "a{2,3}", "(?i)HELLO", r"\P{L}", r"\x{4f60}", r"[\s\S]", "(?m:.)+", r"(?=\d)", r"\A\w", r"\w\z"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
ADDED = ["<s>", "<unk>", "[CLS]", "<|im_start|>", "the", "  ", "you", "é", "HELLO", "ab", "[MASK]", "don", "日本", "\n", "e\u0301"]


def text(rng):
    """Returns a text of words, hostile pieces and any characters."""
    pieces = []
    for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 13, 30])):
        kind = rng.random()
        if kind < 0.45:
            pieces.append(rng.choice(WORDS) + rng.choice([" ", "", " "]))
        elif kind < 0.8:
            pieces.append(rng.choice(SPICE) * rng.choice([1, 1, 1, 2, 3]))
        elif kind < 0.9:
            blocks = [(0x20, 0x7F), (0xA0, 0x3000), (0x3000, 0xD800), (0xE000, 0x110000)]
            pieces.append(chr(rng.randrange(*rng.choice(blocks))))
        elif kind < 0.95:
            pieces.append(chr(rng.randrange(0x20)) * rng.choice([1, 2]))
        else:
            pieces.append(rng.choice("ab1 .\n") * rng.choice([1, 2, 10, 60]))
    return "".join(pieces)


def byte_letters():
    """Returns the characters that stand for bytes in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def pattern(rng):
    if rng.random() < 0.4:
        return {"String": rng.choice([" ", "a", "  ", "▁", "'", "\n", "é", ""])}
    return {"Regex": rng.choice(PATTERNS)}


def sequence(rng, name, draw, depth):
    return {"type": "Sequence", name: [draw(rng, depth + 1) for _ in range(rng.choice([0, 1, 2, 3]))]}


def normalizer(rng, depth=0):
    flag = lambda: rng.random() < 0.5  # noqa: E731
    kinds = [
        lambda: {"type": "BertNormalizer", "clean_text": flag(), "handle_chinese_chars": flag(), "strip_accents": rng.choice([None, True, False]), "lowercase": flag()},
        lambda: {"type": rng.choice(["Lowercase", "StripAccents", "Nmt", "ByteLevel"])},
        lambda: {"type": rng.choice(["NFC", "NFD", "NFKC", "NFKD"])},
        lambda: {"type": "Strip", "strip_left": flag(), "strip_right": flag()},
        lambda: {"type": "Prepend", "prepend": rng.choice(["▁", "ab", "é "])},
        lambda: {"type": "Replace", "pattern": pattern(rng), "content": rng.choice(["", "▁", "xy", "é", "  "])},
        lambda: sequence(rng, "normalizers", normalizer, depth),
    ]
    return rng.choice(kinds[: 7 if depth < 2 else 6])()


def pre_tokenizer(rng, depth=0):
    flag = lambda: rng.random() < 0.5  # noqa: E731
    kinds = [
        lambda: {"type": rng.choice(["BertPreTokenizer", "UnicodeScripts", "Whitespace", "WhitespaceSplit"])},
        lambda: {"type": "ByteLevel", "add_prefix_space": flag(), "trim_offsets": True, "use_regex": flag()},
        lambda: {"type": "CharDelimiterSplit", "delimiter": rng.choice(" aé")},
        lambda: {"type": "Digits", "individual_digits": flag()},
        lambda: {"type": "FixedLength", "length": rng.choice([1, 2, 5])},
        lambda: {"type": "Metaspace", "replacement": rng.choice("▁▁_é"), "prepend_scheme": rng.choice(["always", "first", "never"]), "split": flag()},
        lambda: {"type": "Punctuation", "behavior": rng.choice(BEHAVIORS)},
        lambda: {"type": "Split", "pattern": pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": flag()},
        lambda: sequence(rng, "pretokenizers", pre_tokenizer, depth),
    ]
    return rng.choice(kinds[: 9 if depth < 2 else 8])()


def post_processor(rng, ids):
    flag = lambda: rng.random() < 0.5  # noqa: E731
    ends = {"sep": ["[SEP]", ids["[SEP]"]], "cls": ["[CLS]", ids["[CLS]"]]}
    byte_level = lambda: {"type": "ByteLevel", "add_prefix_space": flag(), "trim_offsets": flag(), "use_regex": True}  # noqa: E731
    token = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}  # noqa: E731
    given = lambda name, kind: {"Sequence": {"id": name, "type_id": kind}}  # noqa: E731
    template = {
        "type": "TemplateProcessing",
        "single": [token("[CLS]", 0), given("A", rng.choice([0, 2])), token("[SEP]", 0)],
        "pair": [token("[CLS]", 0), given("A", 0), token("[SEP]", 0), given("B", 1), token("[SEP]", 1)],
        "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in ("[CLS]", "[SEP]")},
    }
    return rng.choice([
        byte_level(),
        {"type": "BertProcessing"} | ends,
        {"type": "RobertaProcessing", "trim_offsets": flag(), "add_prefix_space": flag()} | ends,
        template,
        {"type": "Sequence", "processors": [byte_level(), template]},
    ])


def decoder(rng, depth=0):
    flag = lambda: rng.random() < 0.5  # noqa: E731
    kinds = [
        lambda: {"type": "BPEDecoder", "suffix": rng.choice(["</w>", "a"])},
        lambda: {"type": rng.choice(["ByteFallback", "Fuse"])},
        lambda: {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        lambda: {"type": "CTC", "pad_token": rng.choice(["<pad>", "a"]), "word_delimiter_token": rng.choice(["|", " "]), "cleanup": flag()},
        lambda: {"type": "Metaspace", "replacement": rng.choice("▁▁_"), "prepend_scheme": rng.choice(["always", "first", "never"]), "split": True},
        lambda: {"type": "Replace", "pattern": pattern(rng), "content": rng.choice(["", "▁", "xy", " "])},
        lambda: {"type": "Strip", "content": rng.choice(" ae▁"), "start": rng.choice([0, 1, 2]), "stop": 0},
        lambda: {"type": "WordPiece", "prefix": rng.choice(["##", "a"]), "cleanup": flag()},
        lambda: sequence(rng, "decoders", decoder, depth),
    ]
    return rng.choice(kinds[: 9 if depth < 2 else 8])()


def bpe(rng, tokens):
    letters = byte_letters() if rng.random() < 0.6 else list("abcdefghijklmnopqrstuvwxyzABCDEHILM .,'!0123456789▁é你")
    prefix, suffix, fallback = rng.choice(["", "", "##"]), rng.choice(["", "", "</w>"]), rng.random() < 0.4
    for before in {"", prefix}:
        for behind in {"", suffix}:
            tokens += [before + a + behind for a in letters]
    tokens += [f"<0x{b:02X}>" for b in range(256)] if fallback else []
    tokens = list(dict.fromkeys(tokens))
    merges = []
    for _ in range(rng.choice([0, 20, 300])):
        a, b = rng.choice(tokens[4:]), rng.choice(tokens[4:])
        if b.startswith(prefix) and len(a + b) < 30 and not (suffix and a.endswith(suffix)):
            merges.append([a, b])
            tokens.append(a + b[len(prefix) :])
    vocabulary = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    flags = {"fuse_unk": rng.random() < 0.5, "byte_fallback": fallback, "ignore_merges": rng.random() < 0.4}
    names = {"unk_token": rng.choice([None, "<unk>"]), "continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None}
    return {"type": "BPE", "dropout": None, "vocab": vocabulary, "merges": merges} | flags | names, vocabulary


def model(rng):
    tokens = ["<unk>", "[CLS]", "[SEP]", "<s>"]
    kind = rng.choice(["BPE", "BPE", "Unigram", "WordPiece", "WordLevel"])
    if kind == "BPE":
        return bpe(rng, tokens)
    letters = [a for a in "abcdefghijklmnopqrstuvwxyzABCDEHILM .,'!0123456789▁é你" if rng.random() < 0.95]
    tokens += letters + [w for w in WORDS if rng.random() < 0.7]
    if kind == "Unigram":
        fallback = rng.random() < 0.5
        tokens += ["▁" + w for w in WORDS[:40]] + ["ing", "er", "th", "▁t"] + ([f"<0x{b:02X}>" for b in range(256)] if fallback else [])
        tokens = list(dict.fromkeys(tokens))
        scores = [[t, rng.choice([0.0, -1.0, -2.5, -12 * rng.random()])] for t in tokens]
        return {"type": "Unigram", "unk_id": 0, "vocab": scores, "byte_fallback": fallback}, {t: i for i, t in enumerate(tokens)}
    if kind == "WordPiece":
        tokens += ["##" + a for a in letters] + ["##ing", "##s"]
    vocabulary = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    more = {"continuing_subword_prefix": "##", "max_input_chars_per_word": rng.choice([3, 100])} if kind == "WordPiece" else {}
    return {"type": kind, "unk_token": "<unk>", "vocab": vocabulary} | more, vocabulary


def document(rng):
    """Returns a tokenizer.json."""
    drawn, ids = model(rng)
    flags = ("single_word", "lstrip", "rstrip", "special")
    # Of normalized tokens that become the same text the package takes any, and one that becomes empty cuts texts into characters there.
    added = [
        {"id": ids.get(c, len(ids) + i), "content": c, "normalized": i == 0 and c.strip() != ""} | {f: rng.random() < 0.3 for f in flags}
        for i, c in enumerate(rng.sample(ADDED, rng.choice([0, 0, 1, 3, 6])))
    ]
    maybe = lambda share, draw, *more: draw(rng, *more) if rng.random() < share else None  # noqa: E731
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "model": drawn,
        "normalizer": maybe(0.6, normalizer), "pre_tokenizer": maybe(0.85, pre_tokenizer),
        "post_processor": maybe(0.6, post_processor, ids), "decoder": maybe(0.8, decoder),
    }


def charsmap_of(model):
    """The table that a model of SentencePiece has: field 2 of field 3."""

    def field(message, number):
        at = 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                b = message[at]
                at += 1
                value |= (b & 127) << shift
                shift += 7
                if b < 128:
                    return value

        while at < len(message):
            tag = varint()
            size = varint() if tag & 7 in (0, 2) else 4
            if tag & 7 == 0:
                continue
            if tag >> 3 == number:
                return message[at : at + size]
            at += size

    return field(field(model, 3), 2)


def difference(theirs, ours, sample):
    """Returns what differs between a tokenizer of the package and ours for a text; None if nothing does."""
    try:
        want = theirs.encode(sample)
    except BaseException as e:  # its panics are no Exception
        if type(e).__name__ not in ("PanicException", "Exception"):
            raise
        return None
    got = ours.encode(sample)
    # Theirs can reach beyond the text.
    offsets = [(min(a, len(sample)), min(b, len(sample))) for a, b in want.offsets]
    for name, a, b in (("ids", got.ids, want.ids), ("offsets", got.offsets, offsets), ("tokens", got.tokens, want.tokens), ("type_ids", got.type_ids, want.type_ids)):
        if list(a) != list(b):
            return name, a, b
    for skip in (True, False):
        try:
            decoded = theirs.decode(want.ids, skip_special_tokens=skip)
        except BaseException as e:
            if type(e).__name__ not in ("PanicException", "Exception"):
                raise
            continue
        if ours.decode(want.ids, skip) != decoded:
            return "decode", ours.decode(want.ids, skip), decoded
        stream = ours.decode_stream(skip)
        if "".join([*map(stream.append, want.ids), stream.finish()]) != decoded:
            return "stream", want.ids, decoded
    return None
