"""The one exception type of the package."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The exception that every failure raises: where it happened, what was expected, what was found, what to do.
    `code` is stable: a number never changes its meaning, and its thousands name the stage.

    Attributes:
        code: "E2304".
        stage: "parse", "check", "import", "build", "run", …
        severity: "error", or "warning" among the findings of `lathe.onnx.check`.
        node, op, node_index: the node at fault and its operator; empty and -1 where there is none.
        inputs: the node's inputs with their types, where known.
        expected, got, remedy: the parts of the message.
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
