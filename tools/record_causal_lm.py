#!/usr/bin/env python3
"""Records what generate() of transformers makes of batches: tests/data/causal_lm.json, for tests/python/test_causal_lm_recorded.py.

The model is tests/data/exporter/llama_past. Each case has the arguments (`criterion`: tokens behind which a row ends; `bias`: what a processor of the
test adds to tokens of texts of an even length) and the sequences; what a streamer was put; and for some cases scores and logits, null for minus
infinity. Cases in which the two likeliest tokens are close to each other at any step are left out: they say nothing. `logits` are those of a call. Needs
these (nothing of them is needed to run the tests):

    pip install torch==2.15.0 transformers==5.23.0
    python tools/record_causal_lm.py
"""
import json
import math
import os
import pathlib
import random
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import LlamaForCausalLM, LogitsProcessor, StoppingCriteria  # noqa: E402

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
DATA = pathlib.Path(__file__).resolve().parents[1] / "tests/data"
WORDS, PAD = 47, 0


class Bias(LogitsProcessor):
    def __init__(self, bias):
        self.bias = bias

    def __call__(self, input_ids, scores):
        if input_ids.shape[1] % 2 == 0:
            for token, value in self.bias:
                scores[:, token] += value
        return scores


class Ends(StoppingCriteria):
    def __init__(self, tokens):
        self.tokens = tokens

    def __call__(self, input_ids, scores, **_):
        return torch.isin(input_ids[:, -1], torch.tensor(self.tokens))


class Puts:
    def __init__(self):
        self.all = []

    def put(self, value):
        self.all.append(value.tolist())

    def end(self):
        self.all.append("end")


def number(x):
    return None if math.isinf(x) else round(x, 5)


def numbers(tensors):
    return [[[number(x) for x in row] for row in t.tolist()] for t in tensors]


def drawn(r):
    """Prompts with their mask, and options. Where rows are padded there are none that see padding as text in transformers."""
    padded = r.random() < 0.6
    lengths = [r.choice([1, 2, 4, 7]) for _ in range(r.choice([2, 3]))] if padded else [r.choice([1, 5])] * 2
    width = max(lengths)
    ids = [[PAD] * (width - n) + [r.randrange(3, WORDS) for _ in range(n)] for n in lengths]
    mask = [[0] * (width - n) + [1] * n for n in lengths]
    tokens = lambda n: r.sample(range(1, WORDS), n)
    choices = {
        "repetition_penalty": lambda: r.choice([0.8, 1.3, 2.0]),
        "bad_words_ids": lambda: [[t] for t in tokens(4)] + [[16, 16], [41, 5]],
        "suppress_tokens": lambda: tokens(8),
        "begin_suppress_tokens": lambda: tokens(12),
        "forced_eos_token_id": lambda: r.randrange(1, WORDS),
        "min_new_tokens": lambda: r.choice([2, 6]),
        "min_length": lambda: width + r.choice([2, 6]),
        "criterion": lambda: tokens(6),
        "bias": lambda: [[t, r.choice([-2.0, 1.5])] for t in tokens(6)],
        "do_sample": lambda: True,
    }
    if not padded:
        choices["no_repeat_ngram_size"] = lambda: r.choice([1, 2, 3])
    names = r.sample(list(choices), r.choice([0, 1, 2, 3]))
    if width == 1 and r.random() < 0.5:
        choices["forced_bos_token_id"] = lambda: r.randrange(1, WORDS)
        names += ["forced_bos_token_id"]
    c = {name: choices[name]() for name in names}
    if "do_sample" in c:  # no chance is left, whatever is drawn
        c |= {"top_k": 1, "temperature": r.choice([0.5, 2.0]), "num_return_sequences": 2}
    c |= {"eos_token_id": [16, 45, *tokens(3)], "pad_token_id": PAD}
    c |= {"max_length": width + 8} if r.random() < 0.3 else {"max_new_tokens": r.choice([3, 8, 12])}
    return ids, mask, c


def run(model, ids, mask, c):
    options = dict(c)
    processors = [Bias(options.pop("bias"))] if "bias" in c else None
    criteria = [Ends(options.pop("criterion"))] if "criterion" in c else None
    puts = Puts()
    made = model.generate(
        torch.tensor(ids), attention_mask=torch.tensor(mask), logits_processor=processors, stopping_criteria=criteria, streamer=puts,
        return_dict_in_generate=True, output_scores=True, output_logits=True, **options,
    )  # fmt: skip
    return made, puts.all


def is_clear(made):
    """Whether no rounding could change a token: of the scores that a greedy choice is made of, the greatest stands out."""
    for logits, scores in zip(made.logits, made.scores):
        for t in (logits, scores):
            two = t.topk(2).values
            if (two[:, 0] - two[:, 1]).min() < 0.003:
                return False
    return True


def main():
    model = LlamaForCausalLM.from_pretrained(DATA / "exporter/llama_past", dtype=torch.float32)
    model.generation_config = transformers.GenerationConfig()
    r = random.Random(5)
    cases = []
    while len(cases) < 80:
        ids, mask, c = drawn(r)
        try:
            made, puts = run(model, ids, mask, c)
        except ValueError:  # what is forced may not be banned there
            continue
        if not is_clear(made):
            continue
        case = {"input_ids": ids, "attention_mask": mask, "options": c, "sequences": made.sequences.tolist()}
        if "do_sample" not in c:
            case["puts"] = puts
        if len(cases) % 16 == 0:
            case |= {"scores": numbers(made.scores), "logits": numbers(made.logits)}
        cases.append(case)
    ids = [[r.randrange(3, WORDS) for _ in range(5)] for _ in range(2)]
    mask = [[1] * 5, [1, 1, 1, 0, 0]]
    with torch.no_grad():
        logits = model(torch.tensor(ids), attention_mask=torch.tensor(mask)).logits
    call = {"input_ids": ids, "attention_mask": mask, "logits": numbers(logits)}
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    versions = f'"transformers": "{transformers.__version__}", "torch": "{torch.__version__}"'
    (DATA / "causal_lm.json").write_text(f'{{{versions},\n"call": {json.dumps(call, separators=(",", ":"))},\n"cases": [\n{lines}\n]}}\n')


main()
