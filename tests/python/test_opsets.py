"""The backend suite written at other opsets gives the same answers; what an opset cannot say is refused with a code.

    python tests/python/test_opsets.py        every case at 13, 17, 21 and 28: how many could be said
"""

import collections
import sys

import numpy as np
import onnx
import pytest

import lathe
import scoreboard
import suite_cases

CASES = suite_cases.all_cases()
_, NOT_PASSING = scoreboard.documented()
NAMES = sorted(set(CASES) - NOT_PASSING - set(scoreboard.EXCLUSIONS))
OPSETS = (13, 17, 21, 28)
REFUSALS = {"model_bad_opset", "node_cannot_convert"}


def equal(got, want):
    if isinstance(want, list):
        return len(got) == len(want) and all(map(equal, got, want))
    if want is None or got is None:
        return want is got
    if not isinstance(want, np.ndarray):
        return got == want
    if want.dtype.kind in "OUS":
        return np.array_equal(got.astype(str), want.astype(str))
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return np.array_equal(got, want) or np.allclose(got.astype(np.complex128), want.astype(np.complex128), rtol=1e-5, atol=1e-6, equal_nan=True)


def answers(model, case):
    engine = lathe.build(model, threads=1)
    return [engine.run(suite_cases.feed(case, inputs)) for inputs, _ in case.sets]


def converted(name, opset):
    """The case's model at another opset, or the code of the refusal."""
    source = CASES[name].model.SerializeToString()
    try:
        return lathe.onnx.normalize(source, opset=opset), None
    except lathe.Error as e:
        return None, e


def check(name, opset):
    """None where the answers are equal, "refused" where the opset cannot say it; else what is wrong."""
    case = CASES[name]
    model, refusal = converted(name, opset)
    if refusal is not None:
        text = str(refusal)
        return "refused" if "opset" in text and ("node" in text or "operator" in text or "value" in text) else text
    written = onnx.load_model_from_string(model.SerializeToString() if hasattr(model, "SerializeToString") else model.to_bytes())
    versions = {o.domain: o.version for o in written.opset_import}
    if versions.get("", opset) != opset:
        return f"written at {versions}"
    if any(out is None for out in answers(model, case)):
        return "no answer"
    for got, want in zip(answers(model, case), answers(case.model.SerializeToString(), case)):
        for output in want:
            if not equal(got[output], want[output]):
                return f"output {output} differs"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", NAMES[::7])
def test_same_answers(name, opset):
    assert check(name, opset) in (None, "refused")


def main():
    for opset in OPSETS:
        verdicts = {name: check(name, opset) for name in NAMES}
        counts = collections.Counter("equal" if v is None else "refused" if v == "refused" else "wrong" for v in verdicts.values())
        print(f"opset {opset}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())), flush=True)
        for name, v in verdicts.items():
            if v not in (None, "refused"):
                print(f"  {name}: {v.strip().splitlines()[-1][:300]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
