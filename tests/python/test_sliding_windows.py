"""Generators of decoders with sliding windows, attention sinks and soft caps, beside onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import lathe

LAYERS, HEADS, KV_HEADS, HEAD, VOCABULARY, CONTEXT = 2, 4, 2, 16, 64, 96
HIDDEN = HEADS * HEAD


def decoder(window, softcap, sinks, seed=1):
    """A decoder as onnxruntime-genai's model builder writes them: attention is com.microsoft's, caches grow."""
    rng = np.random.default_rng(seed)
    weights, nodes = [], []

    def weight(name, values):
        weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def random(name, *shape, scale=0.12):
        return weight(name, rng.standard_normal(shape).astype(np.float32) * np.float32(scale))

    def node(op, inputs, outputs, **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    axis, one = weight("axis", np.array([1], np.int64)), weight("one", np.array([1], np.int64))
    sums = node("ReduceSum", ["attention_mask", axis], ["tokens_seen"], keepdims=0)
    last = node("Cast", [node("Sub", [sums, one], ["last"])], ["seqlens_k"], to=TensorProto.INT32)
    shape = node("Shape", ["attention_mask"], ["mask_shape"])
    size = node("Gather", [shape, weight("index", np.array(1, np.int64))], ["mask_length"], axis=0)
    total = node("Cast", [size], ["total"], to=TensorProto.INT32)
    angles = np.arange(CONTEXT)[:, None] / 100.0 ** (np.arange(HEAD // 2) / (HEAD // 2))
    cos, sin = (weight(n, f(angles).astype(np.float32)) for n, f in (("cos", np.cos), ("sin", np.sin)))
    x = node("Gather", [random("embedding", VOCABULARY, HIDDEN, scale=1), "input_ids"], ["embedded"])
    caches = []
    for i in range(LAYERS):
        q, k, v = (
            node("MatMul", [x, random(f"w{n}{i}", HIDDEN, heads * HEAD)], [f"{n}{i}"])
            for n, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
        )
        sink = random(f"sink{i}", HEADS, scale=1) if sinks else ""
        past, present = ([f"{kind}.{i}.{n}" for n in ("key", "value")] for kind in ("past_key_values", "present"))
        nodes.append(
            helper.make_node(
                "GroupQueryAttention",
                [q, k, v, *past, last, total, cos, sin, "", "", sink],
                [f"attended{i}", *present],
                domain="com.microsoft",
                num_heads=HEADS,
                kv_num_heads=KV_HEADS,
                do_rotary=1,
                local_window_size=window if i % 2 == 0 else -1,
                softcap=softcap,
            )
        )
        caches += list(zip(past, present))
        mixed = node("MatMul", [f"attended{i}", random(f"wo{i}", HIDDEN, HIDDEN)], [f"mixed{i}"])
        x = node("Add", [x, mixed], [f"x{i}"])
    node("MatMul", [x, random("head", HIDDEN, VOCABULARY)], ["logits"])

    def cache(name, length):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", KV_HEADS, length, HEAD])

    ids = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])]
    ids += [helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "all"])]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", VOCABULARY])
    graph = helper.make_graph(
        nodes,
        "decoder",
        ids + [cache(past, "past") for past, _ in caches],
        [logits] + [cache(present, "all") for _, present in caches],
        weights,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), [past for past, _ in caches]


@pytest.mark.parametrize("window, softcap, sinks", [(6, 0.0, False), (-1, 2.0, True), (6, 0.0, True), (6, 2.0, True)])
def test_answers_are_those_of_onnxruntime(window, softcap, sinks, tmp_path):
    model, caches = decoder(window, softcap, sinks)
    onnx.save(model, tmp_path / "model.onnx")
    ids = np.random.default_rng(2).integers(0, VOCABULARY, 40)
    theirs = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    empty = {name: np.zeros((1, KV_HEADS, 0, HEAD), np.float32) for name in caches}
    (logits,) = theirs.run(["logits"], {"input_ids": ids[None], "attention_mask": np.ones((1, 40), np.int64)} | empty)
    logits = logits[0].astype(np.float64)
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = expected[np.arange(39), ids[1:]]

    scores, answers = [], []
    for piece, threads in ((64, 1), (7, 2), (1, 1)):
        g = lathe.Generator(tmp_path, context_length=CONTEXT, prompt_piece=piece, threads=threads)
        scores.append(np.asarray(g.score(ids)))
        s = g.sequence(ids)
        g.compute(s)
        fork = s.fork()
        fork.rewind(20)
        fork.append(ids[20:])
        for sequence in (ids, s, fork):
            tokens = g.generate(sequence, max_new_tokens=30, do_sample=False, logprobs=True, ignore_eos=True)
            answers.append([(t.token, t.logprob) for t in tokens])
    np.testing.assert_allclose(scores[0], expected, atol=2e-5)
    for score in scores[1:]:
        np.testing.assert_array_equal(score.view(np.uint32), scores[0].view(np.uint32))
    assert all(a == answers[0] for a in answers) and len(answers[0]) == 30
