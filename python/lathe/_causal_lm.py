"""Language models with the interface of transformers, on NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from lathe._generator import Generator, TokenSequence
from lathe._sampling import GenerationConfig, Sampler, StopStrings, _members

Path = Union[str, "os.PathLike[str]"]
Processor = Callable[[np.ndarray, np.ndarray], np.ndarray]
Criterion = Callable[[np.ndarray, Optional[tuple[np.ndarray, ...]]], Any]


class _Output:
    """Members by name, as attributes and as keys; those that are None are no keys."""

    def keys(self) -> list[str]:
        """Returns the names of the members that there are."""
        return [name for name, value in vars(self).items() if value is not None]

    def __getitem__(self, name: Union[str, int]) -> Any:
        names = self.keys()
        if isinstance(name, int):
            name = names[name]
        elif name not in names:
            raise KeyError(name)
        return getattr(self, name)


@dataclass
class CausalLMOutput(_Output):
    """The result of a call of a `ModelForCausalLM`: `logits`, float32 [batch, tokens, vocabulary]."""

    logits: np.ndarray


@dataclass
class GenerateOutput(_Output):
    """The result of `ModelForCausalLM.generate` with `return_dict_in_generate`, transformers' GenerateDecoderOnlyOutput.
    `sequences` are int64 [rows, tokens]. `scores` and `logits` have a float32 array [rows, vocabulary] for each new token, with
    and without processing; in rows that have ended by then the padding token is the only one that is not minus infinity."""

    sequences: np.ndarray
    scores: Optional[tuple[np.ndarray, ...]] = None
    logits: Optional[tuple[np.ndarray, ...]] = None


def _prompts(input_ids: Any, attention_mask: Any) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """Returns both as arrays, int64 and bool. Raises ValueError for other shapes and values."""
    ids = np.asarray(input_ids)
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or 0 in ids.shape:
        raise ValueError(f"input_ids are whole numbers [batch, tokens] and at least one, not {ids.dtype} {list(ids.shape)}")
    if attention_mask is None:
        return ids.astype(np.int64), None
    mask = np.asarray(attention_mask)
    if mask.shape != ids.shape or not np.isin(mask, (0, 1)).all():
        raise ValueError(f"attention_mask has ones and zeros in the shape of input_ids, {list(ids.shape)}, not {mask.dtype} {list(mask.shape)}")
    return ids.astype(np.int64), mask.astype(bool)


def _spans(mask: np.ndarray) -> list[tuple[int, int]]:
    """Returns where the tokens of each row begin and end. Raises ValueError for rows with none, or with gaps."""
    spans = []
    for i, row in enumerate(mask):
        places = np.flatnonzero(row)
        if not len(places) or places[-1] - places[0] + 1 != len(places):
            raise ValueError(f"row {i} of the attention_mask is not one run of ones: padding is at the ends of a row")
        spans.append((int(places[0]), int(places[-1]) + 1))
    return spans


def _without_types(token_type_ids: Any) -> None:
    """Raises ValueError unless all are 0, as tokenizers say of one text: decoders have no types of tokens."""
    if token_type_ids is not None and np.any(np.asarray(token_type_ids)):
        raise ValueError("token_type_ids are 0 or left out: the model has no types of tokens")


def _functions(given: Any) -> list[Any]:
    """Returns a list of functions; transformers' lists are callable themselves."""
    if given is None:
        return []
    return list(given) if isinstance(given, Iterable) else [given]


class _Row:
    """One answer in the making."""

    def __init__(self, model: Generator, sequence: TokenSequence, config: GenerationConfig, new_tokens: int, answer: int):
        self.prompt = len(sequence)
        self.limit = min(self.prompt + new_tokens, model.context_length)
        self.sequence, self.answer, self.ended = sequence, answer, False
        self.config = config.copy(max_new_tokens=None, max_length=self.limit)
        self.sampler = Sampler(self.config, model.vocabulary_size)
        self.stops = StopStrings(config.stop_strings)
        self.stream = model.tokenizer.decode_stream() if config.stop_strings and model.tokenizer else None

    def append(self, token: int) -> None:
        """Takes a token, and notes whether the text ends with it."""
        self.sequence.append([token])
        if token in self.config.eos_token_id:
            self.ended = True
        elif self.stream:
            self.stops.append(self.stream.append(token))
            self.ended = self.stops.found is not None
        self.ended = self.ended or len(self.sequence) >= self.limit


class ModelForCausalLM:
    """A language model with the interface of transformers' causal language models, and of optimum's ORTModelForCausalLM: `generate`
    and calls with arrays [batch, tokens] in and out. Arrays are NumPy's; anything that `numpy.asarray` takes may be given, a
    tensor of torch on the CPU too. `Generator` is the interface for texts, streams and conversations.

    What differs from transformers: each row of a batch is a sequence of its own, so that its answer is the one that it has alone,
    with the same bits, and penalties do not see padding. Random numbers depend on `seed`, a row's length and the index among the
    answers to one prompt, not on a global state: equal prompts have equal answers. Nothing is downloaded. Thread-safe but for
    changes of `generation_config`."""

    def __init__(self, generator: Generator, generation_config: Optional[GenerationConfig] = None):
        self._generator = generator
        self.generation_config = GenerationConfig._of(generator.defaults) if generation_config is None else generation_config

    @classmethod
    def from_pretrained(cls, path: Path, *, generation_config: Optional[GenerationConfig] = None, **options: Any) -> "ModelForCausalLM":
        """Opens what `Generator` opens: a .gguf, a .lathe plan, a directory with a checkpoint or an exported decoder, an .onnx file.
        Options are those of `Generator`, and errors too. `generation_config` takes the place of the model's own."""
        return cls(Generator(path, **options), generation_config)

    @property
    def generator(self) -> Generator:
        """The decoder, with tokenizer and chat template."""
        return self._generator

    @property
    def generation_config(self) -> GenerationConfig:
        """The settings that `generate` uses without others. Members can be changed, and all can be replaced."""
        return self._generation_config

    @generation_config.setter
    def generation_config(self, config: GenerationConfig) -> None:
        if not isinstance(config, GenerationConfig):
            raise TypeError(f"generation_config is a lathe.GenerationConfig, not {type(config).__name__}")
        self._generation_config = config

    def can_generate(self) -> bool:
        """Returns True."""
        return True

    def __call__(
        self, input_ids: Any, attention_mask: Any = None, *, token_type_ids: Any = None, use_cache: Any = None, return_dict: Any = True
    ) -> CausalLMOutput:
        """Returns `logits`, float32 [batch, tokens, vocabulary]: behind each token those of the token that follows. Where
        `attention_mask` is 0, at both ends of a row, they are 0. Keys and values do not leave the model: `use_cache` has no
        influence, and `Generator.compute` goes on with a sequence. Raises ValueError for other shapes, masks with gaps,
        `token_type_ids` above 0 and `return_dict=False`, and what `Generator.compute` raises."""
        if return_dict is False:
            raise ValueError("return_dict is True: calls return an object with logits")
        _without_types(token_type_ids)
        ids, mask = _prompts(input_ids, attention_mask)
        logits = np.zeros((*ids.shape, self._generator.vocabulary_size), np.float32)
        for row, made, (begin, end) in zip(ids, logits, _spans(np.ones_like(ids, bool) if mask is None else mask)):

            def note(position: int, one: np.ndarray, made: np.ndarray = made[begin:end]) -> None:
                made[position] = one

            self._generator.compute(self._generator.sequence(row[begin:end]), note)
        return CausalLMOutput(logits)

    def generate(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        generation_config: Optional[GenerationConfig] = None,
        logits_processor: Optional[Iterable[Processor]] = None,
        stopping_criteria: Optional[Iterable[Criterion]] = None,
        streamer: Any = None,
        *,
        ignore_eos: bool = False,
        tokenizer: Any = None,
        **kwargs: Any,
    ) -> Union[np.ndarray, GenerateOutput]:
        """Returns prompts with their answers, int64 [batch * num_return_sequences, tokens], or a `GenerateOutput` where
        `return_dict_in_generate` asks for it. Other arguments are those of `GenerationConfig`; they go before
        `generation_config`, which takes the place of the model's as a whole (transformers 5 takes from that what it does not say).
        Without a limit there are 20 new tokens, as in transformers;
        `max_length` counts padding; no row grows beyond the context.

        Prompts are padded at the left, where `attention_mask` is 0; without one, where `pad_token_id` stands, unless it ends texts.
        What is shorter than the longest answer is filled with `pad_token_id`, or the first end token. `eos_token_id` is a number or
        several; those of the model unless said; `ignore_eos` goes on behind them. Stop strings are found in the text of the
        model's own tokenizer: `tokenizer` is not looked at.

        `logits_processor(input_ids, scores)` returns scores, float32 [rows, vocabulary]; it comes before temperature, top_k and the
        like. `stopping_criteria(input_ids, scores)` return a bool, for all rows or for each; scores are those of `output_scores`
        or None. `streamer` is put the prompts, then the new token of each row, and at last its `end()` is called.

        Raises TypeError for unknown names, ValueError for shapes, padding that is not at the left, and numbers that fit not
        together, `lathe.Error` E6002 (not_supported) by name for what is not there, such as num_beams, E6001 (bad_argument) for
        what is out of range, E4106 (run_state_full) for a prompt that leaves no place in the context."""
        if input_ids is None:
            input_ids = kwargs.pop("inputs", None)  # its other name there
        _without_types(kwargs.pop("token_type_ids", None))
        if input_ids is None:
            raise ValueError("input_ids are needed: an answer continues a prompt of one token or more")
        base = self.generation_config if generation_config is None else generation_config
        if not isinstance(base, GenerationConfig):
            raise TypeError(f"generation_config is a lathe.GenerationConfig, not {type(base).__name__}")
        base = base.copy(**_members(kwargs, "generate()"))
        eos = base.eos_token_id or self._generator.defaults["eos_token_id"]
        pad = base.pad_token_id
        ids, mask = _prompts(input_ids, attention_mask)
        if mask is None:
            mask = np.ones_like(ids, bool) if pad is None or pad in eos else ids != pad
        spans = _spans(mask)
        batch, width = ids.shape
        if any(end != width for _, end in spans):
            raise ValueError("padding is at the left of prompts: answers follow the last column")
        if base.stop_strings:
            # Refuses as it does: without a tokenizer there is no text to look into.
            self._generator.generate([0], stop_strings=base.stop_strings)
        several = base.num_return_sequences
        if several < 1 or (several > 1 and not base.do_sample):
            raise ValueError(f"num_return_sequences is at least 1, and 1 unless do_sample is set, not {several}")
        new_tokens = base.max_new_tokens
        if new_tokens is None:
            new_tokens = 20 if base.max_length is None else base.max_length - width
        if new_tokens < 1:
            raise ValueError(f"max_new_tokens or max_length leaves no place behind prompts of {width} tokens: {new_tokens}")
        config = base.copy(
            eos_token_id=[] if ignore_eos else eos,
            min_new_tokens=max(base.min_new_tokens, base.min_length - width),
            min_length=0,
        )
        if pad is None and eos:
            pad = eos[0]
        prompts = [self._generator.sequence(row[begin:end]) for row, (begin, end) in zip(ids, spans)]
        for prompt in prompts:
            if len(prompt) >= self._generator.context_length:
                next(self._generator.generate(prompt, max_new_tokens=1))  # raises, with both numbers
        rows = [_Row(self._generator, prompt.fork(), config, new_tokens, answer) for prompt in prompts for answer in range(several)]
        if streamer is not None:
            streamer.put(ids)
        # What answers to one prompt have in common is computed once; the logits behind it are each answer's.
        for i, prompt in enumerate(prompts):
            last = prompt.tokens[-1:].tolist()
            prompt.rewind(len(prompt) - 1)
            self._generator.compute(prompt)
            answers = rows[i * several : (i + 1) * several]
            for row in answers:
                row.sequence = prompt if row is answers[-1] else prompt.fork()
            for row in answers:
                row.sequence.append(last)
        loop = _Loop(self._generator, rows, np.repeat(ids, several, 0), pad, base)
        loop.run(_functions(logits_processor), _functions(stopping_criteria), streamer)
        if streamer is not None:
            streamer.end()
        if not base.return_dict_in_generate:
            return loop.ids
        return GenerateOutput(loop.ids, loop.scores, loop.logits)


def _copy_into(array: np.ndarray) -> Callable[[int, np.ndarray], None]:
    """Returns a function that copies logits of the last token there."""
    return lambda _, logits: np.copyto(array, logits)


class _Loop:
    """Computes answers token by token, all rows side by side, as processors of transformers see them."""

    def __init__(self, generator: Generator, rows: list[_Row], ids: np.ndarray, pad: Optional[int], config: GenerationConfig):
        self._generator, self._rows, self._pad, self._config = generator, rows, pad, config
        self.ids = ids
        reports = config.return_dict_in_generate
        self.scores: Optional[tuple[np.ndarray, ...]] = () if reports and config.output_scores else None
        self.logits: Optional[tuple[np.ndarray, ...]] = () if reports and config.output_logits else None

    def run(self, processors: list[Processor], criteria: list[Criterion], streamer: Any) -> None:
        """Goes on until all rows have ended."""
        while not all(row.ended for row in self._rows):
            logits = self._logits()
            if self.logits is not None:
                self.logits += (logits.copy(),)
            for row, text, one in zip(self._rows, self.ids, logits):
                if not row.ended:
                    row.sampler.process(text[-len(row.sequence) :], row.prompt, one)
            scores = self._processed(processors, logits)
            if self.scores is not None:
                self.scores += (self._warped(scores),)
            tokens = [self._padding() if row.ended else row.sampler.choose(s, len(row.sequence), row.answer) for row, s in zip(self._rows, scores)]
            for row, token in zip(self._rows, tokens):
                if not row.ended:
                    row.append(token)
            new = np.array(tokens, np.int64)
            self.ids = np.concatenate([self.ids, new[:, None]], 1)
            if streamer is not None:
                streamer.put(new)
            for criterion in criteria:
                stops = np.asarray(criterion(self.ids, self.scores))
                if stops.dtype != bool or stops.shape not in ((), (len(self._rows),)):
                    raise TypeError(f"stopping_criteria return a bool for all rows or for each, not {stops.dtype} {list(stops.shape)}")
                for row, stop in zip(self._rows, np.broadcast_to(stops, len(self._rows))):
                    row.ended = row.ended or bool(stop)

    def _padding(self) -> int:
        if self._pad is None:
            raise ValueError("pad_token_id is needed: one row of the batch ends before another, and the model has no end token")
        return self._pad

    def _logits(self) -> np.ndarray:
        made = np.full((len(self._rows), self._generator.vocabulary_size), -np.inf, np.float32)
        for row, one in zip(self._rows, made):
            if row.ended:
                if 0 <= self._padding() < len(one):
                    one[self._padding()] = 0
            else:
                self._generator.compute(row.sequence, _copy_into(one))
        return made

    def _processed(self, processors: list[Processor], scores: np.ndarray) -> np.ndarray:
        shape = scores.shape
        for processor in processors:
            given = processor(self.ids, scores)
            scores = np.ascontiguousarray(given, np.float32) if given is not None else None
            if scores is None or scores.shape != shape:
                raise TypeError(f"logits_processor returns scores, float32 {list(shape)}, not {None if scores is None else list(scores.shape)}")
        return scores

    def _warped(self, scores: np.ndarray) -> np.ndarray:
        made = scores.copy()
        if self._config.do_sample:
            for row, one in zip(self._rows, made):
                if not row.ended:
                    row.sampler.warp(one)
        return made
