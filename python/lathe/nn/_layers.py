"""Layers that are called with one tensor, recurrent ones, and activations."""

from __future__ import annotations

from typing import Any, Callable, Optional

from lathe._network.handles import TensorRef, ints, type_name
from lathe._values import array_from_tensor
from lathe.nn._module import Module, Parameter, Tensor, natives, ref


class _Of1(Module):
    def forward(self, x: Tensor) -> TensorRef:
        return self._call(x)


class Linear(_Of1):
    """x [..., in] → [..., out]. weight [out, in], or [in, out] with `transposed`; bias [out]."""

    weight: Parameter
    bias: Parameter

    def __init__(self, in_features: int, out_features: int, *, bias: bool = True, transposed: bool = False):
        self._native = natives.Linear(in_features, out_features, bias, transposed)


class Lora(_Of1):
    """Low-rank adaptation of a Linear, whose parameters it shares: base(x) + scale · lora_B(lora_A(x)); `alpha` / rank is
    the scale."""

    base_layer: Linear
    lora_A: Linear
    lora_B: Linear

    def __init__(self, base: Linear, rank: int, alpha: float):
        self._native = natives.Lora(base._native, rank, alpha)

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
        self._native = natives.Embedding(count, size)


class LayerNorm(_Of1):
    """Over the last axes, whose sizes are `shape`."""

    weight: Parameter
    bias: Parameter

    def __init__(self, shape: Any, *, epsilon: float = 1e-5, bias: bool = True):
        self._native = natives.LayerNorm(ints(shape), epsilon, bias)


class RmsNorm(_Of1):
    """x / √(mean(x²) + epsilon) · weight over the last axis. `plus_one`: weight is added to 1."""

    weight: Parameter

    def __init__(self, size: int, *, epsilon: float = 1e-6, plus_one: bool = False):
        self._native = natives.RmsNorm(size, epsilon, plus_one)


class GroupNorm(_Of1):
    """x [N, channels, spatial…]."""

    weight: Parameter
    bias: Parameter

    def __init__(self, groups: int, channels: int, *, epsilon: float = 1e-5, affine: bool = True):
        self._native = natives.GroupNorm(groups, channels, epsilon, affine)


class BatchNorm(_Of1):
    """x [N, channels, …], by the running statistics."""

    weight: Parameter
    bias: Parameter
    running_mean: Parameter
    running_var: Parameter

    def __init__(self, channels: int, *, epsilon: float = 1e-5, affine: bool = True):
        self._native = natives.BatchNorm(channels, epsilon, affine)


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
        self._native = getattr(natives, type(self).__name__)(in_channels, out_channels, *lists, groups, bias)


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
        self._native = natives.ConvTranspose2d(in_channels, out_channels, *lists, groups, bias)


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
        self._native = getattr(natives, type(self).__name__)(*lists, round_up, count_padding)


class MaxPool(_Pool):
    """Over windows of the spatial axes of x [N, C, spatial…]; no stride: the window."""


class AvgPool(_Pool):
    """`count_padding`: divide by the window's size at the edges too."""


class GlobalAvgPool(_Of1):
    """The average of each channel, its spatial axes of size 1."""

    def __init__(self) -> None:
        self._native = natives.GlobalAvgPool()


class Activation(_Of1):
    """By the names of configurations: "gelu", "gelu_new", "quick_gelu", "silu", …"""

    def __init__(self, name: str):
        self._native = natives.Activation(name)


class Cast(_Of1):
    def __init__(self, dtype: Any):
        self._native = natives.Cast(type_name(dtype))


class Mlp(_Of1):
    """fc2(activation(fc1(x)))."""

    fc1: Linear
    fc2: Linear

    def __init__(self, size: int, inner: int, *, activation: str = "gelu", bias: bool = True):
        self._native = natives.Mlp(size, inner, activation, bias)


class GatedMlp(_Of1):
    """down_proj(activation(gate_proj(x)) · up_proj(x))."""

    gate_proj: Linear
    up_proj: Linear
    down_proj: Linear

    def __init__(self, size: int, inner: int, *, activation: str = "silu", bias: bool = False):
        self._native = natives.GatedMlp(size, inner, activation, bias)


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
        made = getattr(natives, type(self).__name__)
        self._native = made(in_features, hidden, layers, bias, batch_first, bidirectional)

    def _states(self, x: Tensor, hidden: Optional[Tensor], cell: Optional[Tensor]) -> list[TensorRef]:
        network = x._tensor()._network
        return [network._tensor(t) for t in self._native.call(ref(x), ref(hidden), ref(cell))]


class Lstm(_Recurrent):
    """As PyTorch's: weight_ih_l0 [4 · hidden, in], …; returns output, last states and last cells."""

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None, cell: Optional[Tensor] = None) -> tuple[TensorRef, ...]:
        return tuple(self._states(x, hidden, cell))


class Gru(_Recurrent):
    """As PyTorch's; returns output and last states."""

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None) -> tuple[TensorRef, ...]:
        return tuple(self._states(x, hidden, None)[:2])


def activate(module: Module, name: str, x: Tensor) -> TensorRef:
    """An activation by the name of a configuration, called after the module."""
    return x._tensor()._network._tensor(natives.activate(module._native, name, ref(x)))


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
