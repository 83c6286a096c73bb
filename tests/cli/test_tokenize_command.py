"""`lathe tokenize`: texts and conversations to tokens, and tokens to texts."""

import json
import struct

import pytest

from conftest import write_gguf


def ids(done):
    return [e["ids"] for e in done.json["encodings"]]


def test_texts_in_brackets_stay_whole(lathe):
    texts = ["[w3]", "[w3, w4]", "[[]", "[]", "x [w3]"]
    made = lathe("tokenize", "tokenizer.json", *texts, "--padding", "none", "--json").json["encodings"]
    assert len(made) == len(texts)
    for text, e in zip(texts, made):
        assert e["offsets"][-2][1] == len(text), (text, e)
    assert lathe("tokenize", "tokenizer.json", "[CLS]", "--json", "--padding", "none").json["encodings"][0]["ids"] == [101, 101, 102]


def test_a_plan_has_the_tokenizer_and_the_template(lathe):
    assert lathe("build", "decoder", "-o", "m.lathe").returncode == 0
    for arguments in (["w3 w4", "w5"], ["--chat", "conversation.json"], ["--decode", "3", "4"]):
        expected = lathe("tokenize", "decoder", *arguments, "--json")
        assert expected.returncode == 0 and expected.json
        assert lathe("tokenize", "m.lathe", *arguments, "--json").json == expected.json


def test_ids_become_texts(lathe):
    def decode(*words, **options):
        done = lathe("tokenize", "tokenizer.json", "--decode", *words, **options)
        assert done.returncode == 0, done.stderr
        return done

    for words in (["101", "1037", "2158", "102"], ["101 1037", "2158 102"], ["101,1037, 2158\n102"], ["[101, 1037, 2158, 102]"], ["[101,1037]", "[2158]", "102"]):
        assert decode(*words).stdout == "a man\n", words
    assert decode("--keep-special", "101", "1037", "102").stdout == "[CLS] a [SEP]\n"
    assert decode(input="1037 2158\n\n2158\n").stdout == "a man\n\nman\n"
    assert decode(input="[1037,\n 2158]").stdout == "a man\n"
    assert decode(input="[[1037], [2158]]").stdout == "a\nman\n"
    assert decode(input="[]").stdout == "\n" and decode(input="").stdout == ""
    j = decode("1037", "2158", "--json").json
    assert j == {"texts": [{"ids": [1037, 2158], "text": "a man"}], "without_token": []}
    absent = decode("1037", "77777777")
    assert absent.stdout == "a\n" and "77777777" in absent.stderr
    assert decode("1037", "77777777", "--json").json["without_token"] == [77777777]


def test_texts_come_back(lathe):
    made = lathe("tokenize", "decoder", "w3 w4 w31", "--json").json["encodings"][0]["ids"]
    assert lathe("tokenize", "decoder", "--decode", json.dumps(made)).stdout == "w3 w4 w31\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--decode", "1", "two"],
        ["--decode", "99999999999999999999"],
        ["--decode", "1.5"],
        ["--decode", "1", "--pairs"],
        ["--decode", "1", "--output", "out"],
        ["--decode", "1", "--chat", "conversation.json"],
        ["--keep-special", "text"],
        ["--template", "x.jinja", "text"],
        ["--chat", "absent.json"],
        ["--chat", "conversation.json", "text"],
        ["--encoding", "gpt2", "text"],
        ["--pattern", "a", "text"],
        ["--special-token", "a", "text"],
    ],
)
def test_what_does_not_fit_is_refused(lathe, words):
    done = lathe("tokenize", "decoder", *words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr, done


def test_conversations(lathe, place):
    def chat(conversation, *words, **options):
        (place / "c.json").write_text(conversation if isinstance(conversation, str) else json.dumps(conversation))
        return lathe("tokenize", "decoder", "--chat", "c.json", "--json", *words, **options)

    messages = [{"role": "user", "content": "w3"}, {"role": "assistant", "content": "w4"}]
    made = chat(messages)
    assert made.json["text"] == "w3 w4 w9" and ids(made) == [[3, 4, 9]]
    assert chat({"messages": messages}).json == made.json
    assert chat({"messages": messages, "add_generation_prompt": False}).json["text"] == "w3 w4 "
    assert chat({"messages": messages, "continue_final_message": True}).json["text"] == "w3 w4"
    assert lathe("tokenize", "decoder/tokenizer.json", "--chat", "-", "--json", input=json.dumps(messages)).json == made.json
    plain = lathe("tokenize", "decoder", "--chat", "c.json")
    assert plain.stdout == "w3 w4\n\nw3 w4\n3 4\n\n"  # c.json asks to continue
    (place / "own.jinja").write_text("{{ eos_token }}{{ tools | length }}{{ extra }}{{ documents }}")
    own = {"messages": messages, "tools": [{"a": 1}], "documents": [], "extra": "w7"}
    assert chat(own, "--template", "own.jinja").json["text"] == "1w7[]"
    config = json.loads((place / "decoder/tokenizer_config.json").read_text())
    (place / "decoder/tokenizer_config.json").write_text(json.dumps(config | {"eos_token": "<e>"}))
    assert chat(own, "--template", "own.jinja").json["text"] == "<e>1w7[]"
    (place / "failing.jinja").write_text("{{ raise_exception('no') }}")
    assert chat(own, "--template", "failing.jinja").json["error"]["code"] == "E1164"
    out = lathe("tokenize", "decoder", "--chat", "conversation.json", "--output", "inputs2", "--json").json
    assert len(out["files"]) == 3
    for broken in ("", "{", "3", "{}", '{"messages": [], "add_generation_prompt": 1}', "[" * 500 + "]" * 500, '[{"a": 1e30}]'):
        done = chat(broken)
        assert done.returncode == 1 and done.json["error"]["code"].startswith("E"), broken
    (place / "decoder/tokenizer_config.json").unlink()
    assert chat(messages).returncode == 2


def test_ranks(lathe):
    by_pattern = lathe("tokenize", "own.tiktoken", "xabab<e>", "--pattern", "[abx]+", "--special-token", "<e>=300", "--json")
    assert ids(by_pattern) == [[120, 256, 256, 300]]
    by_name = lathe("tokenize", "own.tiktoken", "ab ab<|endoftext|>", "--encoding", "gpt2", "--json")
    assert by_name.returncode == 0 and ids(by_name)[0][:4] == [256, 32, 256, 50256]
    both = ["--pattern", "a", "--encoding", "gpt2"]
    for words in ([], ["--encoding", "none"], both, ["--encoding", "gpt2", "--special-token", "a=400"], ["--pattern", "a", "--special-token", "a=x"]):
        done = lathe("tokenize", "own.tiktoken", "ab", *words, "--json")
        assert done.returncode == 2 and done.json["error"]["code"] == "E6001", (words, done)
    brackets = lathe("tokenize", "own.tiktoken", "ab", "--pattern", "[ab]", "--json")
    assert ids(brackets) == [[97, 98]]


def test_gguf_has_tokenizer_and_template(lathe, place):
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    tokens = ["<unk>", "<s>", "</s>", "▁", "a", "b", "▁a"]
    metadata = [
        ("general.architecture", 8, text("llama")),
        ("tokenizer.ggml.model", 8, text("llama")),
        ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, len(tokens)) + b"".join(map(text, tokens))),
        ("tokenizer.ggml.scores", 9, struct.pack("<IQ7f", 6, 7, 0, 0, 0, -1, -2, -3, -4)),
        ("tokenizer.ggml.token_type", 9, struct.pack("<IQ7i", 5, 7, 2, 3, 3, 1, 1, 1, 1)),
        ("tokenizer.chat_template", 8, text("{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}")),
    ]
    write_gguf(place / "words.gguf", metadata, [])
    made = lathe("tokenize", "words.gguf", "--chat", "-", "--json", input='[{"role": "user", "content": "ab"}]')
    assert made.returncode == 0, made.stderr
    assert made.json["text"] == "<s>ab</s>" and ids(made) == [[1, 6, 5, 2]]
