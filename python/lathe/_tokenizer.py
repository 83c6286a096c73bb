"""Texts to tokens, as the tokenizer.json of a Hugging Face model describes it."""

from __future__ import annotations

import os
from dataclasses import astuple, dataclass
from typing import Any, Optional, Sequence, Union

from lathe import _lathe
from lathe._values import from_value

Path = Union[str, "os.PathLike[str]"]
Text = Union[str, "tuple[str, str]"]  # one, or two that belong together


@dataclass(frozen=True)
class Truncation:
    """What is cut from texts that are too long. `max_length` counts special tokens too; `from_` says which of two texts:
    "longest_first", "only_first" or "only_second"; `left`: from the beginning."""

    max_length: int = 512
    from_: str = "longest_first"
    left: bool = False


@dataclass(frozen=True)
class Padding:
    """What is put behind texts that are too short, or in front of them with `left`. `length` 0: as long as the longest of a
    batch; `id` None: the token's."""

    length: int = 0
    multiple_of: int = 0
    token: str = "[PAD]"
    id: Optional[int] = None
    type_id: int = 0
    left: bool = False


@dataclass(frozen=True)
class Encoding:
    """One text as tokens; all lists are of the same length. `offsets` are characters [first, second) of the text that
    `sequence` says, 0 or 1; None: a special token, or padding."""

    ids: list[int]
    type_ids: list[int]
    attention_mask: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    sequence: list[Optional[int]]
    special_mask: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """From tokenizer.json, or the directory that it is in; `parse` takes its text. WordPiece, as BERT and its relatives
    have it. Immutable and thread-safe; what it refuses raises `lathe.Error`."""

    def __init__(self, path: Path):
        self._native = _lathe.Tokenizer.open(os.fspath(path))

    @classmethod
    def _of(cls, native: Any) -> "Tokenizer":
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def parse(cls, json: str) -> "Tokenizer":
        return cls._of(_lathe.Tokenizer.parse(json))

    @property
    def truncation(self) -> Optional[Truncation]:
        said = self._native.truncation()
        return Truncation(*said) if said else None

    @property
    def padding(self) -> Optional[Padding]:
        said = self._native.padding()
        return Padding(*said) if said else None

    def with_truncation(self, truncation: Optional[Truncation]) -> "Tokenizer":
        """Another one that cuts so, or, with None, not at all."""
        return self._of(self._native.with_truncation(astuple(truncation) if truncation else None))

    def with_padding(self, padding: Optional[Padding]) -> "Tokenizer":
        """Another one that pads so, or, with None, not at all."""
        return self._of(self._native.with_padding(astuple(padding) if padding else None))

    def encode(self, text: Text, special_tokens: bool = True) -> Encoding:
        return self.encode_batch([text], special_tokens)[0]

    def encode_batch(self, texts: Sequence[Text], special_tokens: bool = True) -> list[Encoding]:
        return [Encoding(**e) for e in self._native.encode_batch(list(texts), special_tokens)]

    def __call__(self, texts: Sequence[Text], special_tokens: bool = True) -> dict[str, Any]:
        """What models take: input_ids, attention_mask and token_type_ids, int64 [texts, tokens]. Texts of different lengths
        need padding."""
        return {name: from_value(t) for name, t in self._native.inputs(list(texts), special_tokens).items()}

    def __len__(self) -> int:
        return int(self._native.size())

    def id_of(self, token: str) -> Optional[int]:
        return self._native.id_of(token)

    def token_of(self, id: int) -> str:
        """Empty for an id that no token has."""
        return self._native.token_of(id)
