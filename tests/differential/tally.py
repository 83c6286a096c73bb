"""The results of the problems of one operator."""

from __future__ import annotations

import collections
import dataclasses
import json
import zlib

import numpy as np

import generators

SHOWN = 5  # problems kept of each kind of finding


def _generator(name, seed, number):
    return np.random.default_rng([seed, number, zlib.crc32(name.encode())])


def drawn(name, seed, number):
    """As its generator makes it."""
    return generators.ALL[name](name, _generator(name, seed, number))


def problem(name, seed, number):
    """At the edges of the type, the version and the shape too."""
    rng = _generator(name, seed, number)
    return generators.ALL[name](name, rng).of_nothing(rng).with_rare_numbers(rng).in_a_narrow_type(rng).at_another_version(rng)


@dataclasses.dataclass
class Tally:
    name: str
    seed: int
    problems: int = 0
    unanswered: int = 0  # refused by all who were asked, or run by Lathe alone
    answers: dict[str, int] = dataclasses.field(default_factory=collections.Counter)  # by judge
    known: dict[str, int] = dataclasses.field(default_factory=collections.Counter)  # by "who: when"
    found: dict[str, int] = dataclasses.field(default_factory=collections.Counter)  # by kind
    examples: dict[str, list[str]] = dataclasses.field(default_factory=lambda: collections.defaultdict(list))

    def add(self, number, judgement):
        self.problems += 1
        self.unanswered += not judgement.answers
        self.answers.update(judgement.answers)
        self.known.update(judgement.known)
        for kind, text in judgement.found:
            self._find(number, kind, text)

    def died(self, number, who):
        self.problems += 1
        self.unanswered += 1
        self._find(number, f"{who} ends the process", "")

    def _find(self, number, kind, text):
        self.found[kind] += 1
        if len(self.examples[kind]) < SHOWN:
            self.examples[kind].append(f"{number}: {problem(self.name, self.seed, number)}\n  {text}")

    def text(self, show):
        shown = [f"{self.name}: {kind}, {n} of {self.problems}\n  " + "\n  ".join(self.examples[kind][:show]) + "\n"
                 for kind, n in sorted(self.found.items())]  # fmt: skip
        return "".join(shown)

    def keep(self, folder):
        """Beside, then renamed: a run that is stopped leaves nothing half written."""
        beside = folder / f"{self.name}.part"
        beside.write_text(json.dumps(vars(self), indent=1, ensure_ascii=False))
        beside.rename(folder / f"{self.name}.json")

    @classmethod
    def kept(cls, folder, name, seed, problems):
        """Returns the stored tally if it is of a run of as many problems from this seed; else None."""
        path = folder / f"{name}.json"
        if not path.exists():
            return None
        tally = cls(**json.loads(path.read_text()))
        return tally if (tally.seed, tally.problems) == (seed, problems) else None
