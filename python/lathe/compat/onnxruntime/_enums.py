"""Enumerations that print as pybind11's do."""

from __future__ import annotations

import enum


class NamedInt(enum.IntEnum):
    """A number whose text is its name, with that of its type."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec) if spec else str(self)
