"""These calls append layers that calculate: windows, elementwise operators, norms, products, quantization."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from lathe import _lathe
from lathe._network.handles import Calls, Layer, TensorLike, ints, member, type_name


class ComputeCalls(Calls):
    """The calls of a `Network` for layers that calculate."""

    def add_convolution(
        self,
        x: TensorLike,
        kernel: TensorLike,
        bias: Optional[TensorLike] = None,
        *,
        stride: Sequence[int] = (),
        dilation: Sequence[int] = (),
        pre_padding: Sequence[int] = (),
        post_padding: Sequence[int] = (),
        padding_mode: Any = "explicit_pads",
        groups: int = 1,
        name: str = "",
    ) -> Layer:
        """Appends a convolution; TensorRT's addConvolutionNd, ONNX Conv.
        x is [N, C, spatial…], kernel [M, C / groups, window…], bias [M], the output [N, M, spatial…]. Lists have one
        number for each spatial axis; empty ones are 1, or 0 for padding. `padding_mode` is a PaddingMode."""
        windows = self._windows(stride, dilation, pre_padding, post_padding, padding_mode)
        o = self._options(_lathe.ConvolutionOptions, name, groups=groups, **windows)
        return self._layer(self._native.add_convolution(self._ref(x), self._ref(kernel, x), self._ref(bias, x), o))

    def add_deconvolution(
        self,
        x: TensorLike,
        kernel: TensorLike,
        bias: Optional[TensorLike] = None,
        *,
        stride: Sequence[int] = (),
        dilation: Sequence[int] = (),
        pre_padding: Sequence[int] = (),
        post_padding: Sequence[int] = (),
        output_padding: Sequence[int] = (),
        padding_mode: Any = "explicit_pads",
        groups: int = 1,
        name: str = "",
    ) -> Layer:
        """Appends a transposed convolution; TensorRT's addDeconvolutionNd, ONNX ConvTranspose.
        x is [N, C, spatial…], kernel [C, M / groups, window…], bias [M], the output [N, M, spatial…]. `output_padding`
        is added at the end of each spatial axis; the other options are those of `add_convolution`."""
        windows = self._windows(stride, dilation, pre_padding, post_padding, padding_mode)
        o = self._options(
            _lathe.DeconvolutionOptions, name, groups=groups, output_padding=ints(output_padding), **windows
        )
        return self._layer(self._native.add_deconvolution(self._ref(x), self._ref(kernel, x), self._ref(bias, x), o))

    @staticmethod
    def _windows(stride: Any, dilation: Any, before: Any, behind: Any, mode: Any) -> dict[str, Any]:
        return {
            "stride": ints(stride),
            "dilation": ints(dilation),
            "pre_padding": ints(before),
            "post_padding": ints(behind),
            "padding_mode": member(_lathe.PaddingMode, mode),
        }

    def add_fully_connected(
        self, x: TensorLike, kernel: TensorLike, bias: Optional[TensorLike] = None, *, axis: int = 1, name: str = ""
    ) -> Layer:
        """Appends x times the transpose of kernel [M, K], plus bias [M]; TensorRT's addFullyConnected, ONNX Gemm.
        x is flattened to two axes first, the second of them from `axis` on."""
        o = self._options(_lathe.FullyConnectedOptions, name, axis=axis)
        return self._layer(self._native.add_fully_connected(self._ref(x), self._ref(kernel, x), self._ref(bias, x), o))

    def add_pooling(
        self,
        x: TensorLike,
        type: Any,
        *,
        window: Sequence[int] = (),
        stride: Sequence[int] = (),
        dilation: Sequence[int] = (),
        pre_padding: Sequence[int] = (),
        post_padding: Sequence[int] = (),
        padding_mode: Any = "explicit_pads",
        round_up: bool = False,
        average_count_excludes_padding: bool = True,
        blend_factor: float = 0.5,
        name: str = "",
    ) -> Layer:
        """Appends a pooling over windows of x [N, C, spatial…]; TensorRT's addPoolingNd, ONNX MaxPool and AveragePool.
        `type` is a PoolingType. An empty window is all of every spatial axis. `round_up` rounds the output's sizes up.
        `blend_factor` is the weight of the average in max_average_blend."""
        o = self._options(
            _lathe.PoolingOptions,
            name,
            window=ints(window),
            round_up=round_up,
            average_count_excludes_padding=average_count_excludes_padding,
            blend_factor=blend_factor,
            **self._windows(stride, dilation, pre_padding, post_padding, padding_mode),
        )
        return self._layer(self._native.add_pooling(self._ref(x), member(_lathe.PoolingType, type), o))

    def add_lrn(
        self, x: TensorLike, *, window: int = 5, alpha: float = 1e-4, beta: float = 0.75, k: float = 1, name: str = ""
    ) -> Layer:
        """Appends x / (k + alpha / window · Σ x²)^beta over `window` neighboring channels; TensorRT's addLRN, ONNX LRN.
        """
        o = self._options(_lathe.LrnOptions, name, window=window, alpha=alpha, beta=beta, k=k)
        return self._layer(self._native.add_lrn(self._ref(x), o))

    def add_activation(
        self,
        x: TensorLike,
        type: Any,
        *,
        alpha: Optional[float] = None,
        beta: Optional[float] = None,
        name: str = "",
    ) -> Layer:
        """Appends an activation, an ActivationType; TensorRT's addActivation.
        `alpha` and `beta`, with their defaults: leaky_relu (0.01), elu (1), selu (the paper's), softplus alpha·ln(1 +
        e^(beta·x)) (1, 1), clip to [alpha, beta], hard_sigmoid max(0, min(1, alpha·x + beta)) (0.2, 0.5), scaled_tanh
        alpha·tanh(beta·x) (1, 1), thresholded_relu (1)."""
        o = self._options(_lathe.ActivationOptions, name, alpha=alpha, beta=beta)
        return self._layer(self._native.add_activation(self._ref(x), member(_lathe.ActivationType, type), o))

    def add_unary(self, x: TensorLike, op: Any, *, name: str = "") -> Layer:
        """Appends an elementwise function of x, a UnaryOperation; TensorRT's addUnary."""
        return self._layer(self._native.add_unary(self._ref(x), member(_lathe.UnaryOperation, op), name))

    def add_elementwise(self, a: TensorLike, b: TensorLike, op: Any, *, name: str = "") -> Layer:
        """Appends an elementwise function of a and b, an ElementWiseOperation; TensorRT's addElementWise.
        Shapes broadcast as NumPy's; element types must be equal. Comparisons and logic give bool."""
        left, right = self._pair(a, b)
        return self._layer(self._native.add_elementwise(left, right, member(_lathe.ElementWiseOperation, op), name))

    def add_scale(
        self,
        x: TensorLike,
        *,
        scale: Optional[TensorLike] = None,
        shift: Optional[TensorLike] = None,
        power: Optional[TensorLike] = None,
        axis: int = 1,
        name: str = "",
    ) -> Layer:
        """Appends (x · scale + shift) ^ power; TensorRT's addScale.
        Each operand has one element, one for each index of `axis`, or x's shape; the defaults are 1, 0 and 1."""
        o = self._options(
            _lathe.ScaleOptions,
            name,
            scale=self._ref(scale, x),
            shift=self._ref(shift, x),
            power=self._ref(power, x),
            axis=axis,
        )
        return self._layer(self._native.add_scale(self._ref(x), o))

    def add_parametric_relu(self, x: TensorLike, slope: TensorLike, *, name: str = "") -> Layer:
        """Appends x where it is positive and slope · x elsewhere; TensorRT's addParametricReLU, ONNX PRelu."""
        return self._layer(self._native.add_parametric_relu(self._ref(x), self._ref(slope, x), name))

    def add_select(self, condition: TensorLike, a: TensorLike, b: TensorLike, *, name: str = "") -> Layer:
        """Appends a where condition (bool) is true and b elsewhere; TensorRT's addSelect, ONNX Where.
        Shapes broadcast as NumPy's."""
        return self._layer(self._native.add_select(self._ref(condition, "bool"), *self._pair(a, b), name))

    def add_identity(self, x: TensorLike, *, name: str = "") -> Layer:
        """Appends x unchanged, under another name; TensorRT's addIdentity, ONNX Identity."""
        return self._layer(self._native.add_identity(self._ref(x), name))

    def add_cast(self, x: TensorLike, to: Any, *, name: str = "") -> Layer:
        """Appends x converted to an element type, "float16" or np.float16; TensorRT's addCast, ONNX Cast."""
        return self._layer(self._native.add_cast(self._ref(x), type_name(to), name))

    def add_normalization(
        self,
        x: TensorLike,
        scale: TensorLike,
        bias: Optional[TensorLike],
        type: Any,
        *,
        axis: int = -1,
        groups: int = 1,
        epsilon: float = 1e-5,
        name: str = "",
    ) -> Layer:
        """Appends (x - mean) / √(variance + epsilon) · scale + bias; TensorRT's addNormalization.
        `type` is a NormalizationType. For layer and rms (over `axis` and all axes behind it) scale broadcasts to x; for
        instance and group it is a list over the channels. rms has neither mean nor bias."""
        o = self._options(_lathe.NormalizationOptions, name, axis=axis, groups=groups, epsilon=epsilon)
        kind = member(_lathe.NormalizationType, type)
        operands = self._ref(x), self._ref(scale, x), self._ref(bias, x)
        return self._layer(self._native.add_normalization(*operands, kind, o))

    def add_softmax(self, x: TensorLike, *, axis: int = -1, name: str = "") -> Layer:
        """Appends the softmax of x over `axis`; TensorRT's addSoftMax, ONNX Softmax."""
        return self._layer(
            self._native.add_softmax(self._ref(x), self._options(_lathe.SoftmaxOptions, name, axis=axis))
        )

    def add_ragged_softmax(self, x: TensorLike, lengths: TensorLike, *, name: str = "") -> Layer:
        """Appends a softmax over the first `lengths` elements of each row of x, and 0 behind them.
        It is TensorRT's addRaggedSoftMax. Rows are the last axis. `lengths`, int32 or int64, has x's shape with 1 at
        the end, or without the last axis."""
        return self._layer(self._native.add_ragged_softmax(self._ref(x), self._ref(lengths), name))

    def add_matrix_multiply(
        self, a: TensorLike, b: TensorLike, *, op0: Any = "none", op1: Any = "none", name: str = ""
    ) -> Layer:
        """Appends the matrix product of a and b, broadcasting as NumPy's matmul; ONNX MatMul.
        It is TensorRT's addMatrixMultiply. `op0` and `op1`, MatrixOperations, say what is done to a and b first; with
        vector the last axis alone is multiplied, and those before it are of the batch."""
        o = self._options(
            _lathe.MatrixMultiplyOptions,
            name,
            op0=member(_lathe.MatrixOperation, op0),
            op1=member(_lathe.MatrixOperation, op1),
        )
        return self._layer(self._native.add_matrix_multiply(*self._pair(a, b), o))

    def add_einsum(self, inputs: Sequence[TensorLike], equation: str, *, name: str = "") -> Layer:
        """Appends an Einstein summation, "bij,bjk->bik"; TensorRT's addEinsum, ONNX Einsum."""
        return self._layer(self._native.add_einsum(self._refs(inputs), equation, name))

    def add_reduce(
        self, x: TensorLike, op: Any, axes: Sequence[int] = (), *, keep_dimensions: bool = False, name: str = ""
    ) -> Layer:
        """Appends a reduction of x over `axes`, all where they are empty; TensorRT's addReduce.
        `op` is a ReduceOperation. `keep_dimensions` keeps the axes with size 1."""
        o = self._options(_lathe.ReduceOptions, name, keep_dimensions=keep_dimensions)
        return self._layer(self._native.add_reduce(self._ref(x), member(_lathe.ReduceOperation, op), ints(axes), o))

    def add_topk(
        self, x: TensorLike, op: Any, k: Any, *, axis: int = -1, index_type: Any = "int64", name: str = ""
    ) -> Layer:
        """Appends the k greatest or least elements along `axis`; TensorRT's addTopK, ONNX TopK.
        The outputs are values and indices, which are int64 or int32. `op` is a TopKOperation; `k` is a number, or an
        int64 tensor of one element."""
        o = self._options(_lathe.TopKOptions, name, axis=axis, index_type=type_name(index_type))
        count = k if isinstance(k, int) else self._ref(k)
        return self._layer(self._native.add_topk(self._ref(x), member(_lathe.TopKOperation, op), count, o))

    def add_cumulative(
        self, x: TensorLike, op: Any, axis: int, *, exclusive: bool = False, reverse: bool = False, name: str = ""
    ) -> Layer:
        """Appends the running sum or product along `axis`, a CumulativeOperation; TensorRT's addCumulative.
        It is ONNX CumSum or CumProd. `exclusive` leaves the element itself out; `reverse` starts at the end."""
        o = self._options(_lathe.CumulativeOptions, name, exclusive=exclusive, reverse=reverse)
        return self._layer(self._native.add_cumulative(self._ref(x), member(_lathe.CumulativeOperation, op), axis, o))

    def add_quantize(
        self,
        x: TensorLike,
        scale: TensorLike,
        zero_point: Optional[TensorLike] = None,
        *,
        type: Any = "int8",
        axis: int = 1,
        block_size: int = 0,
        saturate: bool = True,
        name: str = "",
    ) -> Layer:
        """Appends round(x / scale) + zero_point, clamped to the type; TensorRT's addQuantize, ONNX QuantizeLinear.
        `scale` has one element, or is a list along `axis`, or, with `block_size`, has one element for each block along
        `axis`. With `saturate` numbers that are too large for float8 become its largest one."""
        o = self._options(
            _lathe.QuantizeOptions, name, type=type_name(type), axis=axis, block_size=block_size, saturate=saturate
        )
        zero = self._ref(zero_point, type_name(type))
        return self._layer(self._native.add_quantize(self._ref(x), self._ref(scale, x), zero, o))

    def add_dequantize(
        self,
        x: TensorLike,
        scale: TensorLike,
        zero_point: Optional[TensorLike] = None,
        *,
        axis: int = 1,
        block_size: int = 0,
        name: str = "",
    ) -> Layer:
        """Appends (x - zero_point) · scale, of the scale's type; TensorRT's addDequantize, ONNX DequantizeLinear.
        Numbers and lists as `scale` are float32. Shapes of `scale` are those of `add_quantize`."""
        o = self._options(_lathe.DequantizeOptions, name, axis=axis, block_size=block_size)
        operands = self._ref(x), self._ref(scale, "float32"), self._ref(zero_point, x)
        return self._layer(self._native.add_dequantize(*operands, o))

    def add_dynamic_quantize(
        self,
        x: TensorLike,
        *,
        axis: int = -1,
        block_size: int = 16,
        type: Any = "float4e2m1",
        double_scale: Optional[TensorLike] = None,
        scale_type: Any = "float8e4m3fn",
        name: str = "",
    ) -> Layer:
        """Appends x quantized in blocks, with scales from the data; TensorRT's addDynamicQuantize.
        The outputs are the quantized tensor and the scales: the largest magnitude of each block over the largest number
        of `type`. The size of `axis` is a known multiple of `block_size`. With `double_scale` (of one element) the
        scales are quantized too, to `scale_type`."""
        o = self._options(
            _lathe.DynamicQuantizeOptions,
            name,
            axis=axis,
            block_size=block_size,
            type=type_name(type),
            double_scale=self._ref(double_scale, x),
            scale_type=type_name(scale_type),
        )
        return self._layer(self._native.add_dynamic_quantize(self._ref(x), o))
