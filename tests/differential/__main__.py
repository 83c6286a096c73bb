"""Random problems at the edges of every operator, solved by Lathe (both backends), ONNX Runtime and the onnx package's
reference. A longer run, not a part of the tests:

    python tests/differential [--seconds 60] [--seed 0] [--op PATTERN] [--show 3]
    python tests/differential --known      the differences that were looked at, as docs/differences.md has them

Whoever differs from Lathe, or runs what Lathe refuses, is told of with a line that says the whole problem. A difference is a
place to look, not a verdict; what was looked at goes into known.py.
"""

import argparse
import collections
import fnmatch
import time
import zlib

import numpy as np

import generators
import known
import lathe
from problem import difference, run_lathe, run_onnxruntime, run_reference

JUDGES = {"onnxruntime": run_onnxruntime, "onnx.reference": run_reference}


def attempt(run, *arguments):
    """(outputs, None) or (None, what went wrong)."""
    try:
        return run(*arguments), None
    except Exception as e:  # noqa: BLE001: whatever another implementation raises is its answer
        return None, e


def findings(p):
    ours, wrong = attempt(run_lathe, p, "cpu")
    if wrong is not None and not isinstance(wrong, lathe.Error):
        yield "crash", repr(wrong)
        return
    reference, refused = attempt(run_lathe, p, "reference")
    if (wrong is None) != (refused is None):
        yield "backends", f"cpu: {wrong or 'runs'}; reference: {refused or 'runs'}"
        return
    if ours is not None:
        d = difference(ours, reference, p.rtol, p.atol)
        if d:
            yield "backends", d
    answers = {name: attempt(run, p) for name, run in JUDGES.items()}
    if ours is None:
        runs = [name for name, (out, _) in answers.items() if out is not None]
        if runs:
            yield f"refused, {' and '.join(runs)} run" + ("s" if len(runs) == 1 else ""), str(wrong)
        return
    for name, (out, _) in answers.items():
        if out is not None:
            d = difference(ours, out, p.rtol, p.atol)
            if d and not known.reason(p, name):
                yield f"differs from {name}", d


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", default="*")
    parser.add_argument("--show", type=int, default=3, help="problems shown of each kind")
    parser.add_argument("--known", action="store_true", help="print the table of known differences")
    options = parser.parse_args()
    if options.known:
        print(known.table(), end="")
        return
    supported = {op["name"] for op in lathe.operators()}
    chosen = {n: g for n, g in generators.ALL.items() if n in supported and fnmatch.fnmatch(n, options.op)}
    end, counts, shown, round_ = time.monotonic() + options.seconds, collections.Counter(), collections.Counter(), 0
    while time.monotonic() < end:
        for name, generate in chosen.items():
            rng = np.random.default_rng([options.seed, round_, zlib.crc32(name.encode())])
            problem = generate(name, rng).at_another_version(rng)
            counts[name] += 1
            for kind, text in findings(problem):
                shown[name, kind] += 1
                if shown[name, kind] <= options.show:
                    print(f"{name}: {kind}\n  {problem}\n  {text}", flush=True)
        round_ += 1
    print(f"\n{sum(counts.values())} problems over {len(counts)} operators")
    for (name, kind), n in sorted(shown.items()):
        print(f"  {name}: {kind}: {n} of {counts[name]}")


main()
