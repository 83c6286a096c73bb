"""These calls append control flow, whose bodies are Python functions, and operators that have no call of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._network.handles import Calls, Layer, TensorLike, TensorRef, constant_tensor, member

if TYPE_CHECKING:
    from lathe._network.network import Network

# A function that fills a body and returns its outputs: one tensor or several.
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
    """The inside of a loop while `Network.add_loop` fills it, TensorRT's ILoop.
    After the function that fills it returned, every call raises `lathe.Error` E6001 (bad_argument). For one thread."""

    def __init__(self, native: _lathe.LoopBody, outside: "ControlCalls", inside: "Network"):
        self._native = native
        self._outside = outside
        self._inside = inside

    @property
    def network(self) -> "Network":
        """The network that layers of the body are added to."""
        return self._inside

    @property
    def iteration(self) -> TensorRef:
        """The number of the iteration, from 0, int64 [].
        Raises `lathe.Error` E6001 (bad_argument) in a loop with neither limit nor condition."""
        return TensorRef(self._native.iteration(), self._inside)

    def add_recurrence(self, initial: TensorLike) -> TensorRef:
        """Adds a value that is carried from one iteration to the next, from `initial` on; TensorRT's addRecurrence."""
        return TensorRef(self._native.add_recurrence(self._outside._ref(initial)), self._inside)

    def set_next(self, recurrence: TensorRef, next: TensorLike) -> None:
        """Sets the value of a recurrence in the next iteration, once for each recurrence."""
        self._native.set_next(recurrence._native, self._inside._ref(next, recurrence))

    def add_iterator(self, x: TensorLike, axis: int = 0, *, reverse: bool = False) -> TensorRef:
        """Adds one slice of x for each iteration, along `axis`, which it does not have; TensorRT's addIterator.
        `reverse` starts at the end of x."""
        return TensorRef(self._native.add_iterator(self._outside._ref(x), axis, reverse), self._inside)

    def set_condition(self, condition: TensorLike) -> None:
        """Makes the loop go on while the condition (bool, one element) is true."""
        self._native.set_condition(self._inside._ref(condition))

    def add_output(self, t: TensorLike, kind: Any = "last_value", axis: int = 0) -> None:
        """Adds an output of the loop, a LoopOutput; TensorRT's addLoopOutput.
        It is the last_value of a recurrence, or the values of all iterations along a new axis, in order (concatenate)
        or backwards (reverse)."""
        self._native.add_output(self._inside._ref(t), member(_lathe.LoopOutput, kind), axis)


class ControlCalls(Calls):
    """The calls of a `Network` for control flow, plug-ins and any operator."""

    def _enter(self, native: _lathe.Network) -> Any:
        raise NotImplementedError  # a Network's

    def _body(self, fill: Body) -> Callable[[_lathe.Network], list[_lathe.TensorRef]]:
        def filled(native: _lathe.Network) -> list[_lathe.TensorRef]:
            with self._enter(native) as body:
                made = fill(body)
                return body._refs(made if isinstance(made, (list, tuple)) else [made])

        return filled

    def add_assertion(self, x: TensorLike, condition: TensorLike, message: str) -> Layer:
        """Appends x itself where condition (bool) is true everywhere; otherwise the run fails. TensorRT's addAssertion.
        The error of the run is E4101 (run_bad_index), with the message as the node's name. Raises `lathe.Error` E6001
        (bad_argument) where the condition is known to be false."""
        return self._layer(self._native.add_assertion(self._ref(x), self._ref(condition), message))

    def add_if_conditional(
        self, condition: TensorLike, then_branch: Body, else_branch: Body, *, name: str = ""
    ) -> Layer:
        """Appends one of two branches, as condition (bool, one element) says; TensorRT's addIfConditional, ONNX If.
        Each branch is a function of the body's network that returns tensors, of the same types and in the same order as
        the other. Tensors of the networks around it may be used in it."""
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
        """Appends a loop whose `body` is a function that fills a LoopBody; TensorRT's addLoop, ONNX Loop or Scan.
        It runs at most `trip_limit` times (int64) and while the condition is true. With neither it runs once for every
        element of its iterators, of which there is at least one. The outputs are those that the body declares, in
        order."""
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
        """Appends an operator of another domain, from a plug-in of the engine's build; TensorRT's addPluginV3.
        `output_types` are types such as "float[N,3]", since nothing else is known of the operator here."""
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
        """Appends any ONNX operator in its newest version.
        An input that is None is left out. `output_names` replaces `outputs` where they have names; an empty name is an
        output that is not used. Attributes are int, float, str, an array, or a list of these; `bodies` are functions as
        of `add_if_conditional`."""
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
        """Raises `lathe.Error` E6002 (not_supported): TensorRT's addMoE is not implemented."""
        return self._layer(self._native.add_moe(self._refs(inputs), name))

    def add_dist_collective(self, x: TensorLike, operation: str, *, name: str = "") -> Layer:
        """Raises `lathe.Error` E6002 (not_supported): TensorRT's addDistCollective is not implemented."""
        return self._layer(self._native.add_dist_collective(self._ref(x), operation, name))
