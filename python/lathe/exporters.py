"""From checkpoints to ONNX files, with Hugging Face Optimum's words and without PyTorch.

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
    """What of an encoder-decoder a file is."""

    MONOLITH = "monolith"
    ENCODER = "encoder"
    DECODER = "decoder"


class NormalizedConfig:
    """A config.json seen through words that are the same for every architecture: `normalized.num_layers` is what GPT-2 calls
    `n_layer`. `kind`: Optimum's name of the words that there are, "NormalizedTextConfig" for one; `words`: other keys for some,
    num_layers="n_layer"; keys may lead into objects."""

    def __init__(self, config: Mapping[str, Any], kind: str = "NormalizedConfig", **words: str):
        self._native = _lathe.normalized_config(json.dumps(dict(config)), kind, words)

    @classmethod
    def _over(cls, native: Any) -> "NormalizedConfig":
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "NormalizedConfig":
        """With the words of its "model_type". Raises `lathe.Error` for one that is not known, with those that are near."""
        return cls._over(_lathe.normalized_config_of(json.dumps(dict(config))))

    def has_attribute(self, word: str) -> bool:
        return self._native.has_attribute(word)

    @property
    def kind(self) -> str:
        """What it was made with, as Optimum calls it."""
        return self._native.kind()

    def words(self) -> list[str]:
        """Those that it knows; of others the key is the word itself."""
        return self._native.words()

    def __getattr__(self, word: str) -> Any:
        if word.startswith("_"):
            raise AttributeError(word)
        try:
            return self._native.get(word)
        except Error as e:
            raise AttributeError(str(e)) from None


class DummyInputGenerator:
    """Makes arrays for inputs whose names begin with one of SUPPORTED_INPUT_NAMES. Derive from it, say these and `generate`, and
    name the class in a config's DUMMY_INPUT_GENERATOR_CLASSES. The sizes are attributes: `self.batch_size`,
    `self.sequence_length`, …; `self.random` is NumPy's generator of the seed."""

    SUPPORTED_INPUT_NAMES: Iterable[str] = ()

    def __init__(self, task: str, normalized_config: NormalizedConfig, **shapes: int):
        self.task, self.normalized_config = task, normalized_config
        self.batch_size, self.sequence_length = 2, 16
        vars(self).update(shapes)
        self.random = np.random.default_rng(shapes.get("seed", 0))

    def supports_input(self, name: str) -> bool:
        return name.startswith(tuple(self.SUPPORTED_INPUT_NAMES))

    def generate(self, name: str, int_dtype: str = "int64", float_dtype: str = "float32") -> Any:
        """An array for the input."""
        raise NotImplementedError(name)

    def random_int_tensor(self, shape: Sequence[int], max_value: int, min_value: int = 0, dtype: str = "int64") -> np.ndarray:
        """In [min_value, max_value)."""
        return self.random.integers(min_value, max_value, shape).astype(dtype_of(dtype))

    def random_float_tensor(
        self, shape: Sequence[int], min_value: float = 0, max_value: float = 1, dtype: str = "float32"
    ) -> np.ndarray:
        """In [min_value, max_value)."""
        return self.random.uniform(min_value, max_value, shape).astype(dtype_of(dtype))

    def random_mask_tensor(self, shape: Sequence[int], padding_side: str = "right", dtype: str = "int64") -> np.ndarray:
        """Ones, and on one side of the last axis zeros: at least one of each where there is room."""
        length = shape[-1]
        mask = np.ones(shape, dtype_of(dtype))
        zeros = int(self.random.integers(1, length)) if length > 1 else 0
        if zeros:
            mask[..., -zeros:] = 0
        return mask if padding_side == "right" else mask[..., ::-1].copy()

    @staticmethod
    def constant_tensor(shape: Sequence[int], value: float = 1, dtype: str = "int64") -> np.ndarray:
        return np.full(shape, value, dtype_of(dtype))

    @staticmethod
    def concat_inputs(inputs: Sequence[np.ndarray], dim: int) -> np.ndarray:
        return np.concatenate(inputs, axis=dim)

    @staticmethod
    def pad_input_on_dim(x: np.ndarray, dim: int, desired_length: int, value: float = 1) -> np.ndarray:
        """`value` behind the elements of `dim` until it is that long."""
        widths = [(0, 0)] * x.ndim
        widths[dim] = (0, max(desired_length - x.shape[dim], 0))
        return np.pad(x, widths, constant_values=value)

    def _names(self) -> list[str]:
        return list(self.SUPPORTED_INPUT_NAMES)

    def _generate(self, name: str, int_dtype: str, float_dtype: str) -> Any:
        return to_value(self.generate(name, int_dtype, float_dtype))


def dummy_input_generators() -> list[str]:
    """The kinds that the library brings: all of Optimum's, by the names of their classes."""
    return _lathe.dummy_input_generators()


class OnnxConfig:
    """What an export of an architecture for a task looks like. Derive from it or from a class below, and say `inputs`.

    `config` is config.json as a dictionary. Instances are made anew for every file of an export; say nothing in
    `__init__` that is not in these arguments."""

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
        """Names, and of each which axes are of any size and what the size is called."""
        return _lathe.plain_axes(self._asked(), False)

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """Unless overridden, what the task gives."""
        return _lathe.plain_axes(self._asked(), True)

    @property
    def normalized_config(self) -> NormalizedConfig:
        return NormalizedConfig._over(_lathe.config_of(self._asked()))

    @property
    def values_override(self) -> dict[str, Any]:
        """Keys of config.json that are something else in the export."""
        return {}

    @property
    def patching_specs(self) -> dict[str, Callable[[Network, Any], Any]]:
        """Puts something else in the place of modules before they are emitted: by the shell pattern of their paths a function
        of the network and of what the module is called with."""
        return {}

    def make_dummy_input(self, name: str, batch_size: int, sequence_length: int, seed: int) -> Any:
        """An array for an input whose name begins with one of DUMMY_INPUTS."""
        raise NotImplementedError(name)

    def generate_dummy_inputs(self, **shapes: int) -> dict[str, Any]:
        """What a run of the file takes; `shapes`: batch_size=…, sequence_length=…, seed=…."""
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
    """Decoders that keep the keys and values of what they have read."""

    def add_past_key_values(self, inputs_or_outputs: dict[str, dict[int, str]], direction: str) -> None:
        """past_key_values.N.key and .value for the "inputs", present.N.… for the "outputs"."""
        if direction not in ("inputs", "outputs"):
            raise ValueError(f"direction is 'inputs' or 'outputs', not {direction!r}")
        inputs_or_outputs.update(_lathe.past_axes(self._asked(), direction == "outputs"))


class OnnxSeq2SeqConfigWithPast(OnnxConfigWithPast):
    """Encoder-decoders."""

    def with_behavior(
        self, behavior: Union[str, ConfigBehavior], use_past: bool = False, use_past_in_inputs: bool = False
    ) -> "OnnxSeq2SeqConfigWithPast":
        """Another of this class."""
        return type(self)(
            self.config, self.task, use_past, use_past_in_inputs, ConfigBehavior(behavior), self.int_dtype, self.float_dtype
        )


class TextEncoderOnnxConfig(OnnxConfig):
    """Encoders of text."""


class TextDecoderOnnxConfig(OnnxConfigWithPast):
    """Decoders of text that keep keys and values."""

    PAD_ATTENTION_MASK_TO_PAST = True


class TextDecoderWithPositionIdsOnnxConfig(TextDecoderOnnxConfig):
    """And that are told positions."""


class TextSeq2SeqOnnxConfig(OnnxSeq2SeqConfigWithPast):
    """Encoder-decoders of text."""


class VisionOnnxConfig(OnnxConfig):
    """Images."""


class TextAndVisionOnnxConfig(OnnxConfig):
    """Texts and images."""


class AudioOnnxConfig(OnnxConfig):
    """Sound as a wave."""


class AudioToTextOnnxConfig(OnnxSeq2SeqConfigWithPast):
    """Sound to text."""


class Model:
    """An architecture in one function: parameters with the names that they have in checkpoints, and what is computed from
    them. Of modules, derive from `lathe.nn.Model`."""

    def __init__(self, config: dict[str, Any], task: str):
        self.config = config
        self.task = task

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every weight; they are float32, others are converted."""
        raise NotImplementedError

    def forward(self, network: Network, inputs: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
        """Appends the model: tensors by name in, tensors by name out."""
        raise NotImplementedError

    def _forward(self, native: Any, inputs: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
        network = Network._over(native)
        wrapped = ({name: network._tensor(t) for name, t in given.items()} for given in (inputs, weights))
        outputs = self.forward(network, *wrapped)
        return {name: t._tensor()._native for name, t in outputs.items()}


class TasksManager:
    """Which tasks there are, and which architectures can be exported for them: those of the library, and more that are
    registered."""

    def __init__(self) -> None:
        self._native = _lathe.TasksManager()
        self._config: dict[str, Any] = {}

    @staticmethod
    def get_all_tasks() -> list[str]:
        return _lathe.TasksManager.get_all_tasks()

    @staticmethod
    def map_from_synonym(task: str) -> str:
        """"causal-lm" is "text-generation"; what is no synonym is itself."""
        return _lathe.TasksManager.map_from_synonym(task)

    @staticmethod
    def synonyms_for_task(task: str) -> set[str]:
        return _lathe.TasksManager.synonyms_for_task(task)

    @staticmethod
    def known_task(task: str) -> str:
        """The task that it is or is a synonym of. Raises `lathe.Error` for others, with names that are near."""
        return _lathe.TasksManager.known_task(task)

    @staticmethod
    def infer_library_from_model(checkpoint: Any) -> str:
        """"transformers", "sentence_transformers", "diffusers", "timm": by the files of the directory."""
        return _lathe.TasksManager.infer_library_from_model(os.fspath(checkpoint))

    def supports(self, model_type: str, task: str) -> bool:
        return self._native.supports(model_type, task)

    def model_types(self) -> list[str]:
        return self._native.model_types()

    def get_supported_tasks_for_model_type(self, model_type: str) -> list[str]:
        return self._native.get_supported_tasks_for_model_type(model_type)

    def get_supported_model_type_for_task(self, task: str) -> list[str]:
        return self._native.get_supported_model_type_for_task(task)

    def infer_task_from_model(self, checkpoint: Any) -> str:
        return self._native.infer_task_from_model(os.fspath(checkpoint))

    def register(self, model_type: str, *tasks: str, overwrite_existing: bool = False):
        """Decorates an OnnxConfig for these tasks, or an architecture: a `lathe.nn.Model`, or a Model."""

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
    """Exports the checkpoint in a directory into another, validates it, and says what was made: "task", "files",
    "validation", …. `dtype` is that of weights, fp32, fp16 or bf16; `int_dtype` that of inputs of whole numbers, int64, int32 or int8. `validation_memory` is in
    GiB. `library_name` "transformers" exports what a sentence encoder is made around; by itself the files beside it say what it is. `shapes` are the sizes of
    made-up inputs: batch_size=2, sequence_length=16, …. Raises `lathe.Error`; nothing is written then."""
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
