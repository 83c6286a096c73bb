"""What is inferred is what comes out: over the backend suite, with the outputs' declarations taken away, and once more with sizes
of inputs that are symbols; and where the onnx package's inference knows a size, ours knows the same."""

import math
import re

import numpy as np
import onnx
import onnx.shape_inference
import pytest

import lathe
import scoreboard
import suite_cases

CASES = suite_cases.all_cases()
_, NOT_PASSING = scoreboard.documented()
NAMES = sorted(set(CASES) - NOT_PASSING)
# What the onnx package takes from the declaration of a body's output, which a file may have wrong.
DIFFERENT = {"test_loop11"}


def undeclared(model, symbols):
    """A copy that says nothing of values inside and of outputs; with `symbols`, sizes of inputs have names."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    del m.graph.value_info[:]
    for o in m.graph.output:
        kind = o.type.WhichOneof("value")
        if kind == "tensor_type":
            o.ClearField("type")
    if symbols:
        for k, i in enumerate(m.graph.input):
            if i.type.WhichOneof("value") == "tensor_type" and i.type.tensor_type.HasField("shape"):
                for a, d in enumerate(i.type.tensor_type.shape.dim):
                    d.Clear()
                    d.dim_param = f"s{k}_{a}"
    return m


def evaluated(size, sizes):
    """What an inferred size is with these sizes of inputs; None where it is not known."""
    if size is None or isinstance(size, int):
        return size
    if re.search(r"\?", size):
        return None
    words = {"floor": math.floor, "min": min, "max": max, "broadcast": lambda *of: next((n for n in of if n != 1), 1)}
    try:
        return int(eval(size, {"__builtins__": {}}, {**words, **sizes}))  # noqa: S307: the library's own words
    except NameError:
        return None


def type_name(a):
    """In ONNX's words: "tensor(float8e4m3fn)"."""
    element = onnx.TensorProto.STRING if a.dtype.kind in "OUS" else onnx.helper.np_dtype_to_tensor_dtype(a.dtype)
    return f"tensor({onnx.TensorProto.DataType.Name(element).lower()})"


def compare(engine, case, inputs, feed):
    sizes = {}
    for k, (i, v) in enumerate(zip(case.model.graph.input, inputs)):
        for a, d in enumerate(getattr(v, "shape", ())):
            sizes[f"s{k}_{a}"] = d
    outputs = engine.run(feed)
    checked = 0
    for io in engine.outputs:
        got = outputs[io.name]
        if not isinstance(got, np.ndarray) or io.dtype is None:
            continue
        assert type_name(got) == io.type, io.name
        if io.shape is None:
            continue
        assert len(io.shape) == got.ndim, (io, got.shape)
        for inferred, real in zip(io.shape, got.shape):
            size = evaluated(inferred, sizes)
            assert size is None or size == real, (io, got.shape)
            checked += size is not None
    return checked


def run(name, symbols):
    case = CASES[name]
    try:
        engine = lathe.build(undeclared(case.model, symbols).SerializeToString(), backend="reference", threads=1)
    except lathe.Error:
        if not symbols:
            raise
        return None  # some operators need to know a size
    for inputs, _ in case.sets:
        compare(engine, case, inputs, suite_cases.feed(case, inputs))
    return engine


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_inferred_is_real(name):
    run(name, symbols=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if not n.endswith("expanded")])
def test_inferred_with_symbols_is_real(name):
    run(name, symbols=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in DIFFERENT])
def test_onnx_infers_no_more(name):
    case = CASES[name]
    model = undeclared(case.model, False)
    try:
        theirs = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
    except onnx.shape_inference.InferenceError:
        return
    ours = {io.name: io for io in lathe.build(model.SerializeToString(), backend="reference", threads=1).outputs}
    for o in theirs.graph.output:
        if o.type.WhichOneof("value") != "tensor_type" or not o.type.tensor_type.HasField("shape"):
            continue
        shape = ours[o.name].shape
        assert shape is not None and len(shape) == len(o.type.tensor_type.shape.dim), (o.name, shape)
        for mine, d in zip(shape, o.type.tensor_type.shape.dim):
            if d.HasField("dim_value"):
                assert mine == d.dim_value, (o.name, shape, o.type.tensor_type.shape)
