"""Operators of com.microsoft, which become the standard's when they are read: ONNX Runtime's own answers over random problems."""

import itertools
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest

import lathe
from microsoft import F16, F32, I8, I32, U8, compare, model_of, real, sizes
from support import built_tool


@pytest.fixture(params=range(20))
def rng(request):
    return np.random.default_rng(request.param)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_activations(rng, dtype):
    s = sizes(rng, 3)
    x, bias = real(rng, *s).astype(dtype), real(rng, s[-1]).astype(dtype)
    close = {"tolerance": 5e-3 if dtype == F16 else 1e-4}
    compare("Gelu", [x], **close)
    compare("QuickGelu", [x], **close)
    compare("QuickGelu", [x], {"alpha": 0.7}, **close)
    compare("FastGelu", [x], **close)
    compare("FastGelu", [x, bias], tolerance=5e-3 if dtype == F16 else 1e-3)
    compare("BiasGelu", [x, bias], **close)


@pytest.mark.parametrize("batches", list(itertools.product((0, 1), repeat=2)))
def test_fused_matmul(rng, batches):
    """transBatchA and transBatchB: the axes of batches lie behind the first one of the matrix."""
    b, m, k, n = sizes(rng, 4)
    for ta in (0, 1):
        for tb in (0, 1):
            a = real(rng, b, *((k, m) if ta else (m, k)))
            w = real(rng, b, *((n, k) if tb else (k, n)))
            a, w = (np.ascontiguousarray(v.transpose(1, 0, 2)) if behind else v for v, behind in zip((a, w), batches))
            attributes = {"transA": ta, "transB": tb, "transBatchA": batches[0], "transBatchB": batches[1], "alpha": float(rng.uniform(0.1, 2))}
            compare("FusedMatMul", [a, w], attributes)


@pytest.mark.parametrize("activation", [{"activation": "Relu"}, {"activation": "Tanh"}, {"activation": "LeakyRelu", "activation_alpha": 0.2}])
def test_fused_gemm(rng, activation):
    m, k, n = sizes(rng, 3)
    compare("FusedGemm", [real(rng, m, k), real(rng, n, k), real(rng, n)], {"transB": 1, "alpha": 0.5, "beta": 2.0, **activation})


@pytest.mark.parametrize("activation", [("Relu", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.5]), ("Sigmoid", []), ("Tanh", []), ("HardSigmoid", [0.2, 0.4])])
def test_fused_conv(rng, activation):
    c, m = sizes(rng, 2)
    x, w, b = real(rng, 1, c, 6, 6), real(rng, m, c, 3, 3), real(rng, m)
    attributes = {"activation": activation[0], "kernel_shape": [3, 3], "pads": [1, 1, 1, 1], **({"activation_params": activation[1]} if activation[1] else {})}
    compare("FusedConv", [x, w, b], attributes)
    if activation[0] == "Relu":
        compare("FusedConv", [x, w, b, real(rng, 1, m, 6, 6)], attributes)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_norms(rng, dtype):
    b, n, h = sizes(rng, 3)
    x, skip = (real(rng, b, n, h + 2).astype(dtype) for _ in range(2))
    gamma, beta, bias = (real(rng, h + 2).astype(dtype) for _ in range(3))
    close = {"tolerance": 1e-2 if dtype == F16 else 1e-3}
    compare("SkipLayerNormalization", [x, skip, gamma, beta, bias], {"epsilon": 1e-5}, **close)
    compare("SkipLayerNormalization", [x, skip, gamma], {"epsilon": 1e-5}, **close)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma], {"epsilon": 1e-5}, **close)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], {"epsilon": 1e-5}, **close)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("axis", [-1, 1, 2])
@pytest.mark.parametrize("outputs", [1, 2])
def test_simplified_layer_norm(rng, axis, dtype, outputs):
    """ONNX Runtime writes it into the standard's own domain."""
    shape = [size + 1 for size in sizes(rng, 3)]
    x, gamma = real(rng, *shape).astype(dtype), real(rng, *shape[axis:]).astype(dtype)
    compare("SimplifiedLayerNormalization", [x, gamma], {"axis": axis, "epsilon": 1e-5}, outputs=outputs, tolerance=1e-2 if dtype == F16 else 1e-4, domain="")


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_sum_of_skip_and_input(op):
    """The fourth output, the second and third left out."""
    x, skip, gamma = (np.random.default_rng(i).normal(size=s).astype(F32) for i, s in enumerate([(1, 2, 3), (1, 2, 3), (3,)]))
    model = onnx.load_model_from_string(model_of(op, [x, skip, gamma], {}, 4, ()))
    model.graph.node[0].output[1] = model.graph.node[0].output[2] = ""
    del model.graph.output[1:3]
    out = lathe.build(model.SerializeToString()).run({"x0": x, "x1": skip, "x2": gamma})
    np.testing.assert_allclose(out["y3"], x + skip, rtol=1e-6)
    assert not np.allclose(out["y0"], out["y3"])


def test_statistics_of_norms(rng):
    """ONNX Runtime's CPU provider leaves them as they are: memory that nobody wrote."""
    b, n, h = sizes(rng, 3)
    x, skip, gamma = real(rng, b, n, h + 2), real(rng, b, n, h + 2), real(rng, h + 2)
    total = x + skip
    mean = total.mean(-1, keepdims=True)
    deviation = 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-5)
    root = 1 / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5)
    compare("SkipLayerNormalization", [x, skip, gamma], {"epsilon": 1e-5}, outputs=4, want=[(total - mean) * deviation * gamma, mean, deviation, total], tolerance=1e-3)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma], {"epsilon": 1e-5}, outputs=4, want=[total * root * gamma, mean, root, total], tolerance=1e-3)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("with_positions", [False, True])
def test_embed_layer_norm(rng, dtype, with_mask, with_positions):
    b, n, h = sizes(rng, 3)
    words, segments = (rng.integers(0, 7, (b, n)).astype(np.int32) for _ in range(2))
    tables = [real(rng, k, h + 3).astype(dtype) for k in (7, n + 2, 7)]
    norms = [real(rng, h + 3).astype(dtype) for _ in range(2)]
    positions = rng.integers(0, n + 2, (b, n)).astype(np.int32) if with_positions else None
    mask = (np.arange(n) < rng.integers(0, n + 1, (b, 1))).astype(np.int32) if with_mask else None
    close = {"tolerance": 2e-2 if dtype == F16 else 1e-3, "outputs": 3}
    compare("EmbedLayerNormalization", [words, segments, *tables, *norms, mask, positions], {"epsilon": 1e-5}, **close)
    compare("EmbedLayerNormalization", [words, None, *tables[:2], None, *norms, mask, positions], {"epsilon": 1e-5}, **close)


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm(rng, channels_last, activation):
    n, groups, size, height, width = sizes(rng, 5)
    x, gamma, beta = real(rng, n, groups * size, height, width + 1), real(rng, groups * size), real(rng, groups * size)
    each = x.reshape(n, groups, -1)
    each = (each - each.mean(-1, keepdims=True)) / np.sqrt(each.var(-1, keepdims=True) + 1e-5)
    want = each.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    want = want / (1 + np.exp(-want)) if activation else want
    if channels_last:
        x, want = (np.ascontiguousarray(v.transpose(0, 2, 3, 1)) for v in (x, want))
    compare("GroupNorm", [x, gamma, beta], {"activation": activation, "channels_last": channels_last, "groups": groups, "epsilon": 1e-5}, want=[want], tolerance=1e-3)


def test_bias_add(rng):
    b, n, c = sizes(rng, 3)
    x, bias, skip = real(rng, b, n, c), real(rng, c), real(rng, b, n, c)
    for dtype in (F32, F16):
        x, bias, skip = (v.astype(dtype) for v in (x, bias, skip))
        compare("BiasAdd", [x, bias, skip], want=[x + bias + skip], tolerance=1e-2 if dtype == F16 else 1e-6)


def test_nhwc_conv(rng):
    n, c, m = sizes(rng, 3)
    x, w, b = real(rng, n, c, 7, 6), real(rng, m, c, 3, 2), real(rng, m)
    attributes = {"pads": [int(v) for v in rng.integers(0, 2, 4)], "strides": [int(v) for v in rng.integers(1, 3, 2)]}
    node = oh.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    infos = [oh.make_tensor_value_info(name, 1, v.shape) for name, v in (("x", x), ("w", w), ("b", b))]
    model = oh.make_model(oh.make_graph([node], "g", infos, [oh.make_tensor_value_info("y", 1, None)]), opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
    (want,) = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x, "w": w, "b": b})
    compare("NhwcConv", [np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w, b], attributes, want=[want.transpose(0, 2, 3, 1)], tolerance=1e-3)


def test_rotary_embedding(rng):
    b, heads, length, half = sizes(rng, 4, 4)
    tables = [rng.uniform(-1, 1, (16, half)).astype(F32) for _ in range(2)]
    positions = rng.integers(0, 16, (b, length)).astype(np.int64)
    for interleaved in (0, 1):
        compare("RotaryEmbedding", [real(rng, b, length, heads * 2 * half), positions, *tables], {"interleaved": interleaved})
        compare("RotaryEmbedding", [real(rng, b, heads, length, 2 * half), np.array([3], np.int64), *tables], {"interleaved": interleaved})


def scale(rng):
    return np.asarray(rng.uniform(0.01, 0.1), F32)


def numbers(rng, dtype, *shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_quantized_pairs(rng, op, dtype):
    s = sizes(rng, 3)
    compare(op, [numbers(rng, dtype, *s), scale(rng), numbers(rng, dtype), numbers(rng, dtype, s[-1]), scale(rng), numbers(rng, dtype), scale(rng) * 5, numbers(rng, dtype)], constant=(1, 2, 4, 5, 6, 7), steps=1)  # fmt: skip


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("op, attributes", [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1}), ("QLinearSoftmax", {"axis": -1, "opset": 13}),
                                            ("QLinearAveragePool", {"kernel_shape": [2, 2]}), ("QLinearGlobalAveragePool", {})])  # fmt: skip
def test_quantized_functions(rng, op, attributes, dtype):
    s = (1, *sizes(rng, 1), 5, 6)
    compare(op, [numbers(rng, dtype, *s), scale(rng), numbers(rng, dtype), np.asarray(1 / 256, F32) if op in ("QLinearSigmoid", "QLinearSoftmax") else scale(rng), numbers(rng, dtype)], attributes, constant=(1, 2, 3, 4), steps=1)  # fmt: skip


@pytest.mark.parametrize("dtype", [U8, I8])
def test_quantized_concat(rng, dtype):
    a, b = sizes(rng, 2)
    compare("QLinearConcat", [scale(rng), numbers(rng, dtype), numbers(rng, dtype, 2, a), scale(rng), numbers(rng, dtype), numbers(rng, dtype, 2, b), scale(rng), numbers(rng, dtype)], {"axis": 1}, constant=(0, 1, 3, 4, 6, 7), steps=1)  # fmt: skip


def test_matmul_of_quantized_numbers(rng):
    m, k, n = sizes(rng, 3)
    compare("MatMulIntegerToFloat", [numbers(rng, U8, m, k), numbers(rng, I8, k, n), scale(rng), scale(rng), numbers(rng, U8), numbers(rng, I8), real(rng, n)], tolerance=1e-3)
    columns = np.stack([scale(rng) for _ in range(n)])
    compare("MatMulIntegerToFloat", [numbers(rng, U8, m, k), numbers(rng, I8, k, n), scale(rng), columns, numbers(rng, U8), numbers(rng, I8, n)], tolerance=1e-3)
    compare("DynamicQuantizeMatMul", [real(rng, m, k), numbers(rng, I8, k, n), scale(rng), numbers(rng, I8)], tolerance=1e-3)
    compare("DynamicQuantizeMatMul", [real(rng, m, k), numbers(rng, I8, k, n), scale(rng), None, real(rng, n)], tolerance=1e-3)
    compare("DynamicQuantizeMatMul", [real(rng, m, k), numbers(rng, I8, k, n), columns, numbers(rng, I8, n), real(rng, n)], tolerance=1e-3)
    compare("DynamicQuantizeMatMul", [real(rng, m, k), numbers(rng, U8, k, n), columns, numbers(rng, U8, n)], tolerance=1e-3)


def test_quantize(rng):
    s = sizes(rng, 2)
    for dtype in (np.int16, np.uint16, U8, I8):
        compare("QuantizeLinear", [real(rng, *s), scale(rng), numbers(rng, dtype)], steps=0)
        compare("DequantizeLinear", [numbers(rng, dtype, *s), scale(rng), numbers(rng, dtype)])


@pytest.mark.parametrize("kind", [F32, F16])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_quantize_along_an_axis(rng, axis, kind):
    """Left out it is 1."""
    s = sizes(rng, 3)
    along = s[1 if axis is None else axis]
    attributes = {} if axis is None else {"axis": axis}
    scales = np.stack([scale(rng) for _ in range(along)]).astype(kind)
    for dtype in (np.int16, np.uint16, U8, I8):
        zeros = numbers(rng, dtype, along)
        compare("QuantizeLinear", [real(rng, *s).astype(kind), scales, zeros], attributes, steps=int(kind == F16))
        compare("DequantizeLinear", [numbers(rng, dtype, *s), scales, zeros], attributes, tolerance=1e-3 if kind == F16 else 1e-4)
    whole = rng.integers(-1000, 1000, s).astype(I32)
    compare("DequantizeLinear", [whole, scales], attributes, tolerance=1e-3)


@pytest.mark.parametrize("kind", ["int4", "uint4"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_quantize_to_four_bits(rng, kind, axis):
    """By NumPy; the way back by ONNX Runtime, which has these types as constants alone."""
    dtype = getattr(ml_dtypes, kind)
    info = ml_dtypes.iinfo(dtype)
    s = sizes(rng, 2)
    many = () if axis is None else (s[axis],)
    spread = many + (1,) if axis == 0 else many
    attributes = {} if axis is None else {"axis": axis}
    x, scales = real(rng, *s), rng.uniform(0.1, 0.6, many).astype(F32)
    zeros = rng.integers(info.min, info.max + 1, many)
    want = np.clip(np.rint(x / scales.reshape(spread)) + zeros.reshape(spread), info.min, info.max).astype(dtype)
    compare("QuantizeLinear", [x, scales, zeros.astype(dtype)], attributes, want=[want], specified=lambda i, v: v.astype(I8))
    compare("DequantizeLinear", [want, scales, zeros.astype(dtype)], attributes, constant=(0, 1, 2))


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_qgemm(rng, dtype, trans_b):
    m, k, n = sizes(rng, 3)
    a, b = numbers(rng, dtype, *((k, m) if trans_b else (m, k))), numbers(rng, dtype, *((n, k) if trans_b else (k, n)))
    attributes = {"transA": trans_b, "transB": trans_b, "alpha": float(rng.uniform(0.5, 2))}
    columns = np.stack([scale(rng) for _ in range(n)])
    c = rng.integers(-5000, 5000, n).astype(I32)
    for b_scale, b_zero in ((scale(rng), numbers(rng, dtype)), (columns, numbers(rng, dtype, n))):
        operands = [a, scale(rng), numbers(rng, dtype), b, b_scale, b_zero]
        compare("QGemm", operands, attributes, constant=(1, 2, 4, 5), tolerance=1e-3)
        compare("QGemm", [*operands, c], attributes, constant=(1, 2, 4, 5), tolerance=1e-3)
        compare("QGemm", [*operands, c, scale(rng) * 20, numbers(rng, dtype)], attributes, constant=(1, 2, 4, 5, 7, 8), steps=1)


# ── Weights in blocks


def packed(values, bits):
    """Rows of numbers as rows of bytes, the lowest bits first."""
    spread = (values[..., None] >> np.arange(bits)) & 1
    return np.packbits(spread.reshape(*values.shape[:-1], -1).astype(U8), axis=-1, bitorder="little")


class BitProblem:
    """A product with weights of so many bits, in blocks of `block`."""

    def __init__(self, rng, bits, dtype=F32):
        m, self.n = sizes(rng, 2, 9)
        self.block = int(rng.choice([16, 32, 64]))
        self.k = int(rng.integers(1, 150)) if rng.integers(2) else self.block * int(rng.integers(1, 5))
        self.blocks = -(-self.k // self.block)
        self.bits = bits
        self.a = real(rng, m, self.k).astype(dtype)
        self.weights = rng.integers(0, 1 << bits, (self.n, self.blocks * self.block))
        self.zeros = rng.integers(0, 1 << bits, (self.n, self.blocks))
        self.scales = rng.uniform(0.01, 0.1, (self.n, self.blocks)).astype(dtype)
        self.attributes = {"N": self.n, "K": self.k, "bits": bits, "block_size": self.block}
        self.b = packed(self.weights.reshape(self.n, self.blocks, self.block), bits)

    def inputs(self, zeros=None, groups=None, bias=None):
        return [self.a, self.b, self.scales, zeros, groups, bias]

    def product(self, zeros, groups=None):
        """By NumPy, in double."""
        groups = np.arange(self.k) // self.block if groups is None else groups
        weights = (self.weights[:, : self.k] - zeros[:, groups]) * self.scales[:, groups].astype(np.float64)
        return (self.a @ weights.T).astype(self.a.dtype)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matmul_n_bits(rng, bits, dtype):
    p = BitProblem(rng, bits, dtype)
    close = {"tolerance": 5e-2 if dtype == F16 else 2e-3}
    zeros = packed(p.zeros, bits)
    bias = real(rng, p.n).astype(dtype)
    for constant in ((1, 2, 3, 5), (2, 3, 5), (1, 2), ()):
        compare("MatMulNBits", p.inputs(), p.attributes, constant=constant, **close)
        compare("MatMulNBits", p.inputs(zeros, bias=bias), p.attributes, constant=constant, **close)
    compare("MatMulNBits", [p.a[None], *p.inputs(zeros)[1:]], p.attributes, constant=(1, 2, 3), **close)
    compare("MatMulNBits", [p.a, p.b, p.scales.reshape(-1), zeros.reshape(-1)], p.attributes, constant=(1, 2, 3), **close)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matmul_n_bits_with_groups_and_real_zeros(rng, bits):
    p = BitProblem(rng, bits)
    groups = rng.integers(0, p.blocks, p.k).astype(I32)
    zeros = rng.uniform(0, 1 << bits, (p.n, p.blocks)).astype(F32)
    for constant in ((1, 2, 3, 4), (2, 3, 4), ()):
        given = [p.product(zeros)] if bits == 8 else None  # ONNX Runtime has real zeros of fewer bits alone
        compare("MatMulNBits", p.inputs(zeros), p.attributes, constant=constant, want=given, tolerance=2e-3)
        # With groups ONNX Runtime reads four bits alone, and forgets packed zeros.
        middle = [p.product(np.full_like(p.zeros, 1 << (bits - 1)), groups)] if bits != 4 else None
        compare("MatMulNBits", p.inputs(groups=groups), p.attributes, constant=constant, want=middle, tolerance=2e-3)
        want = [p.product(p.zeros, groups)]
        compare("MatMulNBits", p.inputs(packed(p.zeros, bits), groups), p.attributes, constant=constant, want=want, tolerance=2e-3)


@pytest.mark.parametrize("bits", [3, 5, 6, 7])
def test_matmul_n_bits_of_odd_widths(rng, bits):
    """ONNX Runtime's CPU provider has none of these."""
    p = BitProblem(rng, bits)
    for constant in ((1, 2, 3), (2,), ()):
        compare("MatMulNBits", p.inputs(packed(p.zeros, bits)), p.attributes, constant=constant, want=[p.product(p.zeros)], tolerance=2e-3)
        compare("MatMulNBits", p.inputs(), p.attributes, constant=constant, want=[p.product(np.full_like(p.zeros, 1 << (bits - 1)))], tolerance=2e-3)


def test_empty_blocks_have_a_scale_of_zero(rng):
    p = BitProblem(rng, 4)
    p.scales[rng.integers(0, p.n)] = 0
    compare("MatMulNBits", p.inputs(packed(p.zeros, 4)), p.attributes, constant=(1, 2, 3), tolerance=2e-3)


def test_weights_stay_small(tmp_path):
    """The bytes of the file are the elements of DequantizeLinear."""
    p = BitProblem(np.random.default_rng(0), 4)
    p.attributes["K"] = p.k = p.blocks * p.block
    p.a = np.zeros((1, p.k), F32)
    (tmp_path / "n.onnx").write_bytes(model_of("MatMulNBits", p.inputs(), p.attributes, 1, (1, 2)))
    subprocess.run([built_tool("import_tool"), tmp_path / "n.onnx", tmp_path / "o.onnx"], check=True, timeout=60)
    saved = onnx.load(tmp_path / "o.onnx")
    kinds = {t.data_type: list(t.dims) for t in saved.graph.initializer}
    assert "DequantizeLinear" in [n.op_type for n in saved.graph.node]
    assert kinds[onnx.TensorProto.UINT4]


@pytest.mark.parametrize("fault, why", [({"bits": 9}, "bits"), ({"block_size": 24}, "block_size"), ({"N": 0}, "N of 1"), ({"K": -1}, "K of 1"), ({"K": 1 << 62}, "K of 1"), ({"N": 77}, "77 rows"), ({"weight_prepacked": 1}, "weight_prepacked")])
def test_matmul_n_bits_refuses(fault, why):
    p = BitProblem(np.random.default_rng(1), 4)
    with pytest.raises(lathe.Error, match=why):
        lathe.build(model_of("MatMulNBits", p.inputs(), {**p.attributes, **fault}, 1, (1, 2)))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_gather_block_quantized_bytes(rng, bits, dtype):
    rows, block = int(rng.integers(1, 9)), int(rng.choice([16, 32]))
    size = int(rng.integers(1, 9)) * 8
    blocks = -(-size // block)
    data = packed(rng.integers(0, 1 << bits, (rows, 3, size)), bits)
    zeros = packed(rng.integers(0, 1 << bits, (rows, 3, blocks)), bits)
    scales = rng.uniform(0.01, 0.1, (rows, 3, blocks)).astype(dtype)
    indices = rng.integers(-rows, rows, sizes(rng, int(rng.integers(0, 3)))).astype(rng.choice([np.int32, np.int64]))
    attributes = {"bits": bits, "block_size": block, "quantize_axis": 2}
    for constant in ((0, 2, 3), ()):
        compare("GatherBlockQuantized", [data, indices, scales], attributes, constant=constant, tolerance=1e-2)
        compare("GatherBlockQuantized", [data, indices, scales, zeros], attributes, constant=constant, tolerance=1e-2)


@pytest.mark.parametrize("kind", ["int4", "uint4"])
def test_gather_block_quantized_nibbles(rng, kind):
    kind = getattr(ml_dtypes, kind)
    shape = [int(v) for v in rng.integers(1, 40, 3)]
    gathered, quantized = (int(v) for v in rng.integers(0, 3, 2))
    info = ml_dtypes.iinfo(kind)
    grid = list(shape)
    grid[quantized] = -(-shape[quantized] // 16)
    data, zeros = (rng.integers(info.min, info.max + 1, s).astype(kind) for s in (shape, grid))
    scales = rng.uniform(0.01, 0.1, grid).astype(F32)
    indices = rng.integers(-shape[gathered], shape[gathered], sizes(rng, int(rng.integers(0, 3)))).astype(np.int64)
    attributes = {"block_size": 16, "gather_axis": gathered, "quantize_axis": quantized - 3}
    compare("GatherBlockQuantized", [data, indices, scales], attributes, constant=(0, 2))
    compare("GatherBlockQuantized", [data, indices, scales, zeros], attributes, constant=(0, 2, 3))


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("block", [0, 16])
def test_gather_block_quantized_narrow_floats(rng, kind, block):
    rows, size = int(rng.integers(1, 9)), int(rng.integers(1, 5)) * 16
    data = real(rng, rows, size).astype(getattr(ml_dtypes, kind))
    scales = rng.uniform(0.5, 2, (rows if rng.integers(2) else 1, size // block if block else 1)).astype(F32)
    indices = rng.integers(-rows, rows, sizes(rng, 2)).astype(np.int64)
    spread = np.repeat(np.broadcast_to(scales, (rows, scales.shape[1])), size // scales.shape[1], axis=1)
    compare("GatherBlockQuantized", [data, indices, scales], {"block_size": block}, constant=(0, 2), want=[(data.astype(F32) * spread)[indices]])


LETTERS = list("aabbcc dD1,;.-\n") + ["ä", "ö", "中", "𝄞", ""]
# Empty matches at the end of a string make ONNX Runtime read behind it, so no pattern here matches nothing.
PATTERNS = ["[a-c]+", "b|bc", "\\w+", "[^ ]", " ", "[,;]", "\\s+", "ä", ".", "..", "a.c", "^a", "\\bb", "\\pL+", "(?i)d", "c$"]


@pytest.mark.parametrize("mark", [0, 1])
def test_tokenizer(rng, mark):
    def text():
        return "".join(rng.choice(LETTERS, int(rng.integers(0, 12))))

    for _ in range(20):
        shape = sizes(rng, int(rng.integers(1, 3)))
        x = np.array([text() for _ in range(np.prod(shape))], object).reshape(shape)
        attributes = {"mark": mark, "pad_value": rng.choice(["", "#"]), "mincharnum": int(rng.integers(1, 4))}
        if rng.integers(2):
            attributes["tokenexp"] = str(rng.choice(PATTERNS))
        else:
            attributes["separators"] = [str(p) for p in rng.choice(PATTERNS, int(rng.integers(1, 4)))]
        if attributes.get("tokenexp") == ".":
            attributes["mincharnum"] = 1
        assert_same_words(x, attributes)
    assert_same_words(x, {"mark": mark, "pad_value": "#", "mincharnum": 1, "separators": [""]})


def assert_same_words(x, attributes):
    model = model_of("Tokenizer", [x], attributes, 1, ())
    want = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x0": x})[0]
    got = lathe.build(model).run({"x0": x})["y0"]
    assert got.shape == want.shape and got.tolist() == want.tolist(), (x, attributes)


def test_tokenizer_of_nothing():
    nothing = np.array([], object)
    model = model_of("Tokenizer", [nothing], {"mark": 1, "pad_value": "", "mincharnum": 1, "tokenexp": "a"}, 1, ())
    assert lathe.build(model).run({"x0": nothing})["y0"].shape == (0, 0)


@pytest.mark.parametrize(
    "attributes, why",
    [({}, "separators or tokenexp"), ({"tokenexp": "("}, "RE2"), ({"separators": ["a", "["]}, "RE2"), ({"tokenexp": ".", "mincharnum": 2}, "mincharnum"), ({"tokenexp": "a", "mincharnum": 0}, "mincharnum")],
)  # fmt: skip
def test_tokenizer_refuses(attributes, why):
    x = np.array(["a"], object)
    with pytest.raises(lathe.Error, match=why):
        lathe.build(model_of("Tokenizer", [x], {"mark": 0, "pad_value": "", "mincharnum": 1, **attributes}, 1, ()))
    with pytest.raises(lathe.Error, match="of shape"):
        lathe.build(model_of("Tokenizer", [x.reshape(1, 1, 1)], {"mark": 0, "pad_value": "", "mincharnum": 1, "tokenexp": "a"}, 1, ()))
