"""Random problems at the edges of every operator, solved by Lathe (both backends), ONNX Runtime and the onnx package's
reference. A longer run, not a part of the tests:

    python tests/differential [--problems 100] [--seed 0] [--op PATTERN] [--jobs 1] [--show 3]
    python tests/differential --problems 1000 --seed 1 --keep FOLDER     what was done already is not done again
    python tests/differential --result FOLDER     such a run as a document
    python tests/differential --known      the differences that were looked at, as docs/reference/differences.md has them
    python tests/differential --tolerances      how far answers may be from each other, as it has that

Whoever differs from Lathe, or runs what Lathe refuses, is told of with a line that says the whole problem. A difference is a
place to look, not a verdict; what was looked at goes into the problems of the operator's folder (known.differs). Each operator has
a process of its own: some problems end that of another implementation.
"""

import argparse
import concurrent.futures
import fnmatch
import multiprocessing
import pathlib
import tempfile

import tolerances
import generators
import known
import lathe
import result
from tally import Tally, problem


def solve(name, seed, first, problems, pipe):
    """In a process of its own: problems of one operator, each announced and then judged."""
    from findings import judge

    for number in range(first, problems):
        p = problem(name, seed, number)
        pipe.send(judge(p, lambda who, n=number: pipe.send((n, who))))
    pipe.close()


def tally(name, seed, problems):
    made, first = Tally(name, seed), 0
    while first < problems:
        ours, theirs = multiprocessing.Pipe(False)
        process = multiprocessing.get_context("fork").Process(target=solve, args=(name, seed, first, problems, theirs))
        process.start()
        theirs.close()
        who = "lathe"
        try:
            while True:
                said = ours.recv()
                if isinstance(said, tuple):
                    first, who = said
                else:
                    made.add(first, said)
                    first += 1
        except EOFError:
            process.join()
        if first < problems:  # the process is gone
            made.died(first, who)
            first += 1
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=100, help="of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", default="*")
    parser.add_argument("--jobs", type=int, default=1, help="operators at a time")
    parser.add_argument("--show", type=int, default=3, help="problems shown of each kind")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where what each operator's problems gave is kept")
    parser.add_argument("--result", type=pathlib.Path, metavar="FOLDER", help="print the document of a kept run")
    parser.add_argument("--known", action="store_true", help="print the table of known differences")
    parser.add_argument("--tolerances", action="store_true", help="print the tables of accuracy")
    options = parser.parse_args()
    if options.known:
        print(known.table(), end="")
        return
    if options.tolerances:
        print(tolerances.table(), end="")
        return
    if options.result:
        print(result.document(options.result), end="")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        supported = {op["name"] for op in lathe.operators()}
        chosen = [n for n in sorted(generators.ALL) if n in supported and fnmatch.fnmatch(n, options.op)]

        def one(name):
            kept = Tally.kept(folder, name, options.seed, options.problems)
            if kept is None:
                kept = tally(name, options.seed, options.problems)
                kept.keep(folder)
            print(kept.text(options.show), end="", flush=True)
            return kept

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tallies = list(pool.map(one, chosen))
    print(f"\nseed {options.seed}: {sum(t.problems for t in tallies)} problems over {len(tallies)} operators")


main()
