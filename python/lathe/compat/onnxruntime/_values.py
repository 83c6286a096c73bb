"""OrtValue holds a value, and OrtDevice says where it is."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._values import dtype_of, from_value, is_lent_as_it_is, name_of, tensor_from_array, to_value
from lathe.compat.onnxruntime._enums import NamedInt
from lathe.compat.onnxruntime._errors import error, translated


class OrtMemType(NamedInt):
    """onnxruntime.OrtMemType: the kinds of memory, all of which are the CPU's here."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtAllocatorType(NamedInt):
    """onnxruntime.OrtAllocatorType: the kinds of allocators, which make no difference here."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemoryInfo:
    """onnxruntime.OrtMemoryInfo: a description of memory, which has no effect here."""

    def __init__(self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType):
        self.name, self.allocator_type, self.device_id, self.mem_type = name, allocator_type, device_id, mem_type


def check_device(device_type: str) -> None:
    """Raises InvalidArgument for a device other than "cpu" and "default"."""
    if str(device_type).lower() not in ("cpu", "default"):
        raise error("InvalidArgument", f"Lathe has no device '{device_type}' here; 'cpu' is there")


class OrtDevice:
    """onnxruntime.OrtDevice: the CPU; another device raises InvalidArgument."""

    def __init__(self, device_type: str = "cpu", device_id: int = 0):
        check_device(device_type)
        self._device_id = device_id

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> "OrtDevice":
        """Returns the device of that name, as onnxruntime.OrtDevice.make."""
        return OrtDevice(ort_device_name, device_id)

    def device_id(self) -> int:
        """Returns the device's number, as onnxruntime.OrtDevice.device_id."""
        return self._device_id

    def device_type(self) -> int:
        """Returns 0, the CPU, as onnxruntime.OrtDevice.device_type."""
        return 0

    def device_vendor_id(self) -> int:
        """Returns 0, as onnxruntime.OrtDevice.device_vendor_id."""
        return 0

    def device_mem_type(self) -> int:
        """Returns 0, as onnxruntime.OrtDevice.device_mem_type."""
        return 0


# The numbers of TensorProto.DataType, by their names in Lathe.
_ELEMENT_TYPES = (
    "undefined float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 "
    "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 "
    "uint2 int2 float6e2m3 float6e3m2"
).split()


def element_name(element_type: Any) -> str:
    """Returns Lathe's name for an element type given as NumPy type or as number of TensorProto.DataType."""
    if isinstance(element_type, int):
        if not 0 < element_type < len(_ELEMENT_TYPES):
            raise error("InvalidArgument", f"{element_type} is no element type")
        return _ELEMENT_TYPES[element_type]
    name = name_of(np.dtype(element_type))
    if name is None:
        raise error("InvalidArgument", f"ONNX has no element type like {element_type!r}")
    return name


class OrtValue:
    """onnxruntime.OrtValue: a value that sessions take and return.
    Tensors on the CPU share memory with the array that they were made from. Not thread-safe while it is written into.
    """

    def __init__(self, ortvalue: Any, numpy_obj: Optional[np.ndarray] = None):
        self._value: Any = ortvalue._value if isinstance(ortvalue, OrtValue) else ortvalue
        self._numpy_obj = numpy_obj

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: np.ndarray, device: Union[str, OrtDevice] = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> "OrtValue":
        """Returns an OrtValue over an array's memory, as onnxruntime.OrtValue.ortvalue_from_numpy."""
        if not isinstance(device, OrtDevice):
            check_device(device)
        array = np.asarray(numpy_obj)
        return OrtValue(tensor_from_array(array, writable=_lends_writable(array)), array)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: np.ndarray, onnx_element_type: int) -> "OrtValue":
        """Returns an array's bytes as another type, as onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type."""
        array = np.ascontiguousarray(data)
        return OrtValue(_lathe.Tensor.from_buffer(array, element_name(onnx_element_type), array.shape), array)

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device: Union[str, OrtDevice] = "cpu", device_id: int = 0,
        vendor_id: int = -1,
    ) -> "OrtValue":  # fmt: skip
        """Returns a tensor of zeros or empty strings, as onnxruntime.OrtValue.ortvalue_from_shape_and_type."""
        if not isinstance(device, OrtDevice):
            check_device(device)
        name = element_name(element_type)
        if name == "string":
            return OrtValue(_lathe.Tensor.from_strings([""] * int(np.prod(shape)), tuple(shape)))
        dtype = dtype_of(name)
        if dtype is None:
            raise error("NotImplemented", f"NumPy has no {name} here: install ml_dtypes")
        array = np.zeros(tuple(shape), dtype)
        return OrtValue(tensor_from_array(array, writable=_lends_writable(array)), array)

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> "OrtValue":
        """Returns an OrtValue over the memory of an array with DLPack, as onnxruntime.OrtValue.from_dlpack."""
        return OrtValue(_lathe.Tensor.from_dlpack(data))

    def _tensor(self) -> _lathe.Tensor:
        if not isinstance(self._value, _lathe.Tensor):
            raise error("Fail", "the OrtValue holds no tensor")
        return self._value

    def data_ptr(self) -> int:
        """Returns the address of the first element, as onnxruntime.OrtValue.data_ptr."""
        return self._tensor().data_ptr

    def device_name(self) -> str:
        """Returns "cpu", as onnxruntime.OrtValue.device_name."""
        return "cpu"

    def shape(self) -> list[int]:
        """Returns the shape of the tensor, as onnxruntime.OrtValue.shape."""
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """Returns the type, "tensor(float)", or "seq" for other values, as onnxruntime.OrtValue.data_type."""
        return self._tensor().onnx_type if self.is_tensor() else "seq"

    def element_type(self) -> int:
        """Returns the number of the element type in TensorProto.DataType, as onnxruntime.OrtValue.element_type."""
        return self._tensor().data_type

    def tensor_size_in_bytes(self) -> int:
        """Returns the bytes of the tensor, as onnxruntime.OrtValue.tensor_size_in_bytes."""
        return self._tensor().nbytes

    def has_value(self) -> bool:
        """Returns whether it holds a value, as onnxruntime.OrtValue.has_value."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Returns whether it holds a dense tensor, as onnxruntime.OrtValue.is_tensor."""
        return isinstance(self._value, _lathe.Tensor)

    def is_sparse_tensor(self) -> bool:
        """Returns whether it holds a sparse tensor, as onnxruntime.OrtValue.is_sparse_tensor."""
        return isinstance(self._value, _lathe.SparseTensor)

    def is_tensor_sequence(self) -> bool:
        """Returns whether it holds a sequence, as onnxruntime.OrtValue.is_tensor_sequence."""
        return isinstance(self._value, list)

    def numpy(self) -> Any:
        """Returns a copy of the tensor as an array, as onnxruntime.OrtValue.numpy."""
        value = from_value(self._value)
        return value.copy() if isinstance(value, np.ndarray) else value

    @translated
    def update_inplace(self, np_arr: np.ndarray) -> None:
        """Writes an array of the same type and shape into the tensor's memory, as onnxruntime.OrtValue.update_inplace.
        """
        target = self._tensor()
        if tuple(np_arr.shape) != tuple(target.shape) or name_of(np_arr.dtype) != target.dtype:
            raise error(
                "InvalidArgument",
                f"update_inplace takes {target.onnx_type} of shape {list(target.shape)}, got {np_arr.dtype} of shape "
                f"{list(np_arr.shape)}",
            )
        if self._numpy_obj is not None and not self._numpy_obj.flags.writeable:
            raise error("InvalidArgument", "the array that this OrtValue was made from is read-only")
        from_value(target)[...] = np_arr

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_dlpack(self) -> Any:
        """Returns a DLPack capsule over the tensor's memory, as onnxruntime.OrtValue.to_dlpack."""
        return self.__dlpack__()

    def _get_c_value(self) -> "OrtValue":
        return self


def _lends_writable(array: np.ndarray) -> bool:
    return is_lent_as_it_is(array) and array.flags.writeable


def to_ort_values(values: Sequence[Any]) -> list[OrtValue]:
    """Returns the values as OrtValues."""
    return [OrtValue(value) for value in values]


def feed_value(value: Any, type_text: str) -> Any:
    """Returns the native value of what a program gives as an input."""
    return value._value if isinstance(value, OrtValue) else to_value(value, type_text)
