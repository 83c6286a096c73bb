"""The one error type."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Every failure of Lathe: where it happened, what was expected, what was got, what to do.

    Attributes:
        code: a stable code such as ``"E2304"``.
        stage: ``"parse"``, ``"check"``, ``"import"``, ``"build"``, ``"run"``, …
        node, op, node_index: the node at fault and its operator; empty and -1 where there is none.
        inputs: the node's inputs with their types, where known.
        expected, got, remedy: the parts of the sentence.
    """

    code: str
    stage: str
    node: str
    op: str
    node_index: int
    inputs: list[str]
    expected: str
    got: str
    remedy: str
    severity: str

    def __init__(self, fields: dict[str, Any]):
        super().__init__(fields["text"])
        self._fields = fields
        for name, value in fields.items():
            if name != "text":
                setattr(self, name, value)

    def __reduce__(self):
        return Error, (self._fields,)
