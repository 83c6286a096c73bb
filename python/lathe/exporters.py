"""Checkpoints become ONNX files, with Hugging Face Optimum's names and without PyTorch.

    from lathe import exporters
    exporters.export("bert-base-uncased", "bert_onnx", task="fill-mask")

Architectures and configurations are added by deriving classes: see docs/guide/export.md.
"""

from __future__ import annotations

import enum
import json
import os
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from lathe import _lathe, nn
from lathe._errors import Error
from lathe._network.network import Network
from lathe._values import dtype_of, from_value, to_value

_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_LEVELS = {"O1": "basic", "O2": "extended", "O3": "all"}


class ConfigBehavior(str, enum.Enum):
    """Says which part of an encoder-decoder a file is; Optimum's ConfigBehavior.
    MONOLITH is both parts in one file."""

    MONOLITH = "monolith"
    ENCODER = "encoder"
    DECODER = "decoder"


class NormalizedConfig:
    """A config.json with the same attributes for every architecture; Optimum's NormalizedConfig. Immutable.
    `normalized.num_layers` is what GPT-2 calls `n_layer`. `kind` is Optimum's name of a set of attributes,
    "NormalizedTextConfig" for one; `words` are other keys for some of them, num_layers="n_layer", which may lead into
    objects. Raises `lathe.Error` E6001 (bad_argument) for an unknown kind; attributes that are missing raise
    AttributeError."""

    def __init__(self, config: Mapping[str, Any], kind: str = "NormalizedConfig", **words: str):
        self._native = _lathe.normalized_config(json.dumps(dict(config)), kind, words)

    @classmethod
    def _over(cls, native: Any) -> "NormalizedConfig":
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "NormalizedConfig":
        """Returns the config with the attributes of its "model_type".
        Raises `lathe.Error` E6002 (not_supported), with similar model types, for an unknown one."""
        return cls._over(_lathe.normalized_config_of(json.dumps(dict(config))))

    def has_attribute(self, word: str) -> bool:
        """Returns whether a key or a default gives the attribute a value."""
        return self._native.has_attribute(word)

    @property
    def kind(self) -> str:
        """The kind that it was made with, as Optimum calls it."""
        return self._native.kind()

    def words(self) -> list[str]:
        """Returns the attributes that the kind renames; any other one is a key of config.json."""
        return self._native.words()

    def __getattr__(self, word: str) -> Any:
        if word.startswith("_"):
            raise AttributeError(word)
        try:
            return self._native.get(word)
        except Error as e:
            raise AttributeError(str(e)) from None


class DummyInputGenerator:
    """Makes arrays for inputs whose names begin with one of SUPPORTED_INPUT_NAMES; Optimum's DummyInputGenerator.
    Derive from it, define these and `generate`, and name the class in a config's DUMMY_INPUT_GENERATOR_CLASSES. The
    sizes are attributes: `self.batch_size`, `self.sequence_length`, …; `self.random` is NumPy's generator, seeded with
    `seed`. Not thread-safe."""

    SUPPORTED_INPUT_NAMES: Iterable[str] = ()

    def __init__(self, task: str, normalized_config: NormalizedConfig, **shapes: int):
        self.task, self.normalized_config = task, normalized_config
        self.batch_size, self.sequence_length = 2, 16
        vars(self).update(shapes)
        self.random = np.random.default_rng(shapes.get("seed", 0))

    def supports_input(self, name: str) -> bool:
        """Returns whether the name begins with one of SUPPORTED_INPUT_NAMES."""
        return name.startswith(tuple(self.SUPPORTED_INPUT_NAMES))

    def generate(self, name: str, int_dtype: str = "int64", float_dtype: str = "float32") -> Any:
        """Returns an array for the input; derived classes define it.
        `int_dtype` is int64, int32 or int8; `float_dtype` is float32, float16 or bfloat16."""
        raise NotImplementedError(name)

    def random_int_tensor(self, shape: Sequence[int], max_value: int, min_value: int = 0, dtype: str = "int64") -> np.ndarray:
        """Returns random integers in [min_value, max_value)."""
        return self.random.integers(min_value, max_value, shape).astype(dtype_of(dtype))

    def random_float_tensor(
        self, shape: Sequence[int], min_value: float = 0, max_value: float = 1, dtype: str = "float32"
    ) -> np.ndarray:
        """Returns random numbers in [min_value, max_value)."""
        return self.random.uniform(min_value, max_value, shape).astype(dtype_of(dtype))

    def random_mask_tensor(self, shape: Sequence[int], padding_side: str = "right", dtype: str = "int64") -> np.ndarray:
        """Returns ones with zeros on one side of the last axis, at least one of each where it is long enough."""
        length = shape[-1]
        mask = np.ones(shape, dtype_of(dtype))
        zeros = int(self.random.integers(1, length)) if length > 1 else 0
        if zeros:
            mask[..., -zeros:] = 0
        return mask if padding_side == "right" else mask[..., ::-1].copy()

    @staticmethod
    def constant_tensor(shape: Sequence[int], value: float = 1, dtype: str = "int64") -> np.ndarray:
        """Returns an array that is `value` everywhere."""
        return np.full(shape, value, dtype_of(dtype))

    @staticmethod
    def concat_inputs(inputs: Sequence[np.ndarray], dim: int) -> np.ndarray:
        """Returns the arrays joined along `dim`."""
        return np.concatenate(inputs, axis=dim)

    @staticmethod
    def pad_input_on_dim(x: np.ndarray, dim: int, desired_length: int, value: float = 1) -> np.ndarray:
        """Returns x with `value` behind the elements of `dim` until it has `desired_length`."""
        widths = [(0, 0)] * x.ndim
        widths[dim] = (0, max(desired_length - x.shape[dim], 0))
        return np.pad(x, widths, constant_values=value)

    def _names(self) -> list[str]:
        return list(self.SUPPORTED_INPUT_NAMES)

    def _generate(self, name: str, int_dtype: str, float_dtype: str) -> Any:
        return to_value(self.generate(name, int_dtype, float_dtype))


def dummy_input_generators() -> list[str]:
    """Returns the names of the generators that the library has: all classes of Optimum's."""
    return _lathe.dummy_input_generators()


class OnnxConfig:
    """Says how an architecture is exported for a task; Optimum's OnnxConfig.
    Derive from it or from a class below, and define `inputs`. As thread-safe as what is derived.

    `config` is config.json as a dictionary. An instance is made for every file of an export, so `__init__` must set
    nothing that does not follow from these arguments. NORMALIZED_CONFIG maps attributes to keys ("num_layers":
    "n_layer"); ATOL_FOR_VALIDATION is the absolute tolerance of a validation; DEFAULT_ONNX_OPSET is the opset of the
    files; PAD_ATTENTION_MASK_TO_PAST makes the mask cover the past; DUMMY_INPUT_GENERATOR_CLASSES are generators by
    name or class; DUMMY_INPUTS are beginnings of the names that `make_dummy_input` handles; FORWARD_ARGUMENTS is the
    order of the file's inputs.
    """

    NORMALIZED_CONFIG: Mapping[str, str] = {}  # "num_layers": "n_layer"; keys may lead into objects: "text_config.n_layer"
    ATOL_FOR_VALIDATION: float = 1e-5
    DEFAULT_ONNX_OPSET: int = 18
    PAD_ATTENTION_MASK_TO_PAST: bool = False  # of configs with past: the mask covers what is kept, too
    # Names of the library's kinds and classes that derive from DummyInputGenerator, in place of what is inherited.
    DUMMY_INPUT_GENERATOR_CLASSES: Sequence[Union[str, type[DummyInputGenerator]]] = ()
    DUMMY_INPUTS: Iterable[str] = ()  # beginnings of the names that make_dummy_input makes: a generator in a word
    FORWARD_ARGUMENTS: Sequence[str] = ()  # arguments of PyTorch's forward(), in order: so are the inputs of the file

    def __init__(
        self,
        config: dict[str, Any],
        task: str = "feature-extraction",
        use_past: bool = False,
        use_past_in_inputs: bool = False,
        behavior: str = "monolith",
        int_dtype: str = "int64",
        float_dtype: str = "float32",
    ):
        self.config = config
        self.task = task
        self.use_past = use_past
        self.use_past_in_inputs = use_past_in_inputs
        self.behavior = ConfigBehavior(behavior)
        self.int_dtype = int_dtype
        self.float_dtype = float_dtype

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        """The inputs by name, each with the axes whose size is open and the name of the size."""
        return _lathe.plain_axes(self._asked(), False)

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """The outputs in the same form; unless it is overridden, those of the task.
        Raises `lathe.Error` E6002 (not_supported) for a task that has no common outputs."""
        return _lathe.plain_axes(self._asked(), True)

    @property
    def normalized_config(self) -> NormalizedConfig:
        """The configuration as a NormalizedConfig."""
        return NormalizedConfig._over(_lathe.config_of(self._asked()))

    @property
    def values_override(self) -> dict[str, Any]:
        """Keys of config.json that have another value in the export."""
        return {}

    @property
    def patching_specs(self) -> dict[str, Callable[[Network, Any], Any]]:
        """Functions that replace modules before they are emitted, by the shell pattern of their paths.
        Each is called with the network and the module's argument, and returns the tensor that replaces the module's
        output."""
        return {}

    def make_dummy_input(self, name: str, batch_size: int, sequence_length: int, seed: int) -> Any:
        """Returns an array for an input whose name begins with one of DUMMY_INPUTS; derived classes define it."""
        raise NotImplementedError(name)

    def generate_dummy_inputs(self, **shapes: int) -> dict[str, Any]:
        """Returns synthetic inputs for a run of the file, by name.
        `shapes` are batch_size=…, sequence_length=…, seed=…. Raises `lathe.Error` E6002 (not_supported) for an input
        that no generator knows, E6001 (bad_argument) for an unknown size."""
        return {name: from_value(value) for name, value in _lathe.dummy_inputs(self._asked(), shapes).items()}

    @classmethod
    def _base(cls) -> str:
        return next(c.__name__ for c in cls.__mro__ if c.__module__ == __name__)

    def _options(self) -> tuple[str, bool, bool, str, str, str]:
        return (self.task, self.use_past, self.use_past_in_inputs, self.behavior.value, self.int_dtype, self.float_dtype)

    def _asked(self) -> tuple[Any, ...]:
        return (self._base(), self, json.dumps(self.config), *self._options())

    def _for(self, *wanted: Any) -> "OnnxConfig":
        return self if self._options() == wanted else type(self)(self.config, *wanted)

    def _words(self) -> dict[str, str]:
        return dict(self.NORMALIZED_CONFIG)

    def _forward_arguments(self) -> list[str]:
        return list(self.FORWARD_ARGUMENTS)

    def _overrides(self) -> dict[str, str]:
        return {key: json.dumps(value) for key, value in self.values_override.items()}

    def _patches(self) -> list[tuple[str, Callable[[Any, Any], Any]]]:
        def emitted(make: Callable[[Network, Any], Any]) -> Callable[[Any, Any], Any]:
            def emit(native: Any, x: Any) -> Any:
                network = Network._over(native)
                return make(network, network._tensor(x))._tensor()._native

            return emit

        return [(pattern, emitted(make)) for pattern, make in self.patching_specs.items()]

    def _generators(self) -> tuple[list[Any], list[Any]]:
        def of_class(kind: Any) -> Any:
            return lambda task, native, shapes: kind(task, NormalizedConfig._over(native), **shapes)

        named = [kind if isinstance(kind, str) else of_class(kind) for kind in self.DUMMY_INPUT_GENERATOR_CLASSES]
        return ([of_class(self._own_generator())] if self.DUMMY_INPUTS else []), named

    def _own_generator(self) -> type[DummyInputGenerator]:
        config = self

        class Own(DummyInputGenerator):
            SUPPORTED_INPUT_NAMES = tuple(config.DUMMY_INPUTS)
            seed = 0

            def generate(self, name: str, int_dtype: str = "int64", float_dtype: str = "float32") -> Any:
                return config.make_dummy_input(name, self.batch_size, self.sequence_length, self.seed)

        return Own


class OnnxConfigWithPast(OnnxConfig):
    """The base of decoders that keep the keys and values of what they have read; Optimum's OnnxConfigWithPast."""

    def add_past_key_values(self, inputs_or_outputs: dict[str, dict[int, str]], direction: str) -> None:
        """Adds past_key_values.N.key and .value to the "inputs", or present.N.key and .value to the "outputs".
        Raises ValueError for another direction."""
        if direction not in ("inputs", "outputs"):
            raise ValueError(f"direction is 'inputs' or 'outputs', not {direction!r}")
        inputs_or_outputs.update(_lathe.past_axes(self._asked(), direction == "outputs"))


class OnnxSeq2SeqConfigWithPast(OnnxConfigWithPast):
    """The base of encoder-decoders; Optimum's OnnxSeq2SeqConfigWithPast."""

    def with_behavior(
        self, behavior: Union[str, ConfigBehavior], use_past: bool = False, use_past_in_inputs: bool = False
    ) -> "OnnxSeq2SeqConfigWithPast":
        """Returns another config of this class, for the encoder, the decoder or both."""
        return type(self)(
            self.config, self.task, use_past, use_past_in_inputs, ConfigBehavior(behavior), self.int_dtype, self.float_dtype
        )


class TextEncoderOnnxConfig(OnnxConfig):
    """The base of encoders of text; Optimum's TextEncoderOnnxConfig."""


class TextDecoderOnnxConfig(OnnxConfigWithPast):
    """The base of decoders of text; Optimum's TextDecoderOnnxConfig.
    Inputs are input_ids, attention_mask and, with a past, past_key_values.N.key and .value."""

    PAD_ATTENTION_MASK_TO_PAST = True


class TextDecoderWithPositionIdsOnnxConfig(TextDecoderOnnxConfig):
    """The base of decoders of text with the input position_ids; Optimum's TextDecoderWithPositionIdsOnnxConfig."""


class TextSeq2SeqOnnxConfig(OnnxSeq2SeqConfigWithPast):
    """The base of encoder-decoders of text; Optimum's TextSeq2SeqOnnxConfig."""


class VisionOnnxConfig(OnnxConfig):
    """The base of models of images; Optimum's VisionOnnxConfig."""


class TextAndVisionOnnxConfig(OnnxConfig):
    """The base of models of texts and images; Optimum's TextAndVisionOnnxConfig."""


class AudioOnnxConfig(OnnxConfig):
    """The base of models of audio as a wave; Optimum's AudioOnnxConfig."""


class AudioToTextOnnxConfig(OnnxSeq2SeqConfigWithPast):
    """The base of encoder-decoders from audio to text; Optimum's AudioToTextOnnxConfig."""


class Model:
    """An architecture in one function: parameters with the names that checkpoints have, and what is computed from them.
    To write one with modules, derive from `lathe.nn.Model`."""

    def __init__(self, config: dict[str, Any], task: str):
        self.config = config
        self.task = task

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Returns name and shape of every weight; they are float32, and weights of other types are converted."""
        raise NotImplementedError

    def forward(self, network: Network, inputs: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
        """Appends the model for tensors by name, and returns the outputs by name."""
        raise NotImplementedError

    def _forward(self, native: Any, inputs: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
        network = Network._over(native)
        wrapped = ({name: network._tensor(t) for name, t in given.items()} for given in (inputs, weights))
        outputs = self.forward(network, *wrapped)
        return {name: t._tensor()._native for name, t in outputs.items()}


class TasksManager:
    """The tasks, and the architectures that can be exported for them; Optimum's TasksManager.
    It has those of the library, and more that are registered. Not thread-safe while something is registered."""

    def __init__(self) -> None:
        self._native = _lathe.TasksManager()
        self._config: dict[str, Any] = {}

    @staticmethod
    def get_all_tasks() -> list[str]:
        """Returns the names of all tasks."""
        return _lathe.TasksManager.get_all_tasks()

    @staticmethod
    def map_from_synonym(task: str) -> str:
        """Returns the task that a name is a synonym of, or the name itself: "causal-lm" is "text-generation"."""
        return _lathe.TasksManager.map_from_synonym(task)

    @staticmethod
    def synonyms_for_task(task: str) -> set[str]:
        """Returns the other names of a task."""
        return _lathe.TasksManager.synonyms_for_task(task)

    @staticmethod
    def known_task(task: str) -> str:
        """Returns the task that a name is or is a synonym of.
        Raises `lathe.Error` E6001 (bad_argument), with similar names, for any other name."""
        return _lathe.TasksManager.known_task(task)

    @staticmethod
    def infer_library_from_model(checkpoint: Any) -> str:
        """Returns "transformers", "sentence_transformers", "diffusers" or "timm", by the files of the directory."""
        return _lathe.TasksManager.infer_library_from_model(os.fspath(checkpoint))

    def supports(self, model_type: str, task: str) -> bool:
        """Returns whether the model type can be exported for the task."""
        return self._native.supports(model_type, task)

    def model_types(self) -> list[str]:
        """Returns the model types that can be exported."""
        return self._native.model_types()

    def get_supported_tasks_for_model_type(self, model_type: str) -> list[str]:
        """Returns the tasks that a model type can be exported for.
        Raises `lathe.Error` E6002 (not_supported), with similar model types, for an unknown one."""
        return self._native.get_supported_tasks_for_model_type(model_type)

    def get_supported_model_type_for_task(self, task: str) -> list[str]:
        """Returns the model types that can be exported for a task."""
        return self._native.get_supported_model_type_for_task(task)

    def infer_task_from_model(self, checkpoint: Any) -> str:
        """Returns the task that a checkpoint was made for, from "architectures" of its config.json.
        Raises `lathe.Error` E6001 (bad_argument) where these name none that is known."""
        return self._native.infer_task_from_model(os.fspath(checkpoint))

    def register(self, model_type: str, *tasks: str, overwrite_existing: bool = False):
        """Returns a decorator that registers an OnnxConfig, a `lathe.nn.Model` or a Model for these tasks.
        Configs of a model type and task that are there already stay unless `overwrite_existing`. For a config the
        decorator raises `lathe.Error` E6001 (bad_argument) where a task is unknown."""

        def decorate(cls: Any) -> Any:
            if issubclass(cls, (Model, nn.Model)):
                make_model = lambda task: cls(self._config, task)
                self._native.register_model(model_type, list(tasks), make_model, issubclass(cls, nn.Model))
            else:
                make = lambda *options: cls(self._config, *options)
                self._native.register_config(model_type, list(tasks), cls._base(), make, overwrite_existing)
            return cls

        return decorate


def export(
    checkpoint: Any,
    output: Any,
    task: str = "auto",
    *,
    opset: Optional[int] = None,
    dtype: str = "fp32",
    int_dtype: str = "int64",
    optimize: Optional[str] = None,
    monolith: bool = False,
    no_post_process: bool = False,
    no_dynamic_axes: bool = False,
    widen_weights: bool = False,
    legacy: bool = False,
    atol: Optional[float] = None,
    ulps: Optional[float] = None,
    pad_token_id: Optional[int] = None,
    do_validation: bool = True,
    validation_seconds: float = 60,
    validation_memory: float = 4,
    reference: Any = None,
    engine: bool = False,
    variant: str = "default",
    library_name: Optional[str] = None,
    threads: int = 0,
    tasks: Optional[TasksManager] = None,
    **shapes: int,
) -> dict[str, Any]:
    """Exports the checkpoint in a directory into another, validates it, and returns a report; Optimum's main_export.

    `task` "auto" is the one that the checkpoint was made for; `opset` is 18 by default, or the config's. `dtype` is the
    type of weights: fp32, fp16 or bf16; `int_dtype` that of integer inputs: int64, int32 or int8. `optimize` is "O1",
    "O2" or "O3". `monolith`, `no_post_process`, `legacy`, `variant` and `pad_token_id` have Optimum's meanings;
    `no_dynamic_axes` fixes all sizes; `widen_weights` writes floats where a GGUF file has blocks of a few bits. `do_validation` runs the files and compares them with float64: `atol` and `ulps`
    (units in the last place) are the tolerances, `validation_seconds` is in seconds, `validation_memory` in GiB,
    `threads` are those of the engines. `reference` is a file of recorded inputs and outputs to compare with. `engine`
    also writes plans. `library_name` "transformers" exports what a sentence encoder is made around; by default the
    files beside it say what it is. `tasks` has the architectures, the library's by default. `shapes` are the sizes of
    synthetic inputs: batch_size=2, sequence_length=16, ….

    The report has "model_type", "library", "task", "opset", "files" (bytes by name), "unexpected", "untied",
    "left_out", "validation" and, with a reference, "recorded". Raises `lathe.Error`: E6001 (bad_argument) for an unknown task,
    E6002 (not_supported) for an architecture that is not registered, E2308 (node_cannot_convert) for an opset that
    cannot express the model, E4102 (run_bad_value) where a validation fails, E1004 (file_write_failed); nothing is
    written then.
    """
    options = {name: value for name, value in locals().items() if name not in ("checkpoint", "output", "tasks")}
    options["dtype"] = _DTYPES.get(dtype, dtype)
    options["optimize"] = _LEVELS.get(optimize or "", optimize)
    options["reference"] = None if reference is None else os.fspath(reference)
    if tasks is not None:
        with open(os.path.join(os.fspath(checkpoint), "config.json"), encoding="utf-8") as f:
            tasks._config = json.load(f)
    native = None if tasks is None else tasks._native
    return _lathe.export_checkpoint(os.fspath(checkpoint), os.fspath(output), options, native)


main_export = export  # Optimum's word

__all__ = [
    "AudioOnnxConfig",
    "AudioToTextOnnxConfig",
    "ConfigBehavior",
    "DummyInputGenerator",
    "Model",
    "NormalizedConfig",
    "OnnxConfig",
    "OnnxConfigWithPast",
    "OnnxSeq2SeqConfigWithPast",
    "TasksManager",
    "TextAndVisionOnnxConfig",
    "TextDecoderOnnxConfig",
    "TextDecoderWithPositionIdsOnnxConfig",
    "TextEncoderOnnxConfig",
    "TextSeq2SeqOnnxConfig",
    "VisionOnnxConfig",
    "dummy_input_generators",
    "export",
    "main_export",
]
