"""From checkpoints to ONNX files, with Hugging Face Optimum's words and without PyTorch.

    from lathe import exporters
    exporters.export("bert-base-uncased", "bert_onnx", task="fill-mask")

Architectures and configurations are added by deriving classes: see docs/export.md.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Mapping, Optional

from lathe import _lathe, nn
from lathe._network.network import Network
from lathe._values import from_value, to_value

_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_LEVELS = {"O1": "basic", "O2": "extended", "O3": "all"}


class OnnxConfig:
    """What an export of an architecture for a task looks like. Derive from it or from a class below, and say `inputs`.

    `config` is config.json as a dictionary. Instances are made anew for every file of an export; say nothing in
    `__init__` that is not in these arguments."""

    NORMALIZED_CONFIG: Mapping[str, str] = {}  # "num_layers": "n_layer"; keys may lead into objects: "text_config.n_layer"
    ATOL_FOR_VALIDATION: float = 1e-5
    DEFAULT_ONNX_OPSET: int = 18
    DUMMY_INPUTS: Iterable[str] = ()  # beginnings of the names that make_dummy_input makes

    def __init__(
        self,
        config: dict[str, Any],
        task: str = "feature-extraction",
        use_past: bool = False,
        use_past_in_inputs: bool = False,
        behavior: str = "monolith",
    ):
        self.config = config
        self.task = task
        self.use_past = use_past
        self.use_past_in_inputs = use_past_in_inputs
        self.behavior = behavior

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        """Names, and of each which axes are of any size and what the size is called."""
        return _lathe.plain_axes(*self._asked(), False)

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """Unless overridden, what the task gives."""
        return _lathe.plain_axes(*self._asked(), True)

    @property
    def values_override(self) -> dict[str, Any]:
        """Keys of config.json that are something else in the export."""
        return {}

    def make_dummy_input(self, name: str, batch_size: int, sequence_length: int, seed: int) -> Any:
        """An array for an input whose name begins with one of DUMMY_INPUTS."""
        raise NotImplementedError(name)

    def generate_dummy_inputs(self, **shapes: int) -> dict[str, Any]:
        """What a run of the file takes; `shapes`: batch_size=…, sequence_length=…, seed=…."""
        return {name: from_value(value) for name, value in _lathe.dummy_inputs(*self._asked(), shapes).items()}

    def _dummy_input(self, name: str, batch_size: int, sequence_length: int, seed: int) -> Any:
        return to_value(self.make_dummy_input(name, batch_size, sequence_length, seed))

    @classmethod
    def _base(cls) -> str:
        return next(c.__name__ for c in cls.__mro__ if c.__module__ == __name__)

    def _asked(self) -> tuple[str, "OnnxConfig", str, str, bool, bool, str]:
        text = json.dumps(self.config)
        return (self._base(), self, text, self.task, self.use_past, self.use_past_in_inputs, self.behavior)

    def _for(self, task: str, use_past: bool, use_past_in_inputs: bool, behavior: str) -> "OnnxConfig":
        said = (self.task, self.use_past, self.use_past_in_inputs, self.behavior)
        wanted = (task, use_past, use_past_in_inputs, behavior)
        return self if said == wanted else type(self)(self.config, *wanted)

    def _words(self) -> dict[str, str]:
        return dict(self.NORMALIZED_CONFIG)

    def _overrides(self) -> dict[str, str]:
        return {key: json.dumps(value) for key, value in self.values_override.items()}


class TextEncoderOnnxConfig(OnnxConfig):
    """Encoders of text."""


class TextDecoderOnnxConfig(OnnxConfig):
    """Decoders of text that keep keys and values."""


class TextDecoderWithPositionIdsOnnxConfig(TextDecoderOnnxConfig):
    """And that are told positions."""


class TextSeq2SeqOnnxConfig(OnnxConfig):
    """Encoder-decoders of text."""


class VisionOnnxConfig(OnnxConfig):
    """Images."""


class TextAndVisionOnnxConfig(OnnxConfig):
    """Texts and images."""


class AudioOnnxConfig(OnnxConfig):
    """Sound as a wave."""


class AudioToTextOnnxConfig(OnnxConfig):
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
        return _lathe.TasksManager.map_from_synonym(task)

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
    "validation", …. `validation_memory` is in GiB. `library_name`
    "transformers" exports what a sentence encoder is made around; by itself the files beside it say what it is. `shapes` are the sizes of made-up inputs: batch_size=2, sequence_length=16,
    …. Raises `lathe.Error`; nothing is written then."""
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
    "Model",
    "OnnxConfig",
    "TasksManager",
    "TextAndVisionOnnxConfig",
    "TextDecoderOnnxConfig",
    "TextDecoderWithPositionIdsOnnxConfig",
    "TextEncoderOnnxConfig",
    "TextSeq2SeqOnnxConfig",
    "VisionOnnxConfig",
    "export",
    "main_export",
]
