"""Tensors and layers as a network's calls return them, and how Python values become tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._network.arithmetic import Arithmetic
from lathe._values import array_from_tensor, dtype_of, name_of, tensor_from_array, to_value

if TYPE_CHECKING:
    from lathe._network.network import Network


def member(kind: Any, value: Any) -> Any:
    """A member of an enumeration, or of that name."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise TypeError(f"a {kind.__name__} or its name expected, got {type(value).__name__}")
    if value not in kind.__members__:
        *others, last = kind.__members__
        raise ValueError(f"{kind.__name__} is {', '.join(others)} or {last}, not {value!r}")
    return kind.__members__[value]


def type_name(dtype: Any) -> str:
    """Lathe's name of an element type: of "float32", "bfloat16", np.float32, …"""
    if isinstance(dtype, str):
        return dtype
    name = name_of(np.dtype(dtype))
    if name is None:
        raise TypeError(f"ONNX has no element type like NumPy's {np.dtype(dtype)}")
    return name


def constant_tensor(value: Any, like: Optional[str] = None) -> _lathe.Tensor:
    """What an array, or anything with DLPack, holds. Numbers and lists become of type `like` where that loses nothing:
    a fraction stays float64 beside integers, and is refused by the call that it is for."""
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
    """A tensor of a network: what an input, a constant or a layer gives. A light handle; two of one tensor are equal.
    Handles of what was taken back or removed raise `lathe.Error` when used."""

    __slots__ = ("_native", "_network")

    def __init__(self, native: _lathe.TensorRef, network: "Network"):
        self._native = native
        self._network = network

    def _tensor(self) -> "TensorRef":
        return self

    @property
    def id(self) -> int:
        """Never given to another tensor of this network, or of the body that it is in."""
        return self._native.id()

    @property
    def name(self) -> str:
        return self._native.name()

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    @property
    def dtype(self) -> Optional[str]:
        """The element type, "float32"; None where it is no dense tensor."""
        return self._native.dtype()

    @property
    def shape(self) -> Optional[tuple[Union[int, str, None], ...]]:
        """Numbers, expressions such as "2*S + 1", and None where nothing is known; None where the rank is unknown."""
        shape: Any = self._native.shape()
        return shape

    @property
    def rank(self) -> Optional[int]:
        """How many axes there are; None where that is unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def type(self) -> str:
        """As in "float[N,3]" or "seq(float)"."""
        return self._native.type()

    @property
    def is_network_input(self) -> bool:
        return self._native.is_network_input()

    @property
    def is_network_output(self) -> bool:
        return self._native.is_network_output()

    @property
    def constant(self) -> Optional[Any]:
        """Contents as an array, where they are known in every run."""
        constant = self._native.constant()
        return None if constant is None else array_from_tensor(constant)

    @property
    def producer(self) -> Optional["Layer"]:
        """The layer that gives it; None of inputs, constants, and what a body takes from around it."""
        layer = self._native.producer()
        return None if layer is None else Layer(layer, self._network)

    @property
    def consumers(self) -> list["Layer"]:
        """Layers that read it, in themselves or in their bodies."""
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
    """One layer: the operators that one call appended, or one operator of a model that was read. Where a tensor is
    wanted it stands for its first output; unpacking it gives all of them: `values, indices = net.add_topk(…)`."""

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
        """Never given to another layer of this network, whatever is added or removed."""
        return self._native.id()

    @property
    def name(self) -> str:
        return self._native.name()

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    @property
    def kind(self) -> str:
        """The family: "convolution", "slice", …; of others the operator, "Softsign", "my.domain::Op"."""
        return self._native.kind()

    @property
    def operators(self) -> list[str]:
        """The ONNX operators that it is made of: ["Mul", "Add"]."""
        return self._native.operators()

    @property
    def inputs(self) -> list[TensorRef]:
        """What it reads, each once, in order."""
        return self._tensors(self._native.inputs())

    @property
    def outputs(self) -> list[TensorRef]:
        return self._tensors(self._native.outputs())

    @property
    def output(self) -> TensorRef:
        """The first output."""
        return self.get_output(0)

    @property
    def num_inputs(self) -> int:
        return len(self._native.inputs())

    @property
    def num_outputs(self) -> int:
        return len(self._native.outputs())

    def get_input(self, i: int) -> TensorRef:
        return TensorRef(self._native.get_input(i), self._network)

    def get_output(self, i: int) -> TensorRef:
        return TensorRef(self._native.get_output(i), self._network)

    @property
    def dtype(self) -> Optional[str]:
        """Of the first output."""
        return self.output.dtype

    @property
    def shape(self) -> Optional[tuple[Union[int, str, None], ...]]:
        """Of the first output."""
        return self.output.shape

    @property
    def type(self) -> str:
        """Of the first output: "float[N,3]"."""
        return self.output.type

    @property
    def bodies(self) -> list[str]:
        """Names of its bodies: ["then_branch", "else_branch"]."""
        return self._native.bodies()

    def body(self, name: str) -> "Network":
        """One of its bodies, to look at."""
        return type(self._network)._over(self._native.body(name))

    @property
    def metadata(self) -> dict[str, str]:
        """Free text that travels with the layer into files; a copy."""
        return dict(self._native.metadata())

    def set_metadata(self, key: str, value: str) -> None:
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
    """What the add_* of a Network share: operands in, layers out."""

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
    """A list of whole numbers; one number stands for a list of it."""
    if isinstance(values, (int, np.integer)):
        return [int(values)]
    return [int(v) for v in values]
