"""Operators between quantized values: what the optimizer makes of them is within one step of the graph as it is, and what it writes for
others runs in ONNX Runtime."""

import subprocess

import numpy as np
import onnx
import pytest

import lathe
from quantized_graphs import OPERATORS, STEPS, graph
from support import built_tool, unoptimized_session

OPSETS = {"uint8": (13, 17, 21, 23), "int8": (13, 17, 21, 23), "uint16": (21, 23), "int16": (21, 23)}


def inputs():
    """In range, at its ends and outside, and in the middle between two steps."""
    random = np.random.default_rng(7)
    yield random.uniform(-6, 6, (1, 4, 4, 4)).astype(np.float32)
    yield random.normal(0, 30, (1, 4, 4, 4)).astype(np.float32)
    yield (random.integers(-100, 100, (1, 4, 4, 4)) * 0.05 + 0.025).astype(np.float32)


def assert_within_a_step(got, want, step, why):
    assert got.shape == want.shape and got.dtype == want.dtype, why
    np.testing.assert_allclose(got, want, rtol=0, atol=step * 1.01, err_msg=why)


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("same_scale", [False, True])
def test_levels_agree(operator, kind, same_scale):
    model, step = graph(operator, kind, 21, same_scale)
    model = model.SerializeToString()
    plain = lathe.build(model, level="none", threads=1)
    for level in ("basic", "extended", "all"):
        better = lathe.build(model, level=level, threads=1)
        for x in inputs():
            assert_within_a_step(better.run({"x": x})["y"], plain.run({"x": x})["y"], step, level)


@pytest.mark.parametrize("kind, opset", [(kind, opset) for kind, opsets in OPSETS.items() for opset in opsets])
def test_what_is_written_runs_where_the_given_model_runs(kind, opset, tmp_path):
    compared = 0
    for operator in OPERATORS:
        for same_scale in (False, True):
            model, step = graph(operator, kind, opset, same_scale)
            try:
                want = [unoptimized_session(model).run(None, {"x": x})[0] for x in inputs()]
            except Exception:  # versions and types that it does not have
                continue
            onnx.save(model, tmp_path / "m.onnx")
            command = [built_tool("lathe", "cli"), "convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--optimize"]
            subprocess.run(command, check=True, capture_output=True)
            written = onnx.load(tmp_path / "o.onnx")
            onnx.checker.check_model(written, full_check=True)
            try:
                after = unoptimized_session(written)
            except Exception as e:
                raise AssertionError(f"{operator}: {e}: {[n.op_type for n in written.graph.node]}") from e
            for x, w in zip(inputs(), want):
                assert_within_a_step(after.run(None, {"x": x})[0], w, step, operator)
            compared += 1
    assert compared > 100, compared
