"""Runs programs that are written for onnxruntime on Lathe.

python -m lathe.compat SCRIPT [arguments…]      runs a program with Lathe in onnxruntime's place
python -m lathe.compat -m MODULE [arguments…]   the same for a module
python -m lathe.compat --table                  prints what becomes of onnxruntime's options, as Markdown"""

from __future__ import annotations

import os
import runpy
import sys

from lathe import compat


def main(arguments: list[str]) -> int:
    """Runs the program that the arguments name and returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    if arguments[0] == "--table":
        from lathe.compat.onnxruntime._options import table

        print(table(), end="")
        return 0
    compat.install()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print(__doc__, file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
