"""InferenceSession and IOBinding run on an engine."""

from __future__ import annotations

import ctypes
import os
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

import lathe
from lathe import _lathe
from lathe._engine import IoInfo, build_options
from lathe._values import bits_of, from_value
from lathe.compat.onnxruntime._errors import TYPES, error, translated
from lathe.compat.onnxruntime._options import RunOptions, SessionOptions
from lathe.compat.onnxruntime._profiling import SessionProfiler
from lathe.compat.onnxruntime._values import OrtDevice, OrtValue, check_device, element_name, feed_value

CPU = "CPUExecutionProvider"


@dataclass(frozen=True)
class NodeArg:
    """onnxruntime.NodeArg: name, type and shape of an input or output.
    A dimension is a number, the name of a symbol, or None where it is unknown."""

    name: str
    type: str
    shape: list[Union[int, str, None]]

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


def _node_args(declared: Sequence[IoInfo], inputs: Sequence[IoInfo]) -> list[NodeArg]:
    # A dimension that has no name in the file is called after its input and axis in an engine; an expression over
    # symbols has no place in a NodeArg either.
    unnamed = {f"{io.name}.{axis}" for io in inputs for axis in range(len(io.shape or ()))}

    def dimension(d: Union[int, str, None]) -> Union[int, str, None]:
        if isinstance(d, int):
            return d
        return None if d is None or d in unnamed or any(c in d for c in " *(") else d

    return [NodeArg(io.name, io.type, [dimension(d) for d in io.shape or ()]) for io in declared]


@dataclass(frozen=True)
class ModelMetadata:
    """onnxruntime.ModelMetadata: names, descriptions, version and metadata_props of the model."""

    custom_metadata_map: dict[str, str]
    description: str
    domain: str
    graph_description: str
    graph_name: str
    producer_name: str
    version: int


class _Checked:
    """Checks inputs against the model's declarations, with the messages that programs know."""

    def __init__(self, inputs: Sequence[IoInfo]):
        self._declared = {io.name: io for io in inputs}
        self._required = [io.name for io in inputs if not io.optional and not io.type.startswith("optional(")]

    def names(self, feed: Mapping[str, Any]) -> None:
        """Raises where a required input is missing or a name is unknown."""
        if any(name not in feed for name in self._required):
            raise ValueError(
                f"Required inputs ({[n for n in self._required if n not in feed]}) are missing from input feed "
                f"({list(feed)})."
            )
        for name in feed:
            if name not in self._declared:
                raise error("InvalidArgument", f"Invalid input name: {name}")

    def value(self, name: str, given: Any) -> Any:
        """Returns the native value of an input, or raises where it does not fit the declaration."""
        io = self._declared[name]
        if isinstance(given, str):
            raise RuntimeError(f"Input must be a list of dictionaries or a single numpy array for input '{name}'.")
        value = feed_value(given, io.type)
        if isinstance(value, _lathe.Tensor) and io.type.startswith("tensor("):
            self._tensor(io, value)
        return value

    def _tensor(self, io: IoInfo, tensor: _lathe.Tensor) -> None:
        if tensor.onnx_type != io.type:
            raise error(
                "InvalidArgument",
                f"Unexpected input data type. Actual: ({tensor.onnx_type}) , expected: ({io.type})",
            )
        if io.shape is None:
            return
        advice = " Please fix either the inputs/outputs or the model."
        if len(tensor.shape) != len(io.shape):
            raise error(
                "InvalidArgument",
                f"Invalid rank for input: {io.name} Got: {len(tensor.shape)} Expected: {len(io.shape)}{advice}",
            )
        wrong = [
            f" index: {axis} Got: {got} Expected: {want}\n"
            for axis, (got, want) in enumerate(zip(tensor.shape, io.shape))
            if isinstance(want, int) and got != want
        ]
        if wrong:
            raise error(
                "InvalidArgument",
                f"Got invalid dimensions for input: {io.name} for the following indices\n{''.join(wrong)}{advice}",
            )


def _chosen_providers(providers: Optional[Sequence[Any]]) -> dict[str, dict[str, str]]:
    chosen: dict[str, dict[str, str]] = {}
    for entry in providers or ():
        name = entry if isinstance(entry, str) else entry[0]
        if name == CPU:
            chosen[name] = {}
        else:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names."
                f"Available providers: '{CPU}'",
                stacklevel=3,
            )
    return chosen or {CPU: {}}


class InferenceSession:
    """onnxruntime.InferenceSession: it builds an engine of a model and runs it.
    Thread-safe: each run takes a context from a pool. Raises onnxruntime's exceptions, whose causes are `lathe.Error`.
    """

    @translated
    def __init__(
        self,
        path_or_bytes: Union[str, bytes, "os.PathLike[str]"],
        sess_options: Optional[SessionOptions] = None,
        providers: Optional[Sequence[Any]] = None,
        provider_options: Optional[Sequence[dict[str, Any]]] = None,
        **kwargs: Any,
    ):
        if isinstance(path_or_bytes, (bytearray, memoryview)):
            path_or_bytes = bytes(path_or_bytes)
        if not isinstance(path_or_bytes, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if path_or_bytes == b"":
            raise error("InvalidArgument", "No graph was found in the protobuf.")
        if provider_options is not None and len(provider_options) != len(providers or ()):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        self._model_path = path_or_bytes if not isinstance(path_or_bytes, bytes) else None
        self._sess_options = sess_options or SessionOptions()
        self._providers = _chosen_providers(providers or self._sess_options._providers)
        began = time.perf_counter()
        options = self._sess_options._build_options()
        # The models of sessions are often links in a cache; onnxruntime follows them.
        if self._model_path is not None:
            directory = os.path.dirname(os.path.abspath(self._model_path))
            options["link_roots"] = [directory, os.path.dirname(os.path.realpath(self._model_path))]
        try:
            model = _lathe.load_model(path_or_bytes, build_options(**options).load)
            if not model.has_graph:
                raise error("InvalidArgument", "No graph was found in the protobuf.")
            self._engine = lathe.build(model, **options)
        except lathe.Error as e:
            if e.code == "E4201":
                raise error("ModelLoadCanceled", "Session initialization canceled due to user request.") from e
            if e.code == "E1001" and e.stage in ("load", "parse", "read", "open", ""):
                name = self._model_path
                raise error("NoSuchFile", f"Load model from {name} failed:Load model {name} failed. File doesn't exist") from e
            raise
        self._meta = ModelMetadata(
            custom_metadata_map=dict(model.metadata),
            description=model.doc_string,
            domain=model.domain,
            graph_description=model.graph_doc_string,
            graph_name=model.graph_name,
            producer_name=model.producer_name,
            version=model.model_version,
        )
        self._checked = _Checked(self._engine.inputs)
        self._outputs = [io.name for io in self._engine.outputs]
        self._profiler: Optional[SessionProfiler] = None
        if self._sess_options.enable_profiling:
            prefix = self._sess_options.profile_file_prefix
            self._profiler = SessionProfiler(self, self._engine._engine, prefix, began)

    def get_inputs(self) -> list[NodeArg]:
        """Returns the inputs that every run needs, as onnxruntime.InferenceSession.get_inputs."""
        return self._node_args(io for io in self._engine.inputs if not io.optional)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Returns the inputs that have a default, as onnxruntime.InferenceSession.get_overridable_initializers."""
        return self._node_args(io for io in self._engine.inputs if io.optional)

    def get_outputs(self) -> list[NodeArg]:
        """Returns the outputs, as onnxruntime.InferenceSession.get_outputs."""
        return self._node_args(self._engine.outputs)

    def _node_args(self, declared: Iterable[IoInfo]) -> list[NodeArg]:
        return _node_args(list(declared), self._engine.inputs)

    def get_modelmeta(self) -> ModelMetadata:
        """Returns the model's ModelMetadata, as onnxruntime.InferenceSession.get_modelmeta."""
        return self._meta

    def get_session_options(self) -> SessionOptions:
        """Returns the session's options, as onnxruntime.InferenceSession.get_session_options."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """Returns the names of the providers, as onnxruntime.InferenceSession.get_providers."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Returns the providers' options, which are empty, as onnxruntime.InferenceSession.get_provider_options."""
        return {name: dict(options) for name, options in self._providers.items()}

    def set_providers(self, providers: Optional[Sequence[Any]] = None, provider_options: Any = None) -> None:
        """Sets the providers, of which CPUExecutionProvider is known, as onnxruntime.InferenceSession.set_providers."""
        self._providers = _chosen_providers(providers)

    def disable_fallback(self) -> None:
        """Does nothing, since there is one provider, in the place of onnxruntime.InferenceSession.disable_fallback."""

    def enable_fallback(self) -> None:
        """Does nothing, since there is one provider, in the place of onnxruntime.InferenceSession.enable_fallback."""

    def get_profiling_start_time_ns(self) -> int:
        """Returns when profiling began, in ns, or 0, as onnxruntime.InferenceSession.get_profiling_start_time_ns."""
        return self._profiler.start_ns if self._profiler else 0

    def end_profiling(self) -> str:
        """Writes what was recorded and returns the file's name, as onnxruntime.InferenceSession.end_profiling.
        Without `enable_profiling` it returns ""."""
        return self._profiler.end() if self._profiler else ""

    def io_binding(self) -> "IOBinding":
        """Returns an IOBinding of this session, as onnxruntime.InferenceSession.io_binding."""
        return IOBinding(self)

    def _feed(self, input_feed: Mapping[str, Any]) -> dict[str, Any]:
        self._checked.names(dict.fromkeys(input_feed.keys()))
        return {name: self._checked.value(name, value) for name, value in input_feed.items() if value is not None}

    def _wanted(self, output_names: Optional[Sequence[str]]) -> list[str]:
        for name in output_names or ():
            if name not in self._outputs:
                raise error("InvalidArgument", f"Invalid output name:{name}")
        return list(output_names or self._outputs)

    def _run(self, wanted: list[str], feed: dict[str, Any], run_options: Optional[RunOptions]) -> list[Any]:
        control = run_options._control if run_options else None
        if self._profiler and self._profiler.recording:
            with self._profiler.lent_context() as context:
                outputs = context.run(feed, control)
        else:
            outputs = self._engine._engine.run(feed, control)
        return [outputs[name] for name in wanted]

    def _new_context(self) -> _lathe.Context:
        return self._profiler.make_context() if self._profiler else self._engine._engine.create_context()

    @translated
    def run(
        self,
        output_names: Optional[Sequence[str]],
        input_feed: Mapping[str, Any],
        run_options: Optional[RunOptions] = None,
    ) -> list[Any]:
        """Runs once and returns the outputs of these names, all for None, as onnxruntime.InferenceSession.run."""
        feed = self._feed(input_feed)
        return [from_value(value) for value in self._run(self._wanted(output_names), feed, run_options)]

    @translated
    def run_with_ort_values(
        self,
        output_names: Optional[Sequence[str]],
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: Optional[RunOptions] = None,
    ) -> list[OrtValue]:
        """Runs once on OrtValues and returns OrtValues, as onnxruntime.InferenceSession.run_with_ort_values."""
        feed = self._feed(input_dict_ort_values)
        return [OrtValue(value) for value in self._run(self._wanted(output_names), feed, run_options)]

    def run_async(
        self,
        output_names: Optional[Sequence[str]],
        input_feed: Mapping[str, Any],
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: Optional[RunOptions] = None,
    ) -> None:
        """Calls `callback(results, user_data, error)` from another thread, as onnxruntime.InferenceSession.run_async.
        `error` is "" where the run succeeded."""
        feed = self._feed(input_feed)
        wanted = self._wanted(output_names)

        def work() -> None:
            try:
                results = [from_value(value) for value in translated(self._run)(wanted, feed, run_options)]
            except tuple(TYPES.values()) as e:
                callback([], user_data, str(e))
            else:
                callback(results, user_data, "")

        threading.Thread(target=work, name="lathe-run-async").start()

    @translated
    def run_with_iobinding(self, iobinding: "IOBinding", run_options: Optional[RunOptions] = None) -> None:
        """Runs once on bound memory, as onnxruntime.InferenceSession.run_with_iobinding."""
        iobinding._run(self, run_options)


def _array_at(pointer: int, name: str, shape: Sequence[int]) -> _lathe.Tensor:
    """Memory of the caller's, who promises that it is there and large enough."""
    bits = bits_of(name)
    size = (int(np.prod(shape, dtype=np.int64)) * bits + 7) // 8
    return _lathe.Tensor.from_buffer((ctypes.c_char * size).from_address(pointer), name, tuple(shape), True)


class IOBinding:
    """onnxruntime.IOBinding: inputs and outputs that are bound to memory. For one thread.
    Outputs bound to an OrtValue or a pointer are written there without a copy; the others are new after every run."""

    def __init__(self, session: InferenceSession):
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._targets: dict[str, Optional[OrtValue]] = {}
        self._results: dict[str, OrtValue] = {}
        self._context: Optional[_lathe.Context] = None

    def _check_input(self, name: str) -> None:
        if name not in self._session._checked._declared:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Binds an input to an array, as onnxruntime.IOBinding.bind_cpu_input."""
        self._check_input(name)
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds an input to memory at an address, which the caller keeps alive, as onnxruntime.IOBinding.bind_input."""
        self._check_input(name)
        check_device(device_type)
        self._inputs[name] = OrtValue(_array_at(buffer_ptr, element_name(element_type), shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an input to an OrtValue, as onnxruntime.IOBinding.bind_ortvalue_input."""
        self._check_input(name)
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Optional[Sequence[int]] = None,
        buffer_ptr: Optional[int] = None,
    ) -> None:
        """Binds an output to memory at an address, or to new memory, as onnxruntime.IOBinding.bind_output."""
        check_device(device_type)
        if buffer_ptr is None:
            self._targets[name] = None
        else:
            self._targets[name] = OrtValue(_array_at(buffer_ptr, element_name(element_type), shape or ()))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an output to an OrtValue, as onnxruntime.IOBinding.bind_ortvalue_output."""
        self._targets[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Does nothing, since all memory is the CPU's, in the place of onnxruntime.IOBinding.synchronize_inputs."""

    def synchronize_outputs(self) -> None:
        """Does nothing, since all memory is the CPU's, in the place of onnxruntime.IOBinding.synchronize_outputs."""

    def clear_binding_inputs(self) -> None:
        """Unbinds all inputs, as onnxruntime.IOBinding.clear_binding_inputs."""
        self._inputs.clear()
        self._context = None

    def clear_binding_outputs(self) -> None:
        """Unbinds all outputs, as onnxruntime.IOBinding.clear_binding_outputs."""
        self._targets.clear()
        self._results.clear()
        self._context = None

    def get_outputs(self) -> list[OrtValue]:
        """Returns the bound outputs of the last run as OrtValues, as onnxruntime.IOBinding.get_outputs."""
        return [self._results[name] for name in self._targets if name in self._results]

    get_outputs_as_ortvaluevector = get_outputs

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Returns the bound outputs of the last run as arrays, as onnxruntime.IOBinding.copy_outputs_to_cpu."""
        return [value.numpy() for value in self.get_outputs()]

    def _run(self, session: InferenceSession, run_options: Optional[RunOptions]) -> None:
        feed = session._feed(self._inputs)
        wanted = session._wanted(list(self._targets))
        targets = {name: value for name, value in self._targets.items() if value is not None and value.has_value()}
        if not targets:
            self._results = {n: OrtValue(v) for n, v in zip(wanted, session._run(wanted, feed, run_options))}
            return
        if self._context is None:
            self._context = session._new_context()
        context = self._context
        for name, value in feed.items():
            context.bind_input(name, value)
        for name in wanted:
            context.bind_output(name, targets[name]._tensor() if name in targets else None)
        context.run_bound(run_options._control if run_options else None)
        self._results = {name: targets.get(name) or OrtValue(context.output(name)) for name in wanted}


__all__ = ["IOBinding", "InferenceSession", "ModelMetadata", "NodeArg", "OrtDevice"]
