"""Sampling chooses the next token of a text from the logits that a model gives it."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from lathe import _lathe

Path = Union[str, "os.PathLike[str]"]

# What GenerationConfig has beside the native members: how answers of a batch are given, with transformers' defaults.
_OF_BATCHES = {"num_return_sequences": 1, "return_dict_in_generate": False, "output_scores": False, "output_logits": False, "use_cache": True}
# Options of transformers that change the answer, or what comes with it, and what they are where they do not.
_ABSENT = {
    "assistant_model": None,
    "constraints": None,
    "custom_generate": None,
    "dola_layers": None,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1,
    "epsilon_cutoff": 0,
    "eta_cutoff": 0,
    "exponential_decay_length_penalty": None,
    "force_words_ids": None,
    "forced_decoder_ids": None,
    "guidance_scale": 1,
    "inputs_embeds": None,
    "max_time": None,
    "negative_prompt_attention_mask": None,
    "negative_prompt_ids": None,
    "num_beam_groups": 1,
    "num_beams": 1,
    "output_attentions": False,
    "output_hidden_states": False,
    "past_key_values": None,
    "penalty_alpha": 0,
    "position_ids": None,
    "prefix_allowed_tokens_fn": None,
    "remove_invalid_values": False,
    "renormalize_logits": False,
    "sequence_bias": None,
    "synced_gpus": False,
    "token_healing": False,
    "top_h": 1,
    "watermarking_config": None,
}
# Options of transformers on which no token depends here: beams, drafts by assistants, caches, notes.
_WITHOUT_INFLUENCE = {
    "_from_model_config",
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "bos_token_id",
    "cache_config",
    "cache_implementation",
    "compile_config",
    "continuous_batching_config",
    "decoder_start_token_id",
    "disable_compile",
    "diversity_penalty",
    "early_stopping",
    "is_assistant",
    "length_penalty",
    "low_memory",
    "max_cache_len",
    "max_matching_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "return_legacy_cache",
    "speculation_type",
    "target_lookbehind",
    "transformers_version",
    "use_mtp",
}


def _tidy(value: Any) -> Any:
    """Numbers that are float32 as they are written."""
    return float(str(np.float32(value))) if isinstance(value, float) else value


_NATIVE: dict[str, Any] = {name: _tidy(value) for name, value in _lathe.generation_config({}).items()}


def _members(given: Mapping[str, Any], caller: str) -> dict[str, Any]:
    """Returns options with values as GenerationConfig has them: single ids become lists, and None the value that does nothing.
    Raises TypeError for names that are unknown, `lathe.Error` E6002 (not_supported) for those that are not there."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name in _NATIVE:
            if value is None:
                value = _NATIVE[name]
            elif name in ("eos_token_id", "suppress_tokens", "begin_suppress_tokens", "dry_sequence_breakers"):
                value = np.asarray(value).reshape(-1).tolist()
            elif name == "stop_strings":
                value = [value] if isinstance(value, str) else list(value)
            elif name == "logit_bias" and isinstance(value, Mapping):
                value = list(value.items())
            made[name] = value
        elif name in _OF_BATCHES:
            convert = operator.index if name == "num_return_sequences" else bool
            made[name] = _OF_BATCHES[name] if value is None else convert(value)
        elif name in _ABSENT:
            if value is not None and not (isinstance(value, (bool, int, float)) and value == _ABSENT[name]):
                _lathe.refuse_option(f"{name}={value!r}"[:200])
        elif name not in _WITHOUT_INFLUENCE:
            near = difflib.get_close_matches(name, [*_NATIVE, *_OF_BATCHES], 1)
            raise TypeError(f"{caller} has no argument {name!r}" + (f"; {near[0]!r} is near" if near else ""))
    return made


class GenerationConfig:
    """Selects how a text is continued, with the names and the meaning of transformers' GenerationConfig. Keyword arguments are
    read as generation_config.json is: `top_k` is 50 unless they say it, and options on which no token depends are left out.
    Besides, there are `seed`, `presence_penalty`, `frequency_penalty` (as in the OpenAI interface), `dry_multiplier` and the
    like (llama.cpp's), and `logit_bias`, pairs or a dict of tokens and what is added. `num_return_sequences`,
    `return_dict_in_generate`, `output_scores` and `output_logits` are for `ModelForCausalLM.generate`. None is the value that
    does nothing. `eos_token_id` is a list. Members are attributes. Raises TypeError for unknown names and other types,
    `lathe.Error` E6002 (not_supported) for options that are not there and change the answer, such as num_beams."""

    _values: dict[str, Any]

    def __init__(self, **members: Any):
        self.__dict__["_values"] = {**_NATIVE, "top_k": 50, **_OF_BATCHES}
        self._take(_members(members, "GenerationConfig()"))

    def _take(self, given: Mapping[str, Any]) -> None:
        native = {name: value for name, value in given.items() if name in _NATIVE}
        checked = {name: _tidy(value) for name, value in _lathe.generation_config(native).items() if name in native}
        self._values.update({**given, **checked})

    @classmethod
    def _of(cls, members: Mapping[str, Any]) -> "GenerationConfig":
        made = cls()
        made._values.update({name: _tidy(value) for name, value in members.items()})
        return made

    @classmethod
    def open(cls, path: Path) -> "GenerationConfig":
        """Reads generation_config.json, or the directory that it is in; what it says of batches is left out. Raises
        `lathe.Error` E10xx where the file cannot be read, E1152 (json_malformed), E6001 (bad_argument) for values of another
        type, E6002 (not_supported) for options that are not there and may change the text."""
        return cls._of(_lathe.open_generation_config(os.fspath(path)))

    @classmethod
    def from_pretrained(cls, path: Path) -> "GenerationConfig":
        """The same as `open`, by transformers' name; nothing is downloaded."""
        return cls.open(path)

    @classmethod
    def parse(cls, json: str, origin: str = "generation_config.json") -> "GenerationConfig":
        """Reads JSON text; errors name `origin` in the place of a file. Raises as `open` does."""
        return cls._of(_lathe.parse_generation_config(json, origin))

    def length_limit(self, prompt_length: int) -> Optional[int]:
        """Returns the greatest length of a text with a prompt of so many tokens; None: no limit is set."""
        return self.max_length if self.max_new_tokens is None else prompt_length + self.max_new_tokens

    def to_dict(self) -> dict[str, Any]:
        """Returns all members by name; `GenerationConfig(**d)` is the same configuration again."""
        return {name: list(value) if isinstance(value, list) else value for name, value in self._values.items()}

    def copy(self, **members: Any) -> "GenerationConfig":
        """Returns a copy in which these members are others."""
        made = type(self)._of(self.to_dict())
        made._take(_members(members, "GenerationConfig.copy()"))
        return made

    def _native(self) -> dict[str, Any]:
        return {name: self._values[name] for name in _NATIVE}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"GenerationConfig has no member {name!r}")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._take(_members({name: value}, "GenerationConfig"))

    def __copy__(self) -> "GenerationConfig":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "GenerationConfig":
        return self.copy()

    def __reduce__(self) -> Any:
        return type(self)._of, (self.to_dict(),)

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, GenerationConfig) else NotImplemented

    def __repr__(self) -> str:
        defaults = GenerationConfig()._values
        said = ", ".join(f"{name}={value!r}" for name, value in self._values.items() if value != defaults[name])
        return f"GenerationConfig({said})"


def _token_ids(tokens: Any) -> list[int]:
    array = np.asarray(tokens)
    if array.size == 0:
        return []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"token ids are whole numbers in one axis, not {array.dtype} {list(array.shape)}")
    return array.tolist()


def _row(logits: Any, changed: bool = False) -> np.ndarray:
    array = logits if isinstance(logits, np.ndarray) else np.asarray(logits, np.float32)
    if array.ndim != 1 or array.dtype != np.float32 or (changed and not (array is logits and array.flags.c_contiguous and array.flags.writeable)):
        kind = "a contiguous, writable NumPy array, float32 [tokens]" if changed else "float32 [tokens]"
        raise TypeError(f"logits are {kind}, not {type(logits).__name__} {array.dtype} {list(array.shape)}")
    return np.ascontiguousarray(array)


class Sampler:
    """Applies a `GenerationConfig` to logits, float32 arrays with a number for each token. It keeps nothing of a text: what comes
    out depends on the arguments alone. Raises `lathe.Error` E6001 (bad_argument) for members that are out of range, and for
    tokens that are not below `vocabulary_size`. Immutable and thread-safe."""

    def __init__(self, config: GenerationConfig, vocabulary_size: int):
        self._config, self._size = config.copy(), vocabulary_size
        self._native = _lathe.Sampler(config._native(), vocabulary_size)

    @property
    def config(self) -> GenerationConfig:
        """A copy of the configuration."""
        return self._config.copy()

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens that logits have."""
        return self._size

    def process(self, tokens: Sequence[int], prompt_length: int, logits: np.ndarray) -> None:
        """Applies to the logits of the next token, where they are, all but what sampling does; tokens that may not be taken become
        minus infinity. `tokens` are the prompt and what was generated behind it. Raises `lathe.Error` E4002 (run_bad_shape) for
        another number of logits, E6001 (bad_argument) for tokens that are not in the vocabulary and prompts that are longer than
        the text, TypeError for arrays that cannot be changed."""
        self._native.process(_token_ids(tokens), prompt_length, _row(logits, True))

    def warp(self, logits: np.ndarray) -> None:
        """Applies temperature, top_k, top_p, min_p and typical_p where the logits are: tokens that are out become minus infinity."""
        self._native.warp(_row(logits, True))

    def choose(self, processed: np.ndarray, position: int, answer: int = 0) -> int:
        """Chooses from logits that `process` has been applied to: the greatest, or as `warp` leaves them, with the random number of
        that position and answer. Raises `lathe.Error` E4102 (run_bad_value) where a logit is NaN or no token is left."""
        return self._native.choose(_row(processed), position, answer)

    def next(self, tokens: Sequence[int], prompt_length: int, logits: np.ndarray, answer: int = 0) -> int:
        """Calls `process` and then `choose` for the position behind the text."""
        return self._native.next(_token_ids(tokens), prompt_length, _row(logits, True), answer)


def log_probability(logits: np.ndarray, token: int) -> float:
    """Returns the logarithm of the probability that these logits, float32, give a token. Raises `lathe.Error` E6001 (bad_argument)
    for a token that they do not have, E4102 (run_bad_value) where no logit is a finite number."""
    return _lathe.log_probability(_row(logits), token)


def top_log_probabilities(logits: np.ndarray, count: int) -> list[tuple[int, float]]:
    """Returns the likeliest tokens with their log probabilities, the likeliest first, of equal ones that of the lowest id first.
    Raises as `log_probability` does."""
    return _lathe.top_log_probabilities(_row(logits), count)


class StopStrings:
    """Finds the first of some strings in a text that comes in pieces, and holds back what may be the beginning of one. Empty strings
    are left out. Raises `lathe.Error` E6001 (bad_argument) for strings of more than 65536 bytes in all. For one thread at a time."""

    def __init__(self, strings: Iterable[str]):
        self._native = _lathe.StopStrings([strings] if isinstance(strings, str) else list(strings))

    def append(self, piece: str) -> str:
        """Appends a piece and returns the text that is certain by now: nothing of it belongs to a stop string. Once one was found, the
        text in front of it, and nothing from then on."""
        return self._native.append(piece)

    def finish(self) -> str:
        """Returns what was held back: the text has ended."""
        return self._native.finish()

    @property
    def found(self) -> Optional[int]:
        """The index of the string that was found, in the list given; None: none yet."""
        return self._native.found()
