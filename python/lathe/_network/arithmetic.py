"""Python's operators work on the handles of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lathe import _lathe

if TYPE_CHECKING:
    from lathe._network.handles import TensorRef

E = _lathe.ElementWiseOperation
U = _lathe.UnaryOperation


class Arithmetic:
    """The base of tensors and layers: Python's operators append layers to their network.
    `+ - * / // ** & | ^ < >` append `add_elementwise`, `@` appends `add_matrix_multiply`, `-x`, `abs(x)` and `~x`
    append `add_unary`. `==` and `!=` compare handles."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's arrays leave the operators to the tensor

    def _tensor(self) -> "TensorRef":
        raise NotImplementedError

    def _binary(self, other: Any, op: Any, swapped: bool = False) -> "TensorRef":
        tensor = self._tensor()
        a, b = (other, tensor) if swapped else (tensor, other)
        return tensor._network._innermost.add_elementwise(a, b, op).output

    def _unary(self, op: Any) -> "TensorRef":
        tensor = self._tensor()
        return tensor._network._innermost.add_unary(tensor, op).output

    def _product(self, other: Any, swapped: bool = False) -> "TensorRef":
        tensor = self._tensor()
        a, b = (other, tensor) if swapped else (tensor, other)
        return tensor._network._innermost.add_matrix_multiply(a, b).output

    def __add__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.sum)

    def __radd__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.sum, True)

    def __sub__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.sub)

    def __rsub__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.sub, True)

    def __mul__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.prod)

    def __rmul__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.prod, True)

    def __truediv__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.div)

    def __rtruediv__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.div, True)

    def __floordiv__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.floor_div)

    def __rfloordiv__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.floor_div, True)

    def __pow__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.pow)

    def __rpow__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.pow, True)

    def __matmul__(self, other: Any) -> "TensorRef":
        return self._product(other)

    def __rmatmul__(self, other: Any) -> "TensorRef":
        return self._product(other, True)

    def __lt__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.less)

    def __gt__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.greater)

    def __and__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.logical_and)

    def __or__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.logical_or)

    def __xor__(self, other: Any) -> "TensorRef":
        return self._binary(other, E.logical_xor)

    def __neg__(self) -> "TensorRef":
        return self._unary(U.neg)

    def __abs__(self) -> "TensorRef":
        return self._unary(U.abs)

    def __invert__(self) -> "TensorRef":
        return self._unary(U.logical_not)
