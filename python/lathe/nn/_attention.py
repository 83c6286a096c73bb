"""Attention, rotary embeddings, masks and biases."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from lathe._network.handles import TensorRef, type_name
from lathe.nn._layers import Linear
from lathe.nn._module import Module, Parameter, Tensor, natives, ref


class Rope(Module):
    """Rotary embedding. `options` have the names of `nn::RopeOptions`: theta, type, factor, max_positions, partial, …"""

    def __init__(self, head_size: int, **options: Any):
        self._native = natives.Rope(head_size, options)

    def angles(self, positions: Tensor) -> tuple[TensorRef, TensorRef]:
        """cos and sin for int64 [batch, length]; made once for all layers."""
        network = positions._tensor()._network
        cos, sin = self._native.angles(ref(positions))
        return network._tensor(cos), network._tensor(sin)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> TensorRef:
        """x [batch, heads, length, head_size] turned."""
        return self._call(x, ref(angles[0]), ref(angles[1]))


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
        self._native = natives.Attention(size, heads, options)

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
        output, keys, values = self._call(x, *map(ref, (memory, padding, mask, positions, key, value)))
        return output, keys, values


def split_heads(module: Module, x: Tensor, heads: int) -> TensorRef:
    """x [batch, length, heads · size] → [batch, heads, length, size]."""
    return x._tensor()._network._tensor(natives.split_heads(module._native, ref(x), heads))


def merge_heads(module: Module, x: Tensor) -> TensorRef:
    """And back."""
    return x._tensor()._network._tensor(natives.merge_heads(module._native, ref(x)))


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
    native = natives.attend(module._native, ref(q), ref(k), ref(v), ref(mask), scale, softcap)
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
    native = natives.attention_mask(module._native, ref(padding), ref(queries), ref(keys), type_name(dtype), causal, window)
    return None if native is None else keys._tensor()._network._tensor(native)


def alibi_bias(
    module: Module, heads: int, keys: Tensor, *, queries: Optional[Tensor] = None, dtype: Any = "float32"
) -> TensorRef:
    """ALiBi's bias of position [1, heads, queries or 1, keys]."""
    native = natives.alibi_bias(module._native, heads, ref(keys), type_name(dtype), ref(queries))
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
    arguments = (ref(queries), ref(keys), buckets, max_distance, bidirectional)
    return keys._tensor()._network._tensor(natives.relative_bias(module._native, weight._native, *arguments))
