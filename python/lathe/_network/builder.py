"""Networks become engines here, and files become networks, with TensorRT's names."""

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
    """Shapes that an engine is made for: the least, the most likely and the greatest of each input.
    It is TensorRT's IOptimizationProfile. Inputs that it leaves out have what the model declares. Not thread-safe while
    it is changed."""

    def __init__(self, name: str = ""):
        self.name = name
        self.inputs: dict[str, ShapeRange] = {}

    def set_shape(self, input: str, min: Sequence[int], opt: Sequence[int], max: Sequence[int]) -> None:
        """Sets the (min, opt, max) shapes of an input; all have the same rank."""
        self.inputs[input] = (tuple(min), tuple(opt), tuple(max))

    def get_shape(self, input: str) -> Optional[ShapeRange]:
        """Returns the (min, opt, max) shapes of an input, or None where the profile leaves it out."""
        return self.inputs.get(input)


class BuilderConfig:
    """The options of `lathe.build` as attributes, TensorRT's IBuilderConfig: `config.threads = 1`.
    An attribute that no option has raises AttributeError. Not thread-safe while it is changed."""

    profiles: Any

    def __init__(self, **options: Any):
        for name, value in {**_DEFAULTS, **options}.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            raise AttributeError(f"no option of a build is called {name!r}")
        super().__setattr__(name, value)

    def add_optimization_profile(self, profile: OptimizationProfile) -> int:
        """Adds a profile and returns its index, which is also its name where it has none."""
        profiles = dict(self.profiles or {})
        profiles[profile.name or str(len(profiles))] = dict(profile.inputs)
        self.profiles = profiles
        return len(profiles) - 1

    def _options(self, control: Optional[RunControl]) -> _lathe.BuildOptions:
        return build_options(control=control, **vars(self))


class Builder:
    """Builds engines from networks, TensorRT's IBuilder.
    It has no state, and is thread-safe as long as the network is not changed."""

    def create_network(self, name: str = "") -> Network:
        """Returns a new, empty network."""
        return Network(name)

    def create_builder_config(self) -> BuilderConfig:
        """Returns a configuration with default options."""
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
        """Builds an engine from a network; debug tensors of the network become taps.
        `timeout`, `control`, `progress` and errors are those of `lathe.build`; E2001 (model_empty) where no output is
        marked."""
        with _limited(control, timeout) as limited:
            options = (config or BuilderConfig())._options(limited)
            return Engine(_lathe.build_network(network._native, options, progress))


    def build_serialized_network(self, network: Network, config: Optional[BuilderConfig] = None, **arguments: Any) -> bytes:
        """Builds an engine from a network and returns it as the bytes of a plan, for `lathe.deserialize`."""
        return self.build_engine(network, config, **arguments).serialize()

    def refit_engine(
        self,
        engine: Engine,
        weights: Union[Mapping[str, Any], Source],
        *,
        timeout: Optional[float] = None,
        control: Optional[RunControl] = None,
    ) -> dict[str, Any]:
        """Exchanges weights of an engine that was built with `refit=True`, in one call.
        Arguments and errors are those of `Refitter.set_named_weights` and `Refitter.refit`, whose report is returned.
        """
        refitter = Refitter(engine)
        refitter.set_named_weights(weights)
        return refitter.refit(timeout=timeout, control=control)


class Parser:
    """Fills networks from .onnx files, the IParser of TensorRT's ONNX parser.
    It holds the diagnostics of the last file; use one in each thread. `plugins` are shared libraries whose operators
    models may have. Raises `lathe.Error` E3005 (build_plugin_failed) where one cannot be loaded."""

    def __init__(self, plugins: Iterable[Any] = ()) -> None:
        self._native = _lathe.Parser([os.fspath(plugin) for plugin in plugins])

    def parse(self, source: Source, *, untrusted: bool = False, link_roots: Any = ()) -> Network:
        """Returns a network from a file, bytes or a model.
        Functions are inlined and operators become their newest versions; layers that were saved from a Network are
        layers again. Raises the first `lathe.Error`, after all were collected in `diagnostics`."""
        model = _lathe.load_model(source, load_options(untrusted, link_roots))
        return Network._over(self._native.parse(model))

    @property
    def diagnostics(self) -> list[Error]:
        """The errors and warnings of the last `parse`, in the order of the file, which were not raised."""
        return [Error(fields) for fields in self._native.diagnostics()]

    @property
    def num_errors(self) -> int:
        """The number of errors of the last `parse`."""
        return self._native.num_errors()

    def supports_operator(self, op: str, domain: str = "") -> bool:
        """Returns whether the library or a plug-in knows the operator; domain "" is ai.onnx."""
        return self._native.supports_operator(op, domain)
