"""States from Python: values that stay where they are from run to run."""

import copy

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe

ATTENTION = """<ir_version: 10, opset_import: ["": 24]> g
  (float[batch,4,seq,8] q, float[batch,2,seq,8] k, float[batch,2,seq,8] v, float[batch,2,past,8] past_key_values_0_key,
   float[batch,2,past,8] past_key_values_0_value)
  => (float[batch,4,seq,8] y, float[batch,2,total,8] present_0_key, float[batch,2,total,8] present_0_value) {
    y, present_0_key, present_0_value = Attention<is_causal = 1>(q, k, v, , past_key_values_0_key, past_key_values_0_value)
  }"""
PAIRS = {"past_key_values_*": "present_*"}


@pytest.fixture(scope="module")
def model():
    return onnx.parser.parse_model(ATTENTION).SerializeToString()


def step(rng, length, batch=1):
    return {name: rng.standard_normal((batch, heads, length, 8)).astype(np.float32) for name, heads in (("q", 4), ("k", 2), ("v", 2))}


def test_decoding_with_states_gives_the_bits_of_handing_on(model):
    stateful, plain = lathe.build(model, states=PAIRS, state_capacity=64, threads=1), lathe.build(model, threads=1)
    assert [io.state for io in stateful.inputs] == [None, None, None, "present_0_key", "present_0_value"]
    assert [io.state for io in stateful.outputs] == [None, "past_key_values_0_key", "past_key_values_0_value"]
    states = stateful.create_states({"batch": 2})
    context = stateful.create_context()
    context.bind_states(states)
    past = {name: state.numpy() for name, state in states.items()}
    rng = np.random.default_rng(1)
    for length in (7, 1, 1, 3, 1):
        inputs = step(rng, length, 2)
        got, want = context.run(inputs), plain.run({**inputs, **past})
        assert list(got) == ["y"]
        assert np.array_equal(got["y"], want["y"])
        past = {f"past_key_values_0_{name}": want[f"present_0_{name}"] for name in ("key", "value")}
        for name, state in states.items():
            assert np.array_equal(state.numpy(), past[name])
    state = states["past_key_values_0_key"]
    assert (state.dtype, state.shape, state.axis, state.length, state.capacity) == ("float32", (2, 2, 13, 8), 2, 13, 64)
    assert state.strides == (2 * 64 * 8, 64 * 8, 8, 1) and state.nbytes == 2 * 2 * 13 * 8 * 4
    assert repr(state) == "<lathe.State float32[2, 2, 13, 8], axis 2 up to 64>"
    shapes = {"q": (2, 4, 1, 8), "k": (2, 2, 1, 8), "v": (2, 2, 1, 8), **{name: (2, 2, 13, 8) for name in states}}
    assert stateful.memory(shapes)["states"] == 2 * 2 * 2 * 14 * 8 * 4


def test_states_are_values(model, tmp_path):
    engine = lathe.build(model, states="auto", state_capacity=16, threads=1)
    states = engine.create_states({"batch": 1}, capacity=12)
    context = engine.create_context()
    context.bind_states(states)
    rng = np.random.default_rng(2)
    context.run(step(rng, 5))
    fork = copy.deepcopy(states)
    token = step(rng, 1)
    first = context.run(token)["y"]
    for state in states.values():
        state.rewind(5)
    assert np.array_equal(context.run(token)["y"], first)
    context.bind_states(fork)
    assert np.array_equal(context.run(token)["y"], first)
    for name, state in fork.items():
        state.save(tmp_path / name)
        read = lathe.State.load(tmp_path / name)
        assert np.array_equal(read.numpy(), states[name].numpy()) and read.capacity == 12
        context.bind_state(name, read)
    context.run(token)
    key = fork["past_key_values_0_key"]
    key.assign(np.zeros((1, 2, 3, 8), np.float32))
    assert key.length == 3 and not key.numpy().any()
    key.clear()
    assert key.length == 0
    with pytest.raises(lathe.Error, match="E4106.*at most 12"):
        key.assign(np.zeros((1, 2, 13, 8), np.float32))
    with pytest.raises(lathe.Error, match="E4106.*at most 12"):
        context.run(step(rng, 12))
    assert states["past_key_values_0_key"].length == 6


def test_what_is_wrong_is_said(model, tmp_path):
    engine = lathe.build(model, states=PAIRS, threads=1)
    with pytest.raises(lathe.Error, match="E6001.*batch"):
        engine.create_states()
    with pytest.raises(lathe.Error, match="E4003.*bind"):
        engine.create_context().run(step(np.random.default_rng(0), 1))
    with pytest.raises(lathe.Error, match="E3008"):
        lathe.build(model, states={"nothing_*": "present_*"})
    with pytest.raises(lathe.Error, match="E3008"):
        lathe.build(model, states={"past_key_values_*": "y"})
    (tmp_path / "s").write_bytes(b"no state")
    with pytest.raises(lathe.Error, match="E5006"):
        lathe.State.load(tmp_path / "s")


def test_plans_keep_states(model, tmp_path):
    lathe.build(model, states=PAIRS, threads=1).save(tmp_path / "m.lathe")
    engine = lathe.load(tmp_path / "m.lathe", threads=1)
    context = engine.create_context()
    states = engine.create_states({"batch": 1})
    context.bind_states(states)
    context.run(step(np.random.default_rng(0), 4))
    assert {state.length for state in states.values()} == {4}


def grouped_attention():
    heads, float32, int32 = {"num_heads": 4, "kv_num_heads": 2}, onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
    past, present = (["batch", 2, f"{name}_sequence_length", 8] for name in ("past", "total"))
    names = ["q", "k", "v", "past_key_values.0.key", "past_key_values.0.value", "last", "total"]
    node = oh.make_node("GroupQueryAttention", names, ["y", "present.0.key", "present.0.value"], domain="com.microsoft", **heads)
    shapes = (["batch", "seq", 32], ["batch", "seq", 16], ["batch", "seq", 16], past, past, ["batch"], [])
    inputs = [oh.make_tensor_value_info(n, int32 if n in ("last", "total") else float32, shape) for n, shape in zip(names, shapes)]
    outputs = [oh.make_tensor_value_info(n, float32, shape) for n, shape in zip(node.output, (["batch", "seq", 32], present, present))]
    opsets = [oh.make_opsetid("", 20), oh.make_opsetid("com.microsoft", 1)]
    return oh.make_model(oh.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=10).SerializeToString()


def test_caches_of_grouped_attention_are_states():
    """Samples have lengths of their own: their rows are written where `last` says."""
    model = grouped_attention()
    stateful, plain = lathe.build(model, states="auto", state_capacity=32, threads=1), lathe.build(model, threads=1)
    assert [step.op for step in stateful.steps].count("UpdateCache") == 2 and "Contiguous" not in [step.op for step in stateful.steps]
    states = stateful.create_states({"batch": 2})
    context = stateful.create_context()
    context.bind_states(states)
    past = {name: state.numpy() for name, state in states.items()}
    rng = np.random.default_rng(4)
    lengths = np.array([5, 3], np.int32)
    for rows in (5, 1, 1, 1):
        lengths = lengths if rows == 5 else lengths + 1
        feed = {n: rng.standard_normal((2, rows, width), np.float32) for n, width in (("q", 32), ("k", 16), ("v", 16))}
        feed |= {"last": lengths - 1, "total": np.array(lengths.max(), np.int32)}
        got, want = context.run(feed), plain.run({**feed, **past})
        assert np.array_equal(got["y"], want["y"])
        past = {f"past_key_values.0.{name}": want[f"present.0.{name}"] for name in ("key", "value")}
        for name, state in states.items():
            assert state.length == lengths.max() and np.array_equal(state.numpy(), past[name])


@pytest.mark.parametrize("dtype, tolerance", [("float16", 1e-3), ("bfloat16", 1e-2), ("int8", 1e-2)])
def test_keys_and_values_in_narrow_types_and_blocks(model, dtype, tolerance):
    pairs = {name: (to, dtype, 16) for name, to in PAIRS.items()}
    narrow, plain = lathe.build(model, states=pairs, threads=1), lathe.build(model, states=PAIRS, threads=1)
    made = [(engine.create_states({"batch": 1}), engine.create_context()) for engine in (narrow, plain)]
    for states, context in made:
        context.bind_states(states)
    rng = np.random.default_rng(1)
    off = []
    for length in (20, 1, 5):
        inputs = step(rng, length)
        got, want = (context.run(inputs)["y"] for _, context in made)
        off.append(np.abs(got - want).max())
    # New rows are read as they are, those of the cache as it has them.
    assert 0 < max(off) < tolerance * 4
    state = made[0][0]["past_key_values_0_key"]
    assert (state.dtype, state.block, state.length) == (dtype, 16, 26)
    row = {"float16": 16, "bfloat16": 16, "int8": 8 + 4}[dtype]
    assert state.nbytes == 2 * 2 * 16 * row
    fork = state.copy()
    assert np.array_equal(fork.numpy().view(np.uint8), state.numpy().view(np.uint8))
    with pytest.raises(lathe.Error, match="one in blocks"):
        state.strides
    with pytest.raises(lathe.Error, match="E3008"):
        lathe.build(model, states={name: (to, "int64", 0) for name, to in PAIRS.items()})
