"""Networks are built call by call, read, edited and saved."""

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

# The argument of insert_before and insert_after: a function that makes a layer or tensor from a tensor.
Make = Callable[["Network", TensorRef], Union[TensorRef, Layer]]


class Network(ComputeCalls, AttentionCalls, MovementCalls, ControlCalls):
    """A network that is built call by call, TensorRT's INetworkDefinition. For one thread at a time.

    Every add_* checks types and shapes at once and raises `lathe.Error` (E23xx as inference finds it, E6001 for tensors
    of other networks), whose `node` is the layer's name; a call that fails adds nothing. Where a tensor is taken,
    arrays, numbers and lists are taken too, as constants: arrays are lent, not copied, and must not change any more.
    Enumerations are given as members or by name ("relu"). Element types are never converted."""

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
        """The network that Python's operators add to: the body that is being filled."""
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
        """The name of the network, which can be set."""
        return self._native.name()

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    def clone(self) -> "Network":
        """Returns another network with the same layers."""
        return Network._over(self._native.clone())

    # Inputs, outputs, constants

    def add_input(self, name: str, dtype: Any, shape: Optional[Sizes] = None) -> TensorRef:
        """Adds an input and returns its tensor; TensorRT's addInput.
        `dtype` is an element type, "float32" or np.float32, with sizes that are numbers or expressions, ("N", 3, "2*S +
        1"). Without a shape it is a whole type: "seq(float)", "optional(int64[])". Raises `lathe.Error` E2202
        (graph_duplicate_name) where the name is taken."""
        if shape is None:
            return self._tensor(self._native.add_input(name, dtype))
        return self._tensor(self._native.add_input(name, type_name(dtype), tuple(shape)))

    def set_default(self, input: TensorRef, value: Any) -> None:
        """Sets the value that an input has in runs that do not give it, of the input's type.
        Raises `lathe.Error` E2305 (node_bad_type) or E2306 (node_bad_shape) where it does not fit."""
        self._native.set_default(input._native, constant_tensor(value, input.dtype))

    def add_constant(self, value: Any, name: str = "", *, dtype: Any = None) -> TensorRef:
        """Adds a constant and returns its tensor; TensorRT's addConstant.
        `value` is an array or anything with DLPack, which is lent and must not change any more, or numbers and lists,
        which become `dtype`."""
        like = None if dtype is None else type_name(dtype)
        return self._tensor(self._native.add_constant(constant_tensor(value, like), name))

    def mark_output(self, t: TensorLike, name: str = "") -> None:
        """Makes a tensor an output of the network, renamed where a name is given; TensorRT's markOutput."""
        self._native.mark_output(self._ref(t), name)

    def unmark_output(self, t: Union[TensorRef, Layer]) -> None:
        """Makes an output an inner tensor again; TensorRT's unmarkOutput."""
        self._native.unmark_output(self._ref(t))

    def mark_debug(self, t: Union[TensorRef, Layer]) -> None:
        """Makes a tensor a tap: runs of engines built from now on report it to `Context.on_tap`. TensorRT's markDebug.
        Outputs have the same bits with and without taps."""
        self._native.mark_debug(self._ref(t))

    def unmark_debug(self, t: Union[TensorRef, Layer]) -> None:
        """Undoes `mark_debug`; TensorRT's unmarkDebug."""
        self._native.unmark_debug(self._ref(t))

    def is_debug_tensor(self, t: Union[TensorRef, Layer]) -> bool:
        """Returns whether a tensor was marked by `mark_debug`; TensorRT's isDebugTensor."""
        return self._native.is_debug_tensor(self._ref(t))

    @property
    def debug_tensors(self) -> list[TensorRef]:
        """The tensors that `mark_debug` marked."""
        return self._tensors(self._native.debug_tensors())

    # Looking

    @property
    def inputs(self) -> list[TensorRef]:
        """The inputs, in order."""
        return self._tensors(self._native.inputs())

    @property
    def outputs(self) -> list[TensorRef]:
        """The outputs, in order."""
        return self._tensors(self._native.outputs())

    @property
    def layers(self) -> list[Layer]:
        """The layers, in an order in which they can run."""
        return [self._layer(layer) for layer in self._native.layers()]

    @property
    def num_inputs(self) -> int:
        """The number of inputs."""
        return len(self._native.inputs())

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._native.outputs())

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return len(self._native.layers())

    def get_input(self, i: int) -> TensorRef:
        """Returns input `i`; raises `lathe.Error` E6001 (bad_argument) where there is none."""
        return self._tensor(self._native.get_input(i))

    def get_output(self, i: int) -> TensorRef:
        """Returns output `i`; raises `lathe.Error` E6001 (bad_argument) where there is none."""
        return self._tensor(self._native.get_output(i))

    def get_layer(self, i: int) -> Layer:
        """Returns layer `i` of `layers`; raises `lathe.Error` E6001 (bad_argument) where there is none."""
        return self._layer(self._native.get_layer(i))

    def find_layer(self, key: Union[int, str]) -> Optional[Layer]:
        """Returns a layer by id or name, or None where there is none."""
        found = self._native.find_layer(key)
        return None if found is None else self._layer(found)

    def find_tensor(self, name: str) -> Optional[TensorRef]:
        """Returns a tensor by name, or None where there is none."""
        found = self._native.find_tensor(name)
        return None if found is None else self._tensor(found)

    def find(self, wanted: Callable[[Layer], Any]) -> list[Layer]:
        """Returns the layers that a predicate accepts."""
        return [layer for layer in self.layers if wanted(layer)]

    def query(self, query: str) -> list[Layer]:
        """Returns the layers that fulfill terms joined by "&&": "kind == convolution && consumers > 1".
        A term is FIELD OP VALUE with the fields kind, name, op (any of its operators), consumers, inputs, outputs;
        texts may be shell patterns. Raises `lathe.Error` E1151 (text_syntax)."""
        return [self._layer(layer) for layer in self._native.query(query)]

    def text(self) -> str:
        """Returns the layers as text, one line each."""
        return self._native.text()

    def describe(self, form: str = "text") -> str:
        """Returns the operators as "text", one line each, as "json", or for Graphviz ("dot").
        Raises `lathe.Error` E6001 (bad_argument) for another form."""
        return self._native.describe(form)

    # Editing: each call as a whole, or not at all

    def replace_all_uses(self, source: TensorLike, target: TensorLike) -> None:
        """Makes every layer that reads `source`, and the network's outputs, read `target`.
        The name of an output stays with the output."""
        self._native.replace_all_uses(self._ref(source), self._ref(target, source))

    def set_input(self, layer: Layer, i: int, t: TensorLike) -> None:
        """Makes `layer` read `t` as its input `i`."""
        self._native.set_input(layer._native, i, self._ref(t, layer.get_input(i)))

    def _maker(self, make: Make) -> Callable[[_lathe.Network, _lathe.TensorRef], _lathe.TensorRef]:
        return lambda native, t: self._ref(make(self, self._tensor(t)))

    def insert_before(self, layer: Layer, i: int, make: Make) -> None:
        """Replaces input `i` of a layer by what `make(network, tensor)` makes of it."""
        self._native.insert_before(layer._native, i, self._maker(make))

    def insert_after(self, t: Union[TensorRef, Layer], make: Make) -> None:
        """Replaces `t` by what `make(network, tensor)` makes of it, wherever it is read, as an output too."""
        self._native.insert_after(self._ref(t), self._maker(make))

    def remove(self, layer: Layer) -> None:
        """Removes a layer; raises `lathe.Error` E6001 (bad_argument) where one of its outputs is read."""
        self._native.remove(layer._native)

    def remove_unused(self) -> int:
        """Removes the layers that no output needs and returns how many they were."""
        return self._native.remove_unused()

    def extract(self, inputs: Sequence[TensorLike], outputs: Sequence[TensorLike]) -> "Network":
        """Returns another network with what computes `outputs` from `inputs`, which keep their names.
        Inputs of this network may be needed too."""
        return Network._over(self._native.extract(self._refs(inputs), self._refs(outputs)))

    @contextlib.contextmanager
    def transaction(self) -> Iterator["Network"]:
        """Restores the network where an exception leaves the `with` block: `with network.transaction(): …`.
        Raises `lathe.Error` E6001 (bad_argument) inside the function that fills a body."""
        before = _lathe.Transaction(self._native)
        try:
            yield self
        except BaseException:
            before.roll_back()
            raise
        before.commit()

    # Keeping

    def to_model(self, opset: int = 0) -> _lathe.Model:
        """Returns the network as a model, at the lowest opset and IR version that can express it, or at `opset`.
        Raises `lathe.Error` E2308 (node_cannot_convert) where the opset cannot express it."""
        return self._native.to_model(opset)

    def save(self, path: Union[str, "os.PathLike[str]"], *, opset: int = 0, **options: Any) -> None:
        """Writes the network as .onnx; `options` are those of `lathe.onnx.Model.save`.
        Raises `lathe.Error` E1004 (file_write_failed), and what `to_model` raises."""
        self.to_model(opset).save(path, **options)

    def cpp(
        self,
        *,
        function: str = "build_network",
        weights: Union[str, "os.PathLike[str]"] = "",
        inline_elements: int = 64,
    ) -> str:
        """Returns C++ source of a function that makes this network, by the calls that made it.
        Constants of more than `inline_elements` elements go into the safetensors file `weights`, if one is named.
        Raises `lathe.Error` E1004 (file_write_failed)."""
        o = _lathe.CppOptions()
        o.function = function
        o.weights = os.fspath(weights)
        o.inline_elements = inline_elements
        return self._native.cpp(o)

    def __repr__(self) -> str:
        return f"<lathe.Network {self.name!r}: {self.num_layers} layers>"
