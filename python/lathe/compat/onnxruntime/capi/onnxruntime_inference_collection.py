"""Sessions and what goes with them."""

from lathe.compat.onnxruntime._session import InferenceSession, IOBinding, ModelMetadata, NodeArg  # noqa: F401
from lathe.compat.onnxruntime._values import OrtDevice, OrtValue  # noqa: F401

Session = InferenceSession
