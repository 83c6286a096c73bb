"""The same names as onnxruntime_pybind11_state."""

from lathe.compat.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F401,F403
