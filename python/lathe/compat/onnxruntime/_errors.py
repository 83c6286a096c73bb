"""Lathe's errors become onnxruntime's exceptions by their codes."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from lathe._errors import Error

_MODULE = "onnxruntime.capi.onnxruntime_pybind11_state"


def _make(name: str) -> type[Exception]:
    doc = f"onnxruntime's exception {name}; its cause is the `lathe.Error`, where there is one."
    return type(name, (Exception,), {"__module__": _MODULE, "__doc__": doc})


# The errors in the order of onnxruntime's status codes, which start at 1.
_STATUS = (
    ("Fail", "FAIL"),
    ("InvalidArgument", "INVALID_ARGUMENT"),
    ("NoSuchFile", "NO_SUCHFILE"),
    ("NoModel", "NO_MODEL"),
    ("EngineError", "ENGINE_ERROR"),
    ("RuntimeException", "RUNTIME_EXCEPTION"),
    ("InvalidProtobuf", "INVALID_PROTOBUF"),
    ("ModelLoaded", "MODEL_LOADED"),
    ("NotImplemented", "NOT_IMPLEMENTED"),
    ("InvalidGraph", "INVALID_GRAPH"),
    ("EPFail", "EP_FAIL"),
    ("ModelLoadCanceled", "MODEL_LOAD_CANCELED"),
    ("ModelRequiresCompilation", "MODEL_REQUIRES_COMPILATION"),
    ("NotFound", "NOT_FOUND"),
    ("DeviceReset", "DEVICE_RESET"),
)
TYPES: dict[str, type[Exception]] = {name: _make(name) for name, _ in _STATUS}
_PREFIX = {name: f"[ONNXRuntimeError] : {i} : {word} : " for i, (name, word) in enumerate(_STATUS, 1)}


def error(name: str, message: str) -> Exception:
    """Returns an exception of that type with the prefix that programs look for."""
    return TYPES[name](_PREFIX[name] + message)


# The first match decides; a code is "E" and four digits, thousands and hundreds name the stage.
_BY_CODE = (
    ("E1001", "NoSuchFile"),
    ("E100", "Fail"),
    ("E11", "InvalidProtobuf"),
    ("E12", "Fail"),
    ("E2001", "InvalidArgument"),  # no graph
    ("E2002", "Fail"),
    ("E2003", "Fail"),
    ("E2203", "InvalidArgument"),  # an input that nothing makes
    ("E22", "Fail"),
    ("E2302", "Fail"),  # an unknown domain
    ("E2305", "Fail"),
    ("E2306", "Fail"),
    ("E2", "InvalidGraph"),
    ("E3001", "NotImplemented"),
    ("E3", "Fail"),
    ("E40", "InvalidArgument"),
    ("E4101", "InvalidArgument"),
    ("E4201", "Fail"),
    ("E4", "RuntimeException"),
    ("E600", "InvalidArgument"),
    ("E", "RuntimeException"),
)


def from_lathe(e: Error) -> Exception:
    """Returns the exception of onnxruntime that a `lathe.Error` becomes."""
    name = next(name for prefix, name in _BY_CODE if e.code.startswith(prefix))
    message = str(e)
    if e.code == "E4201":
        message = "Exiting due to terminate flag being set to true."
    elif e.code == "E2001":
        message = "No graph was found in the protobuf. " + message
    elif e.stage == "run" and e.op:
        message = (
            f"Non-zero status code returned while running {e.op} node. Name:'{e.node}' Status Message: {message}"
        )
    return error(name, message)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def translated(function: _Function) -> _Function:
    """Makes a function raise onnxruntime's exceptions in place of Lathe's, which become their causes."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Error as e:
            raise from_lathe(e) from e

    return wrapper  # type: ignore[return-value]
