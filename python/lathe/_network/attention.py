"""These calls append attention and what belongs to it."""

from __future__ import annotations

from typing import Any, Optional

from lathe import _lathe
from lathe._network.handles import Calls, Layer, TensorLike, member


class AttentionCalls(Calls):
    """The calls of a `Network` for attention, rotary embeddings and KV caches."""

    def add_attention(
        self,
        query: TensorLike,
        key: TensorLike,
        value: TensorLike,
        *,
        mask: Optional[TensorLike] = None,
        past_key: Optional[TensorLike] = None,
        past_value: Optional[TensorLike] = None,
        lengths: Optional[TensorLike] = None,
        causal: bool = False,
        query_heads: int = 0,
        key_heads: int = 0,
        scale: Optional[float] = None,
        softcap: float = 0,
        left_window: int = -1,
        right_window: int = -1,
        name: str = "",
    ) -> Layer:
        """Appends softmax(query · keyᵀ · scale + mask) · value; TensorRT's addAttention, ONNX Attention.
        Inputs are [batch, heads, length, size], or [batch, length, heads · size] with both numbers of heads given.
        `mask` is added to the scores (floats), or true where attention is allowed (bool). `past_key` and `past_value`
        add the outputs present_key and present_value. `lengths`, int64 [batch], counts the keys that are not padding.
        `scale` is 1 / √size by default; `softcap` bounds the scores, 0 does not. The windows are how many keys are seen
        to either side; -1 is all."""
        o = self._options(
            _lathe.AttentionOptions,
            name,
            mask=self._ref(mask, query),
            past_key=self._ref(past_key, key),
            past_value=self._ref(past_value, value),
            lengths=self._ref(lengths),
            causal=causal,
            query_heads=query_heads,
            key_heads=key_heads,
            scale=scale,
            softcap=softcap,
            left_window=left_window,
            right_window=right_window,
        )
        operands = self._ref(query), self._ref(key, query), self._ref(value, query)
        return self._layer(self._native.add_attention(*operands, o))

    def add_rotary_embedding(
        self,
        x: TensorLike,
        cos: TensorLike,
        sin: TensorLike,
        *,
        positions: Optional[TensorLike] = None,
        interleaved: bool = False,
        rotary_size: int = 0,
        heads: int = 0,
        name: str = "",
    ) -> Layer:
        """Appends a rotary position embedding of x; TensorRT's addRotaryEmbedding, ONNX RotaryEmbedding.
        `cos` and `sin` are [positions, size / 2] with `positions`, int64 [batch, length], or [batch, length, size / 2]
        without. `interleaved` rotates neighboring elements as pairs, instead of elements half a head apart.
        `rotary_size` elements of a head are rotated, 0 rotates all; `heads` is needed for x of [batch, length, heads ·
        size]."""
        o = self._options(
            _lathe.RotaryEmbeddingOptions,
            name,
            positions=self._ref(positions),
            interleaved=interleaved,
            rotary_size=rotary_size,
            heads=heads,
        )
        operands = self._ref(x), self._ref(cos, x), self._ref(sin, x)
        return self._layer(self._native.add_rotary_embedding(*operands, o))

    def add_kv_cache_update(
        self,
        cache: TensorLike,
        update: TensorLike,
        positions: Optional[TensorLike] = None,
        *,
        mode: Any = "linear",
        axis: int = -2,
        name: str = "",
    ) -> Layer:
        """Appends the KV cache with `update` written into it; TensorRT's addKVCacheUpdate, ONNX TensorScatter.
        `positions`, int64 [batch], is where writing starts, 0 by default, along `axis`. `mode` is a KvCacheMode:
        writing beyond a linear cache is an error of the run."""
        o = self._options(_lathe.KvCacheOptions, name, mode=member(_lathe.KvCacheMode, mode), axis=axis)
        operands = self._ref(cache), self._ref(update, cache), self._ref(positions)
        return self._layer(self._native.add_kv_cache_update(*operands, o))
