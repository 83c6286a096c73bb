"""Calls of a network return tensors and layers as handles, and turn Python values into tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._network.arithmetic import Arithmetic
from lathe._values import array_from_tensor, dtype_of, name_of, tensor_from_array, to_value

if TYPE_CHECKING:
    from lathe._network.network import Network


def member(kind: Any, value: Any) -> Any:
    """Returns a member of an enumeration, given itself or by name; raises ValueError or TypeError for anything else."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise TypeError(f"a {kind.__name__} or its name expected, got {type(value).__name__}")
    if value not in kind.__members__:
        *others, last = kind.__members__
        raise ValueError(f"{kind.__name__} is {', '.join(others)} or {last}, not {value!r}")
    return kind.__members__[value]


def type_name(dtype: Any) -> str:
    """Returns Lathe's name of an element type, given by name or as NumPy's: "float32", np.float32.
    Raises TypeError for a type that ONNX lacks."""
    if isinstance(dtype, str):
        return dtype
    name = name_of(np.dtype(dtype))
    if name is None:
        raise TypeError(f"ONNX has no element type like NumPy's {np.dtype(dtype)}")
    return name


def constant_tensor(value: Any, like: Optional[str] = None) -> _lathe.Tensor:
    """Returns an array, or anything with DLPack, as a tensor that lends its memory.
    Numbers and lists become tensors of type `like` where that loses nothing: a fraction stays float64 beside integers,
    and is refused by the call that it is for."""
    if isinstance(value, (_lathe.Tensor, np.ndarray, np.generic)) or hasattr(value, "__dlpack__"):
        return to_value(value)
    array = np.asarray(value)
    if array.dtype.kind == "O" and not all(isinstance(item, (str, bytes)) for item in array.reshape(-1)):
        raise TypeError(f"a tensor, an array, numbers or strings expected, got {type(value).__name__}")
    wanted = dtype_of(like) if like and like != "string" else None
    fits = array.dtype.kind in "iu" or array.size == 0 or (array.dtype.kind == "f" and like and "float" in like)
    if wanted is not None and wanted != np.dtype(bool) and fits:
        array = np.asarray(value, dtype=wanted)
    return tensor_from_array(array)


class TensorRef(Arithmetic):
    """A tensor of a network, TensorRT's ITensor: an input, a constant or an output of a layer.
    It is a light handle; two handles of one tensor are equal. Python's operators append layers. As thread-safe as its
    network. Handles of what was rolled back or removed raise `lathe.Error` E6001 (bad_argument) when they are used."""

    __slots__ = ("_native", "_network")

    def __init__(self, native: _lathe.TensorRef, network: "Network"):
        self._native = native
        self._network = network

    def _tensor(self) -> "TensorRef":
        return self

    @property
    def id(self) -> int:
        """A number that no other tensor of this network, or of the body that it is in, ever has."""
        return self._native.id()

    @property
    def name(self) -> str:
        """The name of the tensor, which can be set.
        Setting it raises `lathe.Error` E2202 (graph_duplicate_name) where the name is taken."""
        return self._native.name()

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    @property
    def dtype(self) -> Optional[str]:
        """The element type, "float32", or None for what is no dense tensor."""
        return self._native.dtype()

    @property
    def shape(self) -> Optional[tuple[Union[int, str, None], ...]]:
        """The sizes, or None where the rank is unknown.
        They are numbers, expressions such as "2*S + 1", and None where a size is unknown."""
        shape: Any = self._native.shape()
        return shape

    @property
    def rank(self) -> Optional[int]:
        """The number of axes, or None where it is unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def type(self) -> str:
        """The type as text: "float[N,3]", "seq(float)"."""
        return self._native.type()

    @property
    def is_network_input(self) -> bool:
        """True for an input of the network."""
        return self._native.is_network_input()

    @property
    def is_network_output(self) -> bool:
        """True for an output of the network."""
        return self._native.is_network_output()

    @property
    def constant(self) -> Optional[Any]:
        """The contents as an array, where they are the same in every run and known, or None."""
        constant = self._native.constant()
        return None if constant is None else array_from_tensor(constant)

    @property
    def producer(self) -> Optional["Layer"]:
        """The layer that produces it; None for inputs, constants, and tensors that a body takes from around it."""
        layer = self._native.producer()
        return None if layer is None else Layer(layer, self._network)

    @property
    def consumers(self) -> list["Layer"]:
        """The layers that read it, directly or in their bodies."""
        return [Layer(layer, self._network) for layer in self._native.consumers()]

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, TensorRef) and self._native.is_same(other._native)

    def __hash__(self) -> int:
        return hash(("tensor", self._native.id()))

    def __bool__(self) -> bool:
        raise TypeError("what a tensor holds is known when the network runs; compare handles with `is None`")

    def __repr__(self) -> str:
        return f"<lathe.TensorRef {self.name!r}: {self.type}>"


class Layer(Arithmetic):
    """One layer, TensorRT's ILayer: the operators that one call appended, or one operator of a model that was read.
    It is a light handle. Where a tensor is taken a layer stands for its first output; unpacking gives all of them:
    `values, indices = net.add_topk(…)`. As thread-safe as its network."""

    __slots__ = ("_native", "_network")

    def __init__(self, native: _lathe.Layer, network: "Network"):
        self._native = native
        self._network = network

    def _tensor(self) -> TensorRef:
        return self.output

    def _tensors(self, natives: Sequence[_lathe.TensorRef]) -> list[TensorRef]:
        return [TensorRef(t, self._network) for t in natives]

    @property
    def id(self) -> int:
        """A number that no other layer of this network ever has."""
        return self._native.id()

    @property
    def name(self) -> str:
        """The name of the layer, which can be set."""
        return self._native.name()

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    @property
    def kind(self) -> str:
        """The family: "convolution", "slice", …; without one the operator, "Softsign", "my.domain::Op"."""
        return self._native.kind()

    @property
    def operators(self) -> list[str]:
        """The ONNX operators that it consists of: ["Mul", "Add"]."""
        return self._native.operators()

    @property
    def inputs(self) -> list[TensorRef]:
        """The tensors that it reads, each once, in order."""
        return self._tensors(self._native.inputs())

    @property
    def outputs(self) -> list[TensorRef]:
        """The tensors that it produces, in order."""
        return self._tensors(self._native.outputs())

    @property
    def output(self) -> TensorRef:
        """The first output."""
        return self.get_output(0)

    @property
    def num_inputs(self) -> int:
        """The number of inputs."""
        return len(self._native.inputs())

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._native.outputs())

    def get_input(self, i: int) -> TensorRef:
        """Returns input `i`; raises `lathe.Error` E6001 (bad_argument) where there is none."""
        return TensorRef(self._native.get_input(i), self._network)

    def get_output(self, i: int) -> TensorRef:
        """Returns output `i`; raises `lathe.Error` E6001 (bad_argument) where there is none."""
        return TensorRef(self._native.get_output(i), self._network)

    @property
    def dtype(self) -> Optional[str]:
        """The element type of the first output."""
        return self.output.dtype

    @property
    def shape(self) -> Optional[tuple[Union[int, str, None], ...]]:
        """The shape of the first output."""
        return self.output.shape

    @property
    def type(self) -> str:
        """The type of the first output: "float[N,3]"."""
        return self.output.type

    @property
    def bodies(self) -> list[str]:
        """The names of its bodies: ["then_branch", "else_branch"]."""
        return self._native.bodies()

    def body(self, name: str) -> "Network":
        """Returns one of its bodies, to be read."""
        return type(self._network)._over(self._native.body(name))

    @property
    def metadata(self) -> dict[str, str]:
        """Free text that travels with the layer into files, as a copy."""
        return dict(self._native.metadata())

    def set_metadata(self, key: str, value: str) -> None:
        """Sets one entry of `metadata`."""
        self._native.set_metadata(key, value)

    def __iter__(self) -> Iterator[TensorRef]:
        return iter(self.outputs)

    def __len__(self) -> int:
        return self.num_outputs

    def __bool__(self) -> bool:
        return True  # there it is: what find_layer returns may be None instead

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Layer) and self._native.is_same(other._native)

    def __hash__(self) -> int:
        return hash(("layer", self._native.id()))

    def __repr__(self) -> str:
        return f"<lathe.Layer {self.name!r}: {self.kind}>"


TensorLike = Union[TensorRef, Layer, np.ndarray, np.generic, float, int, bool, Sequence[Any], _lathe.Tensor]


class Calls:
    """The base of the add_* calls of a `Network`: it turns operands into handles and handles into layers."""

    _native: _lathe.Network

    def _ref(self, value: Any, like: Any = None) -> _lathe.TensorRef:
        """The handle of an operand; None is one left out. What is no tensor of a network becomes a constant, numbers
        and lists of the element type of `like` (a tensor, or the name of a type)."""
        if value is None:
            return _lathe.TensorRef()
        if isinstance(value, TensorRef):
            return value._native
        if isinstance(value, Layer):
            return value._native.get_output(0)
        if isinstance(value, (str, bytes)):
            raise TypeError(f"a tensor expected, got {value!r}; find_tensor finds one by name")
        if isinstance(like, (TensorRef, Layer)):
            like = like.dtype
        return self._native.add_constant(constant_tensor(value, like if isinstance(like, str) else None), "")

    def _pair(self, a: Any, b: Any) -> tuple[_lathe.TensorRef, _lathe.TensorRef]:
        return self._ref(a, b), self._ref(b, a)

    def _refs(self, values: Sequence[Any]) -> list[_lathe.TensorRef]:
        like = next((v for v in values if isinstance(v, (TensorRef, Layer))), None)
        return [self._ref(v, like) for v in values]

    def _layer(self, native: _lathe.Layer) -> Layer:
        return Layer(native, self)  # type: ignore[arg-type]

    @staticmethod
    def _options(kind: Any, name: str, **fields: Any) -> Any:
        options = kind()
        options.name = name
        for field, value in fields.items():
            if value is not None:
                setattr(options, field, value)
        return options


def ints(values: Any) -> list[int]:
    """Returns a list of integers; a single number becomes a list of it."""
    if isinstance(values, (int, np.integer)):
        return [int(values)]
    return [int(v) for v in values]
