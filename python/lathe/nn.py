"""Networks made of modules: trees of layers with named parameters, which take their weights from a checkpoint or one by
one, and append themselves to a `lathe.Network`.

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(16, 32), nn.Linear(32, 4)

        def forward(self, x):
            return self.out(nn.relu(self.hidden(x)))

    c = Classifier()
    c.bind("model.safetensors")
    network = nn.build_network(c, {"x": ("float32", ("N", 16))}, outputs=["y"])

docs/modules.md shows how.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from lathe import _lathe
from lathe._network.handles import Layer, TensorRef, constant_tensor, ints, type_name
from lathe._network.network import Network
from lathe._refit import Checkpoint
from lathe._values import array_from_tensor

_nn = _lathe.nn
Tensor = Union[TensorRef, Layer]
InputSpec = tuple[Any, Sequence[Union[int, str]]]


def _ref(x: Optional[Tensor]) -> _lathe.TensorRef:
    if x is None:
        return _lathe.TensorRef()
    if not isinstance(x, (TensorRef, Layer)):
        raise TypeError(f"a tensor of a network expected, got {type(x).__name__}")
    return x._tensor()._native


class Parameter:
    """Weights that a module wants: an element type, a shape and, once bound, values. A handle: `a.weight = b.weight` ties
    two, which are one constant of a network and stored once in its file."""

    def __init__(self, dtype: Any = "float32", shape: Iterable[int] = ()):
        self._native = _nn.Parameter(type_name(dtype), tuple(shape))

    @classmethod
    def _over(cls, native: Any) -> "Parameter":
        parameter = cls.__new__(cls)
        parameter._native = native
        return parameter

    @property
    def dtype(self) -> str:
        return self._native.dtype()

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        """What is expected from now on; weights of another type are taken away."""
        self._native.set_dtype(type_name(dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._native.shape()

    @property
    def bound(self) -> bool:
        return self._native.bound()

    @property
    def name(self) -> str:
        """Its path in the tree that it was last bound or emitted in."""
        return self._native.name()

    @property
    def value(self) -> Any:
        """The weights as an array; raises `lathe.Error` while there are none."""
        return array_from_tensor(self._native.value())

    @value.setter
    def value(self, value: Any) -> None:
        """An array, anything with DLPack, numbers, or what `lathe.from_file` maps: of the parameter's type and shape, or
        `lathe.Error` says what was expected. Arrays are lent, not copied, and must not change any more."""
        self._native.set_value(constant_tensor(value, self.dtype))

    def reset(self) -> None:
        """Takes the weights away again."""
        self._native.reset()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Parameter) and self._native.is_same(other._native)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        state = "" if self.bound else ", not bound"
        return f"<lathe.nn.Parameter {self.name!r}: {self.dtype}{list(self.shape)}{state}>"


class _Members:
    """Members of a module by the paths that they have in checkpoints: `model.bert.encoder.layer[0].output`."""

    def __init__(self, module: "Module", prefix: str):
        self._module, self._prefix = module, prefix

    def __getattr__(self, name: str) -> Any:
        return self._module._member(f"{self._prefix}.{name}")

    def __getitem__(self, i: int) -> Any:
        return self._module._member(f"{self._prefix}.{range(len(self))[i]}")

    def __len__(self) -> int:
        names = (name[len(self._prefix) + 1 :] for name, _ in self._module._native.members() if name.startswith(self._prefix + "."))
        return len({name.partition(".")[0] for name in names})


class Module:
    """A part of a model that has parameters and other modules as attributes, or lists of them. Derive from it, make the
    members in `__init__` after `super().__init__()`, and append layers in `forward`. For one thread at a time."""

    _native: Any

    def __init__(self) -> None:
        self._native = _nn.PythonModule(self)

    @staticmethod
    def _over(native: Any, keep: Any = None) -> "Module":
        known = native.object() if isinstance(native, _nn.PythonModule) else None
        if known is not None:
            return known
        kind = _CLASSES.get(type(native).__name__, Module)
        module = kind.__new__(kind)
        module.__dict__.update(_native=native, _keep=keep)  # what it is a part of lives as long
        return module

    # What it is made of

    def _members(self) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for name, member in vars(self).items():
            if name.startswith("_"):
                continue
            if isinstance(member, (Parameter, Module)):
                found.append((name, member._native))
            elif isinstance(member, (list, tuple)):
                found += [(f"{name}.{i}", m._native) for i, m in enumerate(member) if isinstance(m, (Parameter, Module))]
        return found

    def _wrapped(self, native: Any) -> Any:
        return Parameter._over(native) if isinstance(native, _nn.Parameter) else Module._over(native, self)

    def _member(self, name: str) -> Any:
        prefix = False
        for called, native in self._native.members():
            if called == name:
                return self._wrapped(native)
            prefix = prefix or called.startswith(name + ".")
        if prefix:
            return _Members(self, name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "_native" not in self.__dict__ or isinstance(self._native, _nn.PythonModule):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return self._member(name)

    def __setattr__(self, name: str, value: Any) -> None:
        native = self.__dict__.get("_native")
        own = native is None or isinstance(native, _nn.PythonModule)
        if name.startswith("_") or (own and not isinstance(vars(self).get(name), Parameter)) or hasattr(type(self), name):
            super().__setattr__(name, value)
        elif not isinstance(value, Parameter):
            raise TypeError(f"a Parameter to tie {name!r} to expected; weights are assigned to its .value")
        elif own or native is None:
            super().__setattr__(name, value)
        else:
            native.tie(name, value._native)

    def __getitem__(self, i: int) -> Any:
        return self._member(str(range(len(self))[i]))

    def __len__(self) -> int:
        return sum(name.isdigit() for name, _ in self._native.members())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def named_parameters(self) -> dict[str, Parameter]:
        """By path; tied ones once, under their first path."""
        return {name: Parameter._over(native) for name, native, _ in self._native.named_parameters()}

    def aliases(self) -> dict[str, list[str]]:
        """Other paths of tied parameters, by the first."""
        return {name: others for name, _, others in self._native.named_parameters() if others}

    def parameter(self, path: str) -> Parameter:
        """By path or alias; raises `lathe.Error` with paths that are near."""
        return Parameter._over(self._native.parameter(path))

    def named_modules(self) -> dict[str, "Module"]:
        """This module under the empty path, and all below it."""
        return {path: Module._over(native, self) if path else self for path, native in self._native.named_modules()}

    def unbound(self) -> list[str]:
        """Paths of parameters without weights."""
        return self._native.unbound()

    def to(self, dtype: Any) -> "Module":
        """All parameters of floats are of this type from now on; what is bound is converted."""
        self._native.to(type_name(dtype))
        return self

    def bind(
        self,
        checkpoint: Any,
        *,
        rename: Union[Mapping[str, str], Iterable[tuple[str, str]]] = (),
        base_prefix: str = "",
        convert: bool = False,
        allow_missing: bool = False,
    ) -> dict[str, Any]:
        """Every parameter gets the tensor of its path from a checkpoint (a path, or a `lathe.Checkpoint`), mapped. Returns
        {"bound": …, "missing": …, "unexpected": …, "converted": …}. Raises `lathe.Error` that lists all that are missing."""
        opened = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        pairs = list(rename.items()) if isinstance(rename, Mapping) else list(rename)
        options = dict(rename=pairs, base_prefix=base_prefix, convert=convert, allow_missing=allow_missing)
        return self._native.bind(opened._native, options)

    # What it appends

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Appends layers for tensors of a network, and returns tensors."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self._native, _nn.PythonModule) and args and isinstance(args[0], (TensorRef, Layer)):
            instead = self._native.substituted(_ref(args[0]))  # layers of the library look for themselves
            if instead is not None:
                return args[0]._tensor()._network._tensor(instead)
        return self.forward(*args, **kwargs)

    def _call(self, x: Tensor, *others: Any) -> Any:
        result = self._native.call(_ref(x), *others)
        network = x._tensor()._network
        return tuple(map(network._tensor, result)) if isinstance(result, list) else network._tensor(result)

    def use(self, parameter: Parameter, x: Tensor) -> TensorRef:
        """The parameter as a constant of the network that x is in, added once."""
        return x._tensor()._network._tensor(self._native.use(_ref(x), parameter._native))

    def op(self, op: str, *inputs: Any, **attributes: Any) -> TensorRef:
        """Appends an ONNX operator that is called after this module, and returns its first output; parameters may be
        given as they are. The first tensor says which network it is appended to."""
        x = next(i for i in inputs if isinstance(i, (TensorRef, Layer)))
        network = x._tensor()._network
        given = [self.use(i, x) if isinstance(i, Parameter) else i for i in inputs]
        name = self._native.name_for(_ref(x), op)
        return network._innermost.add_operator(op, given, attributes=attributes, name=name).output

    def __repr__(self) -> str:
        return f"<lathe.nn.{type(self).__name__}: {len(self._native.named_parameters())} parameters>"


class _Of1(Module):
    def forward(self, x: Tensor) -> TensorRef:
        return self._call(x)


class Linear(_Of1):
    """x [..., in] → [..., out]. weight [out, in], or [in, out] with `transposed`; bias [out]."""

    weight: Parameter
    bias: Parameter

    def __init__(self, in_features: int, out_features: int, *, bias: bool = True, transposed: bool = False):
        self._native = _nn.Linear(in_features, out_features, bias, transposed)


class Lora(_Of1):
    """Low-rank adaptation of a Linear, whose parameters it shares: base(x) + scale · lora_B(lora_A(x)); `alpha` / rank is
    the scale."""

    base_layer: Linear
    lora_A: Linear
    lora_B: Linear

    def __init__(self, base: Linear, rank: int, alpha: float):
        self._native = _nn.Lora(base._native, rank, alpha)

    @property
    def scale(self) -> float:
        return self._native.scale

    @scale.setter
    def scale(self, scale: float) -> None:
        self._native.scale = scale

    def merged_weight(self) -> Any:
        """The base's weight with the adaptation added, for an engine that is refitted."""
        return array_from_tensor(self._native.merged_weight())


class Embedding(_Of1):
    """Rows of weight [count, size]; indices of any shape, int64 or int32."""

    weight: Parameter

    def __init__(self, count: int, size: int):
        self._native = _nn.Embedding(count, size)


class LayerNorm(_Of1):
    """Over the last axes, whose sizes are `shape`."""

    weight: Parameter
    bias: Parameter

    def __init__(self, shape: Any, *, epsilon: float = 1e-5, bias: bool = True):
        self._native = _nn.LayerNorm(ints(shape), epsilon, bias)


class RmsNorm(_Of1):
    """x / √(mean(x²) + epsilon) · weight over the last axis. `plus_one`: weight is added to 1."""

    weight: Parameter

    def __init__(self, size: int, *, epsilon: float = 1e-6, plus_one: bool = False):
        self._native = _nn.RmsNorm(size, epsilon, plus_one)


class GroupNorm(_Of1):
    """x [N, channels, spatial…]."""

    weight: Parameter
    bias: Parameter

    def __init__(self, groups: int, channels: int, *, epsilon: float = 1e-5, affine: bool = True):
        self._native = _nn.GroupNorm(groups, channels, epsilon, affine)


class BatchNorm(_Of1):
    """x [N, channels, …], by the running statistics."""

    weight: Parameter
    bias: Parameter
    running_mean: Parameter
    running_var: Parameter

    def __init__(self, channels: int, *, epsilon: float = 1e-5, affine: bool = True):
        self._native = _nn.BatchNorm(channels, epsilon, affine)


class _Conv(_Of1):
    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Any,
        *,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ):
        lists = (ints(window), ints(stride), ints(padding), ints(dilation))
        self._native = getattr(_nn, type(self).__name__)(in_channels, out_channels, *lists, groups, bias)


class Conv1d(_Conv):
    """x [N, in, L]. weight [out, in / groups, window], bias [out]. Lists have a number for every spatial axis, or one."""


class Conv2d(_Conv):
    """x [N, in, H, W]."""


class Conv3d(_Conv):
    """x [N, in, D, H, W]."""


class ConvTranspose2d(_Of1):
    """x [N, in, H, W]. weight [in, out / groups, h, w], bias [out]."""

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Any,
        *,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ):
        lists = (ints(window), ints(stride), ints(padding), ints(output_padding), ints(dilation))
        self._native = _nn.ConvTranspose2d(in_channels, out_channels, *lists, groups, bias)


class _Pool(_Of1):
    def __init__(
        self,
        window: Any,
        *,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        round_up: bool = False,
        count_padding: bool = True,
    ):
        lists = (ints(window), ints(stride), ints(padding), ints(dilation))
        self._native = getattr(_nn, type(self).__name__)(*lists, round_up, count_padding)


class MaxPool(_Pool):
    """Over windows of the spatial axes of x [N, C, spatial…]; no stride: the window."""


class AvgPool(_Pool):
    """`count_padding`: divide by the window's size at the edges too."""


class GlobalAvgPool(_Of1):
    """The average of each channel, its spatial axes of size 1."""

    def __init__(self) -> None:
        self._native = _nn.GlobalAvgPool()


class Activation(_Of1):
    """By the names of configurations: "gelu", "gelu_new", "quick_gelu", "silu", …"""

    def __init__(self, name: str):
        self._native = _nn.Activation(name)


class Cast(_Of1):
    def __init__(self, dtype: Any):
        self._native = _nn.Cast(type_name(dtype))


class Mlp(_Of1):
    """fc2(activation(fc1(x)))."""

    fc1: Linear
    fc2: Linear

    def __init__(self, size: int, inner: int, *, activation: str = "gelu", bias: bool = True):
        self._native = _nn.Mlp(size, inner, activation, bias)


class GatedMlp(_Of1):
    """down_proj(activation(gate_proj(x)) · up_proj(x))."""

    gate_proj: Linear
    up_proj: Linear
    down_proj: Linear

    def __init__(self, size: int, inner: int, *, activation: str = "silu", bias: bool = False):
        self._native = _nn.GatedMlp(size, inner, activation, bias)


class _Recurrent(Module):
    def __init__(
        self,
        in_features: int,
        hidden: int,
        *,
        layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
    ):
        made = getattr(_nn, type(self).__name__)
        self._native = made(in_features, hidden, layers, bias, batch_first, bidirectional)

    def _states(self, x: Tensor, hidden: Optional[Tensor], cell: Optional[Tensor]) -> list[TensorRef]:
        network = x._tensor()._network
        return [network._tensor(t) for t in self._native.call(_ref(x), _ref(hidden), _ref(cell))]


class Lstm(_Recurrent):
    """As PyTorch's: weight_ih_l0 [4 · hidden, in], …; returns output, last states and last cells."""

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None, cell: Optional[Tensor] = None) -> tuple[TensorRef, ...]:
        return tuple(self._states(x, hidden, cell))


class Gru(_Recurrent):
    """As PyTorch's; returns output and last states."""

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None) -> tuple[TensorRef, ...]:
        return tuple(self._states(x, hidden, None)[:2])


class Rope(Module):
    """Rotary embedding. `options` have the names of `nn::RopeOptions`: theta, type, factor, max_positions, partial, …"""

    def __init__(self, head_size: int, **options: Any):
        self._native = _nn.Rope(head_size, options)

    def angles(self, positions: Tensor) -> tuple[TensorRef, TensorRef]:
        """cos and sin for int64 [batch, length]; made once for all layers."""
        network = positions._tensor()._network
        cos, sin = self._native.angles(_ref(positions))
        return network._tensor(cos), network._tensor(sin)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> TensorRef:
        """x [batch, heads, length, head_size] turned."""
        return self._call(x, _ref(angles[0]), _ref(angles[1]))


class Attention(Module):
    """Multi-head attention: q_proj, k_proj, v_proj, out_proj; groups of heads (MQA, GQA), causal, a sliding window, cross
    attention, ALiBi, rope (options of `Rope`)."""

    q_proj: Linear
    k_proj: Linear
    v_proj: Linear
    out_proj: Linear

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        groups: int = 0,
        head_size: int = 0,
        memory_size: int = 0,
        bias: bool = True,
        output_bias: bool = True,
        causal: bool = False,
        window: int = 0,
        alibi: bool = False,
        scale: Optional[float] = None,
        softcap: float = 0.0,
        rope: Optional[Mapping[str, Any]] = None,
    ):
        options = {name: value for name, value in locals().items() if name not in ("self", "size", "heads")}
        options["rope"] = None if rope is None else dict(rope)
        self._native = _nn.Attention(size, heads, options)

    def forward(
        self,
        x: Tensor,
        *,
        memory: Optional[Tensor] = None,
        padding: Optional[Tensor] = None,
        mask: Optional[Tensor] = None,
        positions: Optional[Tensor] = None,
        past: Optional[tuple[Tensor, Tensor]] = None,
    ) -> tuple[TensorRef, TensorRef, TensorRef]:
        """x [batch, length, size] → the same, and the keys and values to give as `past` next time."""
        key, value = past if past is not None else (None, None)
        output, keys, values = self._call(x, *map(_ref, (memory, padding, mask, positions, key, value)))
        return output, keys, values


class Model(Module):
    """An architecture with the head for a task; inputs and outputs have names. Derive from it, take `config` (config.json
    as a dictionary) and `task`, and register it: `ModelRegistry.add`, `lathe.exporters.TasksManager.register`."""

    base_prefix: str = ""  # under which published checkpoints with a head keep the body: "bert."

    def forward(self, network: Network, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Appends the model: tensors by name in, tensors by name out."""
        native = self._native.forward(network._native, {name: _ref(t) for name, t in inputs.items()})
        return {name: network._tensor(t) for name, t in native.items()}

    def _forward(self, native: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        network = Network._over(native)
        outputs = self.forward(network, {name: network._tensor(t) for name, t in inputs.items()})
        return {name: _ref(t) for name, t in outputs.items()}

    def bind(self, checkpoint: Any, **options: Any) -> dict[str, Any]:
        options.setdefault("base_prefix", self.base_prefix)
        return super().bind(checkpoint, **options)


class ModelRegistry:
    """Architectures by "model_type" of config.json and task: those of the library, and more that are added."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], Callable[[dict[str, Any], str], Model]] = {}

    def add(self, model_type: str, tasks: Iterable[str], make: Callable[[dict[str, Any], str], Model]) -> None:
        """`make(config, task)`: a class that derives from Model, or a function."""
        self._own.update({(model_type, task): make for task in tasks})

    def model_types(self) -> list[str]:
        return sorted({*_nn.model_types(), *(model_type for model_type, _ in self._own)})

    def contains(self, model_type: str, task: str) -> bool:
        return model_type in self.model_types() and task in self.tasks(model_type)

    def tasks(self, model_type: str) -> list[str]:
        own = [task for known, task in self._own if known == model_type]
        return own or _nn.model_tasks(model_type)

    def make(self, config: Any, task: str) -> Model:
        """Of a config.json: its path, that of its directory, or a dictionary. Raises `lathe.Error` for a model type or task
        that is not known, with those that are near."""
        if not isinstance(config, Mapping):
            path = os.fspath(config)
            path = os.path.join(path, "config.json") if os.path.isdir(path) else path
            with open(path, encoding="utf-8") as f:
                config = json.load(f)
        make = self._own.get((str(config.get("model_type")), task))
        if make is not None:
            return make(dict(config), task)
        model = Module._over(_nn.make_model(json.dumps(config), task))
        assert isinstance(model, Model)
        return model


class Emission:
    """`with Emission(network, module):` the module and those below it append to that network, a body too, and name layers
    and constants by their paths. Raises `lathe.Error` that lists all parameters without weights. `substitutes`: a shell
    pattern of paths, and a function of the network and x that gives what stands there instead."""

    def __init__(
        self,
        network: Network,
        module: Module,
        *,
        prefix: str = "",
        substitutes: Optional[Mapping[str, Callable[[Network, TensorRef], Tensor]]] = None,
    ):
        def emitted(make: Callable[[Network, TensorRef], Tensor]) -> Any:
            return lambda native, x: _ref(make(network, network._tensor(x)))

        pairs = [(pattern, emitted(make)) for pattern, make in (substitutes or {}).items()]
        self._native = _nn.Emission(network._native, module._native, prefix, pairs)
        self._module = module

    def __enter__(self) -> "Emission":
        self._native.begin()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._native.end()


def build_network(
    module: Module, inputs: Mapping[str, InputSpec], *, outputs: Sequence[str] = (), name: str = ""
) -> Network:
    """A network of a module: an input of each name, element type and shape, given in order (to a Model by name), and what
    it returns as outputs of these names (of a Model, its own)."""
    network = Network(name)
    given = {called: network.add_input(called, dtype, shape) for called, (dtype, shape) in inputs.items()}
    with Emission(network, module):
        result = module(network, given) if isinstance(module, Model) else module(*given.values())
    if not isinstance(result, Mapping):
        several = result if isinstance(result, (tuple, list)) else (result,)
        result = dict(zip([*outputs, *(f"output_{i}" for i in range(len(outputs), len(several)))], several))
    for called, tensor in result.items():
        network.mark_output(tensor, called)
    return network


def activate(module: Module, name: str, x: Tensor) -> TensorRef:
    """An activation by the name of a configuration, called after the module."""
    return x._tensor()._network._tensor(_nn.activate(module._native, name, _ref(x)))


def _activation(name: str) -> Callable[[Tensor], TensorRef]:
    def function(x: Tensor) -> TensorRef:
        return activate(Module(), name, x)

    function.__name__ = function.__qualname__ = name
    return function


gelu = _activation("gelu")
relu = _activation("relu")
sigmoid = _activation("sigmoid")
silu = _activation("silu")
tanh = _activation("tanh")


def split_heads(module: Module, x: Tensor, heads: int) -> TensorRef:
    """x [batch, length, heads · size] → [batch, heads, length, size]."""
    return x._tensor()._network._tensor(_nn.split_heads(module._native, _ref(x), heads))


def merge_heads(module: Module, x: Tensor) -> TensorRef:
    """And back."""
    return x._tensor()._network._tensor(_nn.merge_heads(module._native, _ref(x)))


def attend(
    module: Module,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Optional[Tensor] = None,
    scale: Optional[float] = None,
    softcap: float = 0.0,
) -> TensorRef:
    """softmax(q · kᵀ · scale + mask) · v; q [batch, heads, queries, size], k and v with as many groups of heads."""
    native = _nn.attend(module._native, _ref(q), _ref(k), _ref(v), _ref(mask), scale, softcap)
    return q._tensor()._network._tensor(native)


def attention_mask(
    module: Module,
    queries: Tensor,
    keys: Tensor,
    *,
    padding: Optional[Tensor] = None,
    dtype: Any = "float32",
    causal: bool = False,
    window: int = 0,
) -> Optional[TensorRef]:
    """What is added to scores; queries and keys: how many, int64 [1]; padding: [batch, keys], not 0 for keys that count."""
    native = _nn.attention_mask(module._native, _ref(padding), _ref(queries), _ref(keys), type_name(dtype), causal, window)
    return None if native is None else keys._tensor()._network._tensor(native)


def alibi_bias(
    module: Module, heads: int, keys: Tensor, *, queries: Optional[Tensor] = None, dtype: Any = "float32"
) -> TensorRef:
    """ALiBi's bias of position [1, heads, queries or 1, keys]."""
    native = _nn.alibi_bias(module._native, heads, _ref(keys), type_name(dtype), _ref(queries))
    return keys._tensor()._network._tensor(native)


def relative_bias(
    module: Module,
    weight: Parameter,
    queries: Tensor,
    keys: Tensor,
    *,
    buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> TensorRef:
    """T5's bias by buckets of distance: weight [buckets, heads] → [1, heads, queries, keys]."""
    arguments = (_ref(queries), _ref(keys), buckets, max_distance, bidirectional)
    return keys._tensor()._network._tensor(_nn.relative_bias(module._native, weight._native, *arguments))


_CLASSES: dict[str, type[Module]] = {
    c.__name__: c
    for c in (
        Activation, Attention, AvgPool, BatchNorm, Cast, Conv1d, Conv2d, Conv3d, ConvTranspose2d, Embedding, GatedMlp,
        GlobalAvgPool, GroupNorm, Gru, LayerNorm, Linear, Lora, Lstm, MaxPool, Mlp, Model, RmsNorm, Rope,
    )
}  # fmt: skip

__all__ = [
    *sorted(_CLASSES),
    "Emission",
    "ModelRegistry",
    "Module",
    "Parameter",
    "activate",
    "alibi_bias",
    "attend",
    "attention_mask",
    "build_network",
    "gelu",
    "merge_heads",
    "relative_bias",
    "relu",
    "sigmoid",
    "silu",
    "split_heads",
    "tanh",
]
