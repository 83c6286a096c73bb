"""Twenty random problems for every operator that tests/differential knows: Lathe's two backends agree, and so do ONNX Runtime and
the onnx package's reference where they run it, but for what was looked at (docs/differences.md). Seeds are in the test's name."""

import pathlib
import sys

import pytest

import lathe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "differential"))
import generators  # noqa: E402
from findings import findings  # noqa: E402
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


def test_every_operator_has_problems():
    assert SUPPORTED - set(generators.ALL) == set().union(*ELSEWHERE.values()) - set(generators.ALL)


@pytest.mark.parametrize("files, operators", ELSEWHERE.items(), ids=lambda v: v if isinstance(v, str) else "")
def test_elsewhere_are_problems(files, operators):
    text = "".join((pathlib.Path(__file__).parent / name).read_text() for name in files.split())
    assert not {op for op in operators if f'"{op}"' not in text}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(generators.ALL) & SUPPORTED), ids=lambda n: f"{n}-seed{SEED}")
def test_agreement(name):
    for round_ in range(ROUNDS):
        p = problem(name, SEED, round_)
        found = list(findings(p))
        assert not found, f"seed {SEED}, round {round_}: {p}\n{found}"
