"""Tokenizers turn texts into tokens, as the files say that belong to models."""

from __future__ import annotations

import os
from dataclasses import astuple, dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from lathe import _lathe
from lathe._gguf import Gguf
from lathe._values import from_value

Path = Union[str, "os.PathLike[str]"]
Text = Union[str, "tuple[str, str]"]  # one, or two that belong together


@dataclass(frozen=True)
class Truncation:
    """Says how texts that are too long are cut, with the names of `tokenizers`.
    `max_length` counts tokens, special ones too. `from_` says which of two texts is cut: "longest_first", "only_first"
    or "only_second". `left` removes tokens at the beginning instead of the end."""

    max_length: int = 512
    from_: str = "longest_first"
    left: bool = False


@dataclass(frozen=True)
class Padding:
    """Says how texts that are too short are padded, at the end or, with `left`, at the beginning.
    `length` 0 is that of the longest text of a batch; `multiple_of` 0 is no constraint; `id` None is the token's own
    id."""

    length: int = 0
    multiple_of: int = 0
    token: str = "[PAD]"
    id: Optional[int] = None
    type_id: int = 0
    left: bool = False


@dataclass(frozen=True)
class Encoding:
    """One text as tokens; all lists have the same length.
    `offsets` are character ranges [first, second) of the text that `sequence` names, 0 or 1; None is a special token or
    padding. `attention_mask` is 0 for padding; `special_mask` is 1 for tokens that the tokenizer added."""

    ids: list[int]
    type_ids: list[int]
    attention_mask: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    sequence: list[Optional[int]]
    special_mask: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class DecodeStream:
    """Converts tokens to text, one after the other, as a model generates them. Each call returns the text that is complete
    by then, never a part of a character; all of it together is what `Tokenizer.decode` returns. For one thread at a time.
    """

    def __init__(self, native: Any):
        self._native = native

    def append(self, id: int) -> str:
        """Appends a token and returns the text that is complete by now; an id without a token adds nothing.
        Raises `lathe.Error` E6001 (bad_argument) after `finish`."""
        return str(self._native.append(id))

    def finish(self) -> str:
        """Ends the stream and returns the rest; bytes that did not become a character are U+FFFD."""
        return str(self._native.finish())


class Tokenizer:
    """Converts texts to tokens and back, as a file says that belongs to a model: tokenizer.json, a .model of SentencePiece,
    tiktoken's ranks, GGUF, or a directory that holds one of the first three or vocab.json with merges.txt. It gives what the
    library gives that the file belongs to. For ranks `encoding` names tiktoken's encoding, unless the name of the file does;
    `pattern` and `special_tokens`, with their ids, take its place. Immutable and thread-safe. Raises `lathe.Error`: E10xx
    where the file cannot be read, E1152 (json_malformed), E1101 (wire_malformed), E1103 (wire_too_large), E1104
    (wire_bad_utf8), E6002 (not_supported) for what it does not know, E6001 (bad_argument) for ranks of no known encoding.
    """

    def __init__(
        self, path: Path, *, encoding: str = "", pattern: str = "", special_tokens: Optional[Mapping[str, int]] = None
    ):
        self._native = _lathe.Tokenizer.open(os.fspath(path), encoding, pattern, dict(special_tokens or {}))

    @classmethod
    def _of(cls, native: Any) -> "Tokenizer":
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def parse(cls, json: str) -> "Tokenizer":
        """Makes a tokenizer from the text of a tokenizer.json."""
        return cls._of(_lathe.Tokenizer.parse(json))

    @classmethod
    def from_gguf(cls, file: Gguf) -> "Tokenizer":
        """Makes a tokenizer from the vocabulary in the metadata of a GGUF file.
        Raises `lathe.Error` as opening does, E6001 (bad_argument) for a file without one."""
        return cls._of(_lathe.Tokenizer.from_gguf(file._native))

    @property
    def truncation(self) -> Optional[Truncation]:
        """The truncation that it applies, or None."""
        said = self._native.truncation()
        return Truncation(*said) if said else None

    @property
    def padding(self) -> Optional[Padding]:
        """The padding that it applies, or None."""
        said = self._native.padding()
        return Padding(*said) if said else None

    def with_truncation(self, truncation: Optional[Truncation]) -> "Tokenizer":
        """Returns another tokenizer that truncates so, or, with None, not at all.
        Raises `lathe.Error` E6001 (bad_argument) for a length below 0 or beyond 1048576."""
        return self._of(self._native.with_truncation(astuple(truncation) if truncation else None))

    def with_padding(self, padding: Optional[Padding]) -> "Tokenizer":
        """Returns another tokenizer that pads so, or, with None, not at all.
        Raises `lathe.Error` E6001 (bad_argument) for a length out of range, or a padding token that has no id."""
        return self._of(self._native.with_padding(astuple(padding) if padding else None))

    def encode(self, text: Text, special_tokens: bool = True) -> Encoding:
        """Returns one text, or a pair of texts, as an `Encoding`.
        Raises `lathe.Error`: E1104 (wire_bad_utf8), E4102 (run_bad_value) for an unknown word where the vocabulary has
        no token for these, E6001 (bad_argument) where the maximal length has no space for the special tokens."""
        return self.encode_batch([text], special_tokens)[0]

    def encode_batch(self, texts: Sequence[Text], special_tokens: bool = True) -> list[Encoding]:
        """Returns an `Encoding` for each text or pair, padded to one length where there is padding.
        Errors are those of `encode`."""
        return [Encoding(**e) for e in self._native.encode_batch(list(texts), special_tokens)]

    def __call__(self, texts: Sequence[Text], special_tokens: bool = True) -> dict[str, Any]:
        """Returns input_ids, attention_mask and token_type_ids as int64 arrays [texts, tokens], which models take.
        Raises `lathe.Error` E4002 (run_bad_shape) for texts of different lengths without padding, and TypeError for one text alone:
        a batch has axis 0."""
        if isinstance(texts, (str, bytes)):
            raise TypeError("a list of texts: [text] for one")
        return {name: from_value(t) for name, t in self._native.inputs(list(texts), special_tokens).items()}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Returns tokens as text, without special tokens unless they are wanted; ids without a token are left out."""
        return str(self._native.decode([int(i) for i in ids], skip_special_tokens))

    def decode_batch(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Returns several lists of tokens as texts."""
        return [self.decode(one, skip_special_tokens) for one in ids]

    def decode_stream(self, skip_special_tokens: bool = True) -> DecodeStream:
        """Returns a stream that converts tokens to text one by one."""
        return DecodeStream(self._native.decode_stream(skip_special_tokens))

    def __len__(self) -> int:
        return int(self._native.size())

    def id_of(self, token: str) -> Optional[int]:
        """Returns the id of a token, or None where the vocabulary lacks it."""
        return self._native.id_of(token)

    def token_of(self, id: int) -> str:
        """Returns the token of an id, or "" where there is none."""
        return self._native.token_of(id)
