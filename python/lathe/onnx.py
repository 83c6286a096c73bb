"""ONNX files are loaded (mapped), saved, checked and described here."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Optional

from lathe import _lathe
from lathe._engine import Source, load_options
from lathe._errors import Error
from lathe._lathe import Model


def load(source: Source, *, untrusted: bool = False, link_roots: Iterable[Any] = ()) -> Model:
    """Loads a model from a file (.onnx, or ONNX text in .onnxtxt) or from bytes; weights stay in the mapped file.
    `untrusted` reads the file into private memory instead of mapping it; `link_roots` are directories whose files may
    be reached through links. Raises `lathe.Error` E10xx to E12xx for files that cannot be read or are malformed, E21xx
    for tensors of external data that are."""
    return _lathe.load_model(source, load_options(untrusted, link_roots))


def _paths(plugins: Iterable[Any]) -> list[str]:
    return [os.fspath(plugin) for plugin in plugins]


def check(source: Source, *, plugins: Iterable[Any] = ()) -> list[Error]:
    """Returns everything that is wrong with a model, errors and warnings, in the order of the file.
    The findings are instances of `lathe.Error` that were not raised; `severity` tells the two apart. Operators of
    `plugins` (shared libraries) are known, too. Raises only where the file or a plug-in cannot be loaded."""
    return [Error(fields) for fields in _lathe.check(load(source), _paths(plugins))]


def inspect(
    source: Source, sizes: Optional[Mapping[str, int]] = None, *, plugins: Iterable[Any] = ()
) -> dict[str, Any]:
    """Returns inputs, outputs, symbols, operator counts, parameters and the arithmetic of one run, as a dict.
    `sizes` fixes some symbols. "flops" is a number, or an expression over the symbols that stay free; "parameter_bytes"
    is in bytes. Operators of `plugins` (shared libraries) are known, too. Raises `lathe.Error` E2xxx where the model
    cannot be imported, E3005 (build_plugin_failed) where a plug-in cannot be loaded."""
    return _lathe.inspect(load(source), dict(sizes or {}), _paths(plugins))


def describe(
    source: Source, form: str = "text", sizes: Optional[Mapping[str, int]] = None, *, plugins: Iterable[Any] = ()
) -> str:
    """Returns the graph after import as "text", "json" or "dot" (Graphviz): newest operators, inferred shapes.
    Raises `lathe.Error` E6001 (bad_argument) for another form, otherwise as `inspect` does."""
    return _lathe.describe_graph(load(source), form, dict(sizes or {}), _paths(plugins))


def normalize(source: Source, *, opset: int = 0) -> Model:
    """Returns the model imported and written back at the lowest opset and IR version that can express it.
    With `opset` it is written at that one. Raises `lathe.Error` E2308 (node_cannot_convert) where the opset cannot
    express a node."""
    return _lathe.normalize(load(source), opset)


def to_text(source: Source) -> str:
    """Returns the model in the ONNX text format."""
    return load(source).to_text()


__all__ = ["Model", "check", "describe", "inspect", "load", "normalize", "to_text"]
