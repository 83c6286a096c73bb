"""Attention of com.microsoft in all its forms: ONNX Runtime's own answers over random problems."""

import ml_dtypes
import numpy as np
import pytest

import lathe
from microsoft import F16, F32, I8, I32, U8, answers, compare, model_of, real, sizes

CLOSE = {F32: 1e-3, F16: 2e-2}


@pytest.fixture(params=range(20))
def rng(request):
    return np.random.default_rng(request.param)


# ── MultiHeadAttention


class Heads:
    """Queries, keys and values of so many heads."""

    def __init__(self, rng, dtype=F32, past=True, cross=False):
        self.batch, self.queries, self.heads, self.size, self.v_size = sizes(rng, 5, 4)
        self.size = 4 * self.size
        # ONNX Runtime keeps caches of one size alone.
        self.v_size = self.size if past or cross else 4 * self.v_size
        self.keys = self.queries + int(rng.integers(0, 3)) if cross else self.queries
        self.past = int(rng.integers(0, 4)) if past else 0
        self.total = self.past + self.keys
        self.rng, self.dtype = rng, dtype
        self.q = self.real(self.batch, self.queries, self.heads * self.size)
        self.k = self.real(self.batch, self.keys, self.heads * self.size)
        self.v = self.real(self.batch, self.keys, self.heads * self.v_size)
        self.past_key = self.real(self.batch, self.heads, self.past, self.size)
        self.past_value = self.real(self.batch, self.heads, self.past, self.v_size)

    def real(self, *shape):
        return real(self.rng, *shape).astype(self.dtype)

    def bias(self):
        return self.real(self.heads * (2 * self.size + self.v_size))

    def scores_bias(self):
        b, h = (int(self.rng.choice([1, n])) for n in (self.batch, self.heads))
        return self.real(b, h, self.queries, self.total)

    def masks(self):
        rng = self.rng
        yield rng.integers(0, 2, (self.batch, self.total)).astype(I32)
        yield rng.integers(0, 2, (self.batch, self.queries, self.total)).astype(I32)
        yield rng.integers(1, self.total + 1, self.batch).astype(I32)

    def compare(self, inputs, attributes=None, **how):
        compare("MultiHeadAttention", inputs, {"num_heads": self.heads, **(attributes or {})}, tolerance=CLOSE[self.dtype], **how)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head(rng, dtype, unidirectional):
    h = Heads(rng, dtype, past=False)
    how = {"unidirectional": unidirectional}
    h.compare([h.q, h.k, h.v], how)
    h.compare([h.q, h.k, h.v], {**how, "scale": 0.3}, outputs=3)
    h.compare([h.q, h.k, h.v, h.bias()], how)
    h.compare([h.q, h.k, h.v, h.bias(), None, h.scores_bias()], how)


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("filter", [None, -3.4028234663852886e38, -5.0])
def test_multi_head_masks(rng, unidirectional, filter):
    how = {"unidirectional": unidirectional, **({} if filter is None else {"mask_filter_value": filter})}
    for past in (False, True):
        h = Heads(rng, past=past)
        pasts = [h.past_key, h.past_value] if h.past else []
        for mask in h.masks():
            h.compare([h.q, h.k, h.v, None, mask, None, *pasts], how, outputs=3 if pasts else 1)
            h.compare([h.q, h.k, h.v, h.bias(), mask, h.scores_bias(), *pasts], how, outputs=3 if pasts else 1)


def test_multi_head_of_packed_batches(rng):
    """Lengths of the keys, then where queries and keys of each sample begin."""
    h = Heads(rng, past=False)
    lengths = rng.integers(1, h.keys + 1, h.batch)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    h.compare([h.q, h.k, h.v, None, np.concatenate([lengths, starts, starts]).astype(I32)])


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_past(rng, unidirectional):
    h = Heads(rng)
    h.compare([h.q, h.k, h.v, None, None, None, h.past_key, h.past_value], {"unidirectional": unidirectional}, outputs=3)
    h.compare([h.q, h.k, h.v, h.bias(), None, h.scores_bias(), h.past_key, h.past_value], {"unidirectional": unidirectional}, outputs=3)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_buffers(rng, unidirectional):
    """Caches with room for more: as those that hold what is there alone."""
    h = Heads(rng)
    room = h.total + int(rng.integers(0, 3))
    key, value = (np.concatenate([p, h.real(h.batch, h.heads, room - h.past, p.shape[3])], axis=2) for p in (h.past_key, h.past_value))
    attributes = {"num_heads": h.heads, "unidirectional": unidirectional}
    y, keys, values = answers("MultiHeadAttention", [h.q, h.k, h.v, None, None, None, h.past_key, h.past_value], attributes, 3)
    want = [y, *(np.concatenate([new, old[:, :, h.total :]], axis=2) for new, old in ((keys, key), (values, value)))]
    h.compare([h.q, h.k, h.v, None, None, None, key, value, np.array([h.past], I32)], attributes, outputs=3, want=want)


def test_multi_head_cross(rng):
    h = Heads(rng, past=False, cross=True)
    k, v = (np.ascontiguousarray(x.reshape(h.batch, h.keys, h.heads, -1).transpose(0, 2, 1, 3)) for x in (h.k, h.v))
    h.compare([h.q, h.k, h.v, h.bias()])
    h.compare([h.q, k, v])
    h.compare([h.q, k, v, h.bias()])
    h.compare([h.q, k, v, None, rng.integers(0, 2, (h.batch, h.keys)).astype(I32)])


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_packed(rng, unidirectional):
    """ONNX Runtime's CPU provider takes them unpacked only."""
    h = Heads(rng, past=False)
    h.v_size, h.v = h.size, h.real(*h.k.shape)
    bias = h.bias()
    attributes = {"num_heads": h.heads, "unidirectional": unidirectional}
    want = answers("MultiHeadAttention", [h.q, h.k, h.v, bias], attributes)
    q, k, v = (x.reshape(h.batch, h.queries, h.heads, h.size) for x in (h.q, h.k, h.v))
    h.compare([np.stack([q, k, v], axis=3), None, None, bias], attributes, want=want)
    h.compare([h.q, np.stack([k, v], axis=3), None, bias], attributes, want=want)


def test_multi_head_scores(rng):
    h = Heads(rng, past=False)
    q, k = (x.reshape(h.batch, h.queries, h.heads, h.size).transpose(0, 2, 1, 3) for x in (h.q, h.k))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(h.size).astype(F32)
    later = np.arange(h.keys) > np.arange(h.queries)[:, None]
    for unidirectional in (0, 1):
        attributes = {"num_heads": h.heads, "unidirectional": unidirectional}
        want = answers("MultiHeadAttention", [h.q, h.k, h.v], attributes, 3)
        shown = np.where(later, np.finfo(F32).min, scores) if unidirectional else scores
        h.compare([h.q, h.k, h.v], attributes, outputs=4, want=[*want, shown.astype(F32)])


def test_multi_head_refuses():
    x = np.zeros((2, 3, 8), F32)
    cache = np.zeros((2, 2, 4, 4), F32)
    attributes = {"num_heads": 2}
    with pytest.raises(lathe.Error, match="MultiHeadAttention.*cache_indirection|cache_indirection.*MultiHeadAttention"):
        lathe.build(model_of("MultiHeadAttention", [x, x, x, None, None, None, cache, cache, np.zeros(1, I32), np.zeros((2, 1, 4), I32)], attributes, 1, ()))
    with pytest.raises(lathe.Error, match="key and value"):
        lathe.build(model_of("MultiHeadAttention", [x], attributes, 1, ()))
    with pytest.raises(lathe.Error, match="past keys"):
        lathe.build(model_of("MultiHeadAttention", [x, x, x, None, np.zeros((2, 3), I32), None, cache, cache], attributes, 1, ()))
    with pytest.raises(lathe.Error, match="lengths"):
        lathe.build(model_of("MultiHeadAttention", [x, x, x, None, np.zeros(5, I32)], attributes, 1, ()))


# ── Attention and QAttention


class Projection:
    def __init__(self, rng, dtype=F32, past=True):
        self.batch, self.seq, self.heads, self.size, width = sizes(rng, 5, 4)
        self.past = int(rng.integers(0, 4)) if past else 0
        self.total, self.hidden = self.past + self.seq, self.heads * self.size
        self.x = real(rng, self.batch, self.seq, width).astype(dtype)
        self.w = real(rng, width, 3 * self.hidden).astype(dtype)
        self.b = real(rng, 3 * self.hidden).astype(dtype)
        self.cache = real(rng, 2, self.batch, self.heads, self.past, self.size).astype(dtype)
        self.attributes = {"num_heads": self.heads}

    def masks(self, rng):
        yield None
        yield rng.integers(0, 2, (self.batch, self.total)).astype(I32)
        yield rng.integers(0, 2, (self.batch, self.seq, self.total)).astype(I32)
        ends = rng.integers(1, self.total + 1, self.batch)
        yield ends.astype(I32)
        yield np.concatenate([ends, rng.integers(0, ends)]).astype(I32)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("past", [False, True])
def test_attention(rng, dtype, unidirectional, past):
    p = Projection(rng, dtype, past)
    how = {**p.attributes, "unidirectional": unidirectional}
    cache = p.cache if past else None
    bias = real(rng, p.batch, p.heads, p.seq, p.total).astype(dtype)
    for mask in p.masks(rng):
        for more in ({}, {"scale": 0.4, "mask_filter_value": -3.4028234663852886e38 if dtype == F32 else -1000.0}):
            compare("Attention", [p.x, p.w, p.b, mask, cache], {**how, **more}, outputs=2, constant=(1, 2), tolerance=CLOSE[dtype])
    if not past:  # ONNX Runtime takes a bias or a past
        compare("Attention", [p.x, p.w, p.b, None, None, bias], how, outputs=2, tolerance=CLOSE[dtype])
        compare("Attention", [p.x, p.w, p.b, None, None, bias], how, tolerance=CLOSE[dtype])


def test_attention_with_values_of_another_width(rng):
    p = Projection(rng, past=False)
    widths = [p.hidden, p.hidden, p.heads * int(rng.integers(1, 5))]
    w, b = real(rng, p.x.shape[2], sum(widths)), real(rng, sum(widths))
    compare("Attention", [p.x, w, b], {**p.attributes, "qkv_hidden_sizes": widths}, constant=(1, 2), tolerance=1e-3)


def test_attention_with_a_mask_for_all_places(rng):
    """ONNX Runtime's CPU provider does not take masks of rank 4; it takes the part that these queries read."""
    p = Projection(rng)
    most = p.total + int(rng.integers(0, 3))
    mask = rng.integers(0, 2, (p.batch, 1, most, most)).astype(I32)
    read = np.ascontiguousarray(mask[:, 0, p.past : p.total, : p.total])
    want = answers("Attention", [p.x, p.w, p.b, read, p.cache], p.attributes, 2)
    compare("Attention", [p.x, p.w, p.b, mask, p.cache], p.attributes, outputs=2, want=want, tolerance=1e-3)


def test_attention_buffers(rng):
    p = Projection(rng)
    room = np.concatenate([p.cache, real(rng, 2, p.batch, p.heads, p.seq + 2, p.size)], axis=3)
    y, new = answers("Attention", [p.x, p.w, p.b, None, p.cache], p.attributes, 2)
    want = [y, np.concatenate([new, room[:, :, :, p.total :]], axis=3)]
    compare("Attention", [p.x, p.w, p.b, None, room, None, np.array(p.past, I32)], {**p.attributes, "past_present_share_buffer": 1}, outputs=2, want=want, tolerance=1e-3)


def test_attention_refuses():
    p = Projection(np.random.default_rng(0))
    for attributes, why in (({"do_rotary": 1}, "do_rotary"), ({"past_present_share_buffer": 1}, "past_sequence_length"), ({"qkv_hidden_sizes": [1, 2]}, "qkv_hidden_sizes")):
        with pytest.raises(lathe.Error, match=why) as e:
            lathe.build(model_of("Attention", [p.x, p.w, p.b, None, p.cache], {**p.attributes, **attributes}, 2, ()))
        assert e.value.code == "E2305" or "Attention" in str(e.value)


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("per_column", [False, True])
def test_quantized_attention(rng, dtype, per_column):
    p = Projection(rng)
    info = np.iinfo(dtype)
    x, w = rng.integers(0, 256, p.x.shape).astype(U8), rng.integers(info.min, info.max + 1, p.w.shape).astype(dtype)
    shape = (3 * p.hidden,) if per_column else ()
    scales = [rng.uniform(0.005, 0.02, s).astype(F32) for s in ((), shape)]
    zeros = [rng.integers(64, 192, ()).astype(U8), rng.integers(info.min // 2, info.max // 2, shape).astype(dtype)]
    mask = rng.integers(1, p.total + 1, p.batch).astype(I32)
    for unidirectional in (0, 1):
        how = {**p.attributes, "unidirectional": unidirectional}
        compare("QAttention", [x, w, p.b, *scales, mask, *zeros, p.cache], how, outputs=2, constant=(1, 2, 3, 4, 6, 7), tolerance=2e-3)
        if not per_column:
            compare("QAttention", [x, w, p.b, *scales], how, constant=(1, 2, 3, 4), tolerance=2e-3)


# ── GroupQueryAttention


class Groups:
    """New rows behind caches whose samples have lengths of their own. `prompt`: nothing is in the cache."""

    def __init__(self, rng, dtype=F32, prompt=False, cache=True, spare=0):
        self.batch, self.kv_heads = sizes(rng, 2, 3)
        self.heads = self.kv_heads * int(rng.integers(1, 4))
        self.size = 16 * int(rng.integers(1, 3))
        self.rng, self.dtype = rng, dtype
        self.new = int(rng.integers(2, 6)) if prompt else 1
        self.prompt = prompt
        # How long samples are with the new rows; a prompt of other samples is padded behind.
        self.lengths = rng.integers(1, self.new + 1, self.batch) if prompt else rng.integers(2, 9, self.batch)
        if prompt:
            self.lengths[rng.integers(self.batch)] = self.new
        self.total = int(self.lengths.max())
        self.q = self.real(self.batch, self.new, self.heads * self.size)
        self.k, self.v = (self.real(self.batch, self.new, self.kv_heads * self.size) for _ in range(2))
        # Without spare rows the cache is one row shorter than what it becomes.
        rows = max(self.total - self.new + spare, 0)
        self.past = [self.real(self.batch, self.kv_heads, rows, self.size) for _ in range(2)] if cache else [None, None]
        self.attributes = {"num_heads": self.heads, "kv_num_heads": self.kv_heads}

    def real(self, *shape):
        return real(self.rng, *shape).astype(self.dtype)

    def inputs(self, *more, packed=False):
        heads = [np.concatenate([self.q, self.k, self.v], axis=2), None, None] if packed else [self.q, self.k, self.v]
        return [*heads, *self.past, (self.lengths - 1).astype(I32), np.array(self.total, I32), *more]

    def bias(self):
        b, h = (int(self.rng.choice([1, n])) for n in (self.batch, self.heads))
        return self.real(b, h, self.new, self.total)

    def tables(self):
        half = self.size // 2
        return [self.real(32, half), self.real(32, half)]

    def specified(self, i, v):
        """Rows of padding mean nothing, in the output and in the caches."""
        ends = np.minimum(self.lengths, self.new) if self.prompt else np.full(self.batch, self.new)
        kept = zip(v, ends if i in (0, 3) else self.lengths)
        return np.concatenate([(x[:n] if i == 0 else x[:, :n]).ravel() for x, n in kept])

    def compare(self, inputs, more=None, outputs=3, **how):
        compare("GroupQueryAttention", inputs, {**self.attributes, **(more or {})}, outputs=outputs, specified=self.specified, tolerance=CLOSE[self.dtype], **how)


FORMS = [
    pytest.param({"prompt": True, "cache": False}, id="prompt"),
    pytest.param({"prompt": True, "spare": 8}, id="prompt-into-a-cache"),
    pytest.param({}, id="next"),
    pytest.param({"spare": 4}, id="next-into-a-buffer"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_group_query(rng, form, dtype):
    g = Groups(rng, dtype, **form)
    g.compare(g.inputs())
    g.compare(g.inputs(packed=True), {"scale": 0.3})
    g.compare(g.inputs(), {"softcap": 2.0})
    g.compare(g.inputs(), {"local_window_size": int(rng.integers(1, 5))})
    g.compare(g.inputs(None, None, None, g.bias()))
    g.compare(g.inputs(None, None, None, g.bias()), {"local_window_size": 2})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_group_query_smooth(rng, form, dtype):
    g = Groups(rng, dtype, **form)
    g.compare(g.inputs(), {"smooth_softmax": 1})
    g.compare(g.inputs(None, None, None, None, g.real(g.heads)))
    g.compare(g.inputs(None, None, None, g.bias(), g.real(g.heads)), {"local_window_size": 3, "softcap": 3.0})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_group_query_rotary(rng, form, interleaved, dtype):
    g = Groups(rng, dtype, **form)
    how = {"do_rotary": 1, "rotary_interleaved": interleaved}
    g.compare(g.inputs(*g.tables()), how)
    g.compare(g.inputs(*g.tables(), packed=True), how, constant=(7, 8))
    positions = rng.integers(0, 32 - g.new, (g.batch, g.new)).astype(np.int64)
    g.compare(g.inputs(*g.tables(), positions), how)
    if g.size == 32:
        half = [np.ascontiguousarray(t[:, :8]) for t in g.tables()]
        g.compare(g.inputs(*half), how)


@pytest.mark.parametrize("form", FORMS)
def test_group_query_probabilities(rng, form):
    g = Groups(rng, **form)

    def specified(i, v):
        if i != 3:
            return g.specified(i, v)
        ends = np.minimum(g.lengths, g.new)
        return np.concatenate([x[:, :n, :m].ravel() for x, n, m in zip(v, ends, g.lengths)])

    compare("GroupQueryAttention", g.inputs(), {**g.attributes, "qk_output": 2}, outputs=4, specified=specified, tolerance=1e-3)


def test_group_query_more_than_one_row_behind_a_cache(rng):
    """Only for one sample in ONNX Runtime."""
    g = Groups(rng, cache=False)
    g.batch, g.new, past = 1, int(rng.integers(2, 5)), int(rng.integers(1, 5))
    g.lengths, g.total = np.array([past + g.new]), past + g.new
    g.q = g.real(1, g.new, g.heads * g.size)
    g.k, g.v = (g.real(1, g.new, g.kv_heads * g.size) for _ in range(2))
    for spare in (0, 3):
        g.past = [g.real(1, g.kv_heads, past + spare * g.new, g.size) for _ in range(2)]
        g.compare(g.inputs())
        g.compare(g.inputs(*g.tables()), {"do_rotary": 1, "local_window_size": 3})
        positions = rng.integers(0, 32, (1, g.new)).astype(np.int64)
        g.compare(g.inputs(*g.tables(), positions), {"do_rotary": 1})


@pytest.mark.parametrize("form", FORMS)
def test_group_query_both_ways(rng, form):
    g = Groups(rng, **form)
    g.compare(g.inputs(), {"causal": 0})
    g.compare(g.inputs(None, None, None, g.bias()), {"causal": 0})


def test_group_query_norms(rng):
    """ONNX Runtime's CPU provider does not normalize queries and keys."""
    g = Groups(rng, prompt=True, cache=False)
    weights = [real(rng, g.size) for _ in range(2)]

    def normed(v, weight):
        each = v.reshape(*v.shape[:2], -1, g.size)
        return (each / np.sqrt((each**2).mean(-1, keepdims=True) + 1e-5) * weight).reshape(v.shape).astype(F32)

    inputs = g.inputs()
    want = answers("GroupQueryAttention", [normed(g.q, weights[0]), normed(g.k, weights[1]), *inputs[2:]], g.attributes, 3)
    g.compare(g.inputs(*[None] * 7, *weights), {"qk_norm_epsilon": 1e-5}, want=want)


def test_group_query_in_bfloat16(rng):
    """Within what rounding to eight bits makes of it."""
    g = Groups(rng)
    want = answers("GroupQueryAttention", g.inputs(), g.attributes, 3)
    narrow = [v if v is None or v.dtype == I32 else v.astype(ml_dtypes.bfloat16) for v in g.inputs()]
    model = model_of("GroupQueryAttention", narrow, g.attributes, 3, ())
    feed = {f"x{i}": v for i, v in enumerate(narrow) if v is not None}
    for i, (got, w) in enumerate(zip(lathe.build(model).run(feed).values(), want)):
        assert got.dtype == ml_dtypes.bfloat16
        np.testing.assert_allclose(g.specified(i, got.astype(F32)), g.specified(i, w), rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize(
    "change, attributes, why",
    [
        ({}, {"sliding_window_cache": 1, "local_window_size": 4}, "sliding_window_cache"),
        ({}, {"k_quant_type": "PER_TENSOR"}, "k_quant_type"),
        ({3: np.int8, 4: np.int8}, {}, "query's type"),
        ({}, {"do_rotary": 1}, "cos_cache"),
        ({4: None}, {}, "together"),
        ({1: None, 2: None}, {}, "packed query"),
        ({}, {"qk_output": 1}, "qk_output"),
        ({}, {"qk_output": 2, "smooth_softmax": 1}, "smooth"),
    ],
)
def test_group_query_refuses(change, attributes, why):
    g = Groups(np.random.default_rng(3))
    g.q = g.q[:, :, :1] if 1 in change else g.q
    inputs = g.inputs()
    for i, to in change.items():
        inputs[i] = None if to is None else inputs[i].astype(to)
    with pytest.raises(lathe.Error, match=why):
        lathe.build(model_of("GroupQueryAttention", inputs, {**g.attributes, **attributes}, 4, ()))


@pytest.mark.parametrize("form", FORMS)
def test_group_query_of_free_sizes(rng, form):
    g = Groups(rng, **form)
    g.compare(g.inputs(*g.tables(), None, g.bias(), g.real(g.heads)), {"do_rotary": 1}, constant=(7, 8), free=True)
    g.compare(g.inputs(packed=True), {"local_window_size": 2}, free=True)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_heads_of_free_sizes(rng, unidirectional):
    h, p = Heads(rng), Projection(rng)
    for mask in h.masks():
        h.compare([h.q, h.k, h.v, h.bias(), mask, None, h.past_key, h.past_value], {"unidirectional": unidirectional}, outputs=3, free=True)
    for mask in list(p.masks(rng))[:4]:
        compare("Attention", [p.x, p.w, p.b, mask, p.cache], {**p.attributes, "unidirectional": unidirectional}, outputs=2, constant=(1, 2), tolerance=1e-3, free=True)


def test_starts_of_an_unknown_batch_are_refused_when_it_runs():
    p = Projection(np.random.default_rng(0), past=False)
    mask = np.ones(2 * p.batch, I32)
    with pytest.raises(lathe.Error, match="attn_mask that broadcasts"):
        compare("Attention", [p.x, p.w, p.b, mask], p.attributes, free=True)


@pytest.mark.parametrize("op, attribute", [("MultiHeadAttention", "num_heads"), ("Attention", "num_heads"), ("GroupQueryAttention", "num_heads"), ("GroupQueryAttention", "kv_num_heads")])
@pytest.mark.parametrize("heads", [0, -1, 1 << 62])
def test_heads_that_are_none(op, attribute, heads):
    g, p = Groups(np.random.default_rng(0)), Projection(np.random.default_rng(0))
    inputs = {"MultiHeadAttention": [g.q, g.q, g.q], "Attention": [p.x, p.w, p.b], "GroupQueryAttention": g.inputs(packed=True)}[op]
    attributes = {"num_heads": 1, **({"kv_num_heads": 1} if op[0] == "G" else {}), attribute: heads}
    with pytest.raises(lathe.Error, match=f"{attribute} of at least 1"):
        lathe.build(model_of(op, inputs, attributes, 1, ()))


# ── What needs a loop or experts


@pytest.mark.parametrize("op", ["MoE", "QMoE", "BeamSearch", "GreedySearch"])
def test_refused_by_name(op):
    x = np.zeros((2, 3), F32)
    with pytest.raises(lathe.Error, match=op) as e:
        lathe.build(model_of(op, [x, x], {}, 1, ()))
    assert "com.microsoft" in str(e.value)
