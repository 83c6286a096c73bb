"""Measures the machine at this moment: arithmetic in registers, and time that the host takes away."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TWO_CORES = 1.6  # times the rate of one thread; two threads on one core reach 1.0 to 1.2


def stolen() -> int:
    """Ticks that the host gave to others while this machine wanted to run."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8])


def executable() -> Path | None:
    """The probe that CMake built, else one compiled now: it is a single file of headers."""
    source = ROOT / "bench" / "fma_probe.cc"
    built = [*ROOT.glob("build/*/bench/lathe_fma_probe"), ROOT / "build" / "lathe_fma_probe"]
    fresh = [p for p in built if p.exists() and p.stat().st_mtime >= source.stat().st_mtime]
    if fresh:
        return fresh[0]
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if not compiler:
        return None
    target = built[-1]
    target.parent.mkdir(exist_ok=True)
    includes = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    done = subprocess.run(
        [compiler, "-std=c++20", "-O2", *includes, source, "-pthread", "-o", target], capture_output=True
    )
    return target if done.returncode == 0 else None


class Probe:
    """GFLOP/s of multiplications and additions that never leave the registers. Without a compiler there is none:
    then shares of the peak are unknown, and no sample on several threads counts."""

    def __init__(self) -> None:
        program = executable()
        self.process = program and subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.peak: dict[int, float] = {}
        if self.process:
            for threads in (1, 2) * 3:
                self.rate(threads)

    def ask(self, word: object) -> float | None:
        if not self.process:
            return None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def rate(self, threads: int) -> float | None:
        """Now, on so many threads together; `peak` remembers the best."""
        rate = self.ask(threads)
        if rate is not None:
            self.peak[threads] = max(rate, self.peak.get(threads, 0))
        return rate

    def handover(self) -> float | None:
        """Nanoseconds, now, that a thread takes for a cache line which another one has written: the host of a virtual
        machine moves its processors about, and those of two third-level caches take twice as long or more."""
        return self.ask("lines")

    def enough_cores(self, threads: int) -> bool:
        """Returns whether the threads have a core each, at this moment."""
        if threads == 1:
            return True
        rate = self.rate(threads)
        return rate is not None and rate >= TWO_CORES / 2 * threads * self.peak[1]

    def close(self) -> None:
        if self.process:
            self.process.communicate()


# The flags of /proc/cpuinfo (x86, 64-bit ARM) that the choice of kernels depends on, and their usual names.
INSTRUCTION_SETS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "avx_vnni": "AVX-VNNI",
    "amx_tile": "AMX",
    "asimd": "NEON",
    "asimddp": "dot products",
    "i8mm": "I8MM",
    "sve": "SVE",
}


def compiler() -> str | None:
    """Returns the compiler of the installed Lathe, by the name that it leaves in the library."""
    spec = importlib.util.find_spec("lathe")
    for folder in (spec and spec.submodule_search_locations) or []:
        for library in sorted(Path(folder).glob("_lathe*.so")):
            if found := re.search(rb"GCC: \([^)]*\) [\d.]+|[\w ]*clang version [\d.]+", library.read_bytes()):
                return found[0].decode()
    return None


def machine() -> dict[str, object]:
    """Returns the facts about this machine that bench/results/README.md lists."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = dict(tuple(s.strip() for s in line.split(":", 1)) for line in lines if ":" in line)
    describe = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    flags = facts.get("flags", facts.get("Features", "")).split()
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": describe.stdout.strip() or "unknown",
        "cpu": facts.get("model name", platform.machine()),
        "vendor": facts.get("vendor_id"),
        "cpu_family": facts.get("cpu family"),
        "cpu_model": facts.get("model"),
        "instruction_sets": [name for flag, name in INSTRUCTION_SETS.items() if flag in flags],
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "compiler": compiler(),
        "load": round(os.getloadavg()[0], 2),
    }
