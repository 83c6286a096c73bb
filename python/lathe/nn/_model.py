"""Models have names, and modules become networks."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from lathe._network.handles import TensorRef
from lathe._network.network import Network
from lathe.nn._module import Module, Tensor, natives, ref

InputSpec = tuple[Any, Sequence[Union[int, str]]]


class Model(Module):
    """An architecture with the head for a task, whose inputs and outputs have names.
    Derive from it, take `config` (config.json as a dictionary) and `task`, and register it: `ModelRegistry.add`,
    `lathe.exporters.TasksManager.register`. `base_prefix` is the prefix under which published checkpoints with a head
    keep the body, "bert."; `other_parts` are pairs as of `Module.bind`."""

    base_prefix: str = ""  # under which published checkpoints with a head keep the body: "bert."
    other_parts: Sequence[tuple[str, str]] = ()  # of its paths, and what checkpoints may have in their place: "encoder.layer.", "layers."

    def forward(self, network: Network, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Appends the model for tensors by name, and returns the outputs by name.
        The names are those of Optimum's files. Raises `lathe.Error` E6001 (bad_argument) where an input is missing."""
        native = self._native.forward(network._native, {name: ref(t) for name, t in inputs.items()})
        return {name: network._tensor(t) for name, t in native.items()}

    def _forward(self, native: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        network = Network._over(native)
        outputs = self.forward(network, {name: network._tensor(t) for name, t in inputs.items()})
        return {name: ref(t) for name, t in outputs.items()}

    def bind(self, checkpoint: Any, **options: Any) -> dict[str, Any]:
        """Binds as `Module.bind` does, with the model's own `base_prefix` and `other_parts` by default."""
        options.setdefault("base_prefix", self.base_prefix)
        options.setdefault("other_parts", self.other_parts)
        return super().bind(checkpoint, **options)


class ModelRegistry:
    """Architectures by "model_type" of config.json and task: those of the library, and those that are added.
    Not thread-safe while something is added."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], Callable[[dict[str, Any], str], Model]] = {}

    def add(self, model_type: str, tasks: Iterable[str], make: Callable[[dict[str, Any], str], Model]) -> None:
        """Registers `make(config, task)`, a class that derives from Model or a function.
        It replaces what was there."""
        self._own.update({(model_type, task): make for task in tasks})

    def model_types(self) -> list[str]:
        """Returns the model types, sorted."""
        return sorted({*natives.model_types(), *(model_type for model_type, _ in self._own)})

    def contains(self, model_type: str, task: str) -> bool:
        """Returns whether there is an architecture for the model type and task."""
        return model_type in self.model_types() and task in self.tasks(model_type)

    def tasks(self, model_type: str) -> list[str]:
        """Returns the tasks of a model type.
        Raises `lathe.Error` E6001 (bad_argument), with similar model types, where it is unknown."""
        own = [task for known, task in self._own if known == model_type]
        return own or natives.model_tasks(model_type)

    def make(self, config: Any, task: str) -> Model:
        """Returns the model of a config.json, which is its path, that of its directory, or a dictionary.
        Raises `lathe.Error` E6001 (bad_argument) for an unknown model type or task, with similar ones."""
        if not isinstance(config, Mapping):
            path = os.fspath(config)
            path = os.path.join(path, "config.json") if os.path.isdir(path) else path
            with open(path, encoding="utf-8") as f:
                config = json.load(f)
        make = self._own.get((str(config.get("model_type")), task))
        if make is not None:
            return make(dict(config), task)
        model = Module._over(natives.make_model(json.dumps(config), task))
        assert isinstance(model, Model)
        return model


class Emission:
    """Names layers and constants that modules append to a network: `with Emission(network, module):`.
    Inside it the module and those below it name what they append by their paths; `prefix` goes before all paths.
    `substitutes` maps shell patterns of paths to functions of the network and x that return what replaces such a
    module. Raises `lathe.Error` E6001 (bad_argument) that lists all parameters without weights. For the network's
    thread."""

    def __init__(
        self,
        network: Network,
        module: Module,
        *,
        prefix: str = "",
        substitutes: Optional[Mapping[str, Callable[[Network, TensorRef], Tensor]]] = None,
    ):
        def emitted(make: Callable[[Network, TensorRef], Tensor]) -> Any:
            return lambda native, x: ref(make(network, network._tensor(x)))

        pairs = [(pattern, emitted(make)) for pattern, make in (substitutes or {}).items()]
        self._native = natives.Emission(network._native, module._native, prefix, pairs)
        self._module = module

    def __enter__(self) -> "Emission":
        self._native.begin()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._native.end()


def build_network(
    module: Module, inputs: Mapping[str, InputSpec], *, outputs: Sequence[str] = (), name: str = ""
) -> Network:
    """Returns a network of a module: its inputs by name with element type and shape, in order, and its outputs.
    A Model is given its inputs by name and names its own outputs; otherwise `outputs` are the names. Raises what
    `Emission` and the calls of `lathe.Network` raise."""
    network = Network(name)
    given = {called: network.add_input(called, dtype, shape) for called, (dtype, shape) in inputs.items()}
    with Emission(network, module):
        result = module(network, given) if isinstance(module, Model) else module(*given.values())
    if not isinstance(result, Mapping):
        several = result if isinstance(result, (tuple, list)) else (result,)
        result = dict(zip([*outputs, *(f"output_{i}" for i in range(len(outputs), len(several)))], several))
    for called, tensor in result.items():
        network.mark_output(tensor, called)
    return network
