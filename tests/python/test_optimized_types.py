"""Every graph that the tests of passes rewrite, with other element types and at other opsets, as `convert --optimize` writes it: where
ONNX Runtime runs the given model it runs the written one, and gives the same."""

import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest

from support import built_tool, unoptimized_session
from test_optimized_graphs import NOT_THERE, differs, keep_graphs, sample

T = onnx.TensorProto
# The types that replace float, and the integers that are quantized.
KINDS = {
    "float": {},
    "float16": {T.FLOAT: T.FLOAT16},
    "bfloat16": {T.FLOAT: T.BFLOAT16},
    "double": {T.FLOAT: T.DOUBLE},
    "int8": {T.UINT8: T.INT8},
    "uint8": {T.INT8: T.UINT8},
    "uint16": {T.UINT8: T.UINT16, T.INT8: T.UINT16},
    "int16": {T.UINT8: T.INT16, T.INT8: T.INT16},
}
OPSETS = {"float": (13, 17), "int8": (13,), "uint8": (13,)}  # beside the graphs' own


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = keep_graphs(tmp_path_factory.mktemp("given"))
    return [p for p in sorted(folder.glob("*.onnx")) if not p.name.endswith(".optimized.onnx")]


def retyped(model, kind):
    """Nothing where the model has no such type."""
    found = False

    def of(elem):
        nonlocal found
        found = found or elem in kind
        return kind.get(elem, elem)

    def tensor(t):
        if t.data_type in kind:
            values = onnx.numpy_helper.to_array(t)
            dtype = onnx.helper.tensor_dtype_to_np_dtype(of(t.data_type))
            t.CopyFrom(onnx.numpy_helper.from_array(values.astype(dtype), t.name))

    def graph(g):
        for value in [*g.input, *g.output, *g.value_info]:
            value.type.tensor_type.elem_type = of(value.type.tensor_type.elem_type)
        for t in g.initializer:
            tensor(t)
        for node in g.node:
            for a in node.attribute:
                if a.name in ("to", "dtype"):
                    a.i = of(a.i)
                if a.HasField("t"):
                    tensor(a.t)
                if a.HasField("g"):
                    graph(a.g)

    graph(model.graph)
    return model if found else None


def verdict(path, folder, kind, opset):
    """None: the same; "refused": ONNX Runtime does not run the given one, or Lathe refuses it."""
    model = retyped(onnx.load(path), KINDS[kind]) if KINDS[kind] else onnx.load(path)
    if model is None:
        return "refused"
    given, written = folder / f"{path.stem}.{kind}.{opset}.onnx", folder / f"{path.stem}.{kind}.{opset}.written.onnx"
    onnx.save(model, given)
    if opset:
        command = [built_tool("lathe", "cli"), "convert", given, "-o", given, "--opset", str(opset)]
        if subprocess.run(command, capture_output=True).returncode:
            return "refused"
    try:
        before = unoptimized_session(onnx.load(given))
        feeds = {i.name: sample(i, 0) for i in onnx.load(given).graph.input}
        want = before.run(None, feeds)
    except Exception:
        return "refused"
    run = subprocess.run([built_tool("lathe", "cli"), "convert", given, "-o", written, "--optimize"], capture_output=True, text=True)
    if run.returncode:
        return run.stderr[-300:]
    try:
        got = unoptimized_session(onnx.load(written)).run(None, feeds)
    except Exception as e:
        return str(e)[:300]
    return "other numbers" if any(differs(w, g) for w, g in zip(want, got, strict=True)) else None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_runs_where_the_given_model_runs(kept, kind, tmp_path):
    problems = [(path, opset) for path in kept for opset in (None, *OPSETS.get(kind, ())) if not any(path.name.startswith(known) for known in NOT_THERE)]
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda p: verdict(p[0], tmp_path, kind, p[1]), problems))
    wrong = [f"{path.stem} at {opset}: {v}" for (path, opset), v in zip(problems, verdicts) if v not in (None, "refused")]
    assert not wrong, "\n".join(wrong)
    compared = verdicts.count(None)
    assert compared > {"float": 1000, "float16": 300, "double": 200, "bfloat16": -1}.get(kind, 10), f"{compared} of {len(problems)}"
    warnings.warn(f"{kind}: {compared} of {len(problems)} compared", stacklevel=1)
