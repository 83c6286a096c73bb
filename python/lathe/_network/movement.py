"""These calls append layers that select, move and generate elements."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from lathe import _lathe
from lathe._network.handles import Calls, Layer, TensorLike, TensorRef, ints, member, type_name

# Numbers, and expressions over named sizes: ("N", 3, "2*S + 1").
Sizes = Sequence[Union[int, str]]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (TensorRef, Layer))


class MovementCalls(Calls):
    """The calls of a `Network` for layers that select, move and generate elements."""

    def add_gather(
        self,
        data: TensorLike,
        indices: TensorLike,
        *,
        mode: Any = "slices",
        axis: int = 0,
        batch_axes: int = 0,
        name: str = "",
    ) -> Layer:
        """Appends elements of data at the indices; TensorRT's addGatherV2, ONNX Gather, GatherElements, GatherND.
        `mode` is a GatherMode: slices are whole slices of `axis`, elements one element for every index; with nd the
        last axis of the indices is a position. `batch_axes` is how many leading axes data and indices share."""
        o = self._options(
            _lathe.GatherOptions, name, mode=member(_lathe.GatherMode, mode), axis=axis, batch_axes=batch_axes
        )
        return self._layer(self._native.add_gather(self._ref(data), self._ref(indices), o))

    def add_scatter(
        self,
        data: TensorLike,
        indices: TensorLike,
        updates: TensorLike,
        *,
        mode: Any = "elements",
        axis: int = 0,
        reduction: Any = "none",
        name: str = "",
    ) -> Layer:
        """Appends data with updates written at the indices; TensorRT's addScatter, ONNX ScatterElements, ScatterND.
        `mode` is a ScatterMode; `reduction`, a ScatterReduction, says how updates are combined with what is there."""
        o = self._options(
            _lathe.ScatterOptions,
            name,
            mode=member(_lathe.ScatterMode, mode),
            axis=axis,
            reduction=member(_lathe.ScatterReduction, reduction),
        )
        return self._layer(self._native.add_scatter(self._ref(data), self._ref(indices), self._ref(updates, data), o))

    def add_one_hot(
        self, indices: TensorLike, values: TensorLike, depth: TensorLike, *, axis: int = -1, name: str = ""
    ) -> Layer:
        """Appends values[1] at each index and values[0] elsewhere; TensorRT's addOneHot, ONNX OneHot.
        `values` are [off, on]; `depth` is one integer, the size of the new axis, which is `axis` of the output."""
        operands = self._ref(indices), self._ref(values, "float32"), self._ref(depth)
        return self._layer(self._native.add_one_hot(*operands, axis, name))

    def add_non_zero(self, x: TensorLike, *, name: str = "") -> Layer:
        """Appends the positions of the nonzero elements, int64 [rank, count]; TensorRT's addNonZero, ONNX NonZero."""
        return self._layer(self._native.add_non_zero(self._ref(x), name))

    def add_nms(
        self,
        boxes: TensorLike,
        scores: TensorLike,
        max_boxes_per_class: TensorLike,
        *,
        iou_threshold: float = 0,
        score_threshold: Optional[float] = None,
        box_format: Any = "corners",
        name: str = "",
    ) -> Layer:
        """Appends a non-maximum suppression; TensorRT's addNMS, ONNX NonMaxSuppression.
        boxes are [N, boxes, 4] and scores [N, classes, boxes], both float32. The outputs are int64 [selected, 3] of
        batch, class and box, and their number, int64. `box_format` is a BoxFormat."""
        o = self._options(
            _lathe.NmsOptions,
            name,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
            boxes=member(_lathe.BoxFormat, box_format),
        )
        operands = self._ref(boxes, "float32"), self._ref(scores, "float32"), self._ref(max_boxes_per_class)
        return self._layer(self._native.add_nms(*operands, o))

    def add_shuffle(
        self,
        x: TensorLike,
        *,
        first_transpose: Sequence[int] = (),
        reshape: Union[Sizes, TensorRef, Layer, None] = None,
        second_transpose: Sequence[int] = (),
        zero_is_placeholder: bool = True,
        name: str = "",
    ) -> Layer:
        """Appends a transpose, a reshape and another transpose; those left empty are left out. TensorRT's addShuffle.
        `reshape` is a list of sizes or an int64 tensor. A 0 in it copies the size at its place unless
        `zero_is_placeholder` is off; one size may be `inferred_size`."""
        o = self._options(
            _lathe.ShuffleOptions,
            name,
            first_transpose=ints(first_transpose),
            second_transpose=ints(second_transpose),
            zero_is_placeholder=zero_is_placeholder,
        )
        if _is_tensor(reshape):
            o.reshape_tensor = self._ref(reshape)
        elif reshape is not None:
            o.reshape = tuple(reshape)  # type: ignore[arg-type]
        return self._layer(self._native.add_shuffle(self._ref(x), o))

    def add_transpose(self, x: TensorLike, permutation: Sequence[int], *, name: str = "") -> Layer:
        """Appends x with its axes permuted, as NumPy's transpose; ONNX Transpose."""
        return self._layer(self._native.add_transpose(self._ref(x), ints(permutation), name))

    def add_reshape(self, x: TensorLike, shape: Sizes, *, name: str = "") -> Layer:
        """Appends x in another shape; ONNX Reshape.
        Sizes are numbers, expressions over the network's symbols, and at most one `inferred_size`."""
        return self._layer(self._native.add_reshape(self._ref(x), tuple(shape), name))

    def add_slice(
        self,
        x: TensorLike,
        start: Any,
        size: Any,
        stride: Any = None,
        *,
        mode: Any = "strict",
        axes: Sequence[int] = (),
        fill_value: Optional[TensorLike] = None,
        name: str = "",
    ) -> Layer:
        """Appends the elements start[i] + k · stride[i] for k < size[i] of every axis; TensorRT's addSlice, ONNX Slice.
        They are three lists, or int64 tensors of one element for each axis; a stride left out is 1. `mode` is a
        SliceMode; `axes` are those that the lists are for, all where it is empty. `fill_value` has one element, 0 by
        default."""
        o = self._options(
            _lathe.SliceOptions,
            name,
            mode=member(_lathe.SliceMode, mode),
            axes=ints(axes),
            fill_value=self._ref(fill_value, x),
        )
        if any(map(_is_tensor, (start, size, stride))):
            start, size, stride = self._ref(start, "int64"), self._ref(size, "int64"), self._ref(stride, "int64")
        else:
            start, size = ints(start), ints(size)
            stride = [1] * len(start) if stride is None else ints(stride)
        return self._layer(self._native.add_slice(self._ref(x), start, size, stride, o))

    def add_padding(
        self,
        x: TensorLike,
        pre_padding: Sequence[int],
        post_padding: Sequence[int],
        *,
        fill: Any = "constant",
        axes: Sequence[int] = (),
        value: Optional[TensorLike] = None,
        name: str = "",
    ) -> Layer:
        """Appends x with elements added before and behind it; TensorRT's addPaddingNd, ONNX Pad.
        Negative numbers remove elements. `fill` is a PaddingFill. `axes` are those that the lists are for; empty, they
        are the last ones. `value` has one element, 0 by default."""
        o = self._options(
            _lathe.PaddingOptions,
            name,
            fill=member(_lathe.PaddingFill, fill),
            axes=ints(axes),
            value=self._ref(value, x),
        )
        return self._layer(self._native.add_padding(self._ref(x), ints(pre_padding), ints(post_padding), o))

    def add_concatenation(self, inputs: Sequence[TensorLike], axis: int, *, name: str = "") -> Layer:
        """Appends the inputs joined along `axis`; TensorRT's addConcatenation, ONNX Concat."""
        return self._layer(self._native.add_concatenation(self._refs(inputs), axis, name))

    def add_squeeze(self, x: TensorLike, axes: Sequence[int], *, name: str = "") -> Layer:
        """Appends x without the axes, whose size is 1; TensorRT's addSqueeze, ONNX Squeeze."""
        return self._layer(self._native.add_squeeze(self._ref(x), ints(axes), name))

    def add_unsqueeze(self, x: TensorLike, axes: Sequence[int], *, name: str = "") -> Layer:
        """Appends x with new axes of size 1; TensorRT's addUnsqueeze, ONNX Unsqueeze.
        `axes` are their places in the output."""
        return self._layer(self._native.add_unsqueeze(self._ref(x), ints(axes), name))

    def add_expand(self, x: TensorLike, shape: Sizes, *, name: str = "") -> Layer:
        """Appends x broadcast to another shape; ONNX Expand."""
        return self._layer(self._native.add_expand(self._ref(x), tuple(shape), name))

    def add_shape(self, x: TensorLike, *, name: str = "") -> Layer:
        """Appends the shape of x as int64 [rank]; TensorRT's addShape, ONNX Shape."""
        return self._layer(self._native.add_shape(self._ref(x), name))

    def add_shape_of(self, sizes: Sizes, *, name: str = "") -> Layer:
        """Appends the sizes as an int64 list; expressions are calculated from the shapes of the network's inputs.
        Raises `lathe.Error` E6001 (bad_argument) for a symbol that no input has."""
        return self._layer(self._native.add_shape_of(tuple(sizes), name))

    def add_resize(
        self,
        x: TensorLike,
        *,
        scales: Sequence[float] = (),
        sizes: Union[Sizes, TensorRef, Layer] = (),
        mode: Any = "nearest",
        coordinates: Any = "half_pixel",
        rounding: Any = "round_prefer_floor",
        cubic_coefficient: float = -0.75,
        exclude_outside: bool = False,
        antialias: bool = False,
        name: str = "",
    ) -> Layer:
        """Appends x interpolated to other sizes; TensorRT's addResize, ONNX Resize.
        Give either `scales`, one for each axis of x, or `sizes`, a list or an int64 tensor. `mode` is an
        InterpolationMode, `coordinates` a CoordinateTransformation, `rounding` a NearestRounding."""
        o = self._options(
            _lathe.ResizeOptions,
            name,
            scales=[float(s) for s in scales],
            mode=member(_lathe.InterpolationMode, mode),
            coordinates=member(_lathe.CoordinateTransformation, coordinates),
            rounding=member(_lathe.NearestRounding, rounding),
            cubic_coefficient=cubic_coefficient,
            exclude_outside=exclude_outside,
            antialias=antialias,
        )
        if _is_tensor(sizes):
            o.sizes_tensor = self._ref(sizes)
        else:
            o.sizes = tuple(sizes)  # type: ignore[arg-type]
        return self._layer(self._native.add_resize(self._ref(x), o))

    def add_grid_sample(
        self,
        x: TensorLike,
        grid: TensorLike,
        *,
        mode: Any = "linear",
        padding: Any = "zeros",
        align_corners: bool = False,
        name: str = "",
    ) -> Layer:
        """Appends x sampled at the positions of a grid; TensorRT's addGridSample, ONNX GridSample.
        x is [N, C, spatial…], grid [N, spatial out…, spatial rank] in [-1, 1]. `mode` is an InterpolationMode;
        `padding` is a GridPadding."""
        o = self._options(
            _lathe.GridSampleOptions,
            name,
            mode=member(_lathe.InterpolationMode, mode),
            padding=member(_lathe.GridPadding, padding),
            align_corners=align_corners,
        )
        return self._layer(self._native.add_grid_sample(self._ref(x), self._ref(grid, x), o))

    def add_reverse_sequence(
        self, x: TensorLike, lengths: TensorLike, *, batch_axis: int = 1, sequence_axis: int = 0, name: str = ""
    ) -> Layer:
        """Appends x with the first `lengths` elements of each item of the batch reversed.
        It is TensorRT's addReverseSequence, ONNX ReverseSequence. `lengths`, int64 [batch], counts elements along
        `sequence_axis`."""
        o = self._options(_lathe.ReverseSequenceOptions, name, batch_axis=batch_axis, sequence_axis=sequence_axis)
        return self._layer(self._native.add_reverse_sequence(self._ref(x), self._ref(lengths), o))

    def add_fill(
        self,
        shape: Union[Sizes, TensorRef, Layer],
        op: Any,
        *,
        alpha: float = 0,
        beta: Sequence[float] = (1,),
        type: Any = "float32",
        seed: float = 0,
        name: str = "",
    ) -> Layer:
        """Appends a tensor of generated numbers, a FillOperation; TensorRT's addFill.
        linspace is alpha + Σ beta[d] · index[d]; random_uniform is in [alpha, beta[0]); random_normal has mean alpha
        and deviation beta[0]. The same seed gives the same numbers. `shape` is a list of sizes, or an int64 tensor
        [rank]."""
        o = self._options(
            _lathe.FillOptions,
            name,
            alpha=alpha,
            beta=[float(b) for b in beta],
            type=type_name(type),
            seed=seed,
        )
        sizes = self._ref(shape) if _is_tensor(shape) else tuple(shape)  # type: ignore[arg-type]
        return self._layer(self._native.add_fill(sizes, member(_lathe.FillOperation, op), o))
