"""Random problems at the edges of every operator, solved by Lathe (both backends), ONNX Runtime and the onnx package's
reference. A longer run, not a part of the tests:

    python tests/differential [--seconds 60 | --problems 1000] [--seed 0] [--op PATTERN] [--show 3]
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
from findings import findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--problems", type=int, help="of each operator, however long it takes")
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
    while round_ < options.problems if options.problems else time.monotonic() < end:
        for name, generate in chosen.items():
            rng = np.random.default_rng([options.seed, round_, zlib.crc32(name.encode())])
            problem = generate(name, rng).at_another_version(rng)
            counts[name] += 1
            for kind, text in findings(problem):
                shown[name, kind] += 1
                if shown[name, kind] <= options.show:
                    print(f"{name}: {kind}\n  {problem}\n  {text}", flush=True)
        round_ += 1
    print(f"\nseed {options.seed}: {sum(counts.values())} problems over {len(counts)} operators")
    for (name, kind), n in sorted(shown.items()):
        print(f"  {name}: {kind}: {n} of {counts[name]}")


main()
