"""Python values become `_lathe` values and back.
No element is copied, except where NumPy stores it differently (strings, and the types below a byte) or the array is not
C-contiguous."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from lathe import _lathe

try:
    import ml_dtypes
except ImportError:  # NumPy alone: the types it lacks stay `_lathe.Tensor`s
    ml_dtypes = None  # type: ignore[assignment]

# Lathe's names of element types that NumPy has under the same name.
_SAME = {
    np.dtype(name): name
    for name in (
        "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
    ).split()
}

# Lathe's name → ml_dtypes' name.
_NARROW = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float6e2m3": "float6_e2m3fn",
    "float6e3m2": "float6_e3m2fn",
    "float4e2m1": "float4_e2m1fn",
    "int4": "int4",
    "uint4": "uint4",
    "int2": "int2",
    "uint2": "uint2",
}
_PACKED_BITS = {"float4e2m1": 4, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
_TO_NARROW = {name: np.dtype(getattr(ml_dtypes, other)) for name, other in _NARROW.items() if hasattr(ml_dtypes, other)}
_FROM_NARROW = {dtype: name for name, dtype in _TO_NARROW.items()}

# The names of element types in ONNX's type strings, as in "tensor(float)".
ONNX_NAMES = {"float": "float32", "double": "float64"}


def dtype_of(name: str) -> Optional[np.dtype]:
    """Returns NumPy's type for an element type by Lathe's (or ONNX's) name, or None where there is none."""
    name = ONNX_NAMES.get(name, name)
    if name == "string":
        return np.dtype(object)
    if name in _TO_NARROW:
        return _TO_NARROW[name]
    return None if name in _NARROW else np.dtype(name)


def bits_of(name: str) -> int:
    """Returns the width of one element of a fixed-width type, in bits."""
    if name in _PACKED_BITS:
        return _PACKED_BITS[name]
    if name in _NARROW:
        return 16 if name == "bfloat16" else 8
    return 8 * np.dtype(name).itemsize


def name_of(dtype: np.dtype) -> Optional[str]:
    """Returns Lathe's name of a NumPy element type, or None where ONNX has no such type."""
    if dtype.kind in "OUS":
        return "string"
    return _SAME.get(dtype) or _FROM_NARROW.get(dtype)


def _packed(array: np.ndarray, bits: int) -> np.ndarray:
    per_byte = 8 // bits
    codes = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    codes = np.concatenate([codes, np.zeros(-len(codes) % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(codes << shifts, axis=1).astype(np.uint8)


def _unpacked(data: np.ndarray, name: str, shape: tuple[int, ...]) -> np.ndarray:
    bits = _PACKED_BITS[name]
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    codes = ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[: int(np.prod(shape))]
    if name.startswith("int"):  # ml_dtypes keeps the sign extended over the byte
        codes = (codes ^ (1 << (bits - 1))).astype(np.int8) - (1 << (bits - 1))
    return np.ascontiguousarray(codes).view(_TO_NARROW[name]).reshape(shape)


def is_lent_as_it_is(array: np.ndarray) -> bool:
    """Returns whether Lathe can use the array's memory in place: contiguous, aligned and in the machine's byte order.
    """
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative and array.dtype.kind not in "OUS"


def tensor_from_array(array: np.ndarray, writable: bool = False) -> _lathe.Tensor:
    """Lends an array to Lathe as a tensor; the array must not change while it is used."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    name = name_of(array.dtype)
    if name is None:
        raise TypeError(f"ONNX has no element type like NumPy's {array.dtype}")
    if name == "string":
        return _lathe.Tensor.from_strings(list(array.reshape(-1)), array.shape)
    carrier = np.require(array, requirements=["C", "A"])
    if name in _PACKED_BITS:
        carrier = _packed(carrier, _PACKED_BITS[name])
    elif name in _NARROW:
        carrier = carrier.view(f"u{array.dtype.itemsize}")
    return _lathe.Tensor.from_buffer(carrier, name, array.shape, writable)


def tensor_to_write(array: Any) -> _lathe.Tensor:
    """Lends the memory of an array, NumPy's or one with DLPack, for outputs to be written into."""
    if isinstance(array, _lathe.Tensor):
        return array
    if not isinstance(array, np.ndarray):
        return _lathe.Tensor.from_dlpack(array, writable=True)
    if not is_lent_as_it_is(array) or name_of(array.dtype) in _PACKED_BITS:
        raise ValueError("an array that outputs are written into must be C-contiguous, aligned and of whole bytes")
    return tensor_from_array(array, writable=True)


def array_from_tensor(tensor: _lathe.Tensor) -> Any:
    """Returns the tensor's memory as a NumPy array, or the tensor itself where NumPy has no such element type."""
    name = tensor.dtype
    if name == "string":
        array = np.empty(tensor.shape, dtype=object)
        array.reshape(-1)[:] = tensor.strings()
        return array
    if name in _PACKED_BITS:
        return _unpacked(tensor.carrier(), name, tensor.shape) if name in _TO_NARROW else tensor
    if name in _NARROW:
        return tensor.carrier().view(_TO_NARROW[name]) if name in _TO_NARROW else tensor
    return tensor.carrier().view(name)  # `view`: NumPy has two kinds of 64-bit integers, and means this one


def array_of_file(tensor: Any) -> Any:
    """Returns a tensor of a file as an array that cannot be written to: its memory may be the file's own, mapped."""
    array = array_from_tensor(tensor)
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


class _Type:
    """An input's declared type, as far as it helps to read a Python value: "seq(tensor(float))"."""

    def __init__(self, text: str):
        self.kind, _, inner = text.rstrip(")").partition("(") if "(" in text else ("", "", "")
        self.inner = text[len(self.kind) + 1 : -1] if self.kind else ""

    def element(self) -> "_Type":
        """Returns the type of the items of a sequence or optional."""
        return _Type(self.inner)

    def dtype(self) -> Optional[np.dtype]:
        """Returns NumPy's element type of a tensor type, or None."""
        return dtype_of(self.inner) if self.kind == "tensor" and self.inner else None


def to_value(value: Any, type_text: str = "") -> Any:
    """Turns anything that a caller may give as an input into a native value.
    `type_text` is the declared type: lists and numbers become tensors of its element type; arrays keep their own, which
    the engine then checks."""
    return _to_value(value, _Type(type_text))


def _to_value(value: Any, declared: _Type) -> Any:
    if value is None or isinstance(value, (_lathe.Tensor, _lathe.SparseTensor, _lathe.Map)):
        return value
    if declared.kind == "optional":
        return _to_value(value, declared.element())
    if isinstance(value, (np.ndarray, np.generic)):
        return tensor_from_array(np.asarray(value))
    if isinstance(value, dict):
        return _map(value, declared)
    if declared.kind == "seq" and isinstance(value, (list, tuple)):
        return [_to_value(item, declared.element()) for item in value]
    if hasattr(value, "__dlpack__"):
        return _lathe.Tensor.from_dlpack(value)
    return tensor_from_array(np.asarray(value, dtype=declared.dtype()))


def _map(value: dict, declared: _Type) -> _lathe.Map:
    key_name, _, value_type = declared.inner.partition(",")
    key_type = dtype_of(key_name) if key_name else None
    item = _Type(value_type.strip())
    keys = np.asarray(list(value), dtype=key_type)
    if keys.dtype.kind in "US":
        keys = keys.astype(object)
    return _lathe.Map(tensor_from_array(keys), [_to_value(v, item) for v in value.values()])


def from_value(value: Any) -> Any:
    """Returns NumPy arrays for tensors, lists for sequences, dicts for maps, None for the empty optional."""
    if isinstance(value, _lathe.Tensor):
        return array_from_tensor(value)
    if isinstance(value, list):
        return [from_value(item) for item in value]
    if isinstance(value, _lathe.Map):
        items = [from_value(item) for item in value.values]
        items = [item.item() if isinstance(item, np.ndarray) and item.ndim == 0 else item for item in items]
        return dict(zip(array_from_tensor(value.keys).tolist(), items))
    return value
