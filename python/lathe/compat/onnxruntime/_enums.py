"""Enumerations print as pybind11's do."""

from __future__ import annotations

import enum


class NamedInt(enum.IntEnum):
    """A number whose text is the name of its type and its own."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec) if spec else str(self)
