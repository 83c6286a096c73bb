"""Models of one operator of com.microsoft, and ONNX Runtime's own answers."""

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort

import lathe
from support import WEIGHTS, unsigned

MICROSOFT = "com.microsoft"
F32, F16, U8, I8, I32 = np.float32, np.float16, np.uint8, np.int8, np.int32


def model_of(op, inputs, attributes, outputs, constant, domain=MICROSOFT):
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
    node = oh.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    graph = oh.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)], initializers)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17), oh.make_opsetid(MICROSOFT, 1)], ir_version=8).SerializeToString()


def with_free_sizes(model):
    model = onnx.load_model_from_string(model)
    for i in model.graph.input:
        for d in list(i.type.tensor_type.shape.dim)[:-1]:
            d.dim_param = f"size_{d.dim_value}"
    return model.SerializeToString()


def answers(op, inputs, attributes=None, outputs=1, constant=(), domain=MICROSOFT):
    """ONNX Runtime's own; of weights that are int8, those of uint8 (see support.with_unsigned_weights)."""
    weights, zero = WEIGHTS.get(op, (None, None))
    if weights is not None and inputs[weights].dtype == I8:
        inputs = inputs + [None] * (zero + 1 - len(inputs))
        inputs[weights], inputs[zero] = unsigned(inputs[weights]), unsigned(inputs[zero])
    model = model_of(op, inputs, attributes or {}, outputs, constant, domain)
    feed = {f"x{i}": v for i, v in enumerate(inputs) if v is not None and i not in constant}
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feed)


def compare(op, inputs, attributes=None, outputs=1, constant=(), tolerance=1e-4, steps=0, want=None, specified=lambda i, v: v, free=False, domain=MICROSOFT):
    """`steps`: by how many quantization steps integers may differ where rounding meets a border. `want`: what is expected where ONNX
    Runtime's CPU provider does not run the operator. `specified`: of output i, what the operator gives a meaning to. `free`: all sizes
    but the last one are symbols, equal ones the same. `domain`: "" for what ONNX Runtime puts among the standard's operators."""
    model = model_of(op, inputs, attributes or {}, outputs, constant, domain)
    if free:
        model = with_free_sizes(model)
    feed = {f"x{i}": v for i, v in enumerate(inputs) if v is not None and i not in constant}
    if want is None:
        want = answers(op, inputs, attributes, outputs, constant, domain)
    for backend in ("reference", "cpu"):
        got = list(lathe.build(model, backend=backend, threads=1).run(feed).values())
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert g.shape == w.shape and g.dtype == w.dtype
            g, w = specified(i, g), specified(i, w)
            if w.dtype.kind in "iu":
                assert np.abs(g.astype(int) - w.astype(int)).max(initial=0) <= steps
            else:
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


def real(rng, *shape):
    return rng.uniform(-2, 2, shape).astype(F32)


def sizes(rng, count, most=5):
    return [int(v) for v in rng.integers(1, most + 1, count)]
