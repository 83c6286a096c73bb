"""Engines and contexts, with NumPy in and out."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Literal, Mapping, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._profile import Profile
from lathe._values import array_from_tensor, from_value, tensor_to_write, to_value

if TYPE_CHECKING:
    from lathe._refit import TimingCache

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, _lathe.Model]
RunControl = _lathe.RunControl
ShapeRange = tuple[Sequence[int], Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class IoInfo:
    """One input or output. `type` is in ONNX's words, "tensor(float)"; `dtype` the element type of a tensor, else
    None; `shape` holds numbers, expressions such as "4*batch", and None where nothing is known; it is None itself
    where the rank is unknown."""

    name: str
    type: str
    dtype: Optional[str]
    shape: Optional[tuple[Union[int, str, None], ...]]
    optional: bool


@dataclass(frozen=True)
class Step:
    """One step of a finished engine. `tunables`: what the kernel was told; `timings`: tactics and microseconds as
    measured, the tactic that was taken first; `strict`: what its kernel does for strict numerics that it would not do
    else, or ""; `memory`: what it is spared by where its operands lie ("copies nothing", "writes over x"), or ""."""

    node: str
    op: str
    kernel: str
    backend: str
    origin: list[str]
    refusals: list[str]
    fused: list[str]
    unfused: list[str]
    tunables: list[int]
    timings: list[tuple[str, float]]
    strict: str = ""
    memory: str = ""


@dataclass(frozen=True)
class StepRun:
    """One step of a run, as `Context.on_step` tells it. `seconds` are without those of its bodies' steps, which are told on
    their own; an empty `kernel` is a copy between memory spaces."""

    node: str
    op: str
    kernel: str
    seconds: float


def _inputs(given: Mapping[str, Any] | Sequence[Any], declared: Sequence[IoInfo]) -> dict[str, Any]:
    if not isinstance(given, (Mapping, Iterable)):
        raise TypeError(f"inputs are a dict by name, or a list in the model's order, not {type(given).__name__}")
    if not isinstance(given, Mapping):
        # The engine says what is missing, and what there is too much of.
        names = [io.name for io in declared] + [f"#{i}" for i in range(len(declared), len(given))]
        given = dict(zip(names, given))
    types = {io.name: io.type for io in declared}
    return {name: to_value(value, types.get(name, "")) for name, value in given.items()}


def _outputs(values: Mapping[str, Any], declared: Sequence[IoInfo]) -> dict[str, Any]:
    """In the model's order."""
    return {io.name: from_value(values[io.name]) for io in declared}


@contextlib.contextmanager
def _limited(control: Optional[RunControl], timeout: Optional[float]) -> Iterator[Optional[RunControl]]:
    """The control with a deadline, for as long as this lasts."""
    if timeout is None:
        yield control
        return
    control = control or RunControl()
    control.set_timeout(timeout)
    try:
        yield control
    finally:
        control.clear_timeout()


class Context:
    """Working memory for one run at a time; use one per thread. Made by `Engine.create_context`."""

    def __init__(self, context: _lathe.Context, inputs: Sequence[IoInfo], outputs: Sequence[IoInfo]):
        self._context = context
        self._inputs = inputs
        self._outputs = outputs

    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        timeout: Optional[float] = None,
        control: Optional[RunControl] = None,
    ) -> dict[str, Any]:
        """All outputs by name. Without `inputs`, runs on what is bound, and outputs bound are not returned."""
        if inputs is None and timeout is None:  # the shortest way: it is what a tiny model takes
            self._context.run_bound(control)
            return {}
        with _limited(control, timeout) as limited:
            if inputs is None:
                self._context.run_bound(limited)
                return {}
            return _outputs(self._context.run(_inputs(inputs, self._inputs), limited), self._outputs)

    def bind_input(self, name: str, value: Any) -> None:
        """Uses the memory of `value` for every following `run()`; it may be refilled between runs."""
        declared = {io.name: io.type for io in self._inputs}
        self._context.bind_input(name, to_value(value, declared.get(name, "")))

    def bind_output(self, name: str, array: Any) -> None:
        """Writes this output into `array` (NumPy's, or anything with DLPack), whose shape must be the one the run gives
        it; None ends that."""
        self._context.bind_output(name, None if array is None else tensor_to_write(array))

    def output(self, name: str) -> Any:
        """An output after `run()` on bound inputs."""
        return from_value(self._context.output(name))

    def on_tap(self, listener: Optional[Callable[[str, Any], None]]) -> None:
        """Calls `listener(name, value)` with every inner value of the next runs that `taps` named at build. What it
        raises ends the run."""
        self._context.on_tap(listener and (lambda name, value: listener(name, from_value(value))))

    def on_step(self, listener: Optional[Callable[[StepRun], None]]) -> None:
        """Calls `listener` after every step of the next runs, with its time; None: no longer. What it raises ends the run."""
        self._context.on_step(listener and (lambda *step: listener(StepRun(*step))))

    def start_profile(self, events: int = 65536) -> None:
        """Records every step of the next runs, and forgets what was recorded before. `events`: how many executions are
        kept, the latest; sums are over all. After a thousand runs of networks whose steps take little longer than
        recording them, most are passed over (`Profile.runs_passed_over`), so that it takes less than 2 % of the time."""
        self._context.start_profile(events)

    def stop_profile(self) -> None:
        """Records no longer; `profile()` still tells what there is."""
        self._context.stop_profile()

    def profile(self) -> Profile:
        """What was recorded until now."""
        return Profile(self._context.profile())

    @property
    def memory_in_use(self) -> int:
        """Bytes that this context's allocators hold now."""
        return self._context.memory_in_use

    @property
    def memory_peak(self) -> int:
        return self._context.memory_peak

    def reserve(self, profile: str) -> None:
        """Takes the memory now that runs within a profile need; until `trim()` they take no more, whatever their shapes,
        but for what only the data decide and for the arrays that they return."""
        self._context.reserve(profile)

    def trim(self) -> None:
        """Gives back memory that no run needs now."""
        self._context.trim()


class EngineInspector:
    """A picture of an engine: for each step kernel and tactic, the layers that were fused into it, why others were not,
    bytes and floating-point operations."""

    def __init__(self, engine: "Engine", shapes: Mapping[str, Iterable[int]] = {}):
        self._native = _lathe.EngineInspector(engine._engine, {name: tuple(shape) for name, shape in shapes.items()})

    @property
    def num_layers(self) -> int:
        return self._native.num_layers()

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes that bytes and operations are told for."""
        return self._native.input_shapes()

    def get_layer_information(self, index: int, form: Literal["oneline", "json"] = "oneline") -> str:
        """One step: a line of text, or a JSON object."""
        return self._native.get_layer_information(index, form)

    def get_engine_information(self, form: Literal["oneline", "json"] = "oneline") -> str:
        """All of them: a line each, or one JSON object."""
        return self._native.get_engine_information(form)

    def layers(self) -> list[dict[str, Any]]:
        """All of them as `get_engine_information("json")` has them."""
        return json.loads(self.get_engine_information("json"))["layers"]


class Engine:
    """A model, ready to run. Every method may be called from many threads at once. Immutable, but for what its weights
    hold (`Refitter`)."""

    def __init__(self, engine: _lathe.Engine):
        self._engine = engine
        self.inputs: tuple[IoInfo, ...] = tuple(IoInfo(**io) for io in engine.inputs())
        self.outputs: tuple[IoInfo, ...] = tuple(IoInfo(**io) for io in engine.outputs())

    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any],
        *,
        timeout: Optional[float] = None,
        control: Optional[RunControl] = None,
    ) -> dict[str, Any]:
        """Runs once. Inputs by name or in order: NumPy arrays, anything with DLPack, numbers, lists (sequences
        where the model wants them), dicts (maps), None (the empty optional). Returns all outputs by name, in the
        model's order."""
        with _limited(control, timeout) as limited:
            return _outputs(self._engine.run(_inputs(inputs, self.inputs), limited), self.outputs)

    def profile(
        self, inputs: Mapping[str, Any] | Sequence[Any], *, runs: int = 10, timeout: Optional[float] = None
    ) -> Profile:
        """Runs `runs` times on a context of its own, after one run that does not count, and tells where the time went.
        `timeout`: seconds that all of it may take."""
        if runs < 1:
            raise ValueError(f"runs is at least 1, not {runs}")
        context = self.create_context()
        for name, value in _inputs(inputs, self.inputs).items():
            context._context.bind_input(name, value)
        with _limited(None, timeout) as limited:
            context._context.run_bound(limited)
            context.start_profile()
            for _ in range(runs):
                context._context.run_bound(limited)
        return context.profile()

    def create_context(self) -> Context:
        return Context(self._engine.create_context(), self.inputs, self.outputs)

    @property
    def symbols(self) -> list[str]:
        """Names of the symbols in the input shapes."""
        return self._engine.symbols()

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self._engine.metadata())

    @property
    def tuning(self) -> dict[str, Any]:
        """What was measured by the build: `problems`, of which `timed` now, `cached` known before and `untimed` left to
        rules of thumb, and `seconds`."""
        return self._engine.tuning()

    @property
    def threads(self) -> int:
        return self._engine.threads()

    @property
    def numerics(self) -> str:
        """ "normal", or "strict": each item of a batch comes out as it would alone."""
        return self._engine.numerics()

    @property
    def profiles(self) -> dict[str, dict[str, ShapeRange]]:
        """The profiles that the engine was built with: by name and input, smallest, usual and greatest shape."""
        return self._engine.profiles()

    @property
    def steps(self) -> list[Step]:
        """What runs, in order: operator, kernel, and why other kernels refused."""
        return [Step(**step) for step in self._engine.steps()]

    @property
    def target(self) -> dict[str, str]:
        """`isa` that the kernels use, what the plan was `built_for`, and the `section` of it that was opened: "native",
        or "portable" where kernels were chosen and weights packed again for a lesser processor."""
        return self._engine.target()

    def trim(self) -> None:
        """Lets go of the pages of mapped files, and of contexts that wait for the next run()."""
        self._engine.trim()

    def memory(self, shapes: Mapping[str, Iterable[int]]) -> dict[str, Any]:
        """Peak bytes for these input shapes: weights, activations, workspace, outputs, at most data_dependent, and their
        total. `uncounted` names the values that nothing bounds before the run; `records`, no part of the total, is what a
        context keeps of its steps besides."""
        return self._engine.memory({name: tuple(shape) for name, shape in shapes.items()})

    def profile_memory(self, profile: str) -> dict[str, Any]:
        """What a context holds that was reserved for a profile, in the words of `memory`."""
        return self._engine.profile_memory(profile)

    def output_shapes(self, shapes: Mapping[str, Iterable[int]]) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs for these input shapes; an output that only the data decide is left out."""
        return self._engine.output_shapes({name: tuple(shape) for name, shape in shapes.items()})

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a .lathe plan, which `load` opens without building."""
        self._engine.save(path)

    def serialize(self) -> bytes:
        """The bytes that `save` would write, for `deserialize`."""
        return self._engine.serialize()

    @property
    def is_refittable(self) -> bool:
        """Whether it was built with `refit`, so that a `Refitter` can exchange its weights."""
        return self._engine.is_refittable()

    @property
    def refits(self) -> int:
        """How often its weights have been exchanged since it was built or loaded."""
        return self._engine.refits()

    def inspect(self, shapes: Mapping[str, Iterable[int]] = {}) -> "EngineInspector":
        """What its steps are, with bytes and arithmetic at these input shapes; of symbols that they leave open at the
        sizes that kernels were chosen by."""
        return EngineInspector(self, shapes)


def load_options(untrusted: bool = False, link_roots: Iterable[Any] = ()) -> _lathe.LoadOptions:
    options = _lathe.LoadOptions()
    options.untrusted = untrusted
    options.link_roots = [os.fspath(root) for root in link_roots]
    return options


def _member(kind: Any, option: str, name: str) -> Any:
    members = kind.__members__
    if name not in members:
        *others, last = members
        raise ValueError(f"{option} is {', '.join(others)} or {last}, not {name!r}")
    return members[name]


def build_options(
    *,
    threads: int = 0,
    backend: str = "cpu",
    isa: str = "",
    level: Literal["none", "basic", "extended", "all"] = "all",
    passes: Union[str, Iterable[str]] = (),
    allow_reference: bool = True,
    precision: Literal["float32", "bfloat16", "bf16"] = "float32",
    numerics: Literal["normal", "strict"] = "normal",
    profiles: Optional[Mapping[str, Mapping[str, ShapeRange]]] = None,
    refit: bool = False,
    portable: bool = True,
    verify_weights: bool = False,
    flush_denormals: bool = False,
    taps: Iterable[str] = (),
    memory_limit: int = 0,
    fold_limit: Optional[int] = None,
    shapes: Optional[Mapping[str, int]] = None,
    fix_defaults: bool = False,
    effort: Literal["none", "normal", "high"] = "none",
    tune_seconds: float = 60,
    tune_sizes: Optional[Mapping[str, int]] = None,
    timing_cache: Union[str, "os.PathLike[str]", None] = None,
    timings: Optional["TimingCache"] = None,
    timing_cache_pinned: bool = False,
    plugins: Iterable[Any] = (),
    untrusted: bool = False,
    link_roots: Iterable[Any] = (),
    control: Optional[RunControl] = None,
) -> _lathe.BuildOptions:
    options = _lathe.BuildOptions()
    options.threads = threads
    options.backend = backend
    options.isa = isa
    options.level = _member(_lathe.OptimizationLevel, "level", level)
    options.precision = _member(_lathe.Precision, "precision", "bfloat16" if precision == "bf16" else precision)
    options.numerics = _member(_lathe.Numerics, "numerics", numerics)
    options.set_profiles(
        {name: {input: tuple(map(tuple, ranges)) for input, ranges in one.items()} for name, one in (profiles or {}).items()}
    )
    options.passes = passes.split(",") if isinstance(passes, str) else list(passes)
    options.allow_reference = allow_reference
    options.refit = refit
    options.portable = portable
    options.verify_weights = verify_weights
    options.flush_denormals = flush_denormals
    options.taps = list(taps)
    options.memory_limit = memory_limit
    if fold_limit is not None:
        options.fold_limit = fold_limit
    options.shapes = dict(shapes or {})
    options.fix_defaults = fix_defaults
    options.effort = _member(_lathe.TuningEffort, "effort", effort)
    options.tune_seconds = tune_seconds
    options.tune_sizes = dict(tune_sizes or {})
    options.timing_cache = os.fspath(timing_cache or "")
    if timings is not None:
        options.timings = timings._native
    options.timing_cache_pinned = timing_cache_pinned
    options.plugins = [os.fspath(plugin) for plugin in plugins]
    options.load = load_options(untrusted, link_roots)
    options.control = control
    return options


def build(
    source: Source,
    *,
    timeout: Optional[float] = None,
    control: Optional[RunControl] = None,
    progress: Optional[Callable[[str, float], Any]] = None,
    **options: Any,
) -> Engine:
    """An engine from an .onnx file, the bytes of one, or an `onnx.Model`.

    Options:
        threads: 0 takes what cgroup quota and cpuset allow.
        backend: "cpu", "reference", or a registered one; "npu:cpu" is an order of preference.
        isa: "", "generic", "avx2", "avx512": the best instruction set that may be used.
        level: how much the optimiser does: "none", "basic", "extended", "all".
        passes: "+name" and "-name" switch single passes against the level: a list, or words with commas between.
        allow_reference: False makes an operator without a fast kernel an error.
        precision: "float32", or "bfloat16" ("bf16") for products with constant weights: faster and less exact.
        numerics: "strict" makes each item of a batch come out as it would alone, bit by bit.
        profiles: the shapes that inputs may have, {"default": {"x": (smallest, usual, greatest)}}; others are refused.
        refit: weights may be exchanged later; no rewrite depends on what they hold.
        portable: a saved plan also opens on processors that lack the instructions it was built for; False makes it smaller.
        flush_denormals: treat denormal numbers as zero while running.
        taps: shell patterns of inner values that `Context.on_tap` may ask for.
        memory_limit: bytes that one context may hold; 0 is what the control group allows, where it limits the process.
        fold_limit: bytes that constant folding may add.
        shapes: sizes of symbols fixed at build, {"batch": 1}.
        fix_defaults: inputs that have a default are constants, which is faster: no run gives them another value.
        effort: how much to measure instead of guessing which kernel is fastest: "none", "normal", "high".
        tune_seconds: after which nothing more is measured.
        tune_sizes: sizes to measure with, of symbols that stay free.
        timing_cache: a JSON file of measured times, made where there is none.
        timings: the same in memory, a `TimingCache`.
        timing_cache_pinned: decide by that file alone; the same bytes every time.
        plugins: shared libraries that bring backends or operators.
        untrusted: read files into private memory instead of mapping them.
        link_roots: directories whose files may be reached through links.
        timeout, control: seconds the build may take, and a `RunControl` to stop it.
        progress: called with what is being done and how much of it is; what it raises ends the build.
    """
    with _limited(control, timeout) as limited:
        return Engine(_lathe.build(source, build_options(control=limited, **options), progress))


def load(
    path: Union[str, "os.PathLike[str]"],
    *,
    timeout: Optional[float] = None,
    control: Optional[RunControl] = None,
    **options: Any,
) -> Engine:
    """An engine from a .lathe plan; options as for `build`, those of a run and `isa` count. With `verify_weights` every
    stored array is held against its checksum first."""
    with _limited(control, timeout) as limited:
        return Engine(_lathe.load_plan(path, build_options(control=limited, **options)))


def deserialize(
    plan: Union[bytes, bytearray, memoryview],
    *,
    timeout: Optional[float] = None,
    control: Optional[RunControl] = None,
    **options: Any,
) -> Engine:
    """An engine from what `Engine.serialize` gave; options as for `load`."""
    with _limited(control, timeout) as limited:
        return Engine(_lathe.deserialize(bytes(plan), build_options(control=limited, **options)))


__all__ = ["Context", "Engine", "EngineInspector", "IoInfo", "RunControl", "Step", "array_from_tensor", "build", "deserialize", "load"]
