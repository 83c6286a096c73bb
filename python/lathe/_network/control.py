"""Control flow, whose bodies are Python functions, and operators without a call of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._network.handles import Calls, Layer, TensorLike, TensorRef, constant_tensor, member

if TYPE_CHECKING:
    from lathe._network.network import Network

# What a body gives: one tensor or several.
Body = Callable[["Network"], Union[TensorLike, Sequence[TensorLike]]]


def _is_fraction(value: Any) -> bool:
    return isinstance(value, (float, list, tuple)) and np.asarray(value).dtype.kind == "f"


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return constant_tensor(value)
    if isinstance(value, (bool, np.generic)):
        return int(value) if isinstance(value, bool) else value.item()
    return [_attribute(v) for v in value] if isinstance(value, (list, tuple)) else value


class LoopBody:
    """The inside of a loop while it is built."""

    def __init__(self, native: _lathe.LoopBody, outside: "ControlCalls", inside: "Network"):
        self._native = native
        self._outside = outside
        self._inside = inside

    @property
    def network(self) -> "Network":
        """What layers of the body are added to."""
        return self._inside

    @property
    def iteration(self) -> TensorRef:
        """The number of the iteration from 0 on, int64 []. Not of a loop without limit and condition."""
        return TensorRef(self._native.iteration(), self._inside)

    def add_recurrence(self, initial: TensorLike) -> TensorRef:
        """A value carried from one iteration to the next, and where it starts."""
        return TensorRef(self._native.add_recurrence(self._outside._ref(initial)), self._inside)

    def set_next(self, recurrence: TensorRef, next: TensorLike) -> None:
        """What the recurrence is in the next iteration; once for each."""
        self._native.set_next(recurrence._native, self._inside._ref(next, recurrence))

    def add_iterator(self, x: TensorLike, axis: int = 0, *, reverse: bool = False) -> TensorRef:
        """One slice of x along `axis` an iteration, from its start or its end on; without that axis."""
        return TensorRef(self._native.add_iterator(self._outside._ref(x), axis, reverse), self._inside)

    def set_condition(self, condition: TensorLike) -> None:
        """Goes on while true (bool, one element)."""
        self._native.set_condition(self._inside._ref(condition))

    def add_output(self, t: TensorLike, kind: Any = "last_value", axis: int = 0) -> None:
        """`kind`, a LoopOutput: the last_value of a recurrence; or the values of all iterations along a new axis, in
        order (concatenate) or backwards (reverse)."""
        self._native.add_output(self._inside._ref(t), member(_lathe.LoopOutput, kind), axis)


class ControlCalls(Calls):
    def _enter(self, native: _lathe.Network) -> Any:
        raise NotImplementedError  # a Network's

    def _body(self, fill: Body) -> Callable[[_lathe.Network], list[_lathe.TensorRef]]:
        def filled(native: _lathe.Network) -> list[_lathe.TensorRef]:
            with self._enter(native) as body:
                made = fill(body)
                return body._refs(made if isinstance(made, (list, tuple)) else [made])

        return filled

    def add_assertion(self, x: TensorLike, condition: TensorLike, message: str) -> Layer:
        """x itself, where condition (bool) is true all over; else the run fails, with the message as the node's
        name."""
        return self._layer(self._native.add_assertion(self._ref(x), self._ref(condition), message))

    def add_if_conditional(
        self, condition: TensorLike, then_branch: Body, else_branch: Body, *, name: str = ""
    ) -> Layer:
        """condition: bool, one element. Each branch is a function of the body's network that gives tensors, of the same
        types and in the same order as the other; tensors from around are used in it as they are."""
        branches = self._body(then_branch), self._body(else_branch)
        return self._layer(self._native.add_if_conditional(self._ref(condition), *branches, name))

    def add_loop(
        self,
        body: Callable[[LoopBody], Any],
        *,
        trip_limit: Optional[TensorLike] = None,
        initial_condition: Optional[TensorLike] = None,
        name: str = "",
    ) -> Layer:
        """Runs `body`, a function that fills a LoopBody, `trip_limit` times (int64) at most, and while the condition is
        true. With neither it runs once for every element of its iterators, one at least. Outputs: those that the body
        declares, in order."""
        o = self._options(
            _lathe.LoopOptions,
            name,
            trip_limit=self._ref(trip_limit, "int64"),
            initial_condition=self._ref(initial_condition),
        )

        def fill(native: _lathe.LoopBody) -> None:
            with self._enter(native.network()) as inside:
                body(LoopBody(native, self, inside))

        return self._layer(self._native.add_loop(o, fill))

    def add_plugin(
        self,
        domain: str,
        op: str,
        inputs: Sequence[Optional[TensorLike]],
        output_types: Sequence[str],
        *,
        attributes: Optional[Mapping[str, Any]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        name: str = "",
    ) -> Layer:
        """An operator of somebody else's domain, from a plug-in given to the engine's build; `output_types` as
        "float[N,3]", since nothing is known of it here."""
        o = self._operator_options(name, attributes, metadata)
        return self._layer(self._native.add_plugin(domain, op, self._operands(inputs), list(output_types), o))

    def add_operator(
        self,
        op: str,
        inputs: Sequence[Optional[TensorLike]],
        *,
        attributes: Optional[Mapping[str, Any]] = None,
        bodies: Optional[Mapping[str, Body]] = None,
        domain: str = "",
        outputs: int = 1,
        output_names: Sequence[str] = (),
        metadata: Optional[Mapping[str, str]] = None,
        name: str = "",
    ) -> Layer:
        """Any ONNX operator in its newest version. An input that is None is left out; `output_names` instead of
        `outputs` where they have names, an empty one is not wanted. Attributes: int, float, str, an array, or a list of
        these."""
        o = self._operator_options(name, attributes, metadata)
        o.set_bodies({key: self._body(fill) for key, fill in (bodies or {}).items()})
        o.domain = domain
        o.outputs = outputs
        o.output_names = list(output_names)
        return self._layer(self._native.add_operator(op, self._operands(inputs), o))

    def _operands(self, values: Sequence[Any]) -> list[_lathe.TensorRef]:
        """Whole numbers are axes, shapes or indices to most operators: int64. Fractions are of the tensors' type."""
        like = next((v.dtype for v in values if isinstance(v, (TensorRef, Layer))), None)
        floats = like if like and "float" in like else None
        return [self._ref(v, floats if v is not None and _is_fraction(v) else None) for v in values]

    def _operator_options(self, name: str, attributes: Any, metadata: Any) -> _lathe.OperatorOptions:
        o = self._options(_lathe.OperatorOptions, name, metadata=list((metadata or {}).items()))
        o.set_attributes({key: _attribute(value) for key, value in (attributes or {}).items()})
        return o

    def add_moe(self, inputs: Sequence[TensorLike], *, name: str = "") -> Layer:
        """Not yet: raises `lathe.Error`."""
        return self._layer(self._native.add_moe(self._refs(inputs), name))

    def add_dist_collective(self, x: TensorLike, operation: str, *, name: str = "") -> Layer:
        """Not yet: raises `lathe.Error`."""
        return self._layer(self._native.add_dist_collective(self._ref(x), operation, name))
