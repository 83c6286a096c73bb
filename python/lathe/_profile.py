"""Profiles say where the time of runs goes."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

from lathe import _lathe


@dataclass(frozen=True)
class StepProfile:
    """One step of the plan, all of its executions together.
    `seconds`, and `least`, the shortest execution, leave out the steps of bodies, which have entries of their own;
    `flops` and `bytes` are sums over all executions. `graph` is 0 for the main graph and another number for each body.
    `shapes` are those of the last execution, "float32[1,3] float32[3,4] -> float32[1,4]". An empty `kernel` is a copy
    between memory spaces."""

    node: str
    op: str
    kernel: str
    origin: list[str]
    fused: list[str]
    graph: int
    count: int
    seconds: float
    least: float
    flops: float
    bytes: float
    shapes: str


@dataclass(frozen=True)
class StepEvent:
    """One execution of `Profile.steps[step]`.
    `start` is in seconds since the profile began. `seconds` include the steps of bodies, `self_seconds` do not. `depth`
    is 0 in the main graph and 1 in a body of one of its steps."""

    step: int
    depth: int
    start: float
    seconds: float
    self_seconds: float
    flops: float
    bytes: float
    shapes: str


@dataclass(frozen=True)
class Level:
    """One level of memory: the bytes that fit it (0: any number) and the bytes per second that all threads read."""

    name: str
    holds: int
    bandwidth: float


@dataclass(frozen=True)
class Roofline:
    """The most that a machine can do: float32 operations per second, and its levels of memory, the fastest first.
    The roofline model is that of Williams, Waterman and Patterson (2009)."""

    flops: float
    levels: list[Level]

    def least_seconds(self, flops: float, bytes: float) -> float:
        """Returns the least seconds that so many operations and bytes of traffic take; 0 where nothing is known."""
        level = next((l for l in self.levels if l.holds == 0 or bytes <= l.holds), self.levels[-1] if self.levels else None)
        moving = bytes / level.bandwidth if level and level.bandwidth else 0.0
        return max(flops / self.flops if self.flops else 0.0, moving)

    def _as_dict(self) -> dict:
        return {"flops": self.flops, "levels": [vars(level) for level in self.levels]}


def measure_roofline(threads: int = 1) -> Roofline:
    """Measures this machine on `threads` threads at once, in some 100 ms; it is as exact as the machine is quiet.
    Thread-safe."""
    measured = _lathe.measure_roofline(threads)
    return Roofline(measured["flops"], [Level(**level) for level in measured["levels"]])


class Profile:
    """The record of a context's runs between `start_profile` and `profile`; immutable."""

    def __init__(self, profile: _lathe.Profile):
        self._profile = profile

    @cached_property
    def steps(self) -> list[StepProfile]:
        """Every step of the plan, graph by graph, in order of execution."""
        return [StepProfile(**step) for step in self._profile.steps()]

    @cached_property
    def events(self) -> list[StepEvent]:
        """The latest executions, in the order in which they ended."""
        return [StepEvent(**event) for event in self._profile.events()]

    @property
    def run_events(self) -> list[tuple[float, float]]:
        """The latest runs, as (start, seconds)."""
        return self._profile.run_events()

    @property
    def runs(self) -> int:
        """The number of runs that were recorded and ended without an error."""
        return self._profile.runs

    @property
    def runs_passed_over(self) -> int:
        """The number of runs that were not recorded, so that recording takes less than 2 % of the time.
        The first thousand runs of a profile are always recorded."""
        return self._profile.runs_passed_over

    @property
    def run_seconds(self) -> float:
        """The seconds of all recorded runs together."""
        return self._profile.run_seconds

    @property
    def events_lost(self) -> int:
        """The number of steps and runs, the earliest ones, that there was no space for."""
        return self._profile.events_lost

    @property
    def threads(self) -> int:
        """The number of threads of the engine."""
        return self._profile.threads

    @property
    def isa(self) -> str:
        """The best instruction set that the engine's kernels may use."""
        return self._profile.isa

    def save_trace(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the events in Chrome's trace format, which Perfetto and chrome://tracing read.
        Raises `lathe.Error` E1004 (file_write_failed)."""
        self._profile.save_trace(path)

    def save_page(
        self, path: Union[str, "os.PathLike[str]"], model: str = "", roofline: Optional[Roofline] = None
    ) -> None:
        """Writes one self-contained HTML page with timeline, roofline and table.
        Without `roofline` this machine is measured. Raises `lathe.Error` E1004 (file_write_failed)."""
        roof = roofline or measure_roofline(self.threads)
        now = datetime.datetime.now(datetime.timezone.utc)
        self._profile.save_page(path, roof._as_dict(), model, now.strftime("%Y-%m-%d %H:%M UTC"))


__all__ = ["Level", "Profile", "Roofline", "StepEvent", "StepProfile", "measure_roofline"]
