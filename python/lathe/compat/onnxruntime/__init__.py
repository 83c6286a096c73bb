"""This module is onnxruntime's Python interface over Lathe's engines; docs/guide/onnxruntime.md says what options do."""

from __future__ import annotations

from typing import Any

from lathe import system_info as _system_info
from lathe.compat.onnxruntime._options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    _refused,
)
from lathe.compat.onnxruntime._session import CPU, InferenceSession, IOBinding, ModelMetadata, NodeArg
from lathe.compat.onnxruntime._values import OrtAllocatorType, OrtDevice, OrtMemoryInfo, OrtMemType, OrtValue

SessionIOBinding = IOBinding
# The release whose interface this follows; programs compare it with the release that they need.
__version__ = "1.23.0"


def get_available_providers() -> list[str]:
    """Returns ["CPUExecutionProvider"], as onnxruntime.get_available_providers."""
    return [CPU]


def get_all_providers() -> list[str]:
    """Returns ["CPUExecutionProvider"], as onnxruntime.get_all_providers."""
    return [CPU]


def get_device() -> str:
    """Returns "CPU", as onnxruntime.get_device."""
    return "CPU"


def get_version_string() -> str:
    """Returns the version of onnxruntime whose interface this is, as onnxruntime.get_version_string."""
    return __version__


def get_build_info() -> str:
    """Returns the name and version of Lathe, as onnxruntime.get_build_info."""
    return f"Lathe {_system_info()['version']}"


def has_collective_ops() -> bool:
    """Returns False, as onnxruntime.has_collective_ops without collective operators."""
    return False


def _accepted(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> None:
        pass

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Does nothing, in the place of onnxruntime.{name}; the table of options says why."
    return function


set_default_logger_severity = _accepted("set_default_logger_severity")
set_default_logger_verbosity = _accepted("set_default_logger_verbosity")
set_seed = _accepted("set_seed")
set_global_thread_pool_sizes = _accepted("set_global_thread_pool_sizes")
enable_telemetry_events = _accepted("enable_telemetry_events")
disable_telemetry_events = _accepted("disable_telemetry_events")
preload_dlls = _accepted("preload_dlls")
create_and_register_allocator = _accepted("create_and_register_allocator")


def register_execution_provider_library(*args: Any) -> None:
    """Raises NotImplemented: libraries for onnxruntime.register_execution_provider_library have another ABI."""
    raise _refused("function", "register_execution_provider_library")


def print_debug_info() -> None:
    """Prints facts about the machine and the library, as onnxruntime.print_debug_info."""
    for name, value in _system_info().items():
        print(f"{name}: {value}")


from lathe.compat.onnxruntime import capi  # noqa: E402  (it reads the names above)

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("Any", "annotations", "CPU")]
