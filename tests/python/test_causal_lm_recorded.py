"""ModelForCausalLM beside transformers: batches with padding, processors, ends and streamers (recorded by tools/record_causal_lm.py)."""

import json

import numpy as np
import pytest

import lathe
from support import ROOT

RECORDED = json.loads((ROOT / "tests/data/causal_lm.json").read_text())


@pytest.fixture(scope="module")
def model():
    made = lathe.ModelForCausalLM.from_pretrained(ROOT / "tests/data/exporter/llama_past", threads=1)
    made.generation_config = lathe.GenerationConfig()
    return made


def floats(recorded):
    return np.array([[[-np.inf if x is None else x for x in row] for row in one] for one in recorded], np.float32)


def with_bias(bias):
    def process(input_ids, scores):
        if input_ids.shape[1] % 2 == 0:
            for token, value in bias:
                scores[:, token] += value
        return scores

    return process


class Puts(list):
    def put(self, value):
        self.append(value.tolist())

    def end(self):
        self.append("end")


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: "-".join(n for n in c["options"] if n not in ("eos_token_id", "pad_token_id")))
def test_batches_are_those_of_transformers(model, case):
    options = dict(case["options"])
    processors = [with_bias(options.pop("bias"))] if "bias" in options else None
    ends = options.pop("criterion", None)
    criteria = None if ends is None else [lambda input_ids, scores: np.isin(input_ids[:, -1], ends)]
    streamer = Puts()
    made = model.generate(
        np.array(case["input_ids"]), np.array(case["attention_mask"]), logits_processor=processors, stopping_criteria=criteria, streamer=streamer,
        return_dict_in_generate=True, output_scores=True, output_logits=True, **options,
    )  # fmt: skip
    assert made.sequences.tolist() == case["sequences"]
    if "puts" in case:
        assert streamer == case["puts"]
    if "scores" not in case:
        return
    # Rows that have ended go on there, unseen.
    width = len(case["input_ids"][0])
    for name in ("scores", "logits"):
        expected, got = floats(case[name]), np.stack(getattr(made, name))
        assert expected.shape == got.shape
        for row, text in enumerate(made.sequences[:, width:].tolist()):
            n = next((i + 1 for i, t in enumerate(text) if t in options["eos_token_id"] or t in (ends or ())), len(text))
            assert (np.isinf(expected[:n, row]) == np.isinf(got[:n, row])).all()
            there = np.isfinite(expected[:n, row])
            assert got[:n, row][there] == pytest.approx(expected[:n, row][there], abs=2e-5)


def test_calls_are_those_of_transformers(model):
    call = RECORDED["call"]
    mask = np.array(call["attention_mask"], bool)
    logits = model(np.array(call["input_ids"]), mask).logits
    assert logits[mask] == pytest.approx(floats(call["logits"])[mask], abs=2e-5) and not logits[~mask].any()


def test_cases_are_worth_something():
    cases = RECORDED["cases"]
    said = {name for c in cases for name in c["options"]}
    assert len(cases) == 80 and len(said) == 19 and sum("scores" in c for c in cases) == 5
    assert sum(0 in row for c in cases for row in c["attention_mask"]) > 30
