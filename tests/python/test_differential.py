"""Twenty random problems for every operator that tests/differential knows: Lathe's two backends agree, and so do ONNX Runtime,
the onnx package's reference and NumPy where they run it, but for what was looked at (docs/reference/differences.md). Seeds are in the test's name."""

import pathlib
import sys

import pytest

import lathe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "differential"))
import contracts  # noqa: E402
import generators  # noqa: E402
import known  # noqa: E402
from findings import judge  # noqa: E402
from tally import problem  # noqa: E402

ROUNDS, SEED = 20, 2026
SUPPORTED = {op["name"] for op in lathe.operators()}  # what is missing, test_support_table tells
# Which operators have their problems elsewhere.
ELSEWHERE = {
    "test_microsoft_operators.py test_microsoft_attention.py": {op["name"] for op in lathe.operators() if op["domain"] == "com.microsoft"} | {"SimplifiedLayerNormalization"},
    "test_gradient.py": {"Gradient"},  # against differences of values
    "test_image_decoder.py": {"ImageDecoder"},  # against Pillow
    # Nobody draws the same numbers.
    "test_random.py": {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"},
}


def test_tables_of_accuracy_are_the_codes():
    assert contracts.table() in (pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "differences.md").read_text()


def test_nothing_is_looser_than_its_declaration():
    """Each number is a smaller one, each operator has one, and one size."""
    declared = {op: c for (domain, op), c in contracts.declared().items() if op in generators.ALL and domain != "com.microsoft"}
    fewer = [(op, epsilons) for epsilons, ops in contracts.HELD.items() for op in ops.split()]
    assert len(dict(fewer)) == len(fewer)
    assert [(op, n) for op, n in fewer if declared[op].exact or n >= declared[op].epsilons] == []
    sizes = [*contracts.OF_TERMS, *contracts.OF_LARGEST, *contracts.OF_ONE]
    assert len(set(sizes)) == len(sizes) and set(sizes) <= set(declared)


def test_a_known_difference_says_when():
    """None holds for every problem of its operators."""
    for entry in known.KNOWN:
        problems = [problem(op, SEED, n) for op in entry.ops.split() for n in range(60)]
        assert not all(entry.holds(p) for p in problems), f"{entry.ops}: {entry.when}"


def test_every_operator_has_problems():
    assert SUPPORTED - set(generators.ALL) == set().union(*ELSEWHERE.values()) - set(generators.ALL)


@pytest.mark.parametrize("files, operators", ELSEWHERE.items(), ids=lambda v: v if isinstance(v, str) else "")
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
