"""Attention, rotary embeddings, masks and position biases are modules and functions."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from lathe._network.handles import TensorRef, type_name
from lathe.nn._layers import Linear
from lathe.nn._module import Module, Parameter, Tensor, natives, ref


class Rope(Module):
    """A rotary position embedding (RoFormer, Su et al. 2021), scaled as `rope_scaling` of transformers says.
    `options` have the names of `nn::RopeOptions`: theta, type, factor, max_positions, partial, …"""

    def __init__(self, head_size: int, **options: Any):
        self._native = natives.Rope(head_size, options)

    def angles(self, positions: Tensor) -> tuple[TensorRef, TensorRef]:
        """Returns cos and sin for positions, int64 [batch, length]; they are made once for all layers."""
        network = positions._tensor()._network
        cos, sin = self._native.angles(ref(positions))
        return network._tensor(cos), network._tensor(sin)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> TensorRef:
        """Appends x [batch, heads, length, head_size] rotated by the angles."""
        return self._call(x, ref(angles[0]), ref(angles[1]))


class Attention(Module):
    """Multi-head attention with the projections q_proj, k_proj, v_proj and out_proj.
    `groups` are heads of keys and values (1 is MQA, fewer than `heads` GQA, 0 is `heads`). `memory_size` is the size of
    what cross attention reads. `causal` and `window` mask where a call has no mask; `alibi` adds ALiBi's bias; `rope`
    are options of `Rope`; `softcap` bounds the scores. Sizes of 0 follow from `size` and `heads`."""

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
        """Appends attention of x [batch, length, size], and returns the output, the keys and the values.
        Keys and values are the `past` of the next call. `memory` is [batch, keys, memory_size]; `padding` is [batch,
        keys], nonzero for keys that count, past ones included; `mask` is added to the scores in place of all other
        masks; `positions` are int64 [batch, length]; `past` is a pair of [batch, groups, past, head_size]."""
        key, value = past if past is not None else (None, None)
        output, keys, values = self._call(x, *map(ref, (memory, padding, mask, positions, key, value)))
        return output, keys, values


def split_heads(module: Module, x: Tensor, heads: int) -> TensorRef:
    """Appends x [batch, length, heads · size] as [batch, heads, length, size]."""
    return x._tensor()._network._tensor(natives.split_heads(module._native, ref(x), heads))


def merge_heads(module: Module, x: Tensor) -> TensorRef:
    """Appends x [batch, heads, length, size] as [batch, length, heads · size]."""
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
    """Appends softmax(q · kᵀ · scale + mask) · v.
    q is [batch, heads, queries, size], k [batch, groups, keys, size], v [batch, groups, keys, size']; heads is a
    multiple of groups. `mask` is added to the scores; `scale` is 1 / √size by default; `softcap` bounds the scores, 0
    does not."""
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
    """Appends the mask that is added to scores: 0 where a key is seen, the lowest number of `dtype` where it is not.
    `queries` and `keys`, int64 [1], are their numbers; `padding` is [batch, keys], nonzero for keys that count.
    `window` limits how far back keys are seen, 0 does not. Returns [batch or 1, 1, queries or 1, keys], or None where
    nothing is masked."""
    native = natives.attention_mask(module._native, ref(padding), ref(queries), ref(keys), type_name(dtype), causal, window)
    return None if native is None else keys._tensor()._network._tensor(native)


def alibi_bias(
    module: Module, heads: int, keys: Tensor, *, queries: Optional[Tensor] = None, dtype: Any = "float32"
) -> TensorRef:
    """Appends ALiBi's position bias (Press et al. 2022), [1, heads, 1, keys].
    With `queries` it is [1, heads, queries, keys]. `keys` and `queries`, int64 [1], are their numbers."""
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
    """Appends T5's relative position bias (Raffel et al. 2020), [1, heads, queries, keys].
    weight is [buckets, heads]. `queries` and `keys`, int64 [1], are their numbers."""
    arguments = (ref(queries), ref(keys), buckets, max_distance, bidirectional)
    return keys._tensor()._network._tensor(natives.relative_bias(module._native, weight._native, *arguments))
