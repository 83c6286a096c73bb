"""Programs that are written against other runtimes run unchanged.

    import lathe.compat
    lathe.compat.install()          # from here on, `import onnxruntime` is Lathe

or, without touching the program: ``python -m lathe.compat SCRIPT arguments…``
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

_SUBMODULES = (
    "",
    ".capi",
    ".capi._pybind_state",
    ".capi.onnxruntime_pybind11_state",
    ".capi.onnxruntime_inference_collection",
)
_replaced: dict[str, ModuleType] = {}


def install() -> None:
    """Makes `import onnxruntime` (and its `capi` modules) give `lathe.compat.onnxruntime`.
    It may be called twice. A real onnxruntime that is already imported stays with those who hold it."""
    ours = importlib.import_module("lathe.compat.onnxruntime")
    if sys.modules.get("onnxruntime") is ours:
        return
    for name in [n for n in sys.modules if n == "onnxruntime" or n.startswith("onnxruntime.")]:
        _replaced[name] = sys.modules.pop(name)
    for suffix in _SUBMODULES:
        sys.modules["onnxruntime" + suffix] = importlib.import_module("lathe.compat.onnxruntime" + suffix)


def uninstall() -> None:
    """Undoes `install`."""
    for name in [n for n in sys.modules if n == "onnxruntime" or n.startswith("onnxruntime.")]:
        del sys.modules[name]
    sys.modules.update(_replaced)
    _replaced.clear()


__all__ = ["install", "uninstall"]
