"""Layers that choose, move and make elements."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from lathe import _lathe
from lathe._network.handles import Calls, Layer, TensorLike, TensorRef, ints, member, type_name

# Numbers, and expressions over named sizes: ("N", 3, "2*S + 1").
Sizes = Sequence[Union[int, str]]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (TensorRef, Layer))


class MovementCalls(Calls):
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
        """`mode`, a GatherMode: whole slices of `axis`; elements; nd (the last axis of the indices is a position).
        batch_axes: leading axes that data and indices share."""
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
        """`mode`: a ScatterMode; `reduction`: a ScatterReduction."""
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
        """values: [off, on]; depth: one integer. The new axis is `axis` of the output."""
        operands = self._ref(indices), self._ref(values, "float32"), self._ref(depth)
        return self._layer(self._native.add_one_hot(*operands, axis, name))

    def add_non_zero(self, x: TensorLike, *, name: str = "") -> Layer:
        """Positions of what is not zero: int64 [rank, count]."""
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
        """boxes [N, boxes, 4], scores [N, classes, boxes], both float32. Outputs: int64 [selected, 3] of batch, class
        and box; and their number. `box_format`: a BoxFormat."""
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
        """Transpose, reshape, transpose; what is left empty is left out. `reshape`: sizes, or an int64 tensor. A 0
        copies the size at its place unless `zero_is_placeholder` is off; one size may be left to be found:
        `inferred_size`."""
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
        return self._layer(self._native.add_transpose(self._ref(x), ints(permutation), name))

    def add_reshape(self, x: TensorLike, shape: Sizes, *, name: str = "") -> Layer:
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
        """Elements start[i] + k · stride[i] for k < size[i] of every axis: three lists, or int64 tensors of one element
        an axis (a stride left out is 1). `mode`: a SliceMode; `axes`: those that the lists are of (empty: all)."""
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
        """Adds elements before and behind; negative numbers take some away. `fill`: a PaddingFill; `axes` empty: the
        last ones, as many as there are pads."""
        o = self._options(
            _lathe.PaddingOptions,
            name,
            fill=member(_lathe.PaddingFill, fill),
            axes=ints(axes),
            value=self._ref(value, x),
        )
        return self._layer(self._native.add_padding(self._ref(x), ints(pre_padding), ints(post_padding), o))

    def add_concatenation(self, inputs: Sequence[TensorLike], axis: int, *, name: str = "") -> Layer:
        return self._layer(self._native.add_concatenation(self._refs(inputs), axis, name))

    def add_squeeze(self, x: TensorLike, axes: Sequence[int], *, name: str = "") -> Layer:
        return self._layer(self._native.add_squeeze(self._ref(x), ints(axes), name))

    def add_unsqueeze(self, x: TensorLike, axes: Sequence[int], *, name: str = "") -> Layer:
        return self._layer(self._native.add_unsqueeze(self._ref(x), ints(axes), name))

    def add_expand(self, x: TensorLike, shape: Sizes, *, name: str = "") -> Layer:
        """x at another size, by broadcasting."""
        return self._layer(self._native.add_expand(self._ref(x), tuple(shape), name))

    def add_shape(self, x: TensorLike, *, name: str = "") -> Layer:
        """int64 [rank]."""
        return self._layer(self._native.add_shape(self._ref(x), name))

    def add_shape_of(self, sizes: Sizes, *, name: str = "") -> Layer:
        """The sizes as an int64 list: expressions are calculated from the shapes of the network's inputs."""
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
        """Either `scales` (one a dimension of x) or `sizes` (a list, or an int64 tensor). `mode`: an InterpolationMode;
        `coordinates`: a CoordinateTransformation; `rounding`: a NearestRounding."""
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
        """x [N, C, spatial…], grid [N, spatial out…, rank] in [-1, 1]. `mode`: an InterpolationMode; `padding`: a
        GridPadding."""
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
        """`op`, a FillOperation: linspace, alpha + Σ beta[d] · index[d]; random_uniform in [alpha, beta[0]);
        random_normal of mean alpha and deviation beta[0]; the same seed gives the same numbers. `shape`: sizes, or an
        int64 tensor. """
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
