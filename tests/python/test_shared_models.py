"""Models by other people with answers, through Python: every case, stateful ones fed step by step."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

import lathe
from lathe.compat import onnxruntime
from support import SHARED, WAITING, Tolerance, built_tool, model_folders, shared

FOLDERS = model_folders()


def from_json(j):
    kind = j["type"]
    if kind == "none":
        return None
    if kind == "tensor":
        dtype = object if j["dtype"] == "string" else j["dtype"]
        return np.array(j["data"], dtype=dtype).reshape(j["shape"])
    if kind == "sequence":
        return [from_json(item) for item in j["items"]]
    return dict(zip(j["keys"], j["values"]))


def read(path):
    return np.load(path) if path.suffix == ".npy" else from_json(json.loads(path.read_text()))


def same(got, want, tolerance):
    if isinstance(want, list):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b, tolerance)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        same(np.array(list(got.values()), np.float32), np.array(list(want.values()), np.float32), tolerance)
    elif want is None:
        assert got == want
    elif any(limits := tolerance.of(want.dtype)):
        np.testing.assert_allclose(got, want, rtol=limits[0], atol=limits[1])
        assert got.shape == want.shape
    else:
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape


def in_order(meta):
    """(case, which inputs are outputs of the run before: {input: output}): sequences first, then what stands by itself."""
    cases, done = {c["id"]: c for c in meta["cases"]}, set()
    for sequence in meta.get("sequences", ()):
        feedback = {}
        for name in sequence["cases"]:
            yield cases[name], feedback
            feedback = {into: out for out, into in sequence["feedback"].items()}
            done.add(name)
    for case in meta["cases"]:
        if case["id"] not in done:
            yield case, {}


def check_cases(folder, solve):
    """`solve(case, inputs)`: outputs by name, with inputs by name that may be files or values."""
    meta = json.loads((folder / "meta.json").read_text())
    before = {}
    for case, feedback in in_order(meta):
        inputs = {name: folder / path for name, path in case["inputs"].items()}
        inputs.update({into: before[out] for into, out in feedback.items()})
        before = solve(case, inputs)
        for name, path in case["outputs"].items():
            got = before[name]
            same(read(got) if isinstance(got, pathlib.Path) else got, read(folder / path), Tolerance(meta, folder.name, name))


def value(v):
    return read(v) if isinstance(v, pathlib.Path) else v


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_model(folder):
    engine = lathe.build(folder / "model.onnx")
    check_cases(folder, lambda case, inputs: engine.run({name: value(v) for name, v in inputs.items()}))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_model_through_compat(folder):
    """Programs written for ONNX Runtime."""
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    names = [o.name for o in session.get_outputs()]
    check_cases(folder, lambda case, inputs: dict(zip(names, session.run(None, {name: value(v) for name, v in inputs.items()}))))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_model_through_the_command(folder, tmp_path):
    """State goes from one run to the next as files."""
    command = [built_tool("lathe", "cli"), "run", folder / "model.onnx"]

    def solve(case, inputs):
        given = [word for name, path in inputs.items() for word in ("--input", f"{name}={path}")]
        ran = subprocess.run([*command, *given, "--output-dir", tmp_path / str(case["id"]), "--json"], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return {o["name"]: pathlib.Path(o["file"]) for o in json.loads(ran.stdout)["outputs"]}

    check_cases(folder, solve)


@pytest.mark.parametrize("name, operator", WAITING.items())
def test_what_waits_says_for_what(name, operator):
    folders = [f for f in (SHARED / "models" / name, SHARED / "models" / "micro" / name) if f.exists()]
    with pytest.raises(lathe.Error, match=f"'{operator.rsplit('.', 1)[1]}'") as e:
        lathe.build(shared(folders[0] if folders else name) / "model.onnx")
    assert e.value.code == "E2301"


def test_the_models_are_there():
    shared("models", "mnist_8", "model.onnx")
    assert len(FOLDERS) > 700
