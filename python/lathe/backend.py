"""Lathe is an `onnx.backend.base.Backend` here, and the module itself serves where a backend is expected.

    onnx.backend.test.BackendTest(lathe.backend, __name__)
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import onnx
from onnx.backend.base import Backend as _Base
from onnx.backend.base import BackendRep as _BaseRep
from onnx.backend.base import namedtupledict

import lathe


class BackendRep(_BaseRep):
    """A prepared model, onnx.backend.base.BackendRep; thread-safe as its engine is."""

    def __init__(self, engine: lathe.Engine):
        self._engine = engine
        self._outputs = namedtupledict("Outputs", [io.name for io in engine.outputs])

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs once and returns a named tuple of the outputs.
        Inputs are given in the model's order (those with defaults may be left out), or by name. Raises `lathe.Error` as
        `lathe.Engine.run` does."""
        if not isinstance(inputs, dict):
            if not isinstance(inputs, (list, tuple)):
                inputs = [inputs]
            declared = [io for io in self._engine.inputs if not io.optional]
            if len(inputs) > len(declared):
                declared = list(self._engine.inputs)
            inputs = {io.name: value for io, value in zip(declared, inputs)}
        outputs = self._engine.run(inputs)
        return self._outputs(*[outputs[io.name] for io in self._engine.outputs])


def _value_info(name: str, value: np.ndarray) -> onnx.ValueInfoProto:
    element = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    return onnx.helper.make_tensor_value_info(name, element, value.shape)


class Backend(_Base):
    """Runs models on the CPU; keyword arguments of `prepare` and `run_*` are the options of `lathe.build`."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Returns whether the device is supported; models are checked by `prepare`."""
        return cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Returns whether the device is "CPU", with or without a number: "CPU:0"."""
        return device.split(":")[0].upper() == "CPU"

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Builds an engine of the model and returns a BackendRep.
        Raises ValueError for another device, and `lathe.Error` as `lathe.build` does."""
        if not cls.supports_device(device):
            raise ValueError(f"Lathe has no device {device!r} here; 'CPU' is there")
        return BackendRep(lathe.build(model.SerializeToString(), **_build_options(kwargs)))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Prepares the model, runs it once and returns a named tuple of the outputs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Optional[Sequence[tuple[np.dtype, tuple[int, ...]]]] = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one operator once; `opset_version` says which version of it, the newest by default.
        `outputs_info` are element types and shapes of the outputs."""
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        feed = dict(zip(names, (np.asarray(value) for value in inputs)))
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [_value_info(name, value) for name, value in feed.items()],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        opset = onnx.helper.make_opsetid(node.domain, version)
        model = onnx.helper.make_model_gen_version(graph, opset_imports=[opset])
        for output, (dtype, shape) in zip(model.graph.output, outputs_info or ()):
            element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            output.CopyFrom(onnx.helper.make_tensor_value_info(output.name, element, shape))
        return cls.run_model(onnx.shape_inference.infer_shapes(model), feed, device, **kwargs)


def _build_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the options without those that the suite passes for its own use."""
    return {name: value for name, value in kwargs.items() if name not in ("rtol", "atol")}


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device

__all__ = ["Backend", "BackendRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]
