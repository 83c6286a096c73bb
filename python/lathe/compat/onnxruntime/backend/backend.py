"""OnnxRuntimeBackend prepares models and runs them."""

from __future__ import annotations

import os
import unittest
from typing import Any, Optional

from onnx import checker, helper
from onnx.backend.base import Backend

from lathe.compat.onnxruntime import InferenceSession, SessionOptions, get_device
from lathe.compat.onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep, set_options

_ALLOWED_SESSION_OPTIONS = frozenset(
    {
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "execution_mode",
        "execution_order",
        "graph_optimization_level",
        "inter_op_num_threads",
        "intra_op_num_threads",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "use_deterministic_compute",
        "use_per_session_threads",
    }
)


class OnnxRuntimeBackend(Backend):
    """onnxruntime.backend.OnnxRuntimeBackend: models are paths, bytes, protos, sessions or what `prepare` returned."""

    allowReleasedOpsetsOnly = os.getenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", "1") == "1"

    @classmethod
    def is_compatible(cls, model: Any, device: Optional[str] = None, **kwargs: Any) -> bool:
        """Returns whether the device is the CPU, as onnxruntime.backend.is_compatible."""
        return cls.supports_device(get_device() if device is None else device)

    @classmethod
    def is_opset_supported(cls, model: Any) -> tuple[bool, str]:
        """Returns whether all opsets are released, and why not, as onnxruntime's is_opset_supported."""
        if cls.allowReleasedOpsetsOnly:
            for opset in model.opset_import:
                key = (opset.domain or "ai.onnx", opset.version)
                if key not in helper.OP_SET_ID_VERSION_MAP:
                    return False, (
                        "Skipping this test as only released onnx opsets are supported."
                        "To run this test set env variable ALLOW_RELEASED_ONNX_OPSET_ONLY to 0."
                        f" Got Domain '{key[0]}' version '{key[1]}'."
                    )
        return True, ""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Returns whether the device is "CPU", as onnxruntime.backend.supports_device."""
        return device == get_device()

    @classmethod
    def prepare(cls, model: Any, device: Optional[str] = None, **kwargs: Any) -> OnnxRuntimeBackendRep:
        """Returns an OnnxRuntimeBackendRep of the model, as onnxruntime.backend.prepare."""
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        if not isinstance(model, (str, bytes)):
            data = model.SerializeToString()
            checker.check_model(data)
            supported, why = cls.is_opset_supported(model)
            if not supported:
                raise unittest.SkipTest(why)
            model = data
        options = SessionOptions()
        set_options(options, kwargs, _ALLOWED_SESSION_OPTIONS)
        session = InferenceSession(model, sess_options=options)
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"Incompatible device expected '{device}', got '{get_device()}'")
        return OnnxRuntimeBackendRep(session)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: Optional[str] = None, **kwargs: Any) -> Any:
        """Prepares the model, runs it once and returns its outputs, as onnxruntime.backend.run_model."""
        return cls.prepare(model, device, **kwargs).run(inputs, **kwargs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: Optional[str] = None, outputs_info: Any = None, **kwargs: Any) -> Any:
        """Raises NotImplementedError, as onnxruntime's OnnxRuntimeBackend.run_node does."""
        raise NotImplementedError("It is much more efficient to run a whole model than every node independently.")


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device
