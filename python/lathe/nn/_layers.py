"""Layers are called with one tensor or, recurrent ones, with states; activations are functions."""

from __future__ import annotations

from typing import Any, Callable, Optional

from lathe._network.handles import TensorRef, ints, type_name
from lathe._values import array_from_tensor
from lathe.nn._module import Module, Parameter, Tensor, natives, ref


class _Of1(Module):
    def forward(self, x: Tensor) -> TensorRef:
        """Appends the layer for x and returns its output; the class says which shapes they have."""
        return self._call(x)


class Linear(_Of1):
    """Appends x · weightᵀ + bias for x [..., in], which gives [..., out]; PyTorch's Linear.
    weight is [out, in], or [in, out] with `transposed` (the Conv1D of GPT-2); bias is [out]."""

    weight: Parameter
    bias: Parameter

    def __init__(self, in_features: int, out_features: int, *, bias: bool = True, transposed: bool = False):
        self._native = natives.Linear(in_features, out_features, bias, transposed)


class Lora(_Of1):
    """A low-rank adaptation of a Linear (LoRA, Hu et al. 2021): base(x) + scale · lora_B(lora_A(x)).
    It shares the parameters of `base`. lora_A.weight is [rank, in], lora_B.weight [out, rank]; the scale is `alpha` /
    rank."""

    base_layer: Linear
    lora_A: Linear
    lora_B: Linear

    def __init__(self, base: Linear, rank: int, alpha: float):
        self._native = natives.Lora(base._native, rank, alpha)

    @property
    def scale(self) -> float:
        """The factor of the adaptation, which can be set; with 0 the base alone is appended."""
        return self._native.scale

    @scale.setter
    def scale(self, scale: float) -> None:
        self._native.scale = scale

    def merged_weight(self) -> Any:
        """Returns the base's weight with the adaptation added, of its type and layout, for an engine that is refitted.
        Raises `lathe.Error` E6001 (bad_argument) where one of the three weights is not bound."""
        return array_from_tensor(self._native.merged_weight())


class Embedding(_Of1):
    """Rows of weight [count, size] at indices of any shape and integer type; PyTorch's Embedding.
    The output is [..., size]."""

    weight: Parameter

    def __init__(self, count: int, size: int):
        self._native = natives.Embedding(count, size)


class LayerNorm(_Of1):
    """A layer normalization over the last axes, whose sizes are `shape`; PyTorch's LayerNorm.
    weight and bias have that shape."""

    weight: Parameter
    bias: Parameter

    def __init__(self, shape: Any, *, epsilon: float = 1e-5, bias: bool = True):
        self._native = natives.LayerNorm(ints(shape), epsilon, bias)


class RmsNorm(_Of1):
    """A root mean square normalization over the last axis: x / √(mean(x²) + epsilon) · weight.
    It is transformers' LlamaRMSNorm. weight is [size]; `plus_one` adds 1 to it, as Gemma does. Types narrower than
    float32 are computed in float32."""

    weight: Parameter

    def __init__(self, size: int, *, epsilon: float = 1e-6, plus_one: bool = False):
        self._native = natives.RmsNorm(size, epsilon, plus_one)


class GroupNorm(_Of1):
    """A group normalization of x [N, channels, spatial…], with at least one spatial axis; PyTorch's GroupNorm.
    weight and bias are [channels]."""

    weight: Parameter
    bias: Parameter

    def __init__(self, groups: int, channels: int, *, epsilon: float = 1e-5, affine: bool = True):
        self._native = natives.GroupNorm(groups, channels, epsilon, affine)


class BatchNorm(_Of1):
    """A batch normalization of x [N, channels, …] with the running statistics; PyTorch's BatchNorm in evaluation.
    weight, bias, running_mean and running_var are [channels]."""

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
    """A convolution of x [N, in, L], which gives [N, out, L']; PyTorch's Conv1d.
    weight is [out, in / groups, window], bias [out]. Lists have a number for every spatial axis, or one for all."""


class Conv2d(_Conv):
    """A convolution of x [N, in, H, W], which gives [N, out, H', W']; PyTorch's Conv2d.
    weight is [out, in / groups, h, w], bias [out]."""


class Conv3d(_Conv):
    """A convolution of x [N, in, D, H, W], which gives [N, out, D', H', W']; PyTorch's Conv3d.
    weight is [out, in / groups, d, h, w], bias [out]."""


class ConvTranspose2d(_Of1):
    """A transposed convolution of x [N, in, H, W], which gives [N, out, H', W']; PyTorch's ConvTranspose2d.
    weight is [in, out / groups, h, w], bias [out]."""

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
    """The maximum over windows of the spatial axes of x [N, C, spatial…]; PyTorch's MaxPool1d to MaxPool3d.
    The stride is the window where none is given. `round_up` rounds the output's sizes up."""


class AvgPool(_Pool):
    """The average over windows of the spatial axes of x [N, C, spatial…]; PyTorch's AvgPool1d to AvgPool3d.
    The stride is the window where none is given. `count_padding` divides by the window's size at the edges too."""


class GlobalAvgPool(_Of1):
    """The average of each channel of x [N, C, spatial…], with spatial axes of size 1."""

    def __init__(self) -> None:
        self._native = natives.GlobalAvgPool()


class Activation(_Of1):
    """An activation by the name that configurations of transformers have: "gelu", "gelu_new", "quick_gelu", "silu", …
    Raises `lathe.Error` E6001 (bad_argument), with similar names, for an unknown one."""

    def __init__(self, name: str):
        self._native = natives.Activation(name)


class Cast(_Of1):
    """A conversion of x to an element type."""

    def __init__(self, dtype: Any):
        self._native = natives.Cast(type_name(dtype))


class Mlp(_Of1):
    """Two linear layers with an activation between them: fc2(activation(fc1(x))).
    x and the output are [..., size], the inner tensor is [..., inner]."""

    fc1: Linear
    fc2: Linear

    def __init__(self, size: int, inner: int, *, activation: str = "gelu", bias: bool = True):
        self._native = natives.Mlp(size, inner, activation, bias)


class GatedMlp(_Of1):
    """A gated multilayer perceptron as Llama has it: down_proj(activation(gate_proj(x)) · up_proj(x)).
    x and the output are [..., size], the inner tensors are [..., inner]."""

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
    """A long short-term memory; PyTorch's LSTM.
    x is [length, batch, in], or [batch, length, in] with `batch_first`. Parameters are weight_ih_l0 [4 · hidden, in],
    weight_hh_l0 [4 · hidden, hidden], bias_ih_l0, bias_hh_l0 [4 · hidden], …_l0_reverse, …_l1, …"""

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None, cell: Optional[Tensor] = None) -> tuple[TensorRef, ...]:
        """Appends the layers and returns the output, the last states and the last cells.
        The output is [length, batch, directions · hidden], or batch first; states and cells, given and returned, are
        [layers · directions, batch, hidden], 0 by default."""
        return tuple(self._states(x, hidden, cell))


class Gru(_Recurrent):
    """A gated recurrent unit; PyTorch's GRU.
    x is [length, batch, in], or [batch, length, in] with `batch_first`. Parameters are those of `Lstm` with 3 · hidden
    rows."""

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None) -> tuple[TensorRef, ...]:
        """Appends the layers and returns the output and the last states, with the shapes of `Lstm.forward`."""
        return tuple(self._states(x, hidden, None)[:2])


def activate(module: Module, name: str, x: Tensor) -> TensorRef:
    """Appends an activation by the name that configurations of transformers have, as part of `module`.
    Raises `lathe.Error` E6001 (bad_argument), with similar names, for an unknown one."""
    return x._tensor()._network._tensor(natives.activate(module._native, name, ref(x)))


def _activation(name: str) -> Callable[[Tensor], TensorRef]:
    def function(x: Tensor) -> TensorRef:
        return activate(Module(), name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Appends the activation {name} of x, which it returns, as part of no module."
    return function


gelu = _activation("gelu")
relu = _activation("relu")
sigmoid = _activation("sigmoid")
silu = _activation("silu")
tanh = _activation("tanh")
