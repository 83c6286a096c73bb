"""Every graph that the tests of passes rewrite, saved as standard ONNX: ONNX Runtime gives the same for it before and after. The
shared models are real, but most passes find nothing in them (test_optimised_models.py)."""

import os
import subprocess
import warnings

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

from support import ROOT, built_tool

# What ONNX Runtime does not run as the standard has it, by the beginning of a test's name.
POOLS = "auto_pad of pools beside ceil_mode or dilations, and that of LpPool: what it gives before is not what the standard says"
NOT_THERE = {
    "RotaryEmbedding.OfTablesAndPositions": "more tokens than a table has rows, whatever the positions",
    "ExplicitPadding.Pools": POOLS,
    "ExplicitPadding.SameResultsForWindowsOfAllKinds": POOLS,
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("optimised")
    for source in sorted((ROOT / "tests").glob("passes_*test.cc")):
        command = [built_tool(source.stem), "--gtest_brief=1"]
        run = subprocess.run(command, env=os.environ | {"LATHE_KEEP_OPTIMISED": str(folder)}, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout[-2000:]
    return folder


def session_of(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def sample(value, seed):
    """Numbers of all signs for floats; 0, 1, 2 for integers, which may be indices. Unknown sizes are 3."""
    tensor = value.type.tensor_type
    shape = [d.dim_value or 3 for d in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    count = np.arange(np.prod(shape, dtype=int)) + seed
    numbers = count % 3 if dtype.kind in "iub" else 0.25 * (count % 13) - 1
    return numbers.astype(dtype).reshape(shape)


def differs(before, after):
    """By more than rounding; what was NaN (a query without keys) may be a number."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return True
    if before.dtype.kind not in "f":
        return not np.array_equal(before, after)
    room = 1e-2 if before.dtype == np.float16 else 1e-4
    compared = ~np.isnan(before)
    return not np.allclose(before[compared], after[compared], rtol=room, atol=room)


LEAST = np.finfo(np.float32).min
MASKED = {
    "added": ("float[1,1,3,3] m", "w = Add(s, m)"),
    "chosen": ("bool[1,1,3,3] m", "w = Where(m, s, least)"),
    "made": ("bool[1,1,3,3] m", "f = Cast<to=1>(m) d = Sub(one, f) b = Mul(d, least) w = Add(s, b)"),
}


@pytest.mark.parametrize("kind", MASKED)
def test_rows_that_the_least_float_hides_keep_their_means(kind, tmp_path):
    """As left padding makes them. ONNX Runtime's Attention would give 0."""
    mask, masked = MASKED[kind]
    tensors = ", ".join(f"float[1,2,3,4] {name}" for name in "qkv")
    text = f"""<ir_version: 10, opset_import: ["": 20]> g ({tensors}, {mask}) => (float[1,2,3,4] y)
        <float least = {{-3.4028235e38}}, float one = {{1}}> {{ t = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, t) {masked}
        p = Softmax<axis=-1>(w) y = MatMul(p, v) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    command = [built_tool("lathe", "cli"), "convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--optimize"]
    subprocess.run(command, check=True, capture_output=True)
    assert "Attention" in {n.op_type for n in onnx.load(tmp_path / "o.onnx").graph.node}
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((1, 2, 3, 4)).astype(np.float32) for name in "qkv"}
    kept = np.array([[[[True, False, False], [False, False, False], [True, True, True]]]])
    feeds["m"] = np.where(kept, np.float32(0), LEAST) if kind == "added" else kept
    want = session_of(tmp_path / "m.onnx").run(None, feeds)[0]
    np.testing.assert_allclose(want[0, :, 1], feeds["v"][0].mean(1), rtol=1e-5)
    np.testing.assert_allclose(session_of(tmp_path / "o.onnx").run(None, feeds)[0], want, rtol=1e-4, atol=1e-5)


def test_onnx_runtime_gives_the_same_before_and_after(kept):
    compared, refused, wrong = 0, [], []
    for path in sorted(kept.glob("*.onnx")):
        if path.name.endswith(".optimised.onnx"):
            continue
        name = path.name.removesuffix(".onnx")
        model = onnx.load(path)
        try:
            before = session_of(path)
            feeds = {i.name: sample(i, 0) for i in model.graph.input}
            want = before.run(None, feeds)
        except Exception as e:  # types and operators that it does not have
            refused.append(f"{name}: {e}")
            continue
        if any(name.startswith(known) for known in NOT_THERE):
            continue
        try:
            got = session_of(kept / f"{name}.optimised.onnx").run(None, feeds)
        except Exception as e:
            wrong.append(f"{name}: {str(e)[:300]}")
            continue
        compared += 1
        if any(differs(w, g) for w, g in zip(want, got, strict=True)):
            wrong.append(f"{name}: other numbers")
    assert not wrong, "\n".join(wrong)
    assert compared > 300, f"{compared} compared, {len(refused)} refused: " + "; ".join(refused[:5])
    warnings.warn(f"{compared} graphs compared, {len(refused)} that ONNX Runtime does not run as they are", stacklevel=1)
