"""Sessions and what belongs to them are here too, as in onnxruntime.capi.onnxruntime_inference_collection."""

from lathe.compat.onnxruntime._session import InferenceSession, IOBinding, ModelMetadata, NodeArg  # noqa: F401
from lathe.compat.onnxruntime._values import OrtDevice, OrtValue  # noqa: F401

Session = InferenceSession
