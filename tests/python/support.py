"""Where the shared data are, and how small models are made."""

import json
import os
import pathlib

import numpy as np
import onnx
import onnx.helper as oh
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("LATHE_SHARED", ROOT.parent / "shared"))
FLOAT = onnx.TensorProto.FLOAT


def missing(what):
    """Skips a test for want of something, except where CI says that it must be there."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def shared(*parts):
    """A path in the shared data; skips where they are absent, except where CI says that they must be there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        missing(f"{path} is absent")
    return path


def built_tool(name, room="tests"):
    """A program of tests/tools, or of another room (LATHE_BUILD names the build's folder; default: the newest under build/)."""
    folders = [pathlib.Path(os.environ["LATHE_BUILD"])] if "LATHE_BUILD" in os.environ else sorted(ROOT.glob("build/*"))
    found = [path for path in (folder / room / name for folder in folders) if path.exists()]
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is not built: cmake --build --preset release")
    return max(found, key=lambda path: path.stat().st_mtime)


# Models of the shared data whose operators are not there, and which: experts, and loops that generate. There are no others.
WAITING = json.loads((ROOT / "tests" / "waiting_models.json").read_text())


def model_folders():
    """Models by other people with answers, but for those that wait."""
    found = sorted(f.parent for pattern in ("*/meta.json", "micro/*/meta.json") for f in (SHARED / "models").glob(pattern))
    return [f for f in found if f.name not in WAITING]


def make_model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8, **fields):
    """From (name, element type, shape) triples; a ValueInfoProto may stand for one."""
    infos = [
        [v if isinstance(v, onnx.ValueInfoProto) else oh.make_tensor_value_info(*v) for v in side]
        for side in (inputs, outputs)
    ]
    graph = oh.make_graph(list(nodes), "test", *infos, initializer=list(initializers))
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=ir_version, **fields)


EXPECTATIONS = json.loads((ROOT / "tests" / "expectations.json").read_text())


class Tolerance:
    """How far one output may be from what was recorded: by the model's meta.json for floats, exact for all else;
    tests/expectations.json says where that is not the last word."""

    def __init__(self, meta, model, output):
        def exception(kind):
            return EXPECTATIONS[kind].get(model, {}).get(output, {}).get("atol", 0)

        own = meta.get("tolerance_per_output", {}).get(output, {})
        chosen = {**meta["tolerance"], **own}
        half = 2**-9 * own.get("max_abs_expected", 0) if model in EXPECTATIONS["half_intermediates"]["models"] else 0
        self.rtol, self.atol = chosen["rtol"], max(chosen["atol"], half, exception("outputs"))
        self.integer_atol = exception("integers")

    def of(self, dtype):
        """(rtol, atol); both 0: equal."""
        if dtype.kind in "fc":
            return self.rtol, self.atol
        return 0, self.integer_atol if dtype.kind in "iu" else 0
