"""GGUF, the file format of llama.cpp: metadata, and tensors of plain numbers or of blocks of a few bits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from lathe import _lathe
from lathe._refit import Path
from lathe._values import array_from_tensor, array_of_file


@dataclass(frozen=True)
class GgufTensor:
    """A tensor of a GGUF file, as the table in its header describes it.
    `type` is the format's name, "F32" or "Q4_K"; `shape` has the outermost size first; `bytes` and `offset` are those
    in `file`."""

    name: str
    type: str
    shape: tuple[int, ...]
    bytes: int
    file: str
    offset: int


class Gguf:
    """A GGUF file of version 2 or 3, or all parts of a split one, of which any may be named.
    Tensors are mapped, and read when they are touched; `untrusted` reads the files into private memory. Immutable and
    thread-safe. Raises `lathe.Error`: E10xx where a file cannot be read or a part is missing, E11xx where it is
    malformed, E1204 for tensors that overlap or lie outside the file, E21xx for a tensor that is invalid, E2202 for a
    name that is given twice, E6002 (not_supported) for version 1 and big-endian files."""

    def __init__(self, path: Path, *, untrusted: bool = False):
        self._native = _lathe.Gguf.open(os.fspath(path), untrusted)

    @property
    def version(self) -> int:
        """The version of the format: 2 or 3."""
        return self._native.version()

    def files(self) -> list[str]:
        """Returns the paths of the file, or of its parts in order."""
        return self._native.files()

    def metadata(self) -> dict[str, Any]:
        """Returns the metadata in the order of the file.
        Values are bool, int, float and str; arrays of strings are lists, arrays of numbers and booleans NumPy arrays of
        the type in the file. Strings that are not UTF-8 are bytes. The dict is made anew by each call."""
        values = self._native.metadata()
        return {key: array_from_tensor(v) if isinstance(v, _lathe.Tensor) else v for key, v in values.items()}

    def names(self) -> list[str]:
        """Returns the names of all tensors, in the order of the file."""
        return self._native.names()

    def info(self, name: str) -> GgufTensor:
        """Returns what the header says of one tensor, without reading its elements.
        Raises `lathe.Error` E6001 (bad_argument), with similar names, where there is none."""
        return GgufTensor(**self._native.info(name))

    def __contains__(self, name: str) -> bool:
        return self._native.contains(name)

    def __getitem__(self, name: str) -> Any:
        """Returns the elements of a tensor as an array that cannot be written to.
        Plain ones keep their type and are the file's own memory where they can be; blocks become float32. Raises as
        `info` does, and E6002 (not_supported) for blocks that cannot be decoded: Q1_0, Q8_1 and Q8_K."""
        return array_of_file(self._native.tensor(name))

    def float32(self, name: str) -> Any:
        """Returns the elements of a tensor as float32, whatever their type; float64 and integers are rounded.
        Raises as indexing does."""
        return array_of_file(self._native.float32(name))

    def raw(self, name: str) -> Any:
        """Returns the mapped bytes of a tensor as uint8: its shape, with the last axis in bytes.
        Raises as `info` does."""
        return array_of_file(self._native.raw(name))


__all__ = ["Gguf", "GgufTensor"]
