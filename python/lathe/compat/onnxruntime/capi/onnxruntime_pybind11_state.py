"""Exception types, and the classes that onnxruntime keeps in onnxruntime.capi.onnxruntime_pybind11_state, are here."""

from lathe.compat.onnxruntime._errors import TYPES
from lathe.compat.onnxruntime._options import (  # noqa: F401
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from lathe.compat.onnxruntime._session import (  # noqa: F401
    InferenceSession,
    IOBinding as SessionIOBinding,
    ModelMetadata,
    NodeArg,
)
from lathe.compat.onnxruntime._values import (  # noqa: F401
    OrtAllocatorType,
    OrtDevice,
    OrtMemoryInfo,
    OrtMemType,
    OrtValue,
)

globals().update(TYPES)


def get_available_providers() -> list[str]:
    """Returns ["CPUExecutionProvider"], as onnxruntime.get_available_providers."""
    return ["CPUExecutionProvider"]
