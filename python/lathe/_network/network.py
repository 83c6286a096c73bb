"""Networks: made call by call, looked at, edited, kept."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterator, Optional, Sequence, Union

from lathe import _lathe
from lathe._network.attention import AttentionCalls
from lathe._network.compute import ComputeCalls
from lathe._network.control import ControlCalls
from lathe._network.handles import Layer, TensorLike, TensorRef, constant_tensor, type_name
from lathe._network.movement import MovementCalls, Sizes

# What insert_before and insert_after are given: what is made of a tensor.
Make = Callable[["Network", TensorRef], Union[TensorRef, Layer]]


class Network(ComputeCalls, AttentionCalls, MovementCalls, ControlCalls):
    """A network, built call by call. For one thread at a time.

    Every add_* checks types and shapes there and then and raises `lathe.Error`, whose `node` is the layer's name; what
    it had added is taken back. Where a tensor is wanted, arrays, numbers and lists are taken too, as constants: arrays
    are lent, not copied, and must not change any more. Enumerations may be given as members or by name ("relu").
    Element types are never converted."""

    def __init__(self, name: str = ""):
        self._native = _lathe.Network(name)
        self._filling: list[Network] = []  # bodies that are being filled, shared by a network and its bodies

    @classmethod
    def _over(cls, native: _lathe.Network, filling: Optional[list["Network"]] = None) -> "Network":
        network = cls.__new__(cls)
        network._native = native
        network._filling = [] if filling is None else filling
        return network

    @property
    def _innermost(self) -> "Network":
        """What Python's operators add to: the body that is being filled."""
        return self._filling[-1] if self._filling else self

    @contextlib.contextmanager
    def _enter(self, native: _lathe.Network) -> Iterator["Network"]:
        body = Network._over(native, self._filling)
        self._filling.append(body)
        try:
            yield body
        finally:
            self._filling.pop()

    def _tensor(self, native: _lathe.TensorRef) -> TensorRef:
        return TensorRef(native, self)

    def _tensors(self, natives: Sequence[_lathe.TensorRef]) -> list[TensorRef]:
        return [TensorRef(t, self) for t in natives]

    @property
    def name(self) -> str:
        return self._native.name()

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    def clone(self) -> "Network":
        return Network._over(self._native.clone())

    # Inputs, outputs, constants

    def add_input(self, name: str, dtype: Any, shape: Optional[Sizes] = None) -> TensorRef:
        """`dtype`: "float32" or np.float32, with sizes that are numbers or expressions, ("N", 3, "2*S + 1"); without a
        shape it is a whole type: "seq(float)", "optional(int64[])"."""
        if shape is None:
            return self._tensor(self._native.add_input(name, dtype))
        return self._tensor(self._native.add_input(name, type_name(dtype), tuple(shape)))

    def set_default(self, input: TensorRef, value: Any) -> None:
        """What an input is when a run is not given it; of its type."""
        self._native.set_default(input._native, constant_tensor(value, input.dtype))

    def add_constant(self, value: Any, name: str = "", *, dtype: Any = None) -> TensorRef:
        """An array, or anything with DLPack, which is lent and must not change any more; numbers and lists, of
        `dtype`."""
        like = None if dtype is None else type_name(dtype)
        return self._tensor(self._native.add_constant(constant_tensor(value, like), name))

    def mark_output(self, t: TensorLike, name: str = "") -> None:
        """The tensor is renamed where a name is given."""
        self._native.mark_output(self._ref(t), name)

    def unmark_output(self, t: Union[TensorRef, Layer]) -> None:
        self._native.unmark_output(self._ref(t))

    def mark_debug(self, t: Union[TensorRef, Layer]) -> None:
        """A tap: engines built from now on tell its value in every run to `Context.on_tap`, under its name. Outputs are
        the same bits with and without."""
        self._native.mark_debug(self._ref(t))

    def unmark_debug(self, t: Union[TensorRef, Layer]) -> None:
        self._native.unmark_debug(self._ref(t))

    def is_debug_tensor(self, t: Union[TensorRef, Layer]) -> bool:
        return self._native.is_debug_tensor(self._ref(t))

    @property
    def debug_tensors(self) -> list[TensorRef]:
        return self._tensors(self._native.debug_tensors())

    # Looking

    @property
    def inputs(self) -> list[TensorRef]:
        return self._tensors(self._native.inputs())

    @property
    def outputs(self) -> list[TensorRef]:
        return self._tensors(self._native.outputs())

    @property
    def layers(self) -> list[Layer]:
        """In an order in which they can run."""
        return [self._layer(layer) for layer in self._native.layers()]

    @property
    def num_inputs(self) -> int:
        return len(self._native.inputs())

    @property
    def num_outputs(self) -> int:
        return len(self._native.outputs())

    @property
    def num_layers(self) -> int:
        return len(self._native.layers())

    def get_input(self, i: int) -> TensorRef:
        return self._tensor(self._native.get_input(i))

    def get_output(self, i: int) -> TensorRef:
        return self._tensor(self._native.get_output(i))

    def get_layer(self, i: int) -> Layer:
        return self._layer(self._native.get_layer(i))

    def find_layer(self, key: Union[int, str]) -> Optional[Layer]:
        """By id or name; None where there is none."""
        found = self._native.find_layer(key)
        return None if found is None else self._layer(found)

    def find_tensor(self, name: str) -> Optional[TensorRef]:
        found = self._native.find_tensor(name)
        return None if found is None else self._tensor(found)

    def find(self, wanted: Callable[[Layer], Any]) -> list[Layer]:
        """Layers that fulfil a condition."""
        return [layer for layer in self.layers if wanted(layer)]

    def query(self, query: str) -> list[Layer]:
        """Layers that fulfil terms joined by "&&", FIELD OP VALUE with fields kind, name, op (any of its operators),
        consumers, inputs, outputs: "kind == convolution && consumers > 1". Texts may be shell patterns."""
        return [self._layer(layer) for layer in self._native.query(query)]

    def text(self) -> str:
        """Layers, a line each."""
        return self._native.text()

    def describe(self, form: str = "text") -> str:
        """The operators: a line each ("text"), as "json", or for Graphviz ("dot")."""
        return self._native.describe(form)

    # Editing: each call as a whole, or not at all

    def replace_all_uses(self, source: TensorLike, target: TensorLike) -> None:
        """Every layer that reads `source`, and the network's outputs, read `target`. An output's name stays with it."""
        self._native.replace_all_uses(self._ref(source), self._ref(target, source))

    def set_input(self, layer: Layer, i: int, t: TensorLike) -> None:
        """`layer` reads `t` where it read its input `i`."""
        self._native.set_input(layer._native, i, self._ref(t, layer.get_input(i)))

    def _maker(self, make: Make) -> Callable[[_lathe.Network, _lathe.TensorRef], _lathe.TensorRef]:
        return lambda native, t: self._ref(make(self, self._tensor(t)))

    def insert_before(self, layer: Layer, i: int, make: Make) -> None:
        """What `make(network, tensor)` makes of input `i` takes its place."""
        self._native.insert_before(layer._native, i, self._maker(make))

    def insert_after(self, t: Union[TensorRef, Layer], make: Make) -> None:
        """What `make(network, tensor)` makes of `t` takes its place wherever it was read until now, as an output
        too."""
        self._native.insert_after(self._ref(t), self._maker(make))

    def remove(self, layer: Layer) -> None:
        """Raises `lathe.Error` where something reads what it gives."""
        self._native.remove(layer._native)

    def remove_unused(self) -> int:
        """Layers that no output needs; returns how many."""
        return self._native.remove_unused()

    def extract(self, inputs: Sequence[TensorLike], outputs: Sequence[TensorLike]) -> "Network":
        """Another network: what is needed to get from `inputs` to `outputs`, which keep their names."""
        return Network._over(self._native.extract(self._refs(inputs), self._refs(outputs)))

    @contextlib.contextmanager
    def transaction(self) -> Iterator["Network"]:
        """`with network.transaction():` where what is done raises, the network is as it was before."""
        before = _lathe.Transaction(self._native)
        try:
            yield self
        except BaseException:
            before.roll_back()
            raise
        before.commit()

    # Keeping

    def to_model(self, opset: int = 0) -> _lathe.Model:
        """At the lowest opset and IR version that can say it, or at the opset asked for."""
        return self._native.to_model(opset)

    def save(self, path: Union[str, "os.PathLike[str]"], *, opset: int = 0, **options: Any) -> None:
        """As .onnx; options are those of `lathe.onnx.Model.save`: data, external_name, external_threshold, text."""
        self.to_model(opset).save(path, **options)

    def cpp(
        self,
        *,
        function: str = "build_network",
        weights: Union[str, "os.PathLike[str]"] = "",
        inline_elements: int = 64,
    ) -> str:
        """C++ source of a function that makes this network, by the calls that made it. Constants of more than
        `inline_elements` elements go into the safetensors file `weights`, if one is named."""
        o = _lathe.CppOptions()
        o.function = function
        o.weights = os.fspath(weights)
        o.inline_elements = inline_elements
        return self._native.cpp(o)

    def __repr__(self) -> str:
        return f"<lathe.Network {self.name!r}: {self.num_layers} layers>"
