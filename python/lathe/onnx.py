"""ONNX files: loaded (mapped), saved, checked, described."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional

from lathe import _lathe
from lathe._engine import Source, load_options
from lathe._errors import Error
from lathe._lathe import Model


def load(source: Source, *, untrusted: bool = False, link_roots: Iterable[Any] = ()) -> Model:
    """A model from a file (.onnx, or text in .onnxtxt) or bytes. `untrusted` reads the file into private memory
    instead of mapping it; `link_roots` are directories whose files may be reached through links."""
    return _lathe.load_model(source, load_options(untrusted, link_roots))


def check(source: Source) -> list[Error]:
    """Everything that is wrong with a model, errors and warnings, in the order of the file; empty when nothing is.
    The findings are `lathe.Error`s that were not raised."""
    return [Error(fields) for fields in _lathe.check(load(source))]


def inspect(source: Source, sizes: Optional[Mapping[str, int]] = None) -> dict[str, Any]:
    """Inputs, outputs, symbols, operator counts, parameters, work of one run; with sizes for some symbols."""
    return _lathe.inspect(load(source), dict(sizes or {}))


def describe(source: Source, form: str = "text", sizes: Optional[Mapping[str, int]] = None) -> str:
    """The graph after import as "text", "json" or "dot"."""
    return _lathe.describe_graph(load(source), form, dict(sizes or {}))


def normalize(source: Source, *, opset: int = 0) -> Model:
    """The model imported and written at the lowest opset and IR version that can say it, or at the opset asked for."""
    return _lathe.normalize(load(source), opset)


def to_text(source: Source) -> str:
    """The ONNX text format."""
    return load(source).to_text()


__all__ = ["Model", "check", "describe", "inspect", "load", "normalize", "to_text"]
