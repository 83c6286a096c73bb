"""OPTIONS says once what becomes of each session and run option; the classes and the table of the docs follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional

from lathe import _lathe
from lathe.compat.onnxruntime._enums import NamedInt
from lathe.compat.onnxruntime._errors import error


class GraphOptimizationLevel(NamedInt):
    """onnxruntime.GraphOptimizationLevel: the levels none, basic, extended and all (ORT_ENABLE_LAYOUT is all, too)."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


_LEVELS = {
    GraphOptimizationLevel.ORT_DISABLE_ALL: "none",
    GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic",
    GraphOptimizationLevel.ORT_ENABLE_EXTENDED: "extended",
    GraphOptimizationLevel.ORT_ENABLE_LAYOUT: "all",
    GraphOptimizationLevel.ORT_ENABLE_ALL: "all",
}


class ExecutionMode(NamedInt):
    """onnxruntime.ExecutionMode, which has no effect: the plan decides."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(NamedInt):
    """onnxruntime.ExecutionOrder, which has no effect: the plan decides."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


HONOURED, ACCEPTED, REFUSED = "honored", "accepted", "refused"


@dataclass(frozen=True)
class Option:
    """One option of onnxruntime and what Lathe does with it.
    `treatment` is honored (it does what it says), accepted (it may be set and read back; results do not depend on it)
    or refused (using it raises NotImplemented, because the program relies on an effect that would be missing)."""

    where: str
    name: str
    treatment: str
    note: str
    type: Optional[type] = None  # of attributes
    default: Any = None


_S, _R = "SessionOptions", "RunOptions"
_SC, _RC, _F = "session config", "run config", "function"

OPTIONS = (
    Option(_S, "intra_op_num_threads", HONOURED, "threads of the engine; 0: from quota and cpuset", int, 0),
    Option(
        _S,
        "inter_op_num_threads",
        ACCEPTED,
        "steps share one pool: one after another, each on all threads, or short ones side by side where that pays",
        int,
        0,
    ),
    Option(_S, "execution_mode", ACCEPTED, "as above", ExecutionMode, ExecutionMode.ORT_SEQUENTIAL),
    Option(_S, "execution_order", ACCEPTED, "the planner decides", ExecutionOrder, ExecutionOrder.DEFAULT),
    Option(
        _S,
        "graph_optimization_level",
        HONOURED,
        "the same levels: none, basic, extended, all (layout is part of all)",
        GraphOptimizationLevel,
        GraphOptimizationLevel.ORT_ENABLE_ALL,
    ),
    Option(_S, "enable_cpu_mem_arena", ACCEPTED, "memory is planned, there is no arena to grow", bool, True),
    Option(_S, "enable_mem_pattern", ACCEPTED, "as above", bool, True),
    Option(_S, "enable_mem_reuse", ACCEPTED, "as above", bool, True),
    Option(_S, "use_per_session_threads", ACCEPTED, "every session has its own pool", bool, True),
    Option(
        _S, "use_deterministic_compute", HONOURED, "always so: the same bits for every thread count", bool, False
    ),
    Option(_S, "log_severity_level", ACCEPTED, "Lathe reports by exceptions, it logs nothing", int, -1),
    Option(_S, "log_verbosity_level", ACCEPTED, "as above", int, 0),
    Option(_S, "logid", ACCEPTED, "as above", str, ""),
    Option(
        _S,
        "enable_profiling",
        HONOURED,
        "steps in onnxruntime's form of Chrome's trace: of a context its first thousand runs, then as many as cost 1 % "
        "of the time; the latest 131072",
        bool,
        False,
    ),
    Option(_S, "profile_file_prefix", HONOURED, "of the file that `end_profiling` writes", str, "onnxruntime_profile_"),
    Option(_S, "optimized_model_filepath", REFUSED, "`lathe convert --optimize` writes a model", str, ""),
    Option(_S, "add_free_dimension_override_by_name", HONOURED, "the symbol is fixed when the engine is built"),
    Option(_S, "add_free_dimension_override_by_denotation", REFUSED, "name the dimension instead"),
    Option(_S, "add_session_config_entry", HONOURED, "see the keys below; any other is kept and has no effect"),
    Option(_S, "set_load_cancellation_flag", HONOURED, "stops building within 50 ms"),
    Option(_S, "add_provider", ACCEPTED, "as in `providers`"),
    Option(_S, "add_initializer", REFUSED, "put the value into the model"),
    Option(_S, "add_external_initializers", REFUSED, "as above"),
    Option(_S, "register_custom_ops_library", REFUSED, "made for another ABI; Lathe's plug-ins bring operators"),
    Option(_SC, "session.set_denormal_as_zero", HONOURED, "\"1\": denormal numbers are taken for zero"),
    Option(_SC, "session.load_model_format", REFUSED, "\"ORT\": only ONNX models are read"),
    Option(_SC, "session.intra_op.allow_spinning", ACCEPTED, "threads park when idle, they never spin for long"),
    Option(_SC, "session.intra_op_thread_affinities", ACCEPTED, "threads stay inside the cpuset, unpinned"),
    Option(_SC, "lathe.numerics", HONOURED, "\"strict\": the bits of a row do not depend on the size of its batch"),
    Option(_SC, "lathe.fix_defaults", HONOURED, "\"1\": overridable initializers are constants, which is faster"),
    Option(_SC, "session.disable_prepacking", ACCEPTED, "packing is part of the plan"),
    Option(_R, "terminate", HONOURED, "from any thread; the run ends with Fail within 50 ms", bool, False),
    Option(_R, "only_execute_path_to_fetches", ACCEPTED, "all outputs are computed", bool, False),
    Option(_R, "log_severity_level", ACCEPTED, "as for sessions", int, -1),
    Option(_R, "log_verbosity_level", ACCEPTED, "as for sessions", int, 0),
    Option(_R, "logid", ACCEPTED, "as for sessions", str, ""),
    Option(_R, "add_run_config_entry", ACCEPTED, "kept, without effect"),
    Option(_R, "add_active_adapter", REFUSED, "LoRA adapters are not applied at run time"),
    Option(_RC, "memory.enable_memory_arena_shrinkage", ACCEPTED, "there is no arena"),
    Option(
        "InferenceSession",
        "providers",
        ACCEPTED,
        "CPUExecutionProvider; any other name gives a UserWarning and the CPU is used, as onnxruntime does",
    ),
    Option(
        "InferenceSession",
        "get_overridable_initializers",
        HONOURED,
        "initializers that are inputs too may be fed; before IR version 4 they are constants",
    ),
    Option("InferenceSession", "provider_options", ACCEPTED, "without effect"),
    Option("InferenceSession", "run_async", HONOURED, "runs on a thread of its own"),
    Option("InferenceSession", "run_with_iobinding", HONOURED, "bound memory is used without copies"),
    Option("InferenceSession", "end_profiling", HONOURED, "writes the file and returns its name"),
    Option(_F, "set_default_logger_severity, set_default_logger_verbosity", ACCEPTED, "nothing is logged"),
    Option(_F, "set_seed", ACCEPTED, "random operators follow their `seed` attribute"),
    Option(_F, "set_global_thread_pool_sizes", ACCEPTED, "every session has its own pool"),
    Option(_F, "enable_telemetry_events, disable_telemetry_events", ACCEPTED, "there is no telemetry"),
    Option(_F, "preload_dlls", ACCEPTED, "nothing to load"),
    Option(_F, "create_and_register_allocator", ACCEPTED, "without effect"),
    Option(_F, "register_execution_provider_library", REFUSED, "made for another ABI"),
    Option("module", "backend", HONOURED, "the interface of `onnx.backend`; it needs the package onnx"),
    Option("module", "quantization, tools, transformers, training", REFUSED, "not provided: importing them fails"),
    Option("class", "SparseTensor, LoraAdapter, ModelCompiler, OrtEpDevice", REFUSED, "not provided"),
)


def table() -> str:
    """Returns OPTIONS as a Markdown table."""
    rows = [f"| {o.where} | `{o.name}` | {o.treatment} | {o.note} |" for o in OPTIONS]
    return "\n".join(["| where | name | treatment | meaning here |", "|---|---|---|---|", *rows]) + "\n"


def _refused(where: str, name: str) -> Exception:
    note = next(o.note for o in OPTIONS if (o.where, o.name) == (where, name))
    return error("NotImplemented", f"{where}.{name} has no equivalent in Lathe: {note}")


class _Attributes:
    """Attributes of OPTIONS with their types; anything else cannot be set, as in onnxruntime."""

    _where: str
    _declared: dict[str, Option]
    _entries: dict[str, str]

    if TYPE_CHECKING:  # what OPTIONS declares

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, where: str) -> None:
        cls._where = where
        cls._declared = {o.name: o for o in OPTIONS if o.where == where and o.type is not None}

    def __init__(self) -> None:
        for option in self._declared.values():
            object.__setattr__(self, option.name, option.default)
        object.__setattr__(self, "_entries", {})

    def __setattr__(self, name: str, value: Any) -> None:
        option = self._declared.get(name)
        if option is None or option.type is None:
            if name.startswith("_"):
                return object.__setattr__(self, name, value)
            raise AttributeError(f"'{self._where}' object has no attribute '{name}'")
        if option.type in (int, bool) and isinstance(value, (int, bool)):
            value = option.type(value)
        elif not isinstance(value, option.type):
            raise TypeError(f"{self._where}.{name} takes {option.type.__name__}, not {type(value).__name__}")
        if option.treatment == REFUSED and value != option.default:
            raise _refused(self._where, name)
        object.__setattr__(self, name, value)
        self._changed(name, value)

    def _changed(self, name: str, value: Any) -> None:
        pass

    def _entry(self, key: str) -> str:
        try:
            return self._entries[key]
        except KeyError:
            raise RuntimeError(f"{self._where} does not have configuration with key: {key}") from None


def _refusing(where: str, name: str) -> Callable[..., None]:
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        raise _refused(where, name)

    method.__name__ = name
    method.__doc__ = f"Raises NotImplemented in the place of onnxruntime.{where}.{name}; the table of options says why."
    return method


class SessionOptions(_Attributes, where=_S):
    """onnxruntime.SessionOptions: options of an InferenceSession as attributes. Not thread-safe.
    Setting an option that Lathe refuses raises NotImplemented; an unknown one raises AttributeError."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, int] = {}
        self._providers: list[Any] = []
        self._load_control = _lathe.RunControl()

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """Fixes the size of a symbol, as onnxruntime.SessionOptions.add_free_dimension_override_by_name."""
        self._sizes[str(dim_name)] = int(dim_value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets an entry of the session's configuration, as onnxruntime.SessionOptions.add_session_config_entry."""
        if key == "session.load_model_format" and value.upper() == "ORT":
            raise _refused(_SC, key)
        self._entries[str(key)] = str(value)

    def get_session_config_entry(self, key: str) -> str:
        """Returns an entry of the session's configuration, as onnxruntime.SessionOptions.get_session_config_entry."""
        return self._entry(key)

    def set_load_cancellation_flag(self, value: bool) -> None:
        """Stops building, as onnxruntime.SessionOptions.set_load_cancellation_flag; from any thread."""
        self._load_control.cancel() if value else self._load_control.reset()

    def add_provider(self, name: str, options: Optional[dict[str, str]] = None) -> None:
        """Adds an execution provider, as onnxruntime.SessionOptions.add_provider."""
        self._providers.append((name, dict(options or {})))

    def has_providers(self) -> bool:
        """Returns whether a provider was added, as onnxruntime.SessionOptions.has_providers."""
        return bool(self._providers)

    add_free_dimension_override_by_denotation = _refusing(_S, "add_free_dimension_override_by_denotation")
    add_initializer = _refusing(_S, "add_initializer")
    add_external_initializers = _refusing(_S, "add_external_initializers")
    register_custom_ops_library = _refusing(_S, "register_custom_ops_library")

    def _build_options(self) -> dict[str, Any]:
        """Keyword arguments of `lathe.build`."""
        return {
            "threads": max(0, self.intra_op_num_threads),
            "level": _LEVELS[self.graph_optimization_level],
            "flush_denormals": self._entries.get("session.set_denormal_as_zero") == "1",
            "numerics": self._entries.get("lathe.numerics") or "normal",
            "shapes": self._sizes,
            "fix_defaults": self._entries.get("lathe.fix_defaults") == "1",
            "control": self._load_control,
        }


class RunOptions(_Attributes, where=_R):
    """onnxruntime.RunOptions: options of one run as attributes.
    `terminate` may be set from any thread and ends the run."""

    def __init__(self) -> None:
        super().__init__()
        self._control = _lathe.RunControl()

    def _changed(self, name: str, value: Any) -> None:
        if name == "terminate":
            self._control.cancel() if value else self._control.reset()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Sets an entry of the configuration, which has no effect, as onnxruntime.RunOptions.add_run_config_entry."""
        self._entries[str(key)] = str(value)

    def get_run_config_entry(self, key: str) -> str:
        """Returns an entry of the run's configuration, as onnxruntime.RunOptions.get_run_config_entry."""
        return self._entry(key)

    add_active_adapter = _refusing(_R, "add_active_adapter")
