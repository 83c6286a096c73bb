"""A GGUF file that is exported is a whole folder: onnxruntime-genai runs it as it is, with Lathe's own tokens, and its
tokenizer.json is what the Rust library and onnxruntime-genai read as Lathe does."""

import json
import random

import numpy as np
import pytest
import support

import lathe
from lathe import exporters

NEW_TOKENS = 16
MESSAGES = [{"role": "user", "content": "Name three colours."}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """SmolLM2 in 4 bits, validated by the usual bounds, as far as a short time allows."""
    model = support.smollm2()
    out = tmp_path_factory.mktemp("smollm2")
    report = exporters.export(model, out, validation_seconds=8)
    assert report["task"] == "text-generation-with-past" and report["left_out"] == []
    outputs = [o for run in report["validation"]["model.onnx"]["runs"] for o in run["outputs"].values()]
    assert outputs and all(o["engine_ulps"] <= o["allowed_ulps"] for o in outputs)
    names = {"config.json", "generation_config.json", "genai_config.json", "tokenizer.json", "tokenizer_config.json"}
    assert names < set(report["files"])
    return out


@pytest.fixture(scope="module")
def genai(folder):
    og = pytest.importorskip("onnxruntime_genai")
    return og, og.Model(str(folder))


def greedy(folder, ids):
    """The tokens that Lathe's engine finds likeliest, one after the other."""
    config = json.loads((folder / "config.json").read_text())
    context = lathe.build(folder / "model.onnx").create_context()
    shape = (1, config["num_key_value_heads"], 0, config["head_dim"])
    layers = range(config["num_hidden_layers"])
    past = {f"past_key_values.{i}.{side}": np.zeros(shape, np.float32) for i in layers for side in ("key", "value")}
    found, new = [], list(ids)
    for _ in range(NEW_TOKENS):
        seen = len(ids) + len(found)
        feeds = {
            "input_ids": np.array([new], np.int64),
            "attention_mask": np.ones((1, seen), np.int64),
            "position_ids": np.arange(seen - len(new), seen, dtype=np.int64)[None],
        }
        outputs = context.run({**feeds, **past})
        new = [int(outputs["logits"][0, -1].argmax())]
        found += new
        past = {name: np.array(outputs[name.replace("past_key_values", "present")]) for name in past}
    return found


def test_genai_generates_the_same_tokens(folder, genai):
    og, model = genai
    tokenizer = og.Tokenizer(model)
    prompt = tokenizer.apply_chat_template(json.dumps(MESSAGES), add_generation_prompt=True)
    assert prompt.endswith("<|im_start|>user\nName three colours.<|im_end|>\n<|im_start|>assistant\n")
    ids = [int(i) for i in tokenizer.encode(prompt)]
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + NEW_TOKENS)
    generator = og.Generator(model, params)
    generator.append_tokens(np.array(ids, np.int32))
    while not generator.is_done():
        generator.generate_next_token()
    theirs = [int(i) for i in generator.get_sequence(0)][len(ids) :]
    assert len(theirs) > 3
    assert theirs == greedy(folder, ids)[: len(theirs)]


def test_tokenizers_agree(folder, genai):
    tokenizers = pytest.importorskip("tokenizers")
    og, model = genai
    rust = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs, ours = og.Tokenizer(model), lathe.Tokenizer(folder)
    texts = ["", " ", "  two  spaces\n\nlines\t", "12345 6.7", "don't we'll I'M", "<|im_start|>user\nÜber 日本語 🎉<|im_end|>"]
    draw = random.Random(1)
    texts += ["".join(draw.choice("ab Zé1 2\n'.,日🎉<|>\tß-") for _ in range(draw.randint(1, 25))) for _ in range(300)]
    for text in texts:
        ids = list(ours.encode(text).ids)
        assert rust.encode(text).ids == ids, text
        assert rust.decode(ids) == ours.decode(ids), text
        if text:  # onnxruntime-genai takes no empty text
            assert [int(i) for i in theirs.encode(text)] == ids, text
