"""Generators: answers that depend on their requests alone."""

import copy
import json
import shutil

import numpy as np
import pytest

import lathe
import support
from support import ROOT

DECODER = ROOT / "tests/data/decoder"


@pytest.fixture(scope="module")
def small():
    return lathe.Generator(DECODER, threads=1)


@pytest.fixture(scope="module")
def smollm2():
    return lathe.Generator(support.smollm2())


def raises(code, f, *arguments, **options):
    with pytest.raises(lathe.Error) as caught:
        f(*arguments, **options)
    assert code in str(caught.value), caught.value


def test_log_probabilities_are_those_of_the_file(smollm2):
    messages = [{"role": "user", "content": "Name three colours of the rainbow and say one sentence about each of them."}]
    prompt = smollm2.encode_chat(messages)
    assert len(prompt) == 45
    first = next(smollm2.generate(prompt, max_new_tokens=1, top_logprobs=3, logprobs=True, do_sample=False))
    texts = [smollm2.tokenizer.decode([t]) for t, _ in first.top]
    assert texts == ["The", "1", "There"] and first.token == first.top[0][0] and first.logprob == first.top[0][1]
    assert [p for _, p in first.top] == pytest.approx([-0.9363, -1.5958, -3.1927], abs=0.0005)


def test_streamed_texts_are_the_whole_text(smollm2):
    messages = [{"role": "user", "content": "Say something in French, with an emoji."}]
    answer = smollm2.chat(messages, max_new_tokens=40, temperature=0.8, seed=3, do_sample=True)
    tokens = list(answer)
    ids = [t.token for t in tokens]
    assert "".join(t.text for t in tokens) == smollm2.tokenizer.decode(ids)
    assert answer.finish_reason == tokens[-1].finish_reason in ("eos", "length")
    assert answer.sequence.tokens.tolist()[-len(ids) :] == ids and answer.usage["generated_tokens"] == len(ids)


def test_pieces_threads_and_forks_change_no_bit(small):
    def answer(g, sequence):
        tokens = g.generate(sequence, max_new_tokens=12, do_sample=True, seed=5, logprobs=True, ignore_eos=True)
        return [(t.token, t.logprob) for t in tokens]

    prompt = [3, 4, 5, 6, 7, 8, 9, 10, 2]
    expected = answer(small, prompt)
    for piece, threads in ((1, 1), (7, 2), (256, 1)):
        assert answer(lathe.Generator(DECODER, threads=threads, prompt_piece=piece), prompt) == expected
    s = small.sequence(prompt)
    small.compute(s)
    assert s.cached == len(s) == 9 and s.memory["own"] > 0
    for fork in (s.fork(), copy.copy(s), copy.deepcopy(s)):
        fork.append([1, 2])
        fork.rewind(9)
        assert answer(small, fork) == expected
    s.assign([3, 4, 11])
    assert s.cached == 2 and s.tokens.tolist() == [3, 4, 11]


def test_sequences_and_plans_in_files(small, tmp_path):
    s = small.sequence("w3 w4 w5")
    small.compute(s)
    s.save(tmp_path / "s.kv")
    small.save(tmp_path / "m.lathe")
    again = lathe.Generator.load(tmp_path / "m.lathe")
    assert again.load_sequence(tmp_path / "s.kv").cached == 3
    assert again.generate("w3 w4 w5", max_new_tokens=5).text() == small.generate(s, max_new_tokens=5).text()
    assert again.defaults["eos_token_id"] == [1] and again.vocabulary_size == 32 and again.context_length == 64
    assert again.chat_template is not None
    raises("E6001", lathe.Generator.load, tmp_path / "m.lathe", context_length=65)
    assert again.memory()["weights"] <= lathe.Generator(DECODER, portable=True).memory()["weights"]
    (tmp_path / "s.kv").write_bytes(b"LATHESEQ")
    raises("E5006", again.load_sequence, tmp_path / "s.kv")


def test_functions_change_logits_and_end_texts(small):
    seen = []

    def only(tokens, logits):
        seen.append(tokens.tolist())
        logits[:] = -np.inf
        logits[7 + len(tokens)] = 0

    answer = small.generate([3, 4], logits_processor=only, stopping_criterion=lambda tokens: tokens[-1] == 12, max_new_tokens=20)
    assert answer.text() == "w9 w10 w11 w12" and answer.finish_reason == "criterion"
    assert seen == [[3, 4], [3, 4, 9], [3, 4, 9, 10], [3, 4, 9, 10, 11]]
    stopped = small.generate("w3 w4", logits_processor=only, stop_strings="10 w11", max_new_tokens=20)
    assert stopped.text() == "w9 w" and stopped.finish_reason == "stop_string"

    kept = []

    def others(tokens, logits):
        kept.append((tokens, logits))
        return np.where(np.arange(len(logits)) == 6, 1.0, -np.inf)

    assert small.generate([3, 4], logits_processor=others, max_new_tokens=3).text() == "w6 w6 w6"
    assert [t.tolist() for t, _ in kept] == [[3, 4], [3, 4, 6], [3, 4, 6, 6]]
    plain = []
    small.compute(small.sequence([3, 4]), lambda position, logits: plain.append(logits))
    np.testing.assert_array_equal(kept[0][1], plain[1])
    for wrong in (lambda tokens, logits: logits[:3], lambda tokens, logits: "x"):
        with pytest.raises(TypeError, match="logits_processor returns"):
            next(small.generate([3, 4], logits_processor=wrong))

    def fails(tokens, logits):
        raise ValueError("from the function")

    with pytest.raises(ValueError, match="from the function"):
        next(small.generate([3, 4], logits_processor=fails))


def test_logits_and_scores(small):
    rows = []
    small.compute(small.sequence([3, 4, 5]), lambda position, logits: rows.append((position, logits.copy())))
    assert [p for p, _ in rows] == [0, 1, 2]
    logits = np.stack([r for _, r in rows]).astype(np.float64)
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    assert small.score([3, 4, 5]) == pytest.approx([expected[0, 4], expected[1, 5]], abs=1e-5)
    assert small.score("w3").shape == (0,)


def test_end_tokens_are_those_of_the_configuration_where_nothing_else_says_them(tmp_path):
    shutil.copytree(ROOT / "tests/data/exporter/llama_past", tmp_path / "model")
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert (config["eos_token_id"], config["pad_token_id"]) == (2, 0)
    for eos, pad, expected in ((2, 0, ([2], 0)), ([2, 5], -1, ([2, 5], None)), (None, None, ([], None))):
        (tmp_path / "model/config.json").write_text(json.dumps({**config, "eos_token_id": eos, "pad_token_id": pad}))
        model = lathe.Generator(tmp_path / "model", threads=1)
        assert (model.defaults["eos_token_id"], model.defaults["pad_token_id"]) == expected
    (tmp_path / "model/config.json").write_text(json.dumps(config))
    lathe.Generator(tmp_path / "model", threads=1).save(tmp_path / "m.lathe")
    assert lathe.Generator(tmp_path / "m.lathe").defaults["eos_token_id"] == [2]
    (tmp_path / "model/generation_config.json").write_text('{"eos_token_id": 7}')
    assert lathe.Generator(tmp_path / "model", threads=1).defaults["eos_token_id"] == [7]


def test_options_of_sampling_without_it_are_named(small):
    with pytest.warns(UserWarning, match="temperature, top_p without do_sample=True"):
        small.generate([3], temperature=0.5, top_p=0.9)


def test_one_text_is_no_batch(small):
    with pytest.raises(TypeError, match="list of texts"):
        small.tokenizer("w3 w4")
    assert small.tokenizer(["w3 w4"])["input_ids"].tolist() == [[3, 4]]


def test_errors(small):
    with pytest.raises(TypeError, match="max_new_tokens"):
        small.generate([3], max_new_token=4)
    with pytest.raises(TypeError):
        small.generate([3], temperature="hot")
    with pytest.raises(TypeError):
        small.generate([0.5])
    raises("E6001", small.generate, [3], top_p=3.0)
    raises("E6001", small.generate, [])
    raises("E6001", small.sequence, [32])
    raises("E4106", next, small.generate([3] * 70))
    raises("E1001", lathe.Generator, ROOT / "absent.gguf")
    assert small.memory(2, 10)["total"] > small.memory(1, 10)["total"]
