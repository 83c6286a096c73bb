"""Networks that choose and move elements, resize images, branch and repeat."""

import numpy as np

import lathe
from network_case import case, ints, one, rand

# Choosing

one("gather", lambda n, x: n.add_gather(x, [[3, 0], [1, 1]], axis=1), lambda x: x[:, [[3, 0], [1, 1]]])
one(
    "gather_elements",
    lambda n, x: n.add_gather(x, [[1, 0], [0, 0]], mode="elements", axis=1),
    lambda x: np.take_along_axis(x, ints([1, 0], [0, 0]), 1),
)
one("gather_nd", lambda n, x: n.add_gather(x, [[1, 5], [0, 2]], mode=lathe.GatherMode.nd), lambda x: x[[1, 0], [5, 2]])


def scattered(x):
    y = x.copy()
    y[0, 2] += 1
    y[1, 0] += 2
    return y


one("scatter", lambda n, x: n.add_scatter(x, [[2], [0]], [[1], [2]], axis=1, reduction="add"), scattered)
one(
    "scatter_nd",
    lambda n, x: n.add_scatter(x, [[1]], [[1, 2, 3, 4, 5, 6]], mode="nd"),
    lambda x: np.stack([x[0], np.arange(1, 7)]).astype(np.float32),
)
one(
    "one_hot",
    lambda n, x: n.add_one_hot(x, [-1, 1], 3),
    lambda x: (np.eye(3) * 2 - 1)[x].astype(np.float32),
    ints(2, 0, 1),
)
one(
    "non_zero",
    lambda n, x: n.add_non_zero(x),
    lambda x: np.stack(np.nonzero(x)),
    np.array([[0, 1], [2, 0]], np.float32),
)
case(
    "nms",
    {
        "boxes": np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]]], np.float32),
        "scores": np.array([[[0.9, 0.8, 0.7]]], np.float32),
    },
    lambda n, boxes, scores: n.add_nms(boxes, scores, 3, iou_threshold=0.5, score_threshold=0.1),
    lambda boxes, scores: (ints([0, 0, 0], [0, 0, 2]), np.array(2, np.int64)),
)

# Moving

S = rand(2, 3, 4)
one(
    "shuffle",
    lambda n, x: n.add_shuffle(
        x, first_transpose=(0, 2, 1), reshape=(0, lathe.inferred_size, 2), second_transpose=(2, 0, 1)
    ),
    lambda x: x.transpose(0, 2, 1).reshape(2, 6, 2).transpose(2, 0, 1),
    S,
)
case(
    "shuffle_tensor",
    {"x": rand(2, 6), "to": ints(3, -1)},
    lambda n, x, to: n.add_shuffle(x, reshape=to),
    lambda x, to: x.reshape(to),
)
one("transpose", lambda n, x: n.add_transpose(x, (1, 2, 0)), lambda x: x.transpose(1, 2, 0), S)
one(
    "reshape",
    lambda n, x: n.add_reshape(x, ("2*N", "S", 2)),
    lambda x: x.reshape(4, 3, 2),
    S,
    sizes={"x": ("N", "S", 4)},
)
one("slice", lambda n, x: n.add_slice(x, (1, 0), (2, 2), (-1, 2)), lambda x: x[::-1, :4:2])
one("slice_axes", lambda n, x: n.add_slice(x, [1], [3], axes=[1]), lambda x: x[:, 1:4])
one(
    "slice_fill",
    lambda n, x: n.add_slice(x, (-1, 0), (2, 7), mode="fill", fill_value=9),
    lambda x: np.pad(x[:1], ((1, 0), (0, 1)), constant_values=9),
)
case(
    "slice_tensors",
    {"x": rand(2, 6), "start": ints(1, 0)},
    lambda n, x, start: n.add_slice(x, start, [1, 3]),
    lambda x, start: x[1:, :3],
)
one(
    "padding",
    lambda n, x: n.add_padding(x, (1, -1), (0, 1), value=7),
    lambda x: np.pad(x[:, 1:], ((1, 0), (0, 1)), constant_values=7),
)
one(
    "padding_reflect",
    lambda n, x: n.add_padding(x, [2], [1], fill="reflect"),
    lambda x: np.pad(x, ((0, 0), (2, 1)), "reflect"),
)
one(
    "concatenation",
    lambda n, x: n.add_concatenation([x, np.ones((2, 1), np.float32), x], 1),
    lambda x: np.concatenate([x, np.ones((2, 1)), x], 1).astype(np.float32),
)
one("squeeze", lambda n, x: n.add_squeeze(x, (1, -1)), lambda x: x.squeeze((1, 3)), rand(2, 1, 3, 1))
one("unsqueeze", lambda n, x: n.add_unsqueeze(x, (0, 3)), lambda x: x[None, :, :, None])
one(
    "expand",
    lambda n, x: n.add_expand(x, (3, "N", 2)),
    lambda x: np.broadcast_to(x, (3, 4, 2)),
    rand(4, 1),
    sizes={"x": ("N", 1)},
)
one(
    "shape",
    lambda n, x: (n.add_shape(x), n.add_shape_of(("N*S + 1", 7))),
    lambda x: (ints(2, 3, 4), ints(7, 7)),
    S,
    sizes={"x": ("N", "S", 4)},
)
one(
    "resize",
    lambda n, x: (
        n.add_resize(x, scales=(1, 1, 2, 2)),
        n.add_resize(x, sizes=("N", 2, 6, 6), coordinates="asymmetric", rounding="floor"),
    ),
    lambda x: (x.repeat(2, 2).repeat(2, 3),) * 2,
    rand(1, 2, 3, 3),
    sizes={"x": ("N", 2, 3, 3)},
)
case(
    "grid_sample",
    {"x": rand(1, 2, 2, 2), "grid": np.array([[[[-1, -1], [1, -1], [0, 0]]]], np.float32)},
    lambda n, x, grid: n.add_grid_sample(x, grid, align_corners=True),
    lambda x, grid: np.stack([x[:, :, 0, 0], x[:, :, 0, 1], x.mean((2, 3))], -1)[:, :, None],
)
one(
    "reverse_sequence",
    lambda n, x: n.add_reverse_sequence(x, [2, 3], batch_axis=0, sequence_axis=1),
    lambda x: np.array([[2, 1, 3], [6, 5, 4]], np.float32),
    np.arange(1, 7, dtype=np.float32).reshape(2, 3),
)
one(
    "fill",
    lambda n, x: n.add_fill(("N", 3), "linspace", alpha=1, beta=(10, 0.5)),
    lambda x: np.array([[1, 1.5, 2], [11, 11.5, 12]], np.float32),
    sizes={"x": ("N", 6)},
)
one(
    "fill_tensor",
    lambda n, x: n.add_fill(x, "linspace", alpha=5, beta=[-2], type="int64"),
    lambda x: ints(5, 3, 1, -1),
    ints(4),
)

# Control

one("assertion", lambda n, x: n.add_assertion(x, x > -9, "all above -9"), lambda x: x)
for yes in (True, False):
    case(
        f"if_conditional_{yes}",
        {"x": rand(1, 2), "c": np.array(yes)},
        lambda n, x, c: n.add_if_conditional(c, lambda b: (x * 2, x), lambda b: ((m := b.add_unary(x, "neg")) - 2, m)),
        lambda x, c: (x * 2, x) if c else (-x - 2, -x),
    )


def count(n, x, trips):
    def body(loop):
        total = loop.add_recurrence(x)
        following = total + np.array([1, 10], np.float32)
        loop.set_next(total, following)
        loop.add_output(total)
        loop.add_output(following, "concatenate", 1)
        loop.add_output(loop.iteration, lathe.LoopOutput.reverse)

    return n.add_loop(body, trip_limit=trips, name="count")


case(
    "loop_count",
    {"x": np.array([0, 1], np.float32), "trips": np.array(3, np.int64)},
    count,
    lambda x, trips: (np.array([3, 31], np.float32), np.array([[1, 2, 3], [11, 21, 31]], np.float32), ints(2, 1, 0)),
)


def doubled(n, x):
    def body(loop):
        v = loop.add_recurrence(x)
        loop.set_next(v, v + v)
        loop.set_condition(v + v < 100)
        loop.add_output(v)

    return n.add_loop(body, initial_condition=True)


one("loop_while", doubled, lambda x: np.array(192, np.float32), np.array(3, np.float32))


def running(n, x):
    def body(loop):
        total = loop.add_recurrence(np.zeros(6, np.float32))
        following = total * 0.5 + loop.add_iterator(x) - loop.add_iterator(x, reverse=True)
        loop.set_next(total, following)
        loop.add_output(following, "concatenate")

    return n.add_loop(body)


one("loop_scan", running, lambda x: np.stack([x[0] - x[1], 0.5 * (x[0] - x[1]) + x[1] - x[0]]))


def nested(n, x):
    def outer(loop):
        v = loop.add_recurrence(x)

        def inner(deeper):
            w = deeper.add_recurrence(v)
            grown = w + deeper.network.add_cast(loop.iteration, "float32")
            chosen = deeper.network.add_if_conditional(
                grown > 5, lambda b: n.add_constant(5.0, dtype="float32"), lambda b: grown + x
            )
            deeper.set_next(w, chosen)
            deeper.add_output(w)

        loop.set_next(v, loop.network.add_loop(inner, trip_limit=2))
        loop.add_output(v)

    return n.add_loop(outer, trip_limit=2)


one("loop_nested", nested, lambda x: np.array(4.5, np.float32), np.array(0.5, np.float32))
one(
    "operator",
    lambda n, x: n.add_operator(
        "Split", [x, [2, 4]], attributes={"axis": 1}, output_names=["left", "right"], name="halves"
    ),
    lambda x: (x[:, :2], x[:, 2:]),
)
one(
    "operator_with_bodies",
    lambda n, x: n.add_operator("If", [True], bodies={"then_branch": lambda b: x * 3, "else_branch": lambda b: [x]}),
    lambda x: x * 3,
)

# Options that few models use

for reduction, ufunc in {"mul": np.multiply, "max": np.maximum, "min": np.minimum}.items():

    def scattered_by(x, ufunc=ufunc):
        y = x.copy()
        ufunc.at(y, (ints(0, 0, 1), ints(2, 2, 0)), np.array([1, 2, 3], np.float32))
        return y

    one(
        f"scatter_{reduction}",
        lambda n, x, r=reduction: n.add_scatter(x, [[0, 2], [0, 2], [1, 0]], [1, 2, 3], mode="nd", reduction=r),
        scattered_by,
    )
for fill in ("edge", "wrap"):
    one(f"padding_{fill}", lambda n, x, f=fill: n.add_padding(x, [2], [1], fill=f), lambda x, f=fill: np.pad(x, ((0, 0), (2, 1)), f))
case(
    "nms_center",
    {
        "boxes": np.array([[[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [5.5, 0.5, 1, 1]]], np.float32),
        "scores": np.array([[[0.9, 0.8, 0.7]]], np.float32),
    },
    lambda n, boxes, scores: n.add_nms(boxes, scores, 3, iou_threshold=0.5, box_format="center_size"),
    lambda boxes, scores: (ints([0, 0, 0], [0, 0, 2]), np.array(2, np.int64)),
)


def to_one_row(x):
    """Linear, with the first row where there is to be one."""
    at = (np.arange(7) + 0.5) * 5 / 7 - 0.5
    return np.stack([np.interp(at, np.arange(5), row) for row in x[:, 0, 0]])[:, None, None].astype(np.float32)


one(
    "resize_pytorch",
    lambda n, x: n.add_resize(x, sizes=(2, 1, 1, 7), mode="linear", coordinates="pytorch_half_pixel"),
    to_one_row,
    rand(2, 1, 4, 5),
)
for rounding, scale, rows in (("round_prefer_ceil", 2, [0, 1, 1, 2, 2, 3, 3, 3]), ("ceil", 1.5, [0, 1, 2, 2, 3, 3])):
    one(  # at 0, 1/2, 1, 3/2, …; at 0, 2/3, 4/3, 2, 8/3, 10/3
        f"resize_{rounding}",
        lambda n, x, r=rounding, s=scale: n.add_resize(x, scales=(1, s), coordinates="asymmetric", rounding=r),
        lambda x, at=rows: x[:, at],
        rand(2, 4),
    )
one(
    "resize_antialias",
    lambda n, x: n.add_resize(x, sizes=(1, 1, 2, 3), mode="linear", antialias=True, exclude_outside=True),
    lambda x: antialiased(antialiased(x, 2, 2), 3, 3),
    rand(1, 1, 5, 8),
)


def antialiased(x, axis, size):
    """Triangles as wide as the output's pixels."""
    length = x.shape[axis]
    scale = length / size
    centers = (np.arange(size) + 0.5) * scale - 0.5
    weights = np.maximum(0, 1 - np.abs(centers[:, None] - np.arange(length)) / scale)
    weights /= weights.sum(1, keepdims=True)
    return np.moveaxis(np.tensordot(weights, np.moveaxis(x, axis, 0), 1), 0, axis).astype(np.float32)
