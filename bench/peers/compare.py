"""One model on all engines: what loading costs, whether outputs agree, and times in alternation."""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from engines import Failure, Process
from files import Made
from probe import Probe

# Outputs agree when they differ nowhere by more than this share of the output's largest magnitude. Float32 networks of
# a hundred layers differ by 1e-6 to 1e-4 between orders of summation, Winograd's included; half precision by its own 11 bits.
FLOAT = 1e-3
HALF = 2e-2
# Quantized networks, and products in bfloat16, round intermediate values, so that a last bit becomes a whole step: the root
# of the mean square of the differences over that of the values.
QUANTIZED = 0.1
# A sample counts where at least this share of its runs saw the steal counter stand still; their median is its time.
CLEAN = 0.5
# Integers and booleans are equal; in quantized networks one step apart.


def read(file: Path) -> None:
    with open(file, "rb") as f:
        while f.read(1 << 24):
            pass


@dataclass
class Settings:
    engines: list[str]
    threads: list[int]
    rounds: int
    seconds: float
    loads: int
    noisy: bool  # count every sample, whatever the probe and the steal counter say


def difference(ours: np.ndarray, theirs: np.ndarray, quantized: bool) -> tuple[float, bool]:
    """Returns how far two results differ, as a share, and whether this is still agreement."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return math.inf, False
    if ours.size == 0:
        return 0.0, True
    if ours.dtype.kind != "f":
        apart = float(np.max(np.abs(ours.astype(np.float64) - theirs.astype(np.float64))))
        return apart, apart <= (1 if quantized and ours.dtype.kind != "b" else 0)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))  # infinities too
    if same.all():
        return 0.0, True
    with np.errstate(invalid="ignore"):
        gap, scale = np.where(same, 0, np.abs(a - b)), np.abs(b[np.isfinite(b)])
    if not np.isfinite(gap).all():
        return math.inf, False
    if quantized:
        share = math.sqrt(np.mean(gap**2) / max(np.mean(scale**2), 1e-30))
        return share, share <= QUANTIZED
    share = float(gap.max() / max(scale.max(initial=0), 1e-6))
    return share, share <= (HALF if ours.dtype == np.float16 else FLOAT)


def median_of_ratios(ours: list[float | None], theirs: list[float | None]) -> dict | None:
    """Above 1: ours is faster. Each round gives a ratio; its neighbors in time are compared, not the whole run's medians."""
    ratios = [b / a for a, b in zip(ours, theirs) if a and b]
    if not ratios:
        return None
    return {"ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios), "rounds": len(ratios)}


class Comparison:
    """Fills `row`, the model's entry in the JSON."""

    def __init__(self, made: Made, settings: Settings, probe: Probe):
        self.made, self.settings, self.probe = made, settings, probe
        self.row: dict = {
            "name": made.name,
            "kind": made.kind,
            "must": made.must,
            "cnn": made.cnn,
            "gflop": made.gflop,
            "file_bytes": made.bytes,
            "ratio": None,
            "spread": None,
            "ratios": {},
            "engines": {name: {"times": {}} for name in settings.engines},
            "agree": {},
        }

    def run(self) -> dict:
        with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
            self.scratch, self.stack = Path(scratch), stack
            self.feeds = self.scratch / "feeds.npz"
            np.savez(self.feeds, **self.made.feeds)
            processes = self.load()
            for threads in self.settings.threads:
                if threads != 1:
                    for process in processes.values():
                        process.close()
                    processes = self.start(list(processes), threads)
                self.check_outputs(processes)
                self.alternate(processes, threads)
        self.conclude()
        return self.row

    def engine(self, name: str) -> dict:
        return self.row["engines"][name]

    def request(self, threads: int) -> dict:
        return {"model": str(self.made.path), "threads": threads, "feeds": str(self.feeds), "precision": self.made.precision}

    def start(self, names: list[str], threads: int) -> dict[str, Process]:
        """A fresh process for each that can run the model."""
        processes = {}
        for name in names:
            try:
                process = self.stack.enter_context(Process(name))
                process.ask("load", **self.request(threads))
                processes[name] = process
            except Failure as e:
                self.engine(name)["why"] = str(e)
        return processes

    def load(self) -> dict[str, Process]:
        """Several times, each in a fresh process; the last are kept."""
        plan = self.scratch / "plan.lathe"
        kept: dict[str, Process] = {}
        costs: dict[str, list[dict]] = {}
        for file in self.made.path.parent.glob(self.made.path.name + "*"):
            read(file)  # the first engine would wait for the disk, the others find it in memory
        engines = self.settings.engines
        for i in range(self.settings.loads):
            last = i + 1 == self.settings.loads
            # The first engine may still use memory that the host of a virtual machine has yet to supply.
            first = i % len(engines)
            for name in engines[first:] + engines[:first]:
                if "why" in self.engine(name):
                    continue
                try:
                    process = self.stack.enter_context(Process(name))
                    request = self.request(1)
                    costs.setdefault(name, []).append(process.ask("load", **request))
                    if name == "lathe":
                        costs.setdefault("plan", []).append(self.load_plan(process, plan, request))
                    if last:
                        kept[name] = process
                    else:
                        process.close()
                except Failure as e:
                    self.engine(name)["why"] = str(e)
        for name in kept:
            if unbound := costs[name][-1]["unbound"]:
                self.engine(name)["unbound"] = unbound
            for what in "load", "first", "memory":
                self.engine(name)[what] = statistics.median(c[what] for c in costs[name])
        if "lathe" in kept:
            for what in "load", "first":
                self.engine("lathe")[f"plan_{what}"] = statistics.median(c[what] for c in costs["plan"])
        return kept

    def load_plan(self, process: Process, plan: Path, request: dict) -> dict:
        """Its outputs are to have the bits of those of the engine that wrote it."""
        if not plan.exists():
            process.ask("plan", to=str(plan))
        with Process("lathe") as fresh:
            cost = fresh.ask("load", **request | {"model": str(plan)})
            built, loaded = self.outputs("lathe", process), self.outputs("plan", fresh)
        same = all(built[name].tobytes() == loaded[name].tobytes() for name in built)
        self.row["agree"]["plan"] = {"with": "lathe", "ok": same, "difference": None}
        return cost

    def outputs(self, name: str, process: Process) -> dict[str, np.ndarray]:
        path = self.scratch / f"{name}.npz"
        told = process.ask("outputs", to=str(path))
        with np.load(path) as stored:
            return {n: stored[str(i)] for i, n in enumerate(told["names"])}

    def check_outputs(self, processes: dict[str, Process]) -> None:
        """All against ONNX Runtime; where that cannot run the model, against the first that can. What disagreed with fewer
        threads stays so."""
        values = {}
        for name, process in processes.items():
            try:
                values[name] = self.outputs(name, process)
            except Failure as e:
                self.row["agree"][name] = {"ok": False, "why": str(e)}
        judge = "onnxruntime" if "onnxruntime" in values else next(iter(values), None)
        for name in values:
            if name == judge or not self.row["agree"].get(name, {"ok": True})["ok"]:
                continue
            pairs = [(values[name][n], v) for n, v in values[judge].items() if n in values[name]]
            if not pairs and len(values[name]) == len(values[judge]):  # OpenVINO may rename outputs
                pairs = list(zip(values[name].values(), values[judge].values()))
            if not pairs:
                self.row["agree"][name] = {"ok": False, "why": "none that can be compared"}
                continue
            each = [difference(ours, theirs, self.made.quantized) for ours, theirs in pairs]
            ok = all(fine for _, fine in each)
            worst = max(d for d, _ in each)
            # JSON has no infinity.
            self.row["agree"][name] = {"with": judge, "ok": ok, "difference": worst if math.isfinite(worst) else None}

    def alternate(self, processes: dict[str, Process], threads: int) -> None:
        """Rounds of one sample of each, until enough of them count; three times as many are tried."""
        samples: dict[str, list[float | None]] = {name: [] for name in processes}
        answers: dict[str, list[dict]] = {name: [] for name in processes}
        lines: list[float] = []
        whole = tried = 0
        while processes and whole < self.settings.rounds and tried < 3 * self.settings.rounds:
            names = list(processes)
            turn = tried % len(names)
            tried += 1
            if threads > 1 and (took := self.probe.handover()):
                lines.append(took)
            for name in names[turn:] + names[:turn]:
                if threads > 1:
                    time.sleep(0.03)  # the others' threads stop spinning
                alone = self.settings.noisy or self.probe.enough_cores(threads)
                try:
                    answer = processes[name].ask("run", seconds=self.settings.seconds)
                except Failure as e:
                    self.engine(name)["why"] = str(e)
                    del processes[name]
                    samples[name].append(None)
                    continue
                alone = alone and (self.settings.noisy or self.probe.enough_cores(threads))
                if threads == 1:
                    self.probe.rate(1)  # the peak of these minutes
                taken = answer["time"] if answer["clean"] >= CLEAN else None
                if self.settings.noisy:
                    taken = answer["any_time"]
                samples[name].append(taken if alone else None)
                answers[name].append(answer)
            whole += all(samples[name][-1] for name in processes)
        if lines:
            self.row.setdefault("line_ns", {})[str(threads)] = sorted(lines)
        for name in processes:
            self.engine(name)["times"][str(threads)] = self.summary(samples[name], answers[name], threads)
        for peer in processes:
            if peer != "lathe" and "lathe" in processes:
                ratio = median_of_ratios(samples["lathe"], samples[peer])
                self.row["ratios"].setdefault(peer, {})[str(threads)] = ratio

    def summary(self, samples: list[float | None], answers: list[dict], threads: int) -> dict:
        good = [s for s in samples if s]
        taken = statistics.median(good) if good else None
        bare = [a["bare"] for a in answers if a["bare"]]
        peak = self.probe.peak.get(threads)
        counts = taken and peak and self.made.gflop and not self.made.quantized
        return {
            "time": taken,
            "bare": statistics.median(bare) if bare else None,
            "samples": len(good),
            "dropped": len(samples) - len(good),
            "peak_share": self.made.gflop / taken / peak if counts else None,
            "busy": statistics.median(a["busy"] for a in answers),
        }

    def conclude(self) -> None:
        """Computes what the tables need beside the times."""
        row = self.row
        ours, theirs = (row["engines"].get(name, {}) for name in ("lathe", "onnxruntime"))
        one = (row["ratios"].get("onnxruntime") or {}).get("1")
        if one:
            row["ratio"], row["spread"] = one["ratio"], [one["low"], one["high"]]
        for what, mine, other in (
            ("load_ratio", "load", "load"),
            ("plan_ratio", "plan_load", "load"),
            ("first_ratio", "first", "first"),
            ("plan_first_ratio", "plan_first", "first"),
            ("memory_ratio", "memory", "memory"),
        ):
            row[what] = theirs[other] / ours[mine] if ours.get(mine) and theirs.get(other) else None
        taken = {name: {t: each["time"] for t, each in e["times"].items() if each["time"]} for name, e in row["engines"].items()}
        row["scaling"] = {
            name: {t: by["1"] / time for t, time in by.items() if t != "1"} for name, by in taken.items() if "1" in by and len(by) > 1
        }
        times = [t for e in row["engines"].values() for t in e["times"].values() if t["time"]]
        row["call_matters"] = any(t["bare"] and t["bare"] < 0.98 * t["time"] for t in times)
        row["why"] = {name: e["why"] for name, e in row["engines"].items() if "why" in e}
