"""This module is onnxruntime's `onnx.backend` interface; it needs the package `onnx`."""

import sys

from lathe.compat.onnxruntime.backend import backend, backend_rep
from lathe.compat.onnxruntime.backend.backend import is_compatible, prepare, run, supports_device

if not __name__.startswith("lathe."):  # the drop-in's name: what it consists of is there once
    sys.modules[f"{__name__}.backend"] = backend
    sys.modules[f"{__name__}.backend_rep"] = backend_rep

__all__ = ["is_compatible", "prepare", "run", "supports_device"]
