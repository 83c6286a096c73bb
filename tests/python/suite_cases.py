"""The cases of the onnx package's backend suite as models with inputs and outputs: node, simple, pytorch-converted,
pytorch-operator; and, on their own because they are large, the real models."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import warnings

import numpy as np
import onnx
import onnx.backend.test.loader
import onnx.numpy_helper


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    sets: tuple  # of (inputs, outputs), in the model's order
    rtol: float
    atol: float


def _read(path, info):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        proto = onnx.SequenceProto()
        proto.ParseFromString(path.read_bytes())
        return onnx.numpy_helper.to_list(proto)
    if kind == "optional_type":
        proto = onnx.OptionalProto()
        proto.ParseFromString(path.read_bytes())
        return onnx.numpy_helper.to_optional(proto)
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(proto)


def _value(v):
    """Cases hold arrays, or protos of what NumPy has not."""
    if isinstance(v, onnx.TensorProto):
        return onnx.numpy_helper.to_array(v)
    if isinstance(v, list):
        return [_value(item) for item in v]
    return v


def _from_files(directory):
    directory = pathlib.Path(directory)
    model = onnx.load(directory / "model.onnx")
    sets = []
    for folder in sorted(directory.glob("test_data_set_*")):
        sides = []
        for side, infos in (("input", model.graph.input), ("output", model.graph.output)):
            count = len(list(folder.glob(f"{side}_*.pb")))
            sides.append([_read(folder / f"{side}_{i}.pb", infos[i]) for i in range(count)])
        sets.append(tuple(sides))
    return model, tuple(sets)


@functools.cache
def all_cases():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the onnx package computes infinities on purpose
        cases = {}
        for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
            for c in onnx.backend.test.loader.load_model_tests(kind=kind):
                model, sets = (c.model, tuple(tuple([_value(v) for v in side] for side in one) for one in c.data_sets)) if c.model_dir is None else _from_files(c.model_dir)
                cases[c.name] = Case(c.name, model, sets, c.rtol or 1e-3, c.atol or 1e-7)
    return cases


@functools.cache
def real_cases():
    """With weights that are one number all over; element i of what they read is i / size, as in the onnx package's runner."""
    cases = {}
    for path in sorted((pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light").glob("light_*.onnx")):
        model = onnx.load(path)
        weights = {t.name for t in model.graph.initializer}
        inputs = []
        for i in model.graph.input:
            if i.name not in weights:
                shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
                size = np.prod(shape)
                inputs.append((np.arange(size) / size).astype(np.float32).reshape(shape))
        want = onnx.numpy_helper.to_array(onnx.load_tensor(path.with_name(f"{path.stem}_output_0.pb")))
        name = "test_" + path.stem.removeprefix("light_")
        cases[name] = Case(name, model, ((inputs, [want]),), 1e-3, 1e-7)
    assert len(cases) == 9, "where are the onnx package's light models?"
    return cases


def feed(case, inputs):
    """By name: as many inputs as are given, those without a default first."""
    defaults = {i.name for i in case.model.graph.initializer}
    declared = [i.name for i in case.model.graph.input if i.name not in defaults]
    if len(inputs) > len(declared):
        declared = [i.name for i in case.model.graph.input]
    return dict(zip(declared, inputs))
