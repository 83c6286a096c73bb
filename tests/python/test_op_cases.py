"""The operators' cases, which the C++ tests run in every dress, once more through Python: arrays in, arrays out."""

import json
import subprocess

import numpy as np
import onnx
import pytest

import lathe
from support import built_tool


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([built_tool("op_cases"), folder], check=True)
    return folder, json.loads((folder / "cases.json").read_text())


def read(path, kind):
    if kind == "none":
        return None
    if kind == "sequence":
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(path.read_bytes()))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def text_of(array):
    return [s.decode() if isinstance(s, bytes) else s for s in array.reshape(-1)]


def compare(got, want, rtol, atol, any_numbers):
    if isinstance(want, list):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            compare(a, b, rtol, atol, any_numbers)
    elif want is None:
        assert got is None
    elif want.dtype.kind in "OUS":
        assert got.shape == want.shape and text_of(got) == text_of(want)
    else:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if any_numbers:
            return
        wide = {"c": np.complex128, "b": bool, "i": np.int64, "u": np.uint64}.get(want.dtype.kind, np.float64)
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol, atol)


def run(folder, case):
    kinds = case["inputs"]
    outputs = lathe.build(folder / "model.onnx").run([read(folder / f"input_{i}.pb", k) for i, k in enumerate(kinds)])
    for i, (got, kind, (rtol, atol)) in enumerate(zip(outputs.values(), case["outputs"], case["tolerances"])):
        compare(got, read(folder / f"output_{i}.pb", kind), rtol, atol, case["random"])


def test_every_case(cases):
    folder, listed = cases
    assert len(listed) > 700
    failed = []
    for n, case in enumerate(listed):
        try:
            run(folder / str(n), case)
        except (AssertionError, lathe.Error, TypeError, ValueError) as e:
            failed.append(f"{case['name']}: {e}")
    assert not failed, "\n\n".join(failed)
