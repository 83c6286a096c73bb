"""From networks to engines, and from files to networks, with TensorRT's words."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Optional

from lathe import _lathe
from lathe._engine import Engine, RunControl, Source, _limited, build_options, load_options
from lathe._errors import Error
from lathe._network.network import Network

_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(build_options).parameters.items()
    if name != "control"
}


class BuilderConfig:
    """The options of `lathe.build` as attributes: `config.threads = 1`, `config.effort = "normal"`."""

    def __init__(self, **options: Any):
        for name, value in {**_DEFAULTS, **options}.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            raise AttributeError(f"no option of a build is called {name!r}")
        super().__setattr__(name, value)

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


class Parser:
    """Fills networks from .onnx files, and holds what it found in the last one."""

    def __init__(self) -> None:
        self._native = _lathe.Parser()

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

    @staticmethod
    def supports_operator(op: str, domain: str = "") -> bool:
        """Whether it is an operator that this library knows ("" is ai.onnx)."""
        return _lathe.Parser.supports_operator(op, domain)
