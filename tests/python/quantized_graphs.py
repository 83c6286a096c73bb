"""An operator between DequantizeLinear and QuantizeLinear, for each operator that quantizers put there."""

import onnx.parser

# Name: constants, nodes from `d` to `e`. `d` is float[1,4,4,4] in [-6, 6].
OPERATORS = {
    "Identity": ("", "e = Identity(d)"),
    "Reshape": ("int64[2] s = {4, 16}", "e = Reshape(d, s)"),
    "Flatten": ("", "e = Flatten<axis=2>(d)"),
    "Squeeze": ("int64[1] a = {0}", "e = Squeeze(d, a)"),
    "Unsqueeze": ("int64[1] a = {1}", "e = Unsqueeze(d, a)"),
    "Transpose": ("", "e = Transpose<perm=[0,2,3,1]>(d)"),
    "Slice": ("int64[2] b = {0, 1}, int64[2] f = {2, 4}, int64[2] a = {1, 3}, int64[2] t = {1, 2}", "e = Slice(d, b, f, a, t)"),
    "Gather": ("int64[3] i = {2, 0, 1}", "e = Gather<axis=1>(d, i)"),
    "GatherElements": ("int64[1,4,4,1] i = {0,1,2,3,3,2,1,0,0,0,1,1,2,2,3,3}", "e = GatherElements<axis=3>(d, i)"),
    "GatherND": ("int64[2,2] i = {0, 1, 0, 3}", "e = GatherND(d, i)"),
    "Expand": ("int64[4] s = {3, 4, 4, 4}", "e = Expand(d, s)"),
    "Tile": ("int64[4] n = {1, 2, 1, 1}", "e = Tile(d, n)"),
    "Concat": ("float[1,1,4,4] c = {0,1,2,3,4,5,6,7,0,-1,-2,-3,-4,-5,-6,-7}", "e = Concat<axis=1>(d, c, d)"),
    "Split": ("int64[2] p = {1, 3}", "f, e = Split<axis=1>(d, p)"),
    "Pad": ("int64[8] p = {0,0,1,1,0,0,1,1}, float v = {0.5}", "e = Pad(d, p, v)"),
    "Pad reflect": ("int64[8] p = {0,0,1,1,0,0,1,1}", 'e = Pad<mode="reflect">(d, p)'),
    "Pad edge": ("int64[8] p = {0,0,1,1,0,0,1,1}", 'e = Pad<mode="edge">(d, p)'),
    "DepthToSpace": ("", "e = DepthToSpace<blocksize=2>(d)"),
    "DepthToSpace CRD": ("", 'e = DepthToSpace<blocksize=2, mode="CRD">(d)'),
    "SpaceToDepth": ("", "e = SpaceToDepth<blocksize=2>(d)"),
    "ReverseSequence": ("int64[4] l = {1, 2, 3, 4}, int64[1] a = {0}", "f = Squeeze(d, a) e = ReverseSequence<batch_axis=0, time_axis=1>(f, l)"),
    "Resize nearest": ("float[4] s = {1, 1, 2, 2}", 'e = Resize<mode="nearest">(d, , s)'),
    "Resize nearest, asymmetric": ("float[4] s = {1, 1, 2, 3}", 'e = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(d, , s)'),
    "Resize linear": ("float[4] s = {1, 1, 2, 2}", 'e = Resize<mode="linear">(d, , s)'),
    "Resize cubic": ("float[4] s = {1, 1, 2, 2}", 'e = Resize<mode="cubic">(d, , s)'),
    "Where": ("bool[4] c = {1, 0, 1, 0}, float v = {0.5}", "e = Where(c, d, v)"),
    "Trilu": ("", "e = Trilu(d)"),
    "Relu": ("", "e = Relu(d)"),
    "Clip": ("float l = {0}, float h = {3}", "e = Clip(d, l, h)"),
    "LeakyRelu": ("", "e = LeakyRelu<alpha=0.1>(d)"),
    "PRelu": ("float[4,1,1] s = {0.1, 0.2, 0.3, 0.4}", "e = PRelu(d, s)"),
    "HardSigmoid": ("", "e = HardSigmoid(d)"),
    "HardSwish": ("", "e = HardSwish(d)"),
    "Elu": ("", "e = Elu(d)"),
    "Sigmoid": ("", "e = Sigmoid(d)"),
    "Tanh": ("", "e = Tanh(d)"),
    "Erf": ("", "e = Erf(d)"),
    "Abs": ("", "e = Abs(d)"),
    "Neg": ("", "e = Neg(d)"),
    "Ceil": ("", "e = Ceil(d)"),
    "Exp": ("float s = {0.3}", "f = Mul(d, s) e = Exp(f)"),
    "Sqrt": ("", "f = Abs(d) e = Sqrt(f)"),
    "Softmax": ("", "e = Softmax<axis=-1>(d)"),
    "LogSoftmax": ("", "e = LogSoftmax<axis=-1>(d)"),
    "Add": ("float[4,1,1] c = {0.5, -1, 2, 3}", "e = Add(d, c)"),
    "Add itself": ("", "e = Add(d, d)"),
    "Sub": ("float v = {1.5}", "e = Sub(v, d)"),
    "Mul": ("float[4,1,1] c = {0.5, -1, 0.25, 1}", "e = Mul(d, c)"),
    "Mul sigmoid": ("", "f = Sigmoid(d) e = Mul(d, f)"),
    "Div": ("float v = {3}", "e = Div(d, v)"),
    "Max": ("float v = {0.7}", "e = Max(d, v)"),
    "Min": ("float v = {0.7}", "e = Min(d, v)"),
    "MaxPool": ("", "e = MaxPool<kernel_shape=[2,2], strides=[2,2]>(d)"),
    "MaxPool padded": ("", "e = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(d)"),
    "AveragePool": ("", "e = AveragePool<kernel_shape=[2,2], strides=[2,2]>(d)"),
    "AveragePool padded": ("", "e = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(d)"),
    "GlobalAveragePool": ("", "e = GlobalAveragePool(d)"),
    "GlobalMaxPool": ("", "e = GlobalMaxPool(d)"),
    "ReduceMean": ("int64[2] a = {2, 3}", "e = ReduceMean(d, a)"),
    "ReduceSum": ("int64[1] a = {3}", "e = ReduceSum(d, a)"),
    "ReduceMax": ("int64[2] a = {2, 3}", "e = ReduceMax<keepdims=0>(d, a)"),
    "MatMul": ("float[4,3] w = {0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35,0.05,0.2,0.1,-0.3}", "e = MatMul(d, w)"),
    "MatMul of two": ("", "t = Transpose<perm=[0,1,3,2]>(d) f = MatMul(d, t) c = Constant<value_float=0.05>() e = Mul(f, c)"),
    "Gemm": ("int64[2] s = {16, 4}, float[4,3] w = {0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35,0.05,0.2,0.1,-0.3}, float[3] b = {1, 2, 3}", "f = Reshape(d, s) e = Gemm(f, w, b)"),
    "Conv": ("float[2,4,1,1] w = {0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35}, float[2] b = {0.5, -0.5}", "e = Conv(d, w, b)"),
    "Conv Relu": ("float[2,4,1,1] w = {0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35}", "f = Conv(d, w) e = Relu(f)"),
    "Conv depthwise": ("float[4,1,2,2] w = {0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35,0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35}", "e = Conv<group=4>(d, w)"),
    "ConvTranspose": ("float[4,1,2,2] w = {0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35,0.1,-0.2,0.3,0.25,0.15,-0.1,0.4,-0.35}", "e = ConvTranspose<strides=[2,2]>(d, w)"),
    "InstanceNormalization": ("float[4] s = {1, 2, 0.5, 1}, float[4] b = {0, 1, -1, 0}", "e = InstanceNormalization(d, s, b)"),
    "BatchNormalization": ("float[4] s = {1, 2, 0.5, 1}, float[4] b = {0, 1, -1, 0}, float[4] m = {0.5, 0, 1, 0}, float[4] v = {1, 2, 4, 1}", "e = BatchNormalization(d, s, b, m, v)"),
    "LayerNormalization": ("float[4] s = {1, 2, 0.5, 1}", "e = LayerNormalization(d, s)"),
    "TopK": ("int64[1] k = {2}", "e, i = TopK(d, k)"),
    "CumSum": ("int64 a = {3}", "e = CumSum(d, a)"),
}  # fmt: skip

STEPS = {"uint8": (0.05, 128), "int8": (0.05, -3), "uint16": (0.0005, 20000), "int16": (0.0005, 77)}


def graph(operator, kind, opset, same_scale=False):
    """float[1,4,4,4] x to `y`; and the step of y's scale. `same_scale`: before and behind the operator, as where elements only move."""
    constants, nodes = OPERATORS[operator]
    step, zero = STEPS[kind]
    behind = step if same_scale else step * 1.25
    return onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": {opset}]> g (float[1,4,4,4] x) => (float y)
        <float step = {{{step}}}, float behind = {{{behind}}}, {kind} zero = {{{zero}}}{", " + constants if constants else ""}> {{
        q = QuantizeLinear(x, step, zero) d = DequantizeLinear(q, step, zero) {nodes}
        r = QuantizeLinear(e, behind, zero) y = DequantizeLinear(r, behind, zero) }}"""), behind
