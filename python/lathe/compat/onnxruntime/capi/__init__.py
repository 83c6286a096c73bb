"""These are the modules that programs reach into, mostly for the exception types."""

from lathe.compat.onnxruntime.capi import (  # noqa: F401
    _pybind_state,
    onnxruntime_inference_collection,
    onnxruntime_pybind11_state,
)
