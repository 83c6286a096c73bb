"""A kept run as a document."""

import datetime
import json
import pathlib
import platform
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

from findings import JUDGES
from tally import Tally

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEAD = """# A long run of random problems

Made by `python tests/differential --problems {problems} --seed {seed} --keep FOLDER` and `--result FOLDER`
([what it does](differences.md)) on {date} at commit {commit}: {versions}.

{total} problems of {operators} operators. Lathe's two backends agree on all of them but as said below, and so does whoever else
answers; what differs is counted by why: the words are those of [the table](differences.md). NumPy's are six
operators written down in their folders (judges, in src/ops/<folder>/<folder>_problems.py). "No judge": nobody else ran it; of these, Lathe's two backends are
held against each other.

| operator | problems | {judges} | no judge | known differences | others |
|---|---|{lines}---|---|---|
"""


def document(folder):
    tallies = [Tally(**json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
    seeds, problems = {t.seed for t in tallies}, {t.problems for t in tallies}
    if len(seeds) != 1 or len(problems) != 1:
        raise SystemExit(f"operators of different runs: seeds {seeds}, problems {problems}; remove those that do not belong")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    modules = {"onnx": onnx, "ONNX Runtime": onnxruntime, "NumPy": np, "ml_dtypes": ml_dtypes}
    text = HEAD.format(
        problems=problems.pop(), seed=seeds.pop(), date=datetime.date.today(), commit=commit,
        versions=", ".join([f"{name} {m.__version__}" for name, m in modules.items()] + [f"Python {platform.python_version()}"]),
        total=sum(t.problems for t in tallies), operators=len(tallies), judges=" | ".join(JUDGES), lines="---|" * len(JUDGES),
    )  # fmt: skip
    for t in tallies:
        known, found = ("; ".join(f"{what}: {n}" for what, n in sorted(c.items())) for c in (t.known, t.found))
        answers = " | ".join(str(t.answers.get(name, 0)) for name in JUDGES)
        text += f"| {t.name} | {t.problems} | {answers} | {t.unanswered} | {known} | {found} |\n"
    return text
