"""ModelForCausalLM: transformers' words, and in each row the answer that Generator gives."""

import numpy as np
import pytest

import lathe
import support
from support import ROOT

DECODER = ROOT / "tests/data/decoder"
PAD = 31


@pytest.fixture(scope="module")
def small():
    return lathe.ModelForCausalLM.from_pretrained(DECODER, threads=1)


@pytest.fixture(scope="module")
def smollm2():
    return lathe.ModelForCausalLM.from_pretrained(support.smollm2(), prompt_piece=32)


def raises(code, f, *arguments, **options):
    with pytest.raises(lathe.Error) as caught:
        f(*arguments, **options)
    assert caught.value.code == code, caught.value
    return caught.value


def left_padded(prompts, pad=PAD):
    width = max(map(len, prompts))
    ids = np.array([[pad] * (width - len(p)) + list(p) for p in prompts])
    mask = np.array([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    return ids, mask


def alone(model, prompt, **options):
    """The tokens of one answer, by Generator."""
    return [t.token for t in model.generator.generate(list(prompt), **options)]


PROMPTS = [[3, 4, 5, 6, 7], [8], [9, 10, 2]]


def check_rows(model, prompts, pad, made, **options):
    """Each row is padding, prompt, the answer that it has alone, and padding."""
    width = max(map(len, prompts))
    for row, prompt in zip(made, prompts):
        answer = alone(model, prompt, **options)
        expected = [pad] * (width - len(prompt)) + list(prompt) + answer
        assert row.tolist() == expected + [pad] * (made.shape[1] - len(expected))


@pytest.mark.parametrize(
    "options",
    [
        dict(max_new_tokens=9),
        dict(max_new_tokens=9, do_sample=True, seed=3, temperature=1.4, top_p=0.9, repetition_penalty=1.3),
        dict(max_new_tokens=12, min_new_tokens=6, no_repeat_ngram_size=2, suppress_tokens=[4]),
        dict(max_new_tokens=7, forced_eos_token_id=6, eos_token_id=[6, 1]),
        dict(max_new_tokens=30, do_sample=True, seed=8, temperature=3.0, eos_token_id=5),
        dict(max_new_tokens=20, do_sample=True, seed=1, temperature=3.0, stop_strings=["7 w1", "w2"]),
        dict(max_new_tokens=100, ignore_eos=True),
    ],
    ids=lambda o: " ".join(o),
)
def test_rows_are_the_answers_of_the_generator(small, options):
    ids, mask = left_padded(PROMPTS)
    made = small.generate(ids, mask, pad_token_id=PAD, **options)
    assert made.dtype == np.int64 and made.shape[1] > ids.shape[1]
    check_rows(small, PROMPTS, PAD, made, **options)
    # One at a time, and without a mask where padding says what it is.
    for prompt, row in zip(PROMPTS, made):
        one = small.generate([prompt], pad_token_id=PAD, **options)[0].tolist()
        begin = ids.shape[1] - len(prompt)
        assert row.tolist()[begin : begin + len(one)] == one
    assert np.array_equal(small.generate(ids, pad_token_id=PAD, **options), made)


def test_rows_end_at_different_places(small):
    script = {3: [11, 1], 8: [12, 13, 14, 1], 9: [15, 16, 17, 18, 19, 20]}

    def scripted(input_ids, scores):
        assert input_ids.dtype == np.int64 and scores.dtype == np.float32 and scores.shape == (3, 32)
        new = input_ids.shape[1] - 5
        made = np.full_like(scores, -np.inf)
        for row, first in zip(made, (3, 8, 9)):
            row[(script[first] + [2] * 9)[new]] = 0
        return made

    ids, mask = left_padded(PROMPTS)
    made = small.generate(input_ids=ids, attention_mask=mask, logits_processor=[scripted], max_length=11, pad_token_id=30)
    assert made[:, 5:].tolist() == [[11, 1, 30, 30, 30, 30], [12, 13, 14, 1, 30, 30], [15, 16, 17, 18, 19, 20]]
    assert small.generate(ids, mask, logits_processor=[scripted], max_new_tokens=6)[0, 5:].tolist() == [11, 1, 1, 1, 1, 1]
    assert small.generate(ids, mask, logits_processor=scripted, max_new_tokens=6, eos_token_id=[13, 11])[:, 5:].tolist() == [
        [11, 13, 13, 13, 13, 13],
        [12, 13, 13, 13, 13, 13],
        [15, 16, 17, 18, 19, 20],
    ]
    assert small.generate(ids, mask, logits_processor=scripted, max_new_tokens=2, ignore_eos=True)[0, 5:].tolist() == [11, 1]


def test_lengths_are_counted_as_transformers_does(small):
    ids, mask = left_padded(PROMPTS)
    assert small.generate(ids, mask, ignore_eos=True).shape == (3, 25)
    assert small.generate(ids, mask, ignore_eos=True, max_length=9).shape == (3, 9)
    assert small.generate(ids, mask, ignore_eos=True, max_length=9, max_new_tokens=2).shape == (3, 7)
    # Padding counts for min_length too: no end token before the eighth column.
    ends = lambda input_ids, scores: np.where(np.arange(32) == 1, scores + 1000, scores).astype(np.float32)
    assert small.generate(ids, mask, logits_processor=[ends], min_length=8, pad_token_id=PAD).shape == (3, 9)
    assert small.generate(ids, mask, logits_processor=[ends], min_new_tokens=2, pad_token_id=PAD).shape == (3, 8)
    with pytest.raises(ValueError, match="max_length"):
        small.generate(ids, mask, max_length=5)
    with pytest.raises(ValueError, match="max_new_tokens"):
        small.generate(ids, mask, max_new_tokens=0)
    # Each row ends where its own context does.
    whole = small.generate(ids, mask, ignore_eos=True, max_new_tokens=500, pad_token_id=PAD)
    assert [np.count_nonzero(m) + 64 - len(p) for m, p in zip(mask, PROMPTS)] == [64, 64, 64] and whole.shape == (3, 5 + 63)
    check_rows(small, PROMPTS, PAD, whole, ignore_eos=True, max_new_tokens=500)


def test_several_answers(small):
    ids, mask = left_padded(PROMPTS)
    options = dict(do_sample=True, temperature=2.0, seed=6, max_new_tokens=6, ignore_eos=True)
    made = small.generate(ids, mask, num_return_sequences=3, pad_token_id=PAD, **options)
    assert made.shape == (9, 11)
    for i, prompt in enumerate(PROMPTS):
        rows = [row[5:].tolist() for row in made[3 * i : 3 * i + 3]]
        assert rows == [alone(small, prompt, answer=a, **options) for a in range(3)] and len(set(map(tuple, rows))) == 3
        assert all(row[5 - len(prompt) : 5].tolist() == prompt for row in made[3 * i : 3 * i + 3])
    with pytest.raises(ValueError, match="num_return_sequences"):
        small.generate(ids, mask, num_return_sequences=2, do_sample=False)


def test_scores_and_logits(small):
    ids, mask = left_padded(PROMPTS)
    options = dict(do_sample=True, temperature=0.5, top_k=4, seed=2, repetition_penalty=1.5, max_new_tokens=4, ignore_eos=True)
    made = small.generate(ids, mask, return_dict_in_generate=True, output_scores=True, output_logits=True, **options)
    assert np.array_equal(made.sequences, small.generate(ids, mask, **options)) and made["sequences"] is made.sequences is made[0]
    assert len(made.scores) == len(made.logits) == 4 and {s.shape for s in made.scores + made.logits} == {(3, 32)}
    sampler = lathe.Sampler(lathe.GenerationConfig(**{k: v for k, v in options.items() if k != "ignore_eos"}), 32)
    for row, prompt in enumerate(PROMPTS):
        for step in range(4):
            text = made.sequences[row, 5 - len(prompt) : 5 + step]
            seen = []
            small.generator.compute(small.generator.sequence(text), lambda _, logits: seen.append(logits.copy()))
            assert np.array_equal(made.logits[step][row], seen[-1])
            sampler.process(text, len(prompt), seen[-1])
            sampler.warp(seen[-1])
            assert np.array_equal(made.scores[step][row], seen[-1])
    plain = small.generate(ids, mask, return_dict_in_generate=True, max_new_tokens=2)
    assert plain.scores is None and plain.logits is None and plain.keys() == ["sequences"]
    with pytest.raises(KeyError):
        plain["scores"]
    # A row that has ended has its padding and nothing else.
    end_first = lambda input_ids, scores: np.where((np.arange(32) == 1) & (np.arange(3) == 0)[:, None], 1000, scores)
    ended = small.generate(
        ids, mask, return_dict_in_generate=True, output_scores=True, max_new_tokens=3, pad_token_id=PAD, logits_processor=[end_first], eos_token_id=1
    )
    assert ended.scores[1][0].tolist()[PAD] == 0 and np.isneginf(np.delete(ended.scores[1][0], [1, PAD])).all()


def test_processors_see_the_batch(small):
    ids, mask = left_padded(PROMPTS)
    seen = []

    def plus_one(input_ids, scores):
        seen.append(input_ids.copy())
        scores[:, 20] += 1000
        return scores

    def not_twenty(input_ids, scores):
        return np.where(np.arange(32) == 20, -np.inf, scores)  # float64

    made = small.generate(ids, mask, logits_processor=[plus_one], max_new_tokens=3)
    assert (made[:, 5:] == 20).all() and np.array_equal(seen[0], ids) and np.array_equal(seen[2], made[:, :7])
    made = small.generate(ids, mask, logits_processor=[plus_one, not_twenty], max_new_tokens=3, ignore_eos=True)
    assert not (made[:, 5:] == 20).any()
    check_rows(small, PROMPTS, PAD, made, max_new_tokens=3, ignore_eos=True, suppress_tokens=[20])
    for wrong in (lambda input_ids, scores: None, lambda input_ids, scores: scores[:1]):
        with pytest.raises(TypeError, match="logits_processor"):
            small.generate(ids, mask, logits_processor=[wrong])


def test_stopping_criteria(small):
    ids, mask = left_padded(PROMPTS)
    scores_seen = []

    def at_eight(input_ids, scores):
        scores_seen.append(scores)
        return input_ids.shape[1] >= 8

    made = small.generate(ids, mask, stopping_criteria=[at_eight], max_new_tokens=20, ignore_eos=True)
    assert made.shape == (3, 8) and scores_seen == [None] * 3
    first_row = lambda input_ids, scores: np.array([True, False, False])
    made = small.generate(ids, mask, stopping_criteria=[first_row], max_new_tokens=4, ignore_eos=True, pad_token_id=PAD)
    assert made[0, 6:].tolist() == [PAD] * 3 and made.shape == (3, 9)
    assert made[1, 5:].tolist() == alone(small, PROMPTS[1], max_new_tokens=4, ignore_eos=True)
    small.generate(ids, mask, stopping_criteria=at_eight, max_new_tokens=20, ignore_eos=True, return_dict_in_generate=True, output_scores=True)
    assert [len(s) for s in scores_seen[3:]] == [1, 2, 3]
    with pytest.raises(TypeError, match="stopping_criteria"):
        small.generate(ids, mask, stopping_criteria=[lambda input_ids, scores: np.zeros(2, bool)])


class Streamer:
    """Takes what transformers' TextStreamer takes."""

    def __init__(self):
        self.values, self.ended = [], 0

    def put(self, value):
        assert not self.ended
        self.values.append(value.copy())

    def end(self):
        self.ended += 1


def test_streamers_get_the_prompt_first(small):
    s = Streamer()
    made = small.generate([[3, 4, 5]], streamer=s, max_new_tokens=4, ignore_eos=True)
    assert s.ended == 1 and s.values[0].tolist() == [[3, 4, 5]] and [v.shape for v in s.values[1:]] == [(1,)] * 4
    assert np.concatenate([v.reshape(-1) for v in s.values]).tolist() == made[0].tolist()


def test_logits_of_all_tokens(small):
    ids, mask = left_padded(PROMPTS)
    out = small(ids, attention_mask=mask)
    assert out.logits.shape == (3, 5, 32) and out.logits.dtype == np.float32 and out["logits"] is out.logits is out[0]
    for row, prompt in zip(out.logits, PROMPTS):
        alone = small([prompt]).logits[0]
        assert np.array_equal(row[5 - len(prompt) :], alone) and not row[: 5 - len(prompt)].any()
        nll = [lathe.log_probability(alone[i], t) for i, t in enumerate(prompt[1:])]
        assert np.array_equal(np.array(nll, np.float32), small.generator.score(prompt))
    right = small([[8, PAD, PAD]], attention_mask=[[1, 0, 0]], use_cache=True).logits
    assert np.array_equal(right[0, 0], out.logits[1, 4]) and not right[0, 1:].any()
    with pytest.raises(ValueError, match="return_dict"):
        small(ids, return_dict=False)


def test_configurations(small, tmp_path):
    assert small.can_generate() and small.generation_config.eos_token_id == [1]
    model = lathe.ModelForCausalLM(small.generator)
    model.generation_config.max_new_tokens = 3
    assert model.generate([[3, 4]], ignore_eos=True).shape == (1, 5)
    assert small.generation_config.max_new_tokens is None
    own = lathe.GenerationConfig(max_new_tokens=4, do_sample=True, seed=5, num_return_sequences=2)
    made = model.generate([[3, 4]], generation_config=own, ignore_eos=True)
    assert made.shape == (2, 6)
    assert model.generate([[3, 4]], generation_config=own, ignore_eos=True, max_new_tokens=1, num_return_sequences=1).shape == (1, 3)
    model.generation_config = own
    assert np.array_equal(model.generate([[3, 4]], ignore_eos=True), made)
    small.generator.save(tmp_path / "m.lathe")
    again = lathe.ModelForCausalLM.from_pretrained(tmp_path / "m.lathe", generation_config=own, threads=1)
    assert np.array_equal(again.generate(inputs=np.array([[3, 4]], np.int32), ignore_eos=True), made)
    with pytest.raises(TypeError, match="GenerationConfig"):
        model.generation_config = {"max_new_tokens": 3}


def test_what_is_not_there_is_refused_by_name(small):
    ids = [[3, 4]]
    absent = dict(
        num_beams=2, penalty_alpha=0.6, assistant_model=small, guidance_scale=2.0, force_words_ids=[[3]], constraints=[1], max_time=1.0,
        prefix_allowed_tokens_fn=lambda *_: [1], past_key_values=[1], inputs_embeds=np.zeros((1, 2, 3)), position_ids=[[0, 1]],
        output_attentions=True, output_hidden_states=True, token_healing=True, dola_layers="high", watermarking_config={},
        encoder_repetition_penalty=1.1, remove_invalid_values=True, sequence_bias={(3,): 1.0}, synced_gpus=True,
    )  # fmt: skip
    for name, value in absent.items():
        assert name in raises("E6002", small.generate, ids, **{name: value}).got
    neutral = small.generate(ids, num_beams=1, penalty_alpha=0.0, assistant_model=None, use_cache=True, early_stopping=True, tokenizer=None)
    assert np.array_equal(neutral, small.generate(ids, temperature=None, top_p=None, token_type_ids=[[0, 0]]))
    with pytest.raises(TypeError, match="max_new_tokens"):
        small.generate(ids, max_new_token=3)
    with pytest.raises(TypeError):
        small.generate(ids, temperature="hot")
    with pytest.raises(TypeError, match="GenerationConfig"):
        small.generate(ids, generation_config={"top_k": 3})
    with pytest.raises(ValueError, match="token_type_ids"):
        small.generate(ids, token_type_ids=[[0, 1]])


def test_what_does_not_fit_is_refused(small):
    for wrong in (None, [3, 4], [[]], [[0.5]], [[[3]]]):
        with pytest.raises(ValueError, match="input_ids"):
            small.generate(wrong)
    for mask in ([[1, 0]], [[0, 0]], [[1]], [[1, 2]], [[0.5, 1]]):
        with pytest.raises(ValueError, match="padding|mask"):
            small.generate([[3, 4]], attention_mask=mask)
    with pytest.raises(ValueError, match="gap|one run"):
        small([[3, 4, 5]], attention_mask=[[1, 0, 1]])
    with pytest.raises(ValueError, match="one run"):
        small.generate([[3, PAD, 4]], pad_token_id=PAD)
    assert small.generate([[3, PAD, 4]], [[1, 1, 1]], pad_token_id=PAD).shape[1] > 3
    raises("E6001", small.generate, [[32]])
    raises("E6001", small.generate, [[-1]])
    raises("E6001", small.generate, [[3]], top_p=3.0)
    error = raises("E4106", small.generate, [[3] * 64])
    assert "64" in str(error)
    raises("E1001", lathe.ModelForCausalLM.from_pretrained, "an-organization/a-name")
    raises("E4102", small.generate, [[3]], logits_processor=[lambda input_ids, scores: scores * np.float32(np.nan)])


def test_without_a_tokenizer_there_are_no_stop_strings(tmp_path):
    for name in ("config.json", "model.onnx"):
        (tmp_path / name).write_bytes((DECODER / name).read_bytes())
    model = lathe.ModelForCausalLM.from_pretrained(tmp_path)
    raises("E6001", model.generate, [[3]], stop_strings=["x"])
    # Nor are there end tokens, so that padding is needed where a row ends before another.
    first = lambda input_ids, scores: np.array([True, False])
    with pytest.raises(ValueError, match="pad_token_id"):
        model.generate([[3], [4]], stopping_criteria=[first])
    assert model.generate([[3], [4]], stopping_criteria=[first], pad_token_id=0, max_new_tokens=2)[0, 2] == 0


def test_a_published_model(smollm2):
    tokenizer = smollm2.generator.tokenizer.with_padding(lathe.Padding(token="<|im_end|>", left=True))
    texts = ["The capital of France is", "One, two, three, four, five, six,", "Water boils at"]
    inputs = tokenizer(texts)
    assert inputs["input_ids"].shape[0] == 3 and not inputs["attention_mask"].all()
    made = smollm2.generate(**inputs, max_new_tokens=12, do_sample=False)
    pad = smollm2.generation_config.pad_token_id
    prompts = [smollm2.generator.encode(t) for t in texts]
    width = inputs["input_ids"].shape[1]
    for row, prompt in zip(made, prompts):
        answer = alone(smollm2, prompt, max_new_tokens=12, do_sample=False)
        assert row[width - len(prompt) : width].tolist() == prompt
        assert row[width:].tolist() == answer + [pad] * (made.shape[1] - width - len(answer))
    assert "Paris" in tokenizer.decode(made[0])
    logits = smollm2(**inputs).logits
    assert logits[:, -1].argmax(-1).tolist() == made[:, width].tolist()
    sampled = dict(max_new_tokens=8, do_sample=True, seed=1, temperature=0.9)
    again = smollm2.generate(**inputs, num_return_sequences=2, **sampled)
    for i, prompt in enumerate(prompts):
        for a in range(2):
            answer = alone(smollm2, prompt, answer=a, **sampled)
            assert again[2 * i + a, width : width + len(answer)].tolist() == answer
