#!/usr/bin/env python3
"""Records what the logits processors of transformers make of random logits: tests/data/logits_processors.json, for
tests/sample/sampling_test.cc. Each case has members of a generation configuration, the tokens of a text, the length of
its prompt, logits, and what is left of them: null for minus infinity. Needs these (nothing of them is needed to run the
tests):

    pip install torch transformers==5.23.0
    python tools/record_logits_processors.py
"""
import json
import math
import pathlib
import random

import numpy as np
import torch
import transformers
from transformers.generation import logits_process as lp

FILE = pathlib.Path(__file__).resolve().parents[1] / "tests/data/logits_processors.json"


def processors(c, prompt_length):
    """The processors of a configuration in the order of generate()."""
    found = []
    if "logit_bias" in c:
        found.append(lp.SequenceBiasLogitsProcessor(sequence_bias=[[[t], b] for t, b in c["logit_bias"]]))
    if "repetition_penalty" in c:
        found.append(lp.RepetitionPenaltyLogitsProcessor(penalty=c["repetition_penalty"]))
    if "no_repeat_ngram_size" in c:
        found.append(lp.NoRepeatNGramLogitsProcessor(c["no_repeat_ngram_size"]))
    if "bad_words_ids" in c:
        found.append(lp.NoBadWordsLogitsProcessor(c["bad_words_ids"], c.get("eos_token_id")))
    if "min_length" in c:
        found.append(lp.MinLengthLogitsProcessor(c["min_length"], c["eos_token_id"]))
    if "min_new_tokens" in c:
        found.append(lp.MinNewTokensLengthLogitsProcessor(prompt_length, c["min_new_tokens"], c["eos_token_id"]))
    if "forced_bos_token_id" in c:
        found.append(lp.ForcedBOSTokenLogitsProcessor(c["forced_bos_token_id"]))
    if "forced_eos_token_id" in c:
        found.append(lp.ForcedEOSTokenLogitsProcessor(c["max_length"], c["forced_eos_token_id"]))
    if "suppress_tokens" in c:
        found.append(lp.SuppressTokensLogitsProcessor(c["suppress_tokens"]))
    if "begin_suppress_tokens" in c:
        begin = prompt_length + (prompt_length == 1 and "forced_bos_token_id" in c)
        found.append(lp.SuppressTokensAtBeginLogitsProcessor(c["begin_suppress_tokens"], begin))
    if c.get("do_sample"):
        if "temperature" in c:
            found.append(lp.TemperatureLogitsWarper(c["temperature"]))
        if "top_k" in c:
            found.append(lp.TopKLogitsWarper(c["top_k"]))
        if "top_p" in c:
            found.append(lp.TopPLogitsWarper(c["top_p"]))
        if "min_p" in c:
            found.append(lp.MinPLogitsWarper(c["min_p"]))
        if "typical_p" in c:
            found.append(lp.TypicalLogitsWarper(c["typical_p"]))
    return found


def drawn(r):
    """Members of a configuration, each alone or several."""
    choices = {
        "logit_bias": lambda: [[t, r.choice([-3.5, 2.0, -0.25])] for t in r.sample(range(24), 3)],
        "repetition_penalty": lambda: r.choice([0.5, 1.1, 1.7]),
        "no_repeat_ngram_size": lambda: r.choice([1, 2, 3, 4]),
        "bad_words_ids": lambda: [[r.randrange(24) for _ in range(r.choice([1, 1, 2, 3]))] for _ in range(4)],
        "min_length": lambda: r.choice([5, 12, 30]),
        "min_new_tokens": lambda: r.choice([1, 4, 9]),
        "forced_bos_token_id": lambda: r.randrange(24),
        "forced_eos_token_id": lambda: r.randrange(24),
        "suppress_tokens": lambda: r.sample(range(24), 4),
        "begin_suppress_tokens": lambda: r.sample(range(24), 4),
        "temperature": lambda: r.choice([0.3, 0.7, 1.6]),
        "top_k": lambda: r.choice([1, 5, 20]),
        "top_p": lambda: r.choice([0.1, 0.5, 0.9, 0.99]),
        "min_p": lambda: r.choice([0.02, 0.1, 0.5]),
        "typical_p": lambda: r.choice([0.2, 0.6, 0.95]),
    }
    names = r.sample(list(choices), r.choice([1, 1, 1, 2, 3, 4]))
    c = {name: choices[name]() for name in names}
    if {"temperature", "top_k", "top_p", "min_p", "typical_p"} & set(c):
        c["do_sample"] = True
    if {"min_length", "min_new_tokens", "bad_words_ids"} & set(c):
        c["eos_token_id"] = r.sample(range(24), 2)
    if "bad_words_ids" in c:
        # transformers leaves words out that are an end token.
        c["bad_words_ids"] = [w for w in c["bad_words_ids"] if len(w) > 1 or w[0] not in c["eos_token_id"]] or [[23, 22]]
    return c


def drawn_together(r):
    """Members that change each other's meaning, and the length of the prompt that they do so with."""
    if r.random() < 0.5:  # behind a token that is forced, the first one is the second
        return {"forced_bos_token_id": r.randrange(24), "begin_suppress_tokens": r.sample(range(24), 8)}, 1
    eos = r.sample(range(24), 3)  # end tokens alone are no bad words
    return {"bad_words_ids": [[eos[0]], [r.randrange(24), eos[1]], [eos[2]], [r.randrange(24)]], "eos_token_id": eos}, None


def number(x):
    """The shortest text that is this float32."""
    return None if math.isinf(x) else float(str(np.float32(x)))


def main():
    r = random.Random(20261130)
    torch.manual_seed(7)
    cases = []
    while len(cases) < 270:
        size = r.choice([24] * 11 + [400])
        length = r.choice([1, 2, 6, 14, 40])
        prompt_length = r.randint(1, length)
        tokens = [r.randrange(r.choice([3, 24])) for _ in range(length)]
        if len(cases) < 240:
            c = drawn(r)
        else:
            c, fixed = drawn_together(r)
            if fixed:
                prompt_length, tokens = fixed, tokens[: r.choice([1, 2, 2, 3])]
        if "forced_eos_token_id" in c:
            c["max_length"] = length + r.choice([1, 1, 2])
        # Which of equal tokens stay is arbitrary there, except with top_k.
        decimals = 4 if {"top_p", "typical_p"} & set(c) else r.choice([1, 4])
        logits = (torch.randn(1, size) * r.choice([1.0, 3.0])).round(decimals=decimals)
        scores = logits.clone()
        try:
            for p in processors(c, prompt_length):
                scores = p(torch.tensor([tokens]), scores)
        except (IndexError, RuntimeError):  # with nothing left, some of them fail
            continue
        if not torch.isfinite(scores).any() or torch.isnan(scores).any():
            continue
        cases.append(
            {
                "config": c,
                "tokens": tokens,
                "prompt_length": prompt_length,
                "logits": [number(x) for x in logits[0].tolist()],
                "expected": [number(x) for x in scores[0].tolist()],
            }
        )
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    FILE.write_text(
        f'{{"transformers": "{transformers.__version__}", "torch": "{torch.__version__}", "cases": [\n{lines}\n]}}\n'
    )


main()
