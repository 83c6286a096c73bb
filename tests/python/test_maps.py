"""CastMap: maps in, tensors out; expectations from the standard's words in plain Python, and from ONNX Runtime."""

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import lathe

TYPES = {"TO_FLOAT": (onnx.TensorProto.FLOAT, np.float32), "TO_INT64": (onnx.TensorProto.INT64, np.int64), "TO_STRING": (onnx.TensorProto.STRING, str)}


def model(values, cast_to, **attributes):
    node = oh.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", cast_to=cast_to, **attributes)
    element = oh.make_tensor_type_proto(onnx.TensorProto.STRING if isinstance(values[0], str) else onnx.TensorProto.FLOAT, None)
    x = oh.make_value_info("x", oh.make_map_type_proto(onnx.TensorProto.INT64, element))
    y = oh.make_tensor_value_info("y", TYPES[cast_to][0], [1, None])
    graph = oh.make_graph([node], "g", [x], [y])
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 3)]
    return oh.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def expected(given, cast_to, map_form="DENSE", max_map=1):
    """Dense: the values in the order of the keys. Sparse: each at its key, nothing (0, or no text) elsewhere."""
    convert = {"TO_FLOAT": float, "TO_INT64": lambda v: int(float(v)), "TO_STRING": str}[cast_to]
    if map_form == "DENSE":
        row = [convert(given[k]) for k in sorted(given)]
    else:
        row = [convert(given[k]) if k in given else TYPES[cast_to][1]() for k in range(max_map)]
    return np.array([row], dtype=object if cast_to == "TO_STRING" else TYPES[cast_to][1])


FLOATS = {5: 2.0, 0: -1.0, 3: 7.0}
WORDS = {4: "1.5", 1: "-3", 2: "8"}


@pytest.mark.parametrize("form", [{}, {"map_form": "SPARSE", "max_map": 6}], ids=["dense", "sparse"])
@pytest.mark.parametrize("given, cast_to", [(FLOATS, "TO_FLOAT"), (FLOATS, "TO_INT64"), (WORDS, "TO_FLOAT"), (WORDS, "TO_STRING"), ({4: "15", 1: "-3"}, "TO_INT64")])
def test_cast_map(given, cast_to, form):
    source = model(list(given.values()), cast_to, **form)
    want = expected(given, cast_to, **form)
    got = lathe.build(source).run({"x": given})["y"]
    assert got.shape == want.shape and got.tolist() == want.tolist()
    if given is WORDS or "15" in given.values():
        return  # ONNX Runtime's Python takes no maps to words
    runtime = pytest.importorskip("onnxruntime").InferenceSession(source)
    assert runtime.run(None, {"x": given})[0].tolist() == want.tolist()


def test_numbers_become_words_that_read_back():
    given = {1: 0.1, 2: 3.0, 3: 1e30}
    got = lathe.build(model([0.0], "TO_STRING")).run({"x": given})["y"]
    assert [np.float32(v) for v in got[0]] == [np.float32(given[k]) for k in sorted(given)]


def test_what_does_not_fit_is_refused():
    engine = lathe.build(model([0.0], "TO_FLOAT", map_form="SPARSE", max_map=3))
    for key in (3, -1):
        with pytest.raises(lathe.Error, match="E4102.*keys from 0 to 2"):
            engine.run({"x": {key: 1.0}})
    assert engine.run({"x": {2: 1.0}})["y"].tolist() == [[0, 0, 1]]
    with pytest.raises(lathe.Error, match="CastMap"):
        lathe.build(model(["a"], "TO_FLOAT")).run({"x": {0: "no number"}})
