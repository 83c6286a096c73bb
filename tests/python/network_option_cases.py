"""Networks with options that few models use, and families at other ranks."""

import numpy as np

from network_case import case, ints, one, rand, windows

# Windows


def deconvolution(x, k, stride=(1, 1), dilation=(1, 1), groups=1):
    """Without pads: what each element of x adds to all that it reaches."""
    reach = [s * (n - 1) + d * (w - 1) + 1 for s, n, d, w in zip(stride, x.shape[2:], dilation, k.shape[2:])]
    y = np.zeros((x.shape[0], k.shape[1] * groups, *reach), np.float32)
    of_x, of_y = x.shape[1] // groups, k.shape[1]
    for g in range(groups):
        part, kernel = x[:, g * of_x : (g + 1) * of_x], k[g * of_x : (g + 1) * of_x]
        for i, j in np.ndindex(*x.shape[2:]):
            rows = slice(stride[0] * i, stride[0] * i + dilation[0] * (k.shape[2] - 1) + 1, dilation[0])
            columns = slice(stride[1] * j, stride[1] * j + dilation[1] * (k.shape[3] - 1) + 1, dilation[1])
            y[:, g * of_y : (g + 1) * of_y, rows, columns] += np.einsum("nc,cohw->nohw", part[:, :, i, j], kernel)
    return y


K = rand(4, 3, 2, 3, seed=1)
one(
    "deconvolution_groups_dilated",
    lambda n, x: n.add_deconvolution(x, K, dilation=(2, 1), groups=2),
    lambda x: deconvolution(x, K, dilation=(2, 1), groups=2),
    rand(2, 4, 3, 4),
)
for mode, rows in {"same_upper": slice(0, 8), "same_lower": slice(1, 9), "valid": slice(0, 9)}.items():
    # 4 rows by steps of 2 reach 9, and are to be 8; 3 columns by steps of 1 reach 6, and are to be 3.
    columns = {"same_upper": slice(1, 4), "same_lower": slice(2, 5), "valid": slice(0, 6)}[mode]
    one(
        f"deconvolution_{mode}",
        lambda n, x, m=mode: n.add_deconvolution(x, rand(2, 3, 3, 4, seed=1), stride=(2, 1), padding_mode=m),
        lambda x, r=rows, c=columns: deconvolution(x, rand(2, 3, 3, 4, seed=1), (2, 1))[:, :, r, c],
        rand(1, 2, 4, 3),
    )
one(
    "pooling_dilated",
    lambda n, x: n.add_pooling(x, "max", window=(2, 2), dilation=(3, 1)),
    lambda x: windows(x, (4, 2), (1, 1))[..., ::3, :].max((4, 5)),
    rand(1, 2, 6, 4),
)
for mode, pads in {"same_upper": ((1, 1), (0, 0)), "same_lower": ((1, 1), (0, 0)), "valid": ((0, 0), (0, 0))}.items():
    # 7 rows by steps of 2 are 4: (4 - 1) * 2 + 3 - 7 = 2 more; 6 columns are 3, as they are.
    one(
        f"pooling_{mode}",
        lambda n, x, m=mode: n.add_pooling(x, "max", window=(3, 2), stride=(2, 2), padding_mode=m),
        lambda x, p=pads: windows(x, (3, 2), (2, 2), p, fill=-np.inf).max((4, 5)),
        rand(2, 2, 7, 6),
    )
for mode, front in {"same_upper": 0, "same_lower": 1}.items():
    # An odd one: 6 rows by steps of 2 are 3: (3 - 1) * 2 + 3 - 6 = 1 more; averages leave it out.
    one(
        f"pooling_average_{mode}",
        lambda n, x, m=mode: n.add_pooling(x, "average", window=(3, 1), stride=(2, 1), padding_mode=m),
        lambda x, f=front: np.nanmean(windows(x, (3, 1), (2, 1), ((f, 1 - f), (0, 0)), fill=np.nan), (4, 5)),
        rand(1, 2, 6, 3),
    )

# Axes other than the usual ones

one(
    "fully_connected_axis",
    lambda n, x: n.add_fully_connected(x, rand(4, 3, seed=1), rand(4, seed=2), axis=2),
    lambda x: x.reshape(4, 3) @ rand(4, 3, seed=1).T + rand(4, seed=2),
    rand(2, 2, 3),
)
one(
    "scale_axis",
    lambda n, x: n.add_scale(x, scale=[2.0, 3.0], shift=[0.0, -1.0], axis=2),
    lambda x: x * np.float32([2, 3]) + np.float32([0, -1]),
    rand(1, 3, 2),
)
one(
    "normalization_axis",
    lambda n, x: (
        n.add_normalization(x, rand(3, 4, seed=1), rand(3, 4, seed=2), "layer", axis=1),
        n.add_normalization(x, rand(3, 4, seed=1), None, "rms", axis=1),
    ),
    lambda x: (
        (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5) * rand(3, 4, seed=1)
        + rand(3, 4, seed=2),
        x / np.sqrt((x**2).mean((1, 2), keepdims=True) + 1e-5) * rand(3, 4, seed=1),
    ),
    rand(2, 3, 4),
)
one(
    "one_hot_axis",
    lambda n, x: n.add_one_hot(x, [0, 5], 3, axis=0),
    lambda x: (np.eye(3) * 5)[x].T.astype(np.float32),
    ints(2, 0, 1, 1),
)
one(
    "quantize_rows",
    lambda n, x: (
        q := n.add_quantize(x, [0.5, 2.0], np.array([1, -1], np.int8), axis=0),
        n.add_dequantize(q, [0.5, 2.0], np.array([1, -1], np.int8), axis=0),
    ),
    lambda x: (np.array([[3, -3], [2, 127]], np.int8), np.array([[1, -2], [6, 256]], np.float32)),
    np.array([[1, -2], [6, 1000]], np.float32),
)
case(
    "kv_cache_update_from_the_start",
    {"cache": np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1), "update": np.full((1, 2, 1), 9, np.float32)},
    lambda n, cache, update: n.add_kv_cache_update(cache, update, axis=1),
    lambda cache, update: np.concatenate([update, cache[:, 2:]], 1),
    peer=False,
)

# Products, and what lies beyond a slice

case(
    "matrix_multiply_matrix_vector",
    {"a": rand(2, 4, 3), "b": rand(3, seed=1)},
    lambda n, a, b: n.add_matrix_multiply(a, b, op1="vector"),
    lambda a, b: a @ b,
)
one("einsum_diagonal", lambda n, x: n.add_einsum([x], "...ii->...i"), lambda x: np.einsum("...ii->...i", x), rand(2, 3, 3))
for mode, how in {"wrap": "wrap", "clamp": "edge", "reflect": "reflect"}.items():
    one(
        f"slice_{mode}",
        lambda n, x, m=mode: n.add_slice(x, (0, -2), (2, 9), mode=m),
        lambda x, h=how: np.pad(x, ((0, 0), (2, 1)), h),
    )
one(
    "resize_volume",
    lambda n, x: n.add_resize(x, scales=(1, 1, 2, 1, 3)),
    lambda x: x.repeat(2, 2).repeat(3, 4),
    rand(1, 2, 2, 3, 2),
)
