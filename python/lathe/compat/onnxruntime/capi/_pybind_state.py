"""This module has the names of onnxruntime_pybind11_state, as onnxruntime.capi._pybind_state has."""

from lathe.compat.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F401,F403
