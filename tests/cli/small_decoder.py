"""A small decoder with its tokenizer, as a directory that language models come in: token i is the word w<i>."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, HEADS, HEAD = 32, 16, 2, 8
CONTEXT = 64


def weights():
    rng = np.random.default_rng(5)
    draw = lambda *shape: (rng.standard_normal(shape) / 2).astype(np.float32)
    return {"table": draw(WORDS, WIDTH), "q": draw(WIDTH, WIDTH), "k": draw(WIDTH, WIDTH), "v": draw(WIDTH, WIDTH), "head": draw(WIDTH, WORDS)}


def model():
    floats, ints = TensorProto.FLOAT, TensorProto.INT64
    past = lambda name, length: helper.make_tensor_value_info(name, floats, ["batch", HEADS, length, HEAD])
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["x"]),
        *(node("MatMul", ["x", w], [f"{w}_rows"]) for w in "qkv"),
        node(
            "Attention",
            ["q_rows", "k_rows", "v_rows", "", "past_key_values.0.key", "past_key_values.0.value"],
            ["y", "present.0.key", "present.0.value"],
            q_num_heads=HEADS,
            kv_num_heads=HEADS,
            is_causal=1,
        ),
        node("Add", ["x", "y"], ["z"]),
        node("MatMul", ["z", "head"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "decoder",
        [helper.make_tensor_value_info("input_ids", ints, ["batch", "seq"])]
        + [past(f"past_key_values.0.{n}", "past") for n in ("key", "value")],
        [helper.make_tensor_value_info("logits", floats, ["batch", "seq", WORDS])]
        + [past(f"present.0.{n}", "past + seq") for n in ("key", "value")],
        [numpy_helper.from_array(a, n) for n, a in weights().items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def logits(ids):
    """What the decoder makes of tokens, in float64: [tokens, WORDS]."""
    w = {n: a.astype(np.float64) for n, a in weights().items()}
    x = w["table"][np.asarray(ids)]
    q, k, v = ((x @ w[n]).reshape(len(ids), HEADS, HEAD).transpose(1, 0, 2) for n in "qkv")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(HEAD)
    scores = np.where(np.tril(np.ones((len(ids), len(ids)), bool)), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    y = (p / p.sum(-1, keepdims=True)) @ v
    return (x + y.transpose(1, 0, 2).reshape(len(ids), WIDTH)) @ w["head"]


def write_decoder(folder):
    folder.mkdir()
    onnx.save(model(), folder / "model.onnx")
    tokenizer = {
        "model": {"type": "WordLevel", "vocab": {f"w{i}": i for i in range(WORDS)}, "unk_token": "w0"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
    }
    template = "{% for m in messages %}{{ m.content }} {% endfor %}{% if add_generation_prompt %}w9{% endif %}"
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 1}))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": CONTEXT}))
