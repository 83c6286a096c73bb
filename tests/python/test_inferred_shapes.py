"""Inferred types and shapes agree with results: over the backend suite and the models of others, without the outputs'
declarations, and once more with symbols as sizes of inputs; and if the onnx package's inference knows a type or a size,
ours knows the same."""

import json
import math
import re

import numpy as np
import onnx
import onnx.shape_inference
import pytest

import lathe
import scoreboard
import suite_cases
from support import model_folders
from test_shared_models import in_order, read

REAL = suite_cases.real_cases()
CASES = suite_cases.all_cases() | REAL
_, NOT_PASSING = scoreboard.documented()
NAMES = sorted(set(CASES) - NOT_PASSING)
# Here the onnx package trusts the declaration of a body's output, which may be wrong in a file.
DIFFERENT = {"test_loop11"}


# A scale without axes takes a zero point of one element; whether a symbol is 1 is not known.
NEED_SIZES = {
    *(f"test_dequantizelinear_{kind}" for kind in ("e4m3fn_zero_point", "float4e2m1", "int2", "int4", "uint2", "uint4")),
    "test_quantizelinear_e4m3fn",
    "test_quantizelinear_e5m2",
}
# Data decide how many elements these outputs have, however much else is known: what is found, what is in a picture or a
# text, how often a body runs, which branch is taken, and which item of a sequence.
DATA_DECIDES = set("NonMaxSuppression NonZero Unique ImageDecoder StringNormalizer StringSplit Loop SequenceAt ConcatFromSequence".split())

def undeclared(model, symbols):
    """A copy that says nothing of values inside and of outputs; with `symbols`, sizes of inputs have names."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    del m.graph.value_info[:]
    for o in m.graph.output:
        o.ClearField("type")
    if symbols:
        for k, i in enumerate(m.graph.input):
            if i.type.WhichOneof("value") == "tensor_type" and i.type.tensor_type.HasField("shape"):
                for a, d in enumerate(i.type.tensor_type.shape.dim):
                    d.Clear()
                    d.dim_param = f"s{k}_{a}"
    return m


def evaluated(size, sizes):
    """Returns the value of an inferred size with these sizes of inputs; None if it is not known."""
    if size is None or isinstance(size, int):
        return size
    if re.search(r"\?", size):
        return None
    # Symbols may have any name; those that are no plain names are in quotes.
    names = "|".join(re.escape(name) for name in sorted(sizes, key=len, reverse=True) if not name.startswith('"'))
    text = re.sub(rf'"[^"]*"|(?<![\w.])(?:{names or "(?!)"})(?![\w.])', lambda m: str(sizes.get(m[0], m[0])), size)
    if '"' in text:
        return None
    words = {"floor": math.floor, "min": min, "max": max, "broadcast": lambda *of: next((n for n in of if n != 1), 1)}
    if set(re.findall(r"[^\W\d][\w.]*", text)) - set(words):
        return None
    return int(eval(text, {"__builtins__": {}}, words))  # noqa: S307: the library's own words


def type_name(a):
    """In ONNX's words: "tensor(float8e4m3fn)"."""
    element = onnx.TensorProto.STRING if a.dtype.kind in "OUS" else onnx.helper.np_dtype_to_tensor_dtype(a.dtype)
    return f"tensor({onnx.TensorProto.DataType.Name(element).lower()})"


def check_type(v, declared):
    """`declared` in ONNX's words: "optional(seq(tensor(float)))"."""
    kind, inner = declared.split("(", 1)
    if kind == "optional":
        return v is None or check_type(v, inner[:-1])
    if kind == "seq":
        assert isinstance(v, list), declared
        return all(check_type(item, inner[:-1]) for item in v)
    if kind == "map":
        key, element = (part.strip() for part in inner[:-1].split(","))
        assert isinstance(v, dict) and all(isinstance(k, str) == (key == "string") for k in v), declared
        assert all(isinstance(item, str) == ("string" in element) for item in v.values()), declared
        return True
    assert type_name(np.asarray(v)) == declared
    return True


def compare(engine, outputs, sizes):
    """Outputs of a run with such sizes of inputs, by symbol."""
    for io in engine.outputs:
        got = outputs[io.name]
        check_type(got, io.type)
        if not isinstance(got, np.ndarray) or io.shape is None:
            continue
        assert len(io.shape) == got.ndim, (io, got.shape)
        for inferred, real in zip(io.shape, got.shape):
            size = evaluated(inferred, sizes)
            assert size is None or size == real, (io, got.shape)


def symbols_of(model, given):
    """The sizes of inputs, by the names that `undeclared` gives them."""
    shapes = {t.name: t.dims for t in model.graph.initializer} | {name: getattr(v, "shape", ()) for name, v in given.items()}
    return {f"s{k}_{a}": d for k, i in enumerate(model.graph.input) for a, d in enumerate(shapes.get(i.name, ()))}


def run(name, symbols):
    case = CASES[name]
    try:
        # Plain loops would take minutes for the real models.
        engine = lathe.build(undeclared(case.model, symbols).SerializeToString(), backend="cpu" if name in REAL else "reference", threads=1)
    except lathe.Error as e:
        assert symbols and name in NEED_SIZES and e.code == "E2306", e
        return
    assert not symbols or name not in NEED_SIZES, "it is no longer refused"
    for inputs, _ in case.sets:
        given = suite_cases.feed(case, inputs)
        compare(engine, engine.run(given), symbols_of(case.model, given) if symbols else {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_inferred_is_real(name):
    run(name, symbols=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_inferred_with_symbols_is_real(name):
    run(name, symbols=True)


def with_parameters(case):
    """The model with what is small and no first input as constants: axes, sizes, counts, scales."""
    m = undeclared(case.model, symbols=False)
    given = suite_cases.feed(case, case.sets[0][0])
    for i in list(m.graph.input)[1:] if any(isinstance(v, list) or np.ndim(v) > 1 for v in given.values()) else list(m.graph.input):
        v = given.get(i.name)
        v = np.asarray(v) if isinstance(v, (np.ndarray, np.generic)) else None
        if v is not None and v.ndim <= 1 and v.size <= 16 and i.name not in {t.name for t in m.graph.initializer}:
            m.graph.initializer.append(onnx.numpy_helper.from_array(v, i.name))
            m.graph.input.remove(i)
    return m


@pytest.mark.filterwarnings("ignore")
def test_only_data_leave_sizes_open():
    """If inputs have sizes and parameters are known, so is every size, except for these operators."""
    decided = set()
    for name in NAMES:
        engine = lathe.build(with_parameters(CASES[name]).SerializeToString(), backend="reference", threads=1)
        for io in engine.outputs:
            if io.type.startswith("tensor") and (io.shape is None or not all(isinstance(d, int) for d in io.shape)):
                decided.add(CASES[name].model.graph.node[-1].op_type)
    assert decided == DATA_DECIDES


SHARED_MODELS = model_folders()


def in_outputs(size):
    """An input's size as the sizes of outputs call it: what is declared as a sum is a size of its own there, with that name."""
    return size if re.fullmatch(r'[\w.]+|"[^"]*"', size) else f'"{size}"'


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("folder", SHARED_MODELS, ids=lambda f: f.name)
def test_inferred_is_real_in_models(folder):
    """Their inputs have symbols of their own."""
    meta = json.loads((folder / "meta.json").read_text())
    engine = lathe.build(folder / "model.onnx", backend="reference", threads=1)
    before = {}
    for case, feedback in in_order(meta):
        inputs = {name: read(folder / path) for name, path in case["inputs"].items()}
        inputs.update({into: before[out] for into, out in feedback.items()})
        sizes = {}
        for io in engine.inputs:
            for symbol, size in zip(io.shape or (), getattr(inputs.get(io.name), "shape", ())):
                if isinstance(symbol, str):
                    sizes[in_outputs(symbol)] = size
        before = engine.run(inputs)
        compare(engine, before, sizes)
        if not feedback and before and sum(np.asarray(v).size for v in inputs.values() if isinstance(v, np.ndarray)) > 10**6:
            return  # one run of a large one


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("symbols", [False, True], ids=["sizes", "symbols"])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in DIFFERENT])
def test_onnx_infers_no_more(name, symbols):
    """Types of outputs, their ranks, their sizes, and which of them are those of inputs, whatever these are."""
    if symbols and name in NEED_SIZES:
        return
    model = undeclared(CASES[name].model, symbols)
    try:
        theirs = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
    except onnx.shape_inference.InferenceError:
        return
    ours = {io.name: io for io in lathe.build(model.SerializeToString(), backend="reference", threads=1).outputs}
    for o in theirs.graph.output:
        if o.type.WhichOneof("value") is None:
            continue
        assert ours[o.name].type == type_text(o.type), o.name
        if o.type.WhichOneof("value") != "tensor_type" or not o.type.tensor_type.HasField("shape"):
            continue
        shape = ours[o.name].shape
        assert shape is not None and len(shape) == len(o.type.tensor_type.shape.dim), (o.name, shape)
        for mine, d in zip(shape, o.type.tensor_type.shape.dim):
            if d.HasField("dim_value") and not symbols:  # of symbols it makes 0 now and then
                assert mine == d.dim_value, (o.name, shape, o.type.tensor_type.shape)
            elif d.HasField("dim_value") or re.fullmatch(r"s\d+_\d+", d.dim_param):
                assert mine is not None, (o.name, shape, o.type.tensor_type.shape)


def type_text(t):
    kind = t.WhichOneof("value")
    if kind == "tensor_type":
        return f"tensor({onnx.TensorProto.DataType.Name(t.tensor_type.elem_type).lower()})"
    if kind == "map_type":
        return f"map({onnx.TensorProto.DataType.Name(t.map_type.key_type).lower()}, {type_text(t.map_type.value_type)})"
    return f"{'seq' if kind == 'sequence_type' else 'optional'}({type_text(getattr(t, kind).elem_type)})"
