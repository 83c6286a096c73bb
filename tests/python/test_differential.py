"""Twenty random problems for every operator that tests/differential knows: Lathe's two backends agree, and so do ONNX Runtime,
the onnx package's reference and NumPy where they run it, but for what was looked at (docs/reference/differences.md). Seeds are in the test's name."""

import pathlib
import sys

import pytest

import lathe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "differential"))
import tolerances  # noqa: E402
import generators  # noqa: E402
import known  # noqa: E402
from findings import judge  # noqa: E402
from tally import problem  # noqa: E402

ROUNDS, SEED = 20, 2026
SUPPORTED = {op["name"] for op in lathe.operators()}  # what is missing, test_support_table tells


def test_tables_of_accuracy_are_the_codes():
    assert tolerances.table() in (pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "differences.md").read_text()


def test_nothing_is_looser_than_its_declaration():
    """Each number is a smaller one; that each operator has one, and one size, the tables see to where it enters."""
    declared = {op: c for (domain, op), c in tolerances.declared().items() if op in generators.ALL and domain != "com.microsoft"}
    assert [(op, n) for op, n in tolerances.HELD.items() if declared[op].exact or n >= declared[op].epsilons] == []
    assert set(tolerances.SIZED) <= set(declared)
    for enter in (tolerances.held_to, tolerances.sized):
        with pytest.raises(ValueError, match="Conv"):
            enter(2, "Conv")


def test_a_known_difference_says_when():
    """None holds for every problem of its operators."""
    for entry in known.KNOWN:
        problems = [problem(op, SEED, n) for op in entry.ops.split() for n in range(60)]
        assert not all(entry.holds(p) for p in problems), f"{entry.ops}: {entry.when}"


def test_every_operator_has_problems():
    assert SUPPORTED - set(generators.ALL) == set().union(*generators.ELSEWHERE.values()) - set(generators.ALL)


def test_problems_lie_in_the_folders_of_their_operators():
    places = {(op["name"], op["folder"]) for op in lathe.operators()}
    assert set(generators.FOLDERS.items()) - places == {(op, folder) for op, folder in generators.FOLDERS.items() if op not in SUPPORTED}


@pytest.mark.parametrize("files, operators", generators.ELSEWHERE.items(), ids=lambda v: v if isinstance(v, str) else "")
def test_elsewhere_are_problems(files, operators):
    text = "".join((pathlib.Path(__file__).parent / name).read_text() for name in files.split())
    assert not {op for op in operators if f'"{op}"' not in text}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(generators.ALL) & SUPPORTED), ids=lambda n: f"{n}-seed{SEED}")
def test_agreement(name):
    ran = 0
    for round_ in range(ROUNDS):
        p = problem(name, SEED, round_)
        judgement = judge(p)
        assert not judgement.found, f"seed {SEED}, round {round_}: {p}\n{judgement.found}"
        ran += judgement.ran
    assert ran >= ROUNDS / 2, "most of them are no problems of this operator"
