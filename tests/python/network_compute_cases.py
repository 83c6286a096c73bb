"""Networks that calculate: windows, elements, norms, products and reductions, few bits, attention."""

import math

import numpy as np

import lathe
from network_case import case, ints, one, rand, softmax, windows

erf = np.vectorize(math.erf)

# Convolutions and windows

K = rand(6, 2, 3, 3, seed=1)


def conv(x):
    groups = [
        np.einsum(
            "nchwij,ocij->nohw",
            windows(x[:, 2 * g : 2 * g + 2], (3, 3), (2, 1), ((1, 1), (0, 1))),
            K[3 * g : 3 * g + 3],
        )
        for g in range(2)
    ]
    return np.concatenate(groups, 1) + rand(6, seed=2).reshape(6, 1, 1)


one(
    "convolution",
    lambda n, x: n.add_convolution(
        x, K, rand(6, seed=2), stride=(2, 1), pre_padding=(1, 0), post_padding=(1, 1), groups=2, name="conv"
    ),
    conv,
    rand(2, 4, 7, 6),
    sizes={"x": ("N", 4, 7, 6)},
)


def deconv(x):
    k, y = rand(2, 3, 2, 2, seed=1), np.zeros((1, 3, 6, 6), np.float32)
    for i in range(3):
        for j in range(3):
            y[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += np.einsum("nc,cohw->nohw", x[:, :, i, j], k)
    return y


one(
    "deconvolution",
    lambda n, x: n.add_deconvolution(x, rand(2, 3, 2, 2, seed=1), stride=(2, 2)),
    deconv,
    rand(1, 2, 3, 3),
)
one(
    "fully_connected",
    lambda n, x: n.add_fully_connected(x, rand(4, 6, seed=1), rand(4, seed=2)),
    lambda x: x.reshape(2, 6) @ rand(4, 6, seed=1).T + rand(4, seed=2),
    rand(2, 2, 3),
)
P = rand(2, 3, 5, 5)
one(
    "pooling_max",
    lambda n, x: n.add_pooling(x, "max", window=(2, 3), stride=(2, 2)),
    lambda x: windows(x, (2, 3), (2, 2)).max((4, 5)),
    P,
)
one(
    "pooling_average",
    lambda n, x: n.add_pooling(
        x, lathe.PoolingType.average, window=(2, 2), pre_padding=(1, 1), average_count_excludes_padding=False
    ),
    lambda x: windows(x, (2, 2), (1, 1), ((1, 0), (1, 0))).mean((4, 5)),
    P,
)
one("pooling_global", lambda n, x: n.add_pooling(x, "average"), lambda x: x.mean((2, 3), keepdims=True), P)
one(
    "pooling_blend",
    lambda n, x: n.add_pooling(x, "max_average_blend", window=(2, 2), blend_factor=0.25),
    lambda x: 0.75 * windows(x, (2, 2), (1, 1)).max((4, 5)) + 0.25 * windows(x, (2, 2), (1, 1)).mean((4, 5)),
    P,
)


def lrn(x):
    squares = np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    return x / (2 + 0.1 / 3 * sum(squares[:, i : i + 5] for i in range(3))) ** 0.5


one("lrn", lambda n, x: n.add_lrn(x, window=3, alpha=0.1, beta=0.5, k=2), lrn, rand(2, 5, 3, 2))

# Element by element

SELU = 1.6732632423543772, 1.0507009873554805
for name, options, reference in [
    ("relu", {}, lambda x: np.maximum(x, 0)),
    ("sigmoid", {}, lambda x: 1 / (1 + np.exp(-x))),
    ("tanh", {}, np.tanh),
    ("leaky_relu", {"alpha": 0.2}, lambda x: np.where(x < 0, 0.2 * x, x)),
    ("elu", {"alpha": 0.5}, lambda x: np.where(x < 0, 0.5 * np.expm1(x), x)),
    ("selu", {}, lambda x: SELU[1] * np.where(x < 0, SELU[0] * np.expm1(x), x)),
    ("softsign", {}, lambda x: x / (1 + abs(x))),
    ("softplus", {"alpha": 2, "beta": 3}, lambda x: 2 * np.log1p(np.exp(3 * x))),
    ("clip", {"alpha": -0.5, "beta": 0.25}, lambda x: np.clip(x, -0.5, 0.25)),
    ("hard_sigmoid", {"alpha": 0.3, "beta": 0.4}, lambda x: np.clip(0.3 * x + 0.4, 0, 1)),
    ("scaled_tanh", {"alpha": 1.5, "beta": 0.5}, lambda x: 1.5 * np.tanh(0.5 * x)),
    ("thresholded_relu", {"alpha": 0.3}, lambda x: np.where(x > 0.3, x, 0)),
    ("gelu_erf", {}, lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2)))),
    ("gelu_tanh", {}, lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
]:
    one(f"activation_{name}", lambda n, x, t=name, o=options: n.add_activation(x, t, **o), reference)

for name, reference, x in [
    *((f, getattr(np, f), rand(7)) for f in "exp abs sin cos sinh cosh ceil floor sign".split()),
    *((f, getattr(np, f), abs(rand(7)) + 0.1) for f in "log sqrt".split()),
    ("tan", np.tan, rand(7) / 2),
    ("neg", np.negative, rand(7)),
    ("recip", np.reciprocal, rand(7)),
    ("asin", np.arcsin, rand(7) / 2.5),
    ("acos", np.arccos, rand(7) / 2.5),
    ("atan", np.arctan, rand(7)),
    ("asinh", np.arcsinh, rand(7)),
    ("acosh", np.arccosh, abs(rand(7)) + 1.1),
    ("atanh", np.arctanh, rand(7) / 2.5),
    ("erf", erf, rand(7)),
    ("round", np.round, np.array([-1.5, -0.5, 0.5, 1.5, 2.4], np.float32)),
    ("logical_not", np.logical_not, np.array([True, False])),
    ("isinf", np.isinf, np.array([1, np.inf, -np.inf, np.nan], np.float32)),
    ("isnan", np.isnan, np.array([1, np.inf, np.nan], np.float32)),
]:
    one(f"unary_{name}", lambda n, x, t=name: n.add_unary(x, t), reference, x)

for name, reference in {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "sub": np.subtract, "div": np.divide,
    "floor_div": np.floor_divide, "equal": np.equal, "greater": np.greater, "less": np.less,
}.items():  # fmt: skip
    case(
        f"elementwise_{name}",
        {"a": rand(2, 1, 4), "b": rand(3, 1, seed=5)},
        lambda n, a, b, t=name: n.add_elementwise(a, b, t),
        lambda a, b, f=reference: f(a, b),
        sizes={"a": ("N", 1, 4)},
    )
for name in ("logical_and", "logical_or", "logical_xor"):
    case(
        f"elementwise_{name}",
        {"a": np.array([False, False, True, True]), "b": np.array([False, True, False, True])},
        lambda n, a, b, t=name: n.add_elementwise(a, b, t),
        lambda a, b, f=getattr(np, name): f(a, b),
    )
one("elementwise_pow", lambda n, x: n.add_elementwise(abs(x), 1.5, "pow"), lambda x: abs(x) ** 1.5)
one("elementwise_floor_div_int", lambda n, x: x // 3, lambda x: x // 3, ints(7, -7, 6, -6, -1))
one(
    "operators",
    lambda n, x: ((2 * x - 1) / (x**2 + 3), -x @ np.ones((6, 2), np.float32), (x > 0) & ~(x < 1) | (x < -1) ^ (x > 9)),
    lambda x: ((2 * x - 1) / (x**2 + 3), -x @ np.ones((6, 2), np.float32), (x > 0) & ~(x < 1) | (x < -1) ^ (x > 9)),
)
one(
    "operators_of_arrays",
    lambda n, x: (
        np.ones((2, 6), np.float32) + x,
        np.ones((3, 2), np.float32) @ x,
        1 // (x * x + 1),
        2**x,
        1 / (x * x + 1),
    ),
    lambda x: (1 + x, np.ones((3, 2), np.float32) @ x, 1 // (x * x + 1), 2**x, 1 / (x * x + 1)),
)
one(
    "scale",
    lambda n, x: n.add_scale(x, scale=[2, 3], shift=[1, -1], power=2),
    lambda x: (x * ints(2, 3).reshape(2, 1) + ints(1, -1).reshape(2, 1)) ** 2,
    abs(rand(2, 2, 3)).astype(np.float32),
)
one(
    "parametric_relu",
    lambda n, x: n.add_parametric_relu(x, [[0.5], [2.0]]),
    lambda x: np.where(x < 0, x * [[0.5], [2]], x),
)
case(
    "select",
    {"c": np.array([True, False, True]), "a": rand(3)},
    lambda n, c, a: n.add_select(c, a, -1.0),
    lambda c, a: np.where(c, a, -1),
)
one("identity", lambda n, x: n.add_identity(x), lambda x: x)
one(
    "cast",
    lambda n, x: (n.add_cast(x, np.int32), n.add_cast(x, "float64")),
    lambda x: (x.astype(np.int32), x.astype(np.float64)),
)

# Norms

G, B = rand(4, seed=3), rand(4, seed=4)


def norm(x, axes, shape, epsilon=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon) * G.reshape(
        shape
    ) + B.reshape(shape)


one(
    "normalization_layer",
    lambda n, x: n.add_normalization(x, G, B, "layer", epsilon=1e-3),
    lambda x: norm(x, -1, (4,), 1e-3),
    rand(2, 3, 4),
    sizes={"x": ("N", "S", 4)},
)
one(
    "normalization_rms",
    lambda n, x: n.add_normalization(x, G, None, "rms"),
    lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * G,
    rand(2, 4),
)
one(
    "normalization_instance",
    lambda n, x: n.add_normalization(x, G, B, "instance"),
    lambda x: norm(x, (2, 3), (4, 1, 1)),
    rand(2, 4, 3, 3),
)
one(
    "normalization_group",
    lambda n, x: n.add_normalization(x, G, B, lathe.NormalizationType.group, groups=2),
    lambda x: ((g := x.reshape(2, 2, 6)) - g.mean(2, keepdims=True))
    .__truediv__(np.sqrt(g.var(2, keepdims=True) + 1e-5))
    .reshape(2, 4, 3)
    * G.reshape(4, 1)
    + B.reshape(4, 1),
    rand(2, 4, 3),
)
one("softmax", lambda n, x: n.add_softmax(x, axis=1), lambda x: softmax(x, 1), rand(2, 4, 3))
one(
    "ragged_softmax",
    lambda n, x: n.add_ragged_softmax(x, np.array([[2], [3], [0]], np.int32)),
    lambda x: np.stack([np.r_[softmax(x[0, :2]), 0], softmax(x[1]), np.zeros(3)]).astype(np.float32),
    rand(3, 3),
)

# Products and reductions

case(
    "matrix_multiply",
    {"a": rand(2, 4, 3), "b": rand(2, 5, 4, seed=1)},
    lambda n, a, b: n.add_matrix_multiply(a, b, op0="transpose", op1=lathe.MatrixOperation.transpose),
    lambda a, b: a.transpose(0, 2, 1) @ b.transpose(0, 2, 1),
    sizes={"a": ("N", 4, 3), "b": ("N", 5, 4)},
)
case(
    "einsum",
    {"a": rand(2, 3, 4), "b": rand(2, 4, 5, seed=1)},
    lambda n, a, b: n.add_einsum([a, b], "bij,bjk->bki"),
    lambda a, b: np.einsum("bij,bjk->bki", a, b),
)
for name, reference in {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "avg": np.mean,
    "l1": lambda x, a, keepdims: abs(x).sum(a, keepdims=keepdims),
    "l2": lambda x, a, keepdims: np.sqrt((x**2).sum(a, keepdims=keepdims)),
    "log_sum": lambda x, a, keepdims: np.log(x.sum(a, keepdims=keepdims)),
    "log_sum_exp": lambda x, a, keepdims: np.log(np.exp(x).sum(a, keepdims=keepdims)),
    "sum_square": lambda x, a, keepdims: (x**2).sum(a, keepdims=keepdims),
}.items():  # fmt: skip
    one(
        f"reduce_{name}",
        lambda n, x, t=name: (
            n.add_reduce(x, t, (0, 2)),
            n.add_reduce(x, t, 1, keep_dimensions=True),
            n.add_reduce(x, t),
        ),
        lambda x, f=reference: (f(x, (0, 2), keepdims=False), f(x, 1, keepdims=True), f(x, None, keepdims=False)),
        abs(rand(2, 3, 4)),
    )
one(
    "topk",
    lambda n, x: [*n.add_topk(x, "max", 2, index_type="int32"), n.add_topk(x, "min", [3], axis=1)],
    lambda x: (np.sort(x)[:, ::-1][:, :2], np.argsort(-x)[:, :2].astype(np.int32), np.sort(x)[:, :3]),
)
one(
    "cumulative_sum",
    lambda n, x: n.add_cumulative(x, "sum", 1, exclusive=True, reverse=True),
    lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1] - x,
)
one("cumulative_prod", lambda n, x: n.add_cumulative(x, "prod", 0), lambda x: np.cumprod(x, 0), peer=False)

# Few bits

one(
    "quantize",
    lambda n, x: (q := n.add_quantize(x, 0.02, 128, type="uint8"), n.add_dequantize(q, 0.02, 128)),
    lambda x: (
        q := np.clip(np.round(x / np.float32(0.02)) + 128, 0, 255).astype(np.uint8),
        (q.astype(np.float32) - 128) * np.float32(0.02),
    ),
)
one(
    "dynamic_quantize",
    lambda n, x: (
        q := n.add_dynamic_quantize(x, axis=1, block_size=2, type="int8"),
        n.add_dequantize(q, q.outputs[1], axis=1, block_size=2),
    ),
    lambda x: (np.array([[127, -1, 0, 0], [127, 1, -127, 1]], np.int8), x),
    np.array([[127, -1, 0, 0], [254, 2, -63.5, 0.5]], np.float32),
)

# Attention


def attention(q, k, v):
    scores = q @ k.swapaxes(2, 3) / np.sqrt(np.float32(8))
    return softmax(np.where(np.tri(3, dtype=bool), scores, -np.inf)) @ v


case(
    "attention",
    {"q": rand(2, 2, 3, 8), "k": rand(2, 2, 3, 8, seed=1), "v": rand(2, 2, 3, 8, seed=2)},
    lambda n, q, k, v: n.add_attention(q, k, v, causal=True),
    attention,
    sizes={name: ("N", 2, "S", 8) for name in "qkv"},
)


def rotated(x, cos, sin, at):
    c, s = cos[at][:, None], sin[at][:, None]
    a, b = x[..., :2], x[..., 2:]
    return np.concatenate([a * c - b * s, a * s + b * c], -1)


case(
    "rotary_embedding",
    {"x": rand(2, 2, 3, 4), "cos": rand(8, 2, seed=1), "sin": rand(8, 2, seed=2), "at": ints([0, 1, 2], [3, 4, 5])},
    lambda n, x, cos, sin, at: n.add_rotary_embedding(x, cos, sin, positions=at),
    rotated,
)
for mode, want in {"linear": [[10, 20, 3, 4], [5, 6, 30, 40]], "ring": [[10, 20, 3, 4], [40, 6, 7, 30]]}.items():
    case(
        f"kv_cache_update_{mode}",
        {
            "cache": np.arange(1, 9, dtype=np.float32).reshape(2, 1, 4, 1),
            "update": np.arange(10, 50, 10).astype(np.float32).reshape(2, 1, 2, 1),
            "at": ints(0, 3 if mode == "ring" else 2),
        },
        lambda n, cache, update, at, m=mode: n.add_kv_cache_update(cache, update, at, mode=m),
        lambda cache, update, at, w=want: np.array(w, np.float32).reshape(2, 1, 4, 1),
        peer=False,
    )

# Options that few models use


def same_lower(x):
    # 9 columns by steps of 2 are 5: (5 - 1) * 2 + 4 - 9 = 3 more, of which the larger half is in front.
    return np.einsum("nchwij,ocij->nohw", windows(x, (4, 3), (2, 1), ((2, 1), (1, 1))), rand(3, 2, 4, 3, seed=1))


one(
    "convolution_same_lower",
    lambda n, x: n.add_convolution(x, rand(3, 2, 4, 3, seed=1), stride=(2, 1), padding_mode="same_lower"),
    same_lower,
    rand(1, 2, 9, 8),
)


def within(allowed):
    def attended(q, k, v, *_):
        scores = q @ k.swapaxes(2, 3) / np.sqrt(np.float32(8))
        return softmax(np.where(allowed(q.shape[0]), scores, -np.inf)) @ v

    return attended


QKV = {"q": rand(2, 2, 6, 8), "k": rand(2, 2, 6, 8, seed=1), "v": rand(2, 2, 6, 8, seed=2)}
FROM, TO = np.arange(6)[:, None], np.arange(6)[None]
case(
    "attention_windows",
    QKV,
    lambda n, q, k, v: n.add_attention(q, k, v, left_window=2, right_window=1),
    within(lambda batch: (TO >= FROM - 2) & (TO <= FROM + 1)),
    peer=False,
)
case(
    "attention_lengths",
    {**QKV, "lengths": ints(6, 2)},
    lambda n, q, k, v, lengths: n.add_attention(q, k, v, lengths=lengths),
    within(lambda batch: TO < ints(6, 2)[:, None, None, None]),
)
case(
    "rotary_embedding_part",
    {"x": rand(2, 3, 12), "cos": rand(2, 3, 1, seed=1), "sin": rand(2, 3, 1, seed=2)},
    lambda n, x, cos, sin: n.add_rotary_embedding(x, cos, sin, rotary_size=2, heads=3),
    lambda x, cos, sin: rotated_part(x.reshape(2, 3, 3, 4), cos[:, :, None], sin[:, :, None]).reshape(2, 3, 12),
)


def rotated_part(x, c, s):
    a, b = x[..., :1], x[..., 1:2]
    return np.concatenate([a * c - b * s, a * s + b * c, x[..., 2:]], -1)
