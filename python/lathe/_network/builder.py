"""From networks to engines, and from files to networks, with TensorRT's words."""

from __future__ import annotations

import inspect
import os
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from lathe import _lathe
from lathe._engine import Engine, RunControl, ShapeRange, Source, _limited, build_options, load_options
from lathe._errors import Error
from lathe._network.network import Network
from lathe._refit import Refitter

_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(build_options).parameters.items()
    if name != "control"
}


class OptimizationProfile:
    """Shapes that an engine is made for: of each input the smallest, the most likely and the greatest."""

    def __init__(self, name: str = ""):
        self.name = name
        self.inputs: dict[str, ShapeRange] = {}

    def set_shape(self, input: str, min: Sequence[int], opt: Sequence[int], max: Sequence[int]) -> None:
        self.inputs[input] = (tuple(min), tuple(opt), tuple(max))

    def get_shape(self, input: str) -> Optional[ShapeRange]:
        """Nothing where the profile leaves the input out."""
        return self.inputs.get(input)


class BuilderConfig:
    """The options of `lathe.build` as attributes: `config.threads = 1`, `config.effort = "normal"`."""

    profiles: Any

    def __init__(self, **options: Any):
        for name, value in {**_DEFAULTS, **options}.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            raise AttributeError(f"no option of a build is called {name!r}")
        super().__setattr__(name, value)

    def add_optimization_profile(self, profile: OptimizationProfile) -> int:
        """Returns its index. Profiles without a name are called by it."""
        profiles = dict(self.profiles or {})
        profiles[profile.name or str(len(profiles))] = dict(profile.inputs)
        self.profiles = profiles
        return len(profiles) - 1

    def _options(self, control: Optional[RunControl]) -> _lathe.BuildOptions:
        return build_options(control=control, **vars(self))


class Builder:
    """Builds engines from networks. Without state."""

    def create_network(self, name: str = "") -> Network:
        return Network(name)

    def create_builder_config(self) -> BuilderConfig:
        return BuilderConfig()

    def build_engine(
        self,
        network: Network,
        config: Optional[BuilderConfig] = None,
        *,
        timeout: Optional[float] = None,
        control: Optional[RunControl] = None,
        progress: Optional[Callable[[str, float], Any]] = None,
    ) -> Engine:
        """An engine; debug tensors of the network become taps. `timeout`, `control`, `progress`: as for
        `lathe.build`."""
        with _limited(control, timeout) as limited:
            options = (config or BuilderConfig())._options(limited)
            return Engine(_lathe.build_network(network._native, options, progress))


    def build_serialized_network(self, network: Network, config: Optional[BuilderConfig] = None, **arguments: Any) -> bytes:
        """The same as the bytes of a plan, for `lathe.deserialize`."""
        return self.build_engine(network, config, **arguments).serialize()

    def refit_engine(
        self,
        engine: Engine,
        weights: Union[Mapping[str, Any], Source],
        *,
        timeout: Optional[float] = None,
        control: Optional[RunControl] = None,
    ) -> dict[str, Any]:
        """Other weights for an engine that was built with `refit=True`: in one call what a `Refitter` does in
        several."""
        refitter = Refitter(engine)
        refitter.set_named_weights(weights)
        return refitter.refit(timeout=timeout, control=control)


class Parser:
    """Fills networks from .onnx files, and holds what it found in the last one. `plugins`: shared libraries whose
    operators models may have."""

    def __init__(self, plugins: Iterable[Any] = ()) -> None:
        self._native = _lathe.Parser([os.fspath(plugin) for plugin in plugins])

    def parse(self, source: Source, *, untrusted: bool = False, link_roots: Any = ()) -> Network:
        """A network from a file, bytes or a model. Layers that were saved from a Network are layers again. Raises the
        first error, after all were collected."""
        model = _lathe.load_model(source, load_options(untrusted, link_roots))
        return Network._over(self._native.parse(model))

    @property
    def diagnostics(self) -> list[Error]:
        """Errors and warnings of the last call, in the order of the file, that were not raised."""
        return [Error(fields) for fields in self._native.diagnostics()]

    @property
    def num_errors(self) -> int:
        return self._native.num_errors()

    def supports_operator(self, op: str, domain: str = "") -> bool:
        """Whether it is an operator that this library or a plug-in knows ("" is ai.onnx)."""
        return self._native.supports_operator(op, domain)
