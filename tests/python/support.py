"""Where the shared data are, and how small models are made."""

import os
import pathlib

import numpy as np
import onnx
import onnx.helper as oh
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("LATHE_SHARED", ROOT.parent / "shared"))
FLOAT = onnx.TensorProto.FLOAT


def shared(*parts):
    """A path in the shared data; skips where they are absent, except where CI says that they must be there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{path} is absent")
        pytest.skip(f"{path} is absent")
    return path


def make_model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8, **fields):
    """From (name, element type, shape) triples; a ValueInfoProto may stand for one."""
    infos = [
        [v if isinstance(v, onnx.ValueInfoProto) else oh.make_tensor_value_info(*v) for v in side]
        for side in (inputs, outputs)
    ]
    graph = oh.make_graph(list(nodes), "test", *infos, initializer=list(initializers))
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=ir_version, **fields)
