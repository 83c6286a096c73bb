"""Configurations of generation, the sampler, log probabilities and stop strings."""

import copy
import pickle

import numpy as np
import pytest

import lathe
from support import ROOT

DECODER = ROOT / "tests/data/decoder"


def raises(code, f, *arguments, **options):
    with pytest.raises(lathe.Error) as caught:
        f(*arguments, **options)
    assert caught.value.code == code, caught.value
    return caught.value


@pytest.fixture(scope="module")
def small():
    return lathe.Generator(DECODER, threads=1)


def test_configurations_from_keywords():
    c = lathe.GenerationConfig(max_new_tokens=5, temperature=0.7, do_sample=True, eos_token_id=3, stop_strings="end", logit_bias={4: 1.5})
    assert (c.max_new_tokens, c.temperature, c.top_k, c.eos_token_id) == (5, 0.7, 50, [3])
    assert c.stop_strings == ["end"] and c.logit_bias == [(4, 1.5)] and c.pad_token_id is None and c.num_return_sequences == 1
    assert c.length_limit(10) == 15 and lathe.GenerationConfig(max_length=7).length_limit(10) == 7
    assert lathe.GenerationConfig().length_limit(10) is None
    for again in (lathe.GenerationConfig(**c.to_dict()), copy.copy(c), copy.deepcopy(c), pickle.loads(pickle.dumps(c)), eval(repr(c), {"GenerationConfig": lathe.GenerationConfig})):
        assert again == c and again is not c
    other = c.copy(top_p=0.5, max_new_tokens=None)
    assert other.top_p == 0.5 and other.max_new_tokens is None and c.top_p == 1 and other != c
    other.eos_token_id.append(9)
    c.top_k = None
    assert c.top_k == 0
    c.pad_token_id = 2
    assert c.to_dict()["pad_token_id"] == 2


def test_configurations_from_files(tmp_path):
    (tmp_path / "generation_config.json").write_text(
        '{"eos_token_id": [1, 2], "pad_token_id": 7, "temperature": 0.6, "do_sample": true, "bos_token_id": 0, "num_beams": 1}'
    )
    expected = lathe.GenerationConfig(eos_token_id=[1, 2], pad_token_id=7, temperature=0.6, do_sample=True)
    assert lathe.GenerationConfig.open(tmp_path) == lathe.GenerationConfig.from_pretrained(tmp_path / "generation_config.json") == expected
    assert lathe.GenerationConfig.parse('{"top_k": 3, "pad_token_id": -1}') == lathe.GenerationConfig(top_k=3)
    raises("E1001", lathe.GenerationConfig.open, tmp_path / "absent")
    raises("E1152", lathe.GenerationConfig.parse, "{")
    assert "num_beams" in raises("E6002", lathe.GenerationConfig.parse, '{"num_beams": 4}', "here").got


def test_what_is_unknown_or_not_there_is_refused():
    with pytest.raises(TypeError, match="temperature"):
        lathe.GenerationConfig(temprature=0.5)
    with pytest.raises(TypeError, match="unheard_of"):
        lathe.GenerationConfig().unheard_of = 1
    with pytest.raises(AttributeError):
        lathe.GenerationConfig().unheard_of
    for wrong in ({"temperature": "hot"}, {"max_new_tokens": 1.5}, {"eos_token_id": [2**40]}, {"num_return_sequences": 1.5}):
        with pytest.raises(TypeError):
            lathe.GenerationConfig(**wrong)
    for absent in ({"num_beams": 4}, {"penalty_alpha": 0.6}, {"assistant_model": object()}, {"guidance_scale": 1.5}, {"max_time": 2.0}):
        assert next(iter(absent)) in raises("E6002", lathe.GenerationConfig, **absent).got
    neutral = dict(num_beams=1, penalty_alpha=None, guidance_scale=1.0, renormalize_logits=False, length_penalty=2.0, bos_token_id=1, compile_config=None, use_mtp=None, prefill_chunk_size=64)
    assert lathe.GenerationConfig(**neutral) == lathe.GenerationConfig()


def test_generators_take_configurations(small):
    c = lathe.GenerationConfig(max_new_tokens=6, do_sample=True, seed=4, top_k=0)
    made = [t.token for t in small.generate([3, 4, 5], generation_config=c, ignore_eos=True)]
    assert made == [t.token for t in small.generate([3, 4, 5], max_new_tokens=6, do_sample=True, seed=4, top_k=0, ignore_eos=True)]
    # Keywords go first.
    assert len(list(small.generate([3, 4, 5], generation_config=c, max_new_tokens=2, ignore_eos=True))) == 2
    assert made != [t.token for t in small.generate([3, 4, 5], generation_config=c, seed=9, ignore_eos=True)]
    # End tokens that it does not name are the model's.
    end = np.full(32, -np.inf, np.float32)
    end[1] = 0
    ended = small.generate([3], generation_config=c, logits_processor=lambda _, logits: np.copyto(logits, end))
    assert [t.token for t in ended] == [1] and ended.finish_reason == "eos"
    with pytest.raises(ValueError, match="one answer"):
        small.generate([3], num_return_sequences=2)
    assert small.engine.outputs[0].name == "logits"


def test_a_sampler_changes_logits_where_they_are():
    s = lathe.Sampler(lathe.GenerationConfig(repetition_penalty=2.0, suppress_tokens=[3], top_k=2, do_sample=True), 5)
    assert s.vocabulary_size == 5 and s.config.top_k == 2
    logits = np.array([4, -1, 1, 9, 0], np.float32)
    assert s.process([0, 1], 1, logits) is None
    assert logits.tolist() == [2, -2, 1, -np.inf, 0]
    s.warp(logits)
    assert logits.tolist() == [2, -np.inf, 1, -np.inf, -np.inf]
    assert {s.choose(logits, position) for position in range(40)} == {0, 2}
    assert [s.choose(logits, p, answer=3) for p in range(9)] == [s.choose(logits, p, answer=3) for p in range(9)]
    same = np.array([4, -1, 1, 9, 0], np.float32)
    assert s.next([0, 1], 1, same) == s.choose(logits, 2) and same.tolist()[:2] == [2, -2]
    greedy = lathe.Sampler(lathe.GenerationConfig(), 3)
    assert greedy.next([], 0, np.array([1, 3, 3], np.float32)) == 1


def test_a_generator_chooses_as_the_sampler_does(small):
    c = lathe.GenerationConfig(max_new_tokens=12, do_sample=True, seed=11, temperature=1.5, repetition_penalty=1.2, top_p=0.9)
    expected = [t.token for t in small.generate([3, 4, 5], generation_config=c, ignore_eos=True)]
    sampler, ids = lathe.Sampler(c, 32), [3, 4, 5]
    for _ in expected:
        rows = []
        small.compute(small.sequence(ids), lambda _, logits: rows.append(logits.copy()))
        ids.append(sampler.next(ids, 3, rows[-1]))
    assert ids[3:] == expected


def test_a_sampler_refuses():
    config = lathe.GenerationConfig()
    s, row = lathe.Sampler(config, 4), np.zeros(4, np.float32)
    raises("E6001", lathe.Sampler, lathe.GenerationConfig(top_p=3.0), 4)
    raises("E6001", lathe.Sampler, lathe.GenerationConfig(suppress_tokens=[4]), 4)
    raises("E4002", s.process, [], 0, np.zeros(5, np.float32))
    raises("E6001", s.process, [4], 0, row)
    raises("E6001", s.process, [1], 2, row)
    raises("E4102", s.choose, np.full(4, np.nan, np.float32), 0)
    fixed = np.zeros(4, np.float32)
    fixed.flags.writeable = False
    for wrong in (np.zeros(4), np.zeros((1, 4), np.float32), np.zeros(8, np.float32)[::2], [0.0] * 4, fixed):
        with pytest.raises(TypeError, match="float32"):
            s.process([1], 1, wrong)
    assert s.choose(fixed, 0) == 0
    with pytest.raises(TypeError):
        s.process([0.5], 0, row)


def test_log_probabilities():
    logits = np.array([1, 2, 2, -np.inf], np.float32)
    expected = logits.astype(np.float64) - np.log(np.exp(logits.astype(np.float64)).sum())
    assert lathe.log_probability(logits, 1) == pytest.approx(expected[1], abs=1e-6)
    top = lathe.top_log_probabilities(logits, 3)
    assert [t for t, _ in top] == [1, 2, 0] and [p for _, p in top] == [lathe.log_probability(logits, t) for t, _ in top]
    raises("E6001", lathe.log_probability, logits, 4)
    raises("E4102", lathe.top_log_probabilities, np.full(3, -np.inf, np.float32), 1)


def test_stop_strings():
    s = lathe.StopStrings(["", "stop", "é!"])
    assert [s.append(piece) for piece in ("a st", "ep é", "? st", "op b", "c")] == ["a ", "step ", "é? ", "", ""]
    assert s.found == 1 and s.finish() == ""
    open_end = lathe.StopStrings("stop")
    assert open_end.append("do st") == "do " and open_end.found is None and open_end.finish() == "st"
    raises("E6001", lathe.StopStrings, ["x" * 65537])
