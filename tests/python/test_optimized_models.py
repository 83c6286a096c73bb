"""Optimized models of others are saved as standard ONNX: ONNX Runtime runs them and gives the recorded answers."""

import json
import subprocess

import numpy as np
import onnx
import pytest

from support import Tolerance, built_tool, model_folders, onnxruntime_session, shared

FOLDERS = model_folders()
LEAST_OPSET = 7  # what other runtimes promise to read
# Without recognizers, other passes find what these would have taken.
WAYS = {"basic": ("--level=basic",), "extended": ("--level=extended",), "all": ("--level=all",),
        "as_decomposed": ("--passes=-recognize-*",), "own_opset": ("--level=all",)}  # fmt: skip
STANDARD = {"", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"}


def test_models_are_there():
    shared("models")
    built_tool("lathe", "cli")
    assert len(FOLDERS) > 700


def opset_of(path):
    versions = [o.version for o in onnx.load(path, load_external_data=False).opset_import if o.domain in ("", "ai.onnx")]
    return max(versions, default=0)


def is_close(got, want, tolerance):
    rtol, atol = tolerance.of(want.dtype)
    if not rtol and not atol:
        return np.array_equal(got, want)
    return got.shape == want.shape and np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_optimized_graph_gives_the_recorded_answers(folder, way, tmp_path):
    meta = json.loads((folder / "meta.json").read_text())
    saved = tmp_path / "saved.onnx"
    command = [built_tool("lathe", "cli"), "convert", folder / "model.onnx", "-o", saved, "--optimize", *WAYS[way]]
    if way == "own_opset":
        asked = max(opset_of(folder / "model.onnx"), LEAST_OPSET)
        command += ["--opset", str(asked)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-500:]
    # ONNX Runtime would run operators of its own as well.
    made = onnx.load(saved, load_external_data=False)
    assert {o.domain for o in made.opset_import} <= STANDARD and not made.functions
    if way == "own_opset":
        assert opset_of(saved) == asked
    session = onnxruntime_session(saved)
    wanted = {i.name for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    for case in meta["cases"]:
        if not all(f.endswith(".npy") for f in {**case["inputs"], **case["outputs"]}.values()):
            continue
        feeds = {k: np.load(folder / f, allow_pickle=True) for k, f in case["inputs"].items() if k in wanted}
        got = dict(zip(names, session.run(None, feeds)))
        for name, file in case["outputs"].items():
            want = np.load(folder / file, allow_pickle=True)
            assert is_close(got[name], want, Tolerance(meta, folder.name, name)), f"case {case['id']}: output {name} differs"
