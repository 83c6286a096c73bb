"""Engines and contexts take NumPy arrays and give NumPy arrays."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Literal, Mapping, Optional, Sequence, Union

import numpy as np

from lathe import _lathe
from lathe._profile import Profile
from lathe._state import State
from lathe._values import array_from_tensor, from_value, tensor_to_write, to_value

if TYPE_CHECKING:
    from lathe._refit import TimingCache

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, _lathe.Model]
RunControl = _lathe.RunControl
ShapeRange = tuple[Sequence[int], Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class IoInfo:
    """One input or output of an engine.
    `type` is ONNX's type string, "tensor(float)"; `dtype` is the element type of a tensor, "float32", and None for any
    other value. `shape` holds numbers, expressions such as "4*batch", and None where a size is unknown; it is None
    itself where the rank is unknown. `optional` is True for an input that has a default, Where a `State` takes
    its place, `state` names the output that is an input's next value, or the input that an output is the next value of."""

    name: str
    type: str
    dtype: Optional[str]
    shape: Optional[tuple[Union[int, str, None], ...]]
    optional: bool
    state: Optional[str] = None


@dataclass(frozen=True)
class Step:
    """One step of a finished engine, as the plan runs it.
    `origin` names the nodes of the model that it computes. `refusals` says why other kernels do not take it; `fused`
    names the operators that are computed in the same step and `unfused` says why neighbors are not. `tunables` are the
    kernel's parameters. `timings` are measured tactics with their microseconds, the chosen one first. `strict` says
    what the kernel does for strict numerics only, or ""; `memory` says which copies the placement of its operands saves
    ("copies nothing", "writes over x"), or ""."""

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
    """One step of a run, as `Context.on_step` reports it.
    `seconds` leave out the steps of its bodies, which are reported on their own. An empty `kernel` is a copy between
    memory spaces."""

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
    """Returns the outputs in the model's order, without states."""
    return {io.name: from_value(values[io.name]) for io in declared if not io.state}


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
    """The working memory of one run at a time, TensorRT's IExecutionContext; `Engine.create_context` makes one.
    Use one context per thread: a call while another thread is in the context raises `lathe.Error` E6001 (bad_argument).
    Weights that a `Refitter` exchanges are used from the next run on."""

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
        """Runs once and returns all outputs by name, in the model's order.
        `inputs` are given by name or in the model's order, as for `Engine.run`. Without `inputs` the context runs on
        what `bind_input` and `bind_output` bound, and returns {}: `output` gives the results. `timeout` is in seconds;
        `control` stops the run from another thread. Raises `lathe.Error`: E40xx for inputs that do not fit, E41xx for
        what the data make impossible, E4201 (cancelled), E4202 (deadline)."""
        if inputs is None and timeout is None:  # the shortest way: it is what a tiny model takes
            self._context.run_bound(control)
            return {}
        with _limited(control, timeout) as limited:
            if inputs is None:
                self._context.run_bound(limited)
                return {}
            return _outputs(self._context.run(_inputs(inputs, self._inputs), limited), self._outputs)

    def bind_input(self, name: str, value: Any) -> None:
        """Makes every following `run()` read the memory of `value`, without copies where its layout allows.
        The memory may be refilled between runs. `value` is of any kind that `Engine.run` takes."""
        declared = {io.name: io.type for io in self._inputs}
        self._context.bind_input(name, to_value(value, declared.get(name, "")))

    def bind_output(self, name: str, array: Any) -> None:
        """Makes every following `run()` write this output into `array`, which is NumPy's or has DLPack; None ends that.
        The array must be C-contiguous, aligned and of the shape that the run gives the output. Raises ValueError where
        its memory cannot be written into directly."""
        self._context.bind_output(name, None if array is None else tensor_to_write(array))

    def bind_state(self, input: str, state: State) -> None:
        """Makes the next runs read and change this state in the place of an input and of its output.
        Of an engine that was built with `states` every one must be bound before a run. Where a run fails, states that
        grow are as before. Raises `lathe.Error` E6001 (bad_argument) for an input that is no state, E4001 or E4002 for
        another type or shape."""
        self._context.bind_state(input, state._state)

    def bind_states(self, states: Mapping[str, State]) -> None:
        """Binds every state of a dict by the name of its input."""
        for input, state in states.items():
            self.bind_state(input, state)

    def output(self, name: str) -> Any:
        """Returns an output after `run()` on bound inputs."""
        return from_value(self._context.output(name))

    def on_tap(self, listener: Optional[Callable[[str, Any], None]]) -> None:
        """Calls `listener(name, value)` with every inner value of the next runs that the option `taps` named.
        None ends that. Values of bodies (If, Loop, Scan) are reported each time that the body runs. An exception in the
        listener ends the run and is raised from it. The outputs do not change."""
        self._context.on_tap(listener and (lambda name, value: listener(name, from_value(value))))

    def on_step(self, listener: Optional[Callable[[StepRun], None]]) -> None:
        """Calls `listener` with a `StepRun` after every step of the next runs; None ends that.
        An exception in the listener ends the run and is raised from it."""
        self._context.on_step(listener and (lambda *step: listener(StepRun(*step))))

    def start_profile(self, events: int = 65536) -> None:
        """Starts recording every step of the next runs, and drops what was recorded before.
        `events`, from 1 to 2**26, is how many executions are kept, the latest ones, at 64 bytes each; sums are over all
        of them. After a thousand runs of networks whose steps take little longer than recording them, most runs are
        skipped (`Profile.runs_passed_over`), so that recording takes less than 2 % of the time."""
        self._context.start_profile(events)

    def stop_profile(self) -> None:
        """Stops recording; `profile()` still returns what was recorded."""
        self._context.stop_profile()

    def profile(self) -> Profile:
        """Returns what was recorded until now; it is empty before the first `start_profile()`."""
        return Profile(self._context.profile())

    @property
    def memory_in_use(self) -> int:
        """The bytes that this context's allocators hold now, without those of a profile."""
        return self._context.memory_in_use

    @property
    def memory_peak(self) -> int:
        """The most bytes that this context's allocators have held since it was created."""
        return self._context.memory_peak

    def reserve(self, profile: str) -> None:
        """Allocates now the memory that runs within an optimization profile need, outputs that are not bound included.
        Until `trim()` such runs allocate nothing more, whatever their shapes, except for values whose sizes only the
        data decide and for the arrays that they return. Raises `lathe.Error` E6001 (bad_argument) where there is no
        such profile, E4104 (run_out_of_memory) or E4105 (run_memory_limit)."""
        self._context.reserve(profile)

    def trim(self) -> None:
        """Frees all memory that is kept between runs; the next run allocates anew what it needs.
        Raises `lathe.Error` E6001 (bad_argument) from within a run."""
        self._context.trim()


class EngineInspector:
    """An engine's steps at some input shapes, TensorRT's IEngineInspector. Immutable and thread-safe.
    For each step it has the kernel and tactic, the layers that were fused into it, why others were not, bytes and
    floating-point operations. `shapes` are input shapes by name; symbols that they leave open have the sizes that
    kernels were chosen by. Raises `lathe.Error` E4001 (run_bad_input) or E4002 (run_bad_shape) for shapes that the
    engine does not take."""

    def __init__(self, engine: "Engine", shapes: Mapping[str, Iterable[int]] = {}):
        self._native = _lathe.EngineInspector(engine._engine, {name: tuple(shape) for name, shape in shapes.items()})

    @property
    def num_layers(self) -> int:
        """The number of steps."""
        return self._native.num_layers()

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """The input shapes that bytes and operations are given for."""
        return self._native.input_shapes()

    def get_layer_information(self, index: int, form: Literal["oneline", "json"] = "oneline") -> str:
        """Returns one step as a line of text or as a JSON object.
        Raises `lathe.Error` E6001 (bad_argument) for an index or a form that does not exist."""
        return self._native.get_layer_information(index, form)

    def get_engine_information(self, form: Literal["oneline", "json"] = "oneline") -> str:
        """Returns all steps, one line each, or one JSON object that also describes the engine."""
        return self._native.get_engine_information(form)

    def layers(self) -> list[dict[str, Any]]:
        """Returns all steps as dictionaries, with the keys of `get_engine_information("json")`."""
        return json.loads(self.get_engine_information("json"))["layers"]


class Engine:
    """A model that is ready to run, TensorRT's ICudaEngine; `lathe.build`, `load` and `deserialize` make one.
    `inputs` and `outputs` are tuples of `IoInfo` in the model's order. Thread-safe: every method may be called from
    many threads at once. An engine is immutable except for the weights that a `Refitter` exchanges."""

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
        """Runs once on a pooled context and returns all outputs by name, in the model's order.
        Inputs are given by name or in order: NumPy arrays, anything with DLPack, numbers, lists (sequences where the
        model takes them), dicts (maps), None (the empty optional). Outputs are of the same kinds. `timeout` is in
        seconds; `control` stops the run from another thread. Raises `lathe.Error`: E4001 (run_bad_input), E4002
        (run_bad_shape), E4003 (run_missing_input), E41xx for what the data make impossible, E4201 (cancelled), E4202
        (deadline)."""
        with _limited(control, timeout) as limited:
            return _outputs(self._engine.run(_inputs(inputs, self.inputs), limited), self.outputs)

    def profile(
        self, inputs: Mapping[str, Any] | Sequence[Any], *, runs: int = 10, timeout: Optional[float] = None
    ) -> Profile:
        """Runs `runs` times on a context of its own, after a run that does not count, and returns where the time went.
        `timeout` is in seconds, for all runs together. Raises ValueError for less than one run, and what `run` raises.
        """
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

    def create_states(self, sizes: Optional[Mapping[str, int]] = None, *, capacity: int = 0) -> dict[str, State]:
        """Returns a new state for each input that the option `states` named, by name.
        `sizes` holds the sizes of the other symbols, {"batch_size": 1}; `capacity` is the greatest length of those that
        grow, 0 for that of the build. Raises `lathe.Error` E6001 (bad_argument), naming the symbols that are missing."""
        made = self._engine.create_states(dict(sizes or {}), capacity)
        return {name: State(state) for name, state in made.items()}

    def create_context(self) -> Context:
        """Returns a new context, which has memory of its own.
        Where every input has a single shape and memory is not limited, the memory of a run is allocated now; otherwise
        the first run allocates it."""
        return Context(self._engine.create_context(), self.inputs, self.outputs)

    @property
    def symbols(self) -> list[str]:
        """The names of the symbols in the input shapes."""
        return self._engine.symbols()

    @property
    def metadata(self) -> dict[str, str]:
        """The model's metadata_props, as a copy."""
        return dict(self._engine.metadata())

    @property
    def tuning(self) -> dict[str, Any]:
        """The counts of what the build measured; all are 0 for an engine that was loaded from a plan.
        "problems" is the sum of those "timed" now, "cached" in a timing cache and "untimed", which heuristics decided;
        "seconds" is the time that measuring took."""
        return self._engine.tuning()

    @property
    def threads(self) -> int:
        """The number of threads that a run uses."""
        return self._engine.threads()

    @property
    def numerics(self) -> str:
        """The numerics that it was built for, "normal" or "strict".
        In strict numerics each item of a batch has the bits that it would have alone."""
        return self._engine.numerics()

    @property
    def profiles(self) -> dict[str, dict[str, ShapeRange]]:
        """The optimization profiles that it was built with: (min, opt, max) shapes by profile and input."""
        return self._engine.profiles()

    @property
    def steps(self) -> list[Step]:
        """The steps of the plan, in order of execution."""
        return [Step(**step) for step in self._engine.steps()]

    @property
    def target(self) -> dict[str, str]:
        """The device and the instruction sets that the engine and its plan were made for.
        "isa" is what its kernels use, "built_for" what the plan was built for. "section" is the part of the plan that
        was opened: "native", or "portable" where kernels were chosen and weights packed again for a lesser processor.
        "device" is the backend whose kernels come first.
        """
        return self._engine.target()

    def trim(self) -> None:
        """Releases the pages of mapped files, and the contexts that wait for the next `run()`."""
        self._engine.trim()

    def memory(self, shapes: Mapping[str, Iterable[int]]) -> dict[str, Any]:
        """Returns the peak bytes of a run of a fresh context at these input shapes.
        The keys are "weights", "activations", "workspace", "outputs", "data_dependent" (an upper bound) and their
        "total". "uncounted" names the values that nothing bounds before the run; "records" is what
        a context keeps about its steps and "states" the memory of states after the run: neither is part of the total.
        Raises `lathe.Error` E6001 (bad_argument) for symbols that the shapes
        leave open."""
        return self._engine.memory({name: tuple(shape) for name, shape in shapes.items()})

    def profile_memory(self, profile: str) -> dict[str, Any]:
        """Returns the bytes that a context holds after `Context.reserve(profile)`, with the keys of `memory`.
        Raises `lathe.Error` E6001 (bad_argument) where there is no such profile."""
        return self._engine.profile_memory(profile)

    def output_shapes(self, shapes: Mapping[str, Iterable[int]]) -> dict[str, tuple[int, ...]]:
        """Returns the output shapes for these input shapes, without those that only the data decide."""
        return self._engine.output_shapes({name: tuple(shape) for name, shape in shapes.items()})

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a .lathe plan, which `lathe.load` opens without building.
        Raises `lathe.Error` E1004 (file_write_failed)."""
        self._engine.save(path)

    def serialize(self) -> bytes:
        """Returns the bytes that `save` would write, for `lathe.deserialize`."""
        return self._engine.serialize()

    @property
    def is_refittable(self) -> bool:
        """True if it was built with `refit=True`, so that a `Refitter` can exchange its weights."""
        return self._engine.is_refittable()

    @property
    def refits(self) -> int:
        """The number of times that its weights have been exchanged since it was built or loaded."""
        return self._engine.refits()

    def inspect(self, shapes: Mapping[str, Iterable[int]] = {}) -> "EngineInspector":
        """Returns an `EngineInspector` of its steps at these input shapes."""
        return EngineInspector(self, shapes)


def load_options(untrusted: bool = False, link_roots: Iterable[Any] = ()) -> _lathe.LoadOptions:
    """Returns the native options for loading files, with the arguments of `lathe.build` of these names."""
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


def _size(option: str, size: Union[int, str]) -> int:
    if isinstance(size, str):
        parts = re.fullmatch(r"(\d+)(?:([kmgt])i?)?b?", size.strip().lower())
        if parts is None:
            raise ValueError(f"{option} is a number of bytes or a size such as '512M' or '2GiB', not {size!r}")
        return int(parts[1]) << (10 * (" kmgt".index(parts[2] or " ")))
    return size


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
    states: Union[str, Mapping[str, Union[str, tuple[str, str, int]]], None] = None,
    state_capacity: int = 2048,
    refit: bool = False,
    portable: bool = True,
    verify_weights: bool = False,
    flush_denormals: bool = False,
    taps: Iterable[str] = (),
    memory_limit: Union[int, str] = 0,
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
    """Returns the native options of a build; `lathe.build` explains the arguments.
    Raises ValueError for a name that an option does not have."""
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
    pairs = {states: ""} if isinstance(states, str) else states or {}
    options.set_states([(name, to, "", 0) if isinstance(to, str) else (name, *to) for name, to in pairs.items()])
    options.state_capacity = state_capacity
    options.passes = passes.split(",") if isinstance(passes, str) else list(passes)
    options.allow_reference = allow_reference
    options.refit = refit
    options.portable = portable
    options.verify_weights = verify_weights
    options.flush_denormals = flush_denormals
    options.taps = list(taps)
    options.memory_limit = _size("memory_limit", memory_limit)
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
    """Builds an engine from an .onnx file, the bytes of one, or an `onnx.Model`.
    Raises `lathe.Error`: E1xxx where the file cannot be read, E2xxx where the model is invalid, E3xxx where no engine
    can be built, E4201 (cancelled), E4202 (deadline). It takes milliseconds to minutes, most of them with `effort`.
    Thread-safe.

    Options:
        threads: the number of threads of a run; 0 takes what cgroup quota and cpuset allow.
        backend: "cpu", "reference", or a registered one; "npu:cpu" is an order of preference.
        isa: "", "generic", "avx2", "avx512": the best instruction set that may be used.
        level: how much the optimizer does: "none", "basic", "extended", "all".
        passes: "+name" and "-name" switch single passes against the level: a list, or one str with commas.
        allow_reference: False makes an operator without a fast kernel an error, E3002.
        precision: "float32", or "bfloat16" ("bf16") for products with constant weights: faster and less exact.
        numerics: "strict" gives each item of a batch the bits that it would have alone.
        profiles: the shapes that inputs may have, {"default": {"x": (min, opt, max)}}; others are refused, E4002.
        states: inputs that stay where they are from run to run, with the outputs that are their next values, as shell
            patterns: {"past_key_values.*": "present.*"}; "auto" finds them by names and types. Keys and values that Attention
            appends may be kept in another type and in blocks: {"past_*": ("present_*", "int8", 64)}. See `State`.
        state_capacity: the greatest length of states that grow.
        refit: weights may be exchanged later; no pass depends on their values.
        portable: a saved plan also opens on processors that lack the instructions it was built for; False makes it
            smaller.
        verify_weights: `load` compares every stored array with its checksum, E5005.
        flush_denormals: treat denormal numbers as zero while running.
        taps: shell patterns of inner values that `Context.on_tap` may report.
        memory_limit: bytes that one context may hold, or a size such as "2GiB"; 0 is what the control group allows, if it sets a limit.
        fold_limit: bytes that constant folding may add.
        shapes: sizes of symbols fixed at build, {"batch": 1}.
        fix_defaults: inputs that have a default become constants, which is faster: no run gives them another value.
        effort: how much to measure instead of guessing which kernel is fastest: "none", "normal", "high".
        tune_seconds: seconds after which nothing more is measured.
        tune_sizes: sizes to measure with, of symbols that stay free.
        timing_cache: a JSON file of measured times, created where it does not exist.
        timings: the same in memory, a `TimingCache`.
        timing_cache_pinned: decide by that cache alone; the same bytes every time. E3006 where it lacks a problem.
        plugins: shared libraries that bring backends or operators.
        untrusted: read files into private memory instead of mapping them.
        link_roots: directories whose files may be reached through links.
        timeout: seconds that the build may take.
        control: a `RunControl` that stops the build.
        progress: called with the stage and the fraction that is done; an exception in it ends the build.
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
    """Opens a .lathe plan as an engine, without building.
    Of the options of `build` those of a run count, and `isa`, `plugins`, `untrusted`, `link_roots` and
    `verify_weights`, which compares every stored array with its checksum first. Raises `lathe.Error`: E10xx where the
    file cannot be read, E50xx where the plan is damaged, of another version, or for another target."""
    with _limited(control, timeout) as limited:
        return Engine(_lathe.load_plan(path, build_options(control=limited, **options)))


def deserialize(
    plan: Union[bytes, bytearray, memoryview],
    *,
    timeout: Optional[float] = None,
    control: Optional[RunControl] = None,
    **options: Any,
) -> Engine:
    """Opens the bytes that `Engine.serialize` returned as an engine; options and errors are those of `load`."""
    with _limited(control, timeout) as limited:
        return Engine(_lathe.deserialize(bytes(plan), build_options(control=limited, **options)))


__all__ = ["Context", "Engine", "EngineInspector", "IoInfo", "RunControl", "Step", "array_from_tensor", "build", "deserialize", "load"]
