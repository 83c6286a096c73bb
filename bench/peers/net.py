"""Builds the models of the comparison: a graph, layer by layer."""

from __future__ import annotations

import math
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

from files import inferred

OPSET = 17
IR_VERSION = 8
FLOAT = onnx.TensorProto.FLOAT


class Net:
    """Writes one graph, layer by layer. `width` remembers the channels of an image or sequence (its axis 1)."""

    def __init__(self, name: str):
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.outputs: list[str] = []
        self.width: dict[str, int] = {}
        self._constants: dict[tuple, str] = {}

    # -- values

    def input(self, name: str, value: np.ndarray) -> str:
        """Adds an input of this value's shape and type, which gets the value in runs."""
        self.feeds[name] = value
        if value.ndim > 1:
            self.width[name] = value.shape[1]
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return self.random.standard_normal(shape, np.float32) * np.float32(scale)

    def image(self, *shape: int) -> str:
        return self.input("image", self.normal(*shape))

    def tokens(self, name: str, count: int, vocabulary: int) -> str:
        return self.input(name, self.random.integers(0, vocabulary, (1, count)))

    def initializer(self, array: np.ndarray) -> str:
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int, scale: float) -> str:
        return self.initializer(self.normal(*shape, scale=scale))

    def constant(self, value, dtype=np.int64) -> str:
        """A small constant; equal ones are written once."""
        array = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.initializer(array)
        return self._constants[key]

    def number(self, value: float) -> str:
        return self.constant(value, np.float32)

    def output(self, *values: str) -> None:
        self.outputs += values

    # -- operators

    def ops(self, count: int, kind: str, *inputs: str, **attributes) -> list[str]:
        names = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"{kind}_{len(self.nodes)}", **attributes))
        for name in names:
            if inputs and inputs[0] in self.width:
                self.width[name] = self.width[inputs[0]]
        return names

    def op(self, kind: str, *inputs: str, **attributes) -> str:
        return self.ops(1, kind, *inputs, **attributes)[0]

    def chain(self, x: str, *kinds: str) -> str:
        for kind in kinds:
            x = self.op(kind, x)
        return x

    def concat(self, *values: str, axis: int = 1) -> str:
        y = self.op("Concat", *values, axis=axis)
        if axis == 1 and all(v in self.width for v in values):
            self.width[y] = sum(self.width[v] for v in values)
        return y

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.constant(shape))

    def transpose(self, x: str, *perm: int) -> str:
        return self.op("Transpose", x, perm=perm)

    # -- layers

    def conv(self, x: str, filters: int, kernel: int, stride: int = 1, *, pad: int | None = None, groups: int = 1,
             gain: float = 2.0, act: str = "", dims: int = 2, bias: bool = True) -> str:  # fmt: skip
        """A convolution with batch normalization folded into it, as exporters leave it. A gain of 2 keeps the variance
        through ReLU."""
        depth = self.width[x] // groups
        w = self.weight(filters, depth, *[kernel] * dims, scale=math.sqrt(gain / (depth * kernel**dims)))
        b = [self.weight(filters, scale=0.05)] if bias else []
        pad = kernel // 2 if pad is None else pad
        y = self.op("Conv", x, w, *b, kernel_shape=[kernel] * dims, strides=[stride] * dims, pads=[pad] * 2 * dims,
                    dilations=[1] * dims, group=groups)  # fmt: skip
        self.width[y] = filters
        return self.act(y, act)

    def act(self, x: str, kind: str) -> str:
        match kind:
            case "":
                return x
            case "relu6":
                return self.op("Clip", x, self.number(0), self.number(6))
            case "silu":
                return self.op("Mul", x, self.op("Sigmoid", x))
            case "gelu":
                e = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2))))
                return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.number(1))), self.number(0.5))
            case "gelu_tanh":
                cube = self.op("Mul", self.op("Pow", x, self.number(3)), self.number(0.044715))
                t = self.op("Tanh", self.op("Mul", self.op("Add", x, cube), self.number(math.sqrt(2 / math.pi))))
                return self.op("Mul", self.op("Mul", x, self.number(0.5)), self.op("Add", t, self.number(1)))
            case _:
                return self.op(kind, x)

    def batch_norm(self, x: str) -> str:
        c = self.width[x]
        scale, variance = (np.abs(self.normal(c, scale=0.1)) + 0.9 for _ in range(2))
        shift, mean = self.weight(c, scale=0.1), self.weight(c, scale=0.1)
        return self.op("BatchNormalization", x, self.initializer(scale), shift, mean, self.initializer(variance))

    def pool(self, x: str, kind: str, kernel: int, stride: int, pad: int = 0) -> str:
        return self.op(kind, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def gemm(self, x: str, outputs: int, inputs: int) -> str:
        """PyTorch's Linear on a matrix."""
        w = self.weight(outputs, inputs, scale=math.sqrt(1 / inputs))
        return self.op("Gemm", x, w, self.weight(outputs, scale=0.05), transB=1)

    def linear(self, x: str, inputs: int, outputs: int, *, bias: bool = True, scale: float = 0.02) -> str:
        """PyTorch's Linear on a sequence."""
        y = self.op("MatMul", x, self.weight(inputs, outputs, scale=scale))
        return self.op("Add", self.weight(outputs, scale=0.02), y) if bias else y

    def classifier(self, x: str, classes: int = 1000) -> str:
        return self.gemm(self.op("Flatten", self.op("GlobalAveragePool", x)), classes, self.width[x])

    def layer_norm(self, x: str, size: int, epsilon: float = 1e-12) -> str:
        scale = self.initializer(self.normal(size, scale=0.02) + 1)
        return self.op("LayerNormalization", x, scale, self.weight(size, scale=0.02), axis=-1, epsilon=epsilon)

    def rms_norm(self, x: str, size: int) -> str:
        mean = self.op("ReduceMean", self.op("Pow", x, self.number(2)), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.number(1e-6)))
        normal = self.op("Mul", x, self.op("Div", self.number(1), root))
        return self.op("Mul", self.initializer(self.normal(size, scale=0.02) + 1), normal)

    def split_heads(self, x: str, length: int, heads: int, size: int, perm=(0, 2, 1, 3)) -> str:
        return self.transpose(self.reshape(x, 1, length, heads, size), *perm)

    def merge_heads(self, x: str, length: int, hidden: int) -> str:
        return self.reshape(self.transpose(x, 0, 2, 1, 3), 1, length, hidden)

    def positions(self, x: str, length: int, size: int) -> str:
        """Returns learned embeddings of the positions of a sequence, for one like x."""
        return self.weight(1, length, size, scale=0.02)

    # -- the file

    def model(self) -> onnx.ModelProto:
        value = helper.make_tensor_value_info
        inputs = [value(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in self.feeds.items()]
        graph = helper.make_graph(self.nodes, self.name, inputs, [], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        known = {v.name: v for v in inferred(model).graph.value_info}
        model.graph.output.extend(known[name] for name in self.outputs)
        return model
