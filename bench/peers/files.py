"""Models on disk with their inputs and their arithmetic: those of the shared collection, and any others."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper


@dataclass
class Made:
    """A model on disk with its inputs."""

    name: str
    path: Path
    feeds: dict[str, np.ndarray]
    gflop: float | None
    kind: str = "shared"
    must: float | None = None
    cnn: bool = False
    quantized: bool = False
    precision: str = "float32"  # of Lathe's products

    @property
    def bytes(self) -> int:
        """The bytes of the file and of the external data beside it."""
        data = [f for f in self.path.parent.glob("*.onnx*") if f.suffix != ".onnx"] if self.kind == "shared" else []
        return sum(f.stat().st_size for f in [self.path, *data])


def with_constant_weights(model: onnx.ModelProto) -> bool:
    """Removes weights from the inputs. Exporters of IR version 4 declared them all, and then an engine that follows the
    format can fold nothing (ONNX Runtime warns of it). Returns False if there is nothing to change."""
    constants = {t.name for t in model.graph.initializer}
    kept = [i for i in model.graph.input if i.name not in constants]
    if len(kept) == len(model.graph.input) or model.ir_version < 4:
        return False
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return True


def shared_model(folder: Path, cache: Path) -> Made:
    """A model of the shared collection, fed with its first recorded case."""
    case = json.loads((folder / "meta.json").read_text())["cases"][0]
    if any(not f.endswith(".npy") for f in case["inputs"].values()):
        raise ValueError("has inputs that are not tensors")
    feeds = {name: np.load(folder / f, allow_pickle=True) for name, f in case["inputs"].items()}
    if any(v.dtype.kind in "OUS" for v in feeds.values()):
        raise ValueError("has inputs of strings")
    path = folder / "model.onnx"
    model = onnx.load(path, load_external_data=False)
    is_whole = all(t.data_location != onnx.TensorProto.EXTERNAL for t in model.graph.initializer)
    if is_whole and not feeds.keys() & {t.name for t in model.graph.initializer} and with_constant_weights(model):
        path = cache / f"{folder.name}.onnx"
        cache.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model.SerializeToString())
    return Made(folder.name, path, feeds, count_gflop(model, feeds), quantized=is_quantized(model))


def own_model(path: Path) -> Made:
    """Any .onnx file: random inputs, unknown sizes taken as 1."""
    model = onnx.load(path, load_external_data=False)
    constants = {t.name for t in model.graph.initializer}
    random = np.random.default_rng(0)
    feeds = {}
    for i in model.graph.input:
        if i.name in constants:
            continue
        if not i.type.HasField("tensor_type"):
            raise ValueError("has inputs that are not tensors")
        dtype = helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
        shape = [d.dim_value or 1 for d in i.type.tensor_type.shape.dim]
        value = random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        feeds[i.name] = value.astype(dtype)
    return Made(path.stem, path, feeds, count_gflop(model, feeds), quantized=is_quantized(model))


def is_quantized(model: onnx.ModelProto) -> bool:
    return any(re.search("Quantize|Integer|^QLinear|NBits|^QMoE", n.op_type) for n in model.graph.node)


# ---------------------------------------------------------------------------------------------------------- arithmetic


def inferred(model: onnx.ModelProto, feeds: dict[str, np.ndarray] = {}) -> onnx.ModelProto:
    """The model with shapes of all values, without its large weights: these would only be copied."""
    light = onnx.ModelProto()
    light.ir_version = model.ir_version
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    light.graph.name = model.graph.name
    light.graph.node.extend(model.graph.node)
    constants = {t.name for t in model.graph.initializer}
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) <= 64:
            light.graph.initializer.append(tensor)
        light.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for i in model.graph.input:
        if i.name in feeds:
            element = helper.np_dtype_to_tensor_dtype(feeds[i.name].dtype)
            light.graph.input.append(helper.make_tensor_value_info(i.name, element, feeds[i.name].shape))
        elif i.name not in constants:
            light.graph.input.append(i)
    return onnx.shape_inference.infer_shapes(light, data_prop=True)


def count_gflop(model: onnx.ModelProto, feeds: dict[str, np.ndarray] = {}) -> float | None:
    """Multiplications and additions of convolutions, matrix products and LSTMs, as the direct algorithm does them; None
    where a shape is unknown or a subgraph holds part of them."""
    try:
        graph = inferred(model, feeds).graph
    except onnx.shape_inference.InferenceError:  # of operators that the onnx package does not know
        return None
    shapes = {t.name: tuple(t.dims) for t in model.graph.initializer}
    for v in [*graph.input, *graph.value_info]:
        if v.type.HasField("tensor_type") and v.type.tensor_type.HasField("shape"):
            dims = v.type.tensor_type.shape.dim
            if all(d.HasField("dim_value") for d in dims):
                shapes.setdefault(v.name, tuple(d.dim_value for d in dims))
    total = 0
    try:
        for node in graph.node:
            if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
                return None
            ins = [shapes.get(name) for name in node.input]
            out = shapes.get(node.output[0])
            match node.op_type:
                case "Conv":
                    total += 2 * math.prod(out) * math.prod(ins[1][1:])
                case "ConvTranspose":
                    total += 2 * math.prod(ins[0]) * math.prod(ins[1][1:])
                case "MatMul":
                    total += 2 * math.prod(out) * ins[0][-1]
                case "Gemm":
                    by_columns = any(a.name == "transA" and a.i for a in node.attribute)
                    total += 2 * math.prod(out) * ins[0][0 if by_columns else 1]
                case "LSTM":
                    steps, batch, _ = ins[0]
                    total += 2 * steps * batch * (math.prod(ins[1]) + math.prod(ins[2]))
    except TypeError:  # a shape that is None
        return None
    return total * 1e-9 or None
