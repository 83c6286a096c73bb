"""One generator per operator (families share one): a random problem at the edges of what the operator allows. Each folder of operators has
its own, with all else that is known of its problems: src/ops/<folder>/<folder>_problems.py, found by name."""

import importlib.util
import pathlib
import sys

from draw import ALL, ELSEWHERE

OPERATORS = pathlib.Path(__file__).resolve().parents[2] / "src" / "ops"
FOLDERS = {}  # where an operator's generator is


def _enter(path):
    """Runs a folder's module, in which each generator enters ALL."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    before = dict(ALL)
    spec.loader.exec_module(module)
    FOLDERS.update({op: path.parent.name for op, generate in ALL.items() if before.get(op) is not generate})


for _path in sorted(OPERATORS.glob("*/*_problems.py")):
    _enter(_path)

__all__ = ["ALL", "ELSEWHERE", "FOLDERS"]
