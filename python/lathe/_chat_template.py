"""Chat templates turn conversations into the text that a language model was trained on."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any, Optional, Sequence, Union

from lathe import _lathe

Path = Union[str, "os.PathLike[str]"]


def _plain(value: Any) -> Any:
    """Returns what JSON has in place of a value that it does not have."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump()
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:  # a scalar of NumPy
        return value.item()
    return f"<{type(value).__name__}>"  # templates ask whether there is a picture, not for its pixels


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


class ChatTemplate:
    """The chat templates of a model, from its directory, tokenizer_config.json, chat_template.json or a *.jinja file.
    They render what transformers' `apply_chat_template` renders. Immutable and thread-safe. Raises `lathe.Error`: E10xx
    where a file cannot be read, E1152 (json_malformed), E1103 (wire_too_large), E1161 (template_malformed), E1162
    (template_unsupported), E1163 (template_too_large), E6001 (bad_argument) where there is no template."""

    def __init__(self, path: Path):
        self._native = _lathe.ChatTemplate.open(os.fspath(path))

    @classmethod
    def _of(cls, native: Any) -> "ChatTemplate":
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def parse(cls, source: str, origin: str = "template") -> "ChatTemplate":
        """Makes a chat template of its source; errors name `origin` in the place of a file.
        Raises `lathe.Error` E1161 (template_malformed), E1162 (template_unsupported), E1163 (template_too_large)."""
        return cls._of(_lathe.ChatTemplate.parse(source, origin))

    @classmethod
    def parse_config(cls, json: str, origin: str = "tokenizer_config.json") -> "ChatTemplate":
        """Makes the chat templates of a tokenizer_config.json out of its text. Raises `lathe.Error` as the constructor does."""
        return cls._of(_lathe.ChatTemplate.parse_config(json, origin))

    def render(
        self,
        conversation: Sequence[Any],
        tools: Optional[Sequence[Any]] = None,
        documents: Optional[Sequence[Any]] = None,
        chat_template: Optional[str] = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        now: Optional[int] = None,
        **kwargs: Any,
    ) -> str:
        """Returns the text of a conversation, a list of dicts; arguments have the names of `apply_chat_template`.
        `tools` are dicts with JSON schemas. `chat_template` is the name of a template: without it "tool_use" with tools,
        where there is one, else "default". `now` is the time in seconds since 1970 that templates see; None is the
        clock's. Other arguments are variables of the template, before special tokens of the same name. Tuples are
        lists, keys of dicts are texts, and what JSON does not have is the text "<type>". Raises `lathe.Error` E1164
        (template_failed) where the template refuses the conversation, E1162 (template_unsupported), E1163
        (template_too_large), E6001 (bad_argument)."""
        for tool in tools or ():
            if callable(tool) and not isinstance(tool, Mapping):
                raise TypeError(f"tools are dicts with JSON schemas, not functions such as {tool!r}")
        return self._native.render(
            _json(list(conversation)),
            "" if tools is None else _json(list(tools)),
            "" if documents is None else _json(list(documents)),
            add_generation_prompt,
            continue_final_message,
            {name: _json(value) for name, value in kwargs.items()},
            chat_template or "",
            now,
        )

    @property
    def names(self) -> list[str]:
        """The names of the templates: "default", "tool_use", "rag", …."""
        return self._native.names()

    def source(self, name: str = "default") -> str:
        """Returns the source of a template. Raises `lathe.Error` E6001 (bad_argument) for other names."""
        return self._native.source(name)

    @property
    def special_tokens(self) -> dict[str, str]:
        """The special tokens that templates see as variables: "bos_token", "eos_token", …."""
        return self._native.special_tokens()

    def with_special_tokens(self, tokens: Mapping[str, str]) -> "ChatTemplate":
        """Returns templates that see these special tokens and no others."""
        return self._of(self._native.with_special_tokens(dict(tokens)))
