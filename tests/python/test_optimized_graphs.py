"""Every graph that the tests of passes rewrite, saved as standard ONNX: ONNX Runtime gives the same for it before and after. The
shared models are real, but most passes find nothing in them (test_optimized_models.py)."""

import os
import subprocess
import warnings

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

from support import built_tool, onnxruntime_session

# Tests, by the beginning of their names, whose graphs ONNX Runtime does not run as the standard defines them.
POOLS = "auto_pad of pools beside ceil_mode or dilations, and that of LpPool: what it gives before is not what the standard says"
NOT_THERE = {
    "RotaryEmbedding.OfTablesAndPositions": "more tokens than a table has rows, whatever the positions",
    "ExplicitPadding.Pools": POOLS,
    "ExplicitPadding.SameResultsForWindowsOfAllKinds": POOLS,
}


def keep_graphs(folder):
    """All graphs of the passes' tests, as NAME.onnx and as what is written of them."""
    # Those of the other suites are drawn, and not kept.
    command = [built_tool("passes_test"), "--gtest_brief=1", "--gtest_filter=-MovementChecks.*:DynamicShapes.*"]
    run = subprocess.run(command, env=os.environ | {"LATHE_KEEP_OPTIMIZED": str(folder)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:]
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return keep_graphs(tmp_path_factory.mktemp("optimized"))


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


def attended(folder, mask, masked, weights="p", hidden=-3.4028235e38):
    """Attention of Q, K and V in a chain as written, and the files of that and of what Lathe makes of it."""
    tensors = ", ".join(f"float[1,2,3,4] {name}" for name in "qkv")
    text = f"""<ir_version: 10, opset_import: ["": 20]> g ({tensors}, {mask}) => (float[1,2,3,4] y)
        <float least = {{{hidden}}}, float one = {{1}}, float zero = {{0}}> {{ t = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, t) {masked}
        p = Softmax<axis=-1>(w) n = IsNaN(p) guarded = Where(n, zero, p) y = MatMul({weights}, v) }}"""
    onnx.save(onnx.parser.parse_model(text), folder / "m.onnx")
    command = [built_tool("lathe", "cli"), "convert", folder / "m.onnx", "-o", folder / "o.onnx", "--optimize"]
    subprocess.run(command, check=True, capture_output=True)
    assert "Attention" in {n.op_type for n in onnx.load(folder / "o.onnx").graph.node}
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((1, 2, 3, 4)).astype(np.float32) for name in "qkv"}
    return feeds, onnxruntime_session(folder / "m.onnx"), onnxruntime_session(folder / "o.onnx")


KEPT = np.array([[[[True, False, False], [False, False, False], [True, True, True]]]])


@pytest.mark.parametrize("kind", MASKED)
def test_rows_that_the_least_float_hides_keep_their_means(kind, tmp_path):
    """As left padding makes them. ONNX Runtime's Attention would give 0."""
    feeds, before, after = attended(tmp_path, *MASKED[kind])
    feeds["m"] = np.where(KEPT, np.float32(0), LEAST) if kind == "added" else KEPT
    want = before.run(None, feeds)[0]
    np.testing.assert_allclose(want[0, :, 1], feeds["v"][0].mean(1), rtol=1e-5)
    np.testing.assert_allclose(after.run(None, feeds)[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", [-1e4, -65504, -1e9, -1e20])
def test_rows_that_low_numbers_hide_keep_their_means(number, tmp_path):
    feeds, before, after = attended(tmp_path, *MASKED["chosen"], hidden=number)
    feeds["m"] = KEPT
    feeds["q"] *= 20
    want = before.run(None, feeds)[0]
    np.testing.assert_allclose(want[0, :, 1], feeds["v"][0].mean(1), rtol=1e-5)
    np.testing.assert_allclose(after.run(None, feeds)[0], want, rtol=1e-4, atol=1e-5)


def test_rows_that_the_least_number_of_float16_hides_keep_their_means(tmp_path):
    tensors = ", ".join(f"float16[1,2,3,4] {name}" for name in "qkv")
    text = f"""<ir_version: 10, opset_import: ["": 20]> g ({tensors}, bool[1,1,3,3] m) => (float16[1,2,3,4] y)
        <float16 least = {{64511}}> {{ t = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, t) w = Where(m, s, least)
        p = Softmax<axis=-1>(w) y = MatMul(p, v) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    command = [built_tool("lathe", "cli"), "convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--optimize"]
    subprocess.run(command, check=True, capture_output=True)
    assert "Attention" in {n.op_type for n in onnx.load(tmp_path / "o.onnx").graph.node}
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((1, 2, 3, 4)).astype(np.float16) for name in "qkv"} | {"m": KEPT}
    want, got = (onnxruntime_session(tmp_path / f).run(None, feeds)[0] for f in ("m.onnx", "o.onnx"))
    np.testing.assert_allclose(want[0, :, 1], feeds["v"][0].mean(1, dtype=np.float32), atol=2e-3)
    np.testing.assert_allclose(got, want, atol=4e-3)


@pytest.mark.parametrize("kind", ["added", "chosen"])
def test_rows_without_a_key_stay_nothing_where_the_chain_looks_for_nan(kind, tmp_path):
    feeds, before, after = attended(tmp_path, *MASKED[kind], weights="guarded", hidden="-inf")
    feeds["m"] = np.where(KEPT, np.float32(0), np.float32(-np.inf)) if kind == "added" else KEPT
    want = before.run(None, feeds)[0]
    assert not want[0, :, 1].any()
    np.testing.assert_allclose(after.run(None, feeds)[0], want, rtol=1e-4, atol=1e-5)


RESIZED = {
    "five axes": ("1,4,5,6,3", "0,4,1,2,3", "0,2,3,4,1", "1,1,2,2,2", "linear"),
    "the second axis": ("1,6,7,4", "0,2,1,3", "0,2,1,3", "1,1,2,2", "linear"),
    "cubic": ("1,6,7,4", "0,3,1,2", "0,2,3,1", "1,1,0.5,0.5", "cubic"),
}


@pytest.mark.parametrize("case", RESIZED)
def test_images_are_resized_along_axes_that_onnx_runtime_takes(case, tmp_path):
    shape, there, back, scales, mode = RESIZED[case]
    rank = len(shape.split(","))
    text = f"""<ir_version: 10, opset_import: ["": 20]> g (float[{shape}] x) => (float[{",".join("abcde"[:rank])}] y)
        <float[{rank}] by = {{{scales}}}> {{ a = Transpose<perm=[{there}]>(x) r = Resize<mode="{mode}">(a, , by) y = Transpose<perm=[{back}]>(r) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    command = [built_tool("lathe", "cli"), "convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--optimize"]
    subprocess.run(command, check=True, capture_output=True)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # its own would move them, too
    x = np.random.default_rng(0).standard_normal([int(n) for n in shape.split(",")]).astype(np.float32)
    want, got = (ort.InferenceSession(str(tmp_path / f), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0] for f in ("m.onnx", "o.onnx"))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_onnx_runtime_gives_the_same_before_and_after(kept):
    compared, refused, wrong = 0, [], []
    for path in sorted(kept.glob("*.onnx")):
        if path.name.endswith(".optimized.onnx"):
            continue
        name = path.name.removesuffix(".onnx")
        model = onnx.load(path)
        try:
            before = onnxruntime_session(path)
            feeds = {i.name: sample(i, 0) for i in model.graph.input}
            want = before.run(None, feeds)
        except Exception as e:  # types and operators that it does not have
            refused.append(f"{name}: {e}")
            continue
        if any(name.startswith(known) for known in NOT_THERE):
            continue
        try:
            got = onnxruntime_session(kept / f"{name}.optimized.onnx").run(None, feeds)
        except Exception as e:
            wrong.append(f"{name}: {str(e)[:300]}")
            continue
        compared += 1
        if any(differs(w, g) for w, g in zip(want, got, strict=True)):
            wrong.append(f"{name}: other numbers")
    assert not wrong, "\n".join(wrong)
    assert compared > 300, f"{compared} compared, {len(refused)} refused: " + "; ".join(refused[:5])
    warnings.warn(f"{compared} graphs compared, {len(refused)} that ONNX Runtime does not run as they are", stacklevel=1)
