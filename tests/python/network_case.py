"""A network built by hand in Python, and what NumPy says of it: how cases are written down, and what they have in common."""

import numpy as np

import lathe

CASES = []


def rand(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


class Case:
    """`build(n, **tensors)` returns what becomes the outputs y0, y1, …; `reference(**arrays)` the same from NumPy.
    `sizes`: the symbolic shapes of inputs, where they are not those of the arrays."""

    def __init__(self, name, inputs, build, reference, sizes=None, peer=True):
        self.name, self.inputs, self.build, self.reference = name, inputs, build, reference
        self.sizes, self.peer = sizes or {}, peer

    def network(self):
        n = lathe.Network(self.name)
        tensors = {
            name: n.add_input(name, array.dtype, self.sizes.get(name, array.shape))
            for name, array in self.inputs.items()
        }
        made = self.build(n, **tensors)
        for i, t in enumerate(made if isinstance(made, (tuple, list, lathe.Layer)) else [made]):
            n.mark_output(t, f"y{i}")
        return n

    def expected(self):
        made = self.reference(*self.inputs.values())
        return made if isinstance(made, (tuple, list)) else [made]

    def __repr__(self):
        return self.name


def case(name, inputs, build, reference, **more):
    CASES.append(Case(name, inputs, build, reference, **more))


def one(name, build, reference, x=None, **more):
    case(name, {"x": rand(2, 6) if x is None else x}, build, reference, **more)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def windows(x, size, stride, pads=((0, 0), (0, 0)), fill=0.0):
    """[N, C, out…, window…]"""
    x = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, size, axis=(2, 3))
    return views[:, :, :: stride[0], :: stride[1]]
