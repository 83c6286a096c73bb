"""Operators of com.microsoft, which become the standard's when they are read: ONNX Runtime's own answers over random problems."""

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest

import lathe

MICROSOFT = "com.microsoft"
F32, U8, I8 = np.float32, np.uint8, np.int8


def model_of(op, inputs, attributes, outputs, constant):
    names = ["" if v is None else f"x{i}" for i, v in enumerate(inputs)]
    infos, initializers = [], []
    for name, v, i in zip(names, inputs, range(len(inputs))):
        if v is None:
            continue
        if i in constant:
            initializers.append(onnx.numpy_helper.from_array(v, name))
        else:
            infos.append(oh.make_tensor_value_info(name, oh.np_dtype_to_tensor_dtype(v.dtype), v.shape))
    while names and not names[-1]:
        names.pop()
    node = oh.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=MICROSOFT, **attributes)
    graph = oh.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)], initializers)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17), oh.make_opsetid(MICROSOFT, 1)], ir_version=8).SerializeToString()


def compare(op, inputs, attributes=None, outputs=1, constant=(), tolerance=1e-4, steps=0):
    """`steps`: by how many quantisation steps integers may differ where rounding meets a border."""
    model = model_of(op, inputs, attributes or {}, outputs, constant)
    feed = {f"x{i}": v for i, v in enumerate(inputs) if v is not None and i not in constant}
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feed)
    for backend in ("reference", "cpu"):
        got = list(lathe.build(model, backend=backend, threads=1).run(feed).values())
        for g, w in zip(got, want, strict=True):
            assert g.shape == w.shape and g.dtype == w.dtype
            if w.dtype.kind in "iu":
                assert np.abs(g.astype(int) - w.astype(int)).max(initial=0) <= steps
            else:
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


def real(rng, *shape):
    return rng.uniform(-2, 2, shape).astype(F32)


def sizes(rng, count, most=5):
    return [int(v) for v in rng.integers(1, most + 1, count)]


def test_activations(rng):
    s = sizes(rng, 3)
    compare("Gelu", [real(rng, *s)])
    compare("QuickGelu", [real(rng, *s)])
    compare("QuickGelu", [real(rng, *s)], {"alpha": 0.7})
    compare("FastGelu", [real(rng, *s)])
    compare("FastGelu", [real(rng, *s), real(rng, s[-1])], tolerance=1e-3)
    compare("BiasGelu", [real(rng, *s), real(rng, s[-1])])


def test_fused_matmul(rng):
    b, m, k, n = sizes(rng, 4)
    for ta in (0, 1):
        for tb in (0, 1):
            a = real(rng, b, *((k, m) if ta else (m, k)))
            w = real(rng, b, *((n, k) if tb else (k, n)))
            compare("FusedMatMul", [a, w], {"transA": ta, "transB": tb, "alpha": float(rng.uniform(0.1, 2))})


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


def test_norms(rng):
    b, n, h = sizes(rng, 3)
    x, skip, gamma, beta, bias = real(rng, b, n, h + 2), real(rng, b, n, h + 2), real(rng, h + 2), real(rng, h + 2), real(rng, h + 2)
    compare("SkipLayerNormalization", [x, skip, gamma, beta, bias], {"epsilon": 1e-5}, tolerance=1e-3)
    compare("SkipLayerNormalization", [x, skip, gamma], {"epsilon": 1e-5}, tolerance=1e-3)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma], {"epsilon": 1e-5}, tolerance=1e-3)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], {"epsilon": 1e-5}, tolerance=1e-3)


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


def test_mean_is_refused():
    x = np.ones((1, 2, 3), F32)
    with pytest.raises(lathe.Error, match="SkipLayerNormalization"):
        lathe.build(model_of("SkipLayerNormalization", [x, x, x[0, 0]], {}, 4, ()))


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


def test_quantize(rng):
    s = sizes(rng, 2)
    for dtype in (np.int16, np.uint16, U8, I8):
        compare("QuantizeLinear", [real(rng, *s), scale(rng), numbers(rng, dtype)], steps=0)
        compare("DequantizeLinear", [numbers(rng, dtype, *s), scale(rng), numbers(rng, dtype)])
