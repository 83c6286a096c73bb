"""The backend suite's cases written at other opsets: equal answers, or a refusal with a code."""

from __future__ import annotations

import numpy as np
import onnx

import lathe
import suite_cases

CASES = suite_cases.all_cases() | suite_cases.real_cases()
OPSETS = (13, 17, 21, 28)
REFUSAL = "E2308"  # names the node, and the opset that it needs


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
        return "refused" if refusal.code == REFUSAL else str(refusal)
    versions = {o.domain: o.version for o in onnx.load_model_from_string(model.to_bytes()).opset_import}
    if versions.get("", opset) != opset:
        return f"written at {versions}"
    for got, want in zip(answers(model, case), answers(case.model.SerializeToString(), case)):
        for output in want:
            if not equal(got[output], want[output]):
                return f"output {output} differs"
    return None


def counts(names):
    """{opset: (equal, refused)}; anything else is an error."""
    found = {}
    for opset in OPSETS:
        verdicts = [check(name, opset) for name in names]
        wrong = [v for v in verdicts if v not in (None, "refused")]
        assert not wrong, wrong[:3]
        found[opset] = (verdicts.count(None), verdicts.count("refused"))
    return found
