"""One problem solved by everybody, and what differs."""

import known
import lathe
from problem import difference, run_lathe, run_onnxruntime, run_reference

JUDGES = {"onnxruntime": run_onnxruntime, "onnx.reference": run_reference}


def attempt(run, *arguments):
    """(outputs, None) or (None, what went wrong)."""
    try:
        return run(*arguments), None
    except Exception as e:  # noqa: BLE001: whatever another implementation raises is its answer
        return None, e


def findings(p):
    ours, wrong = attempt(run_lathe, p, "cpu")
    if wrong is not None and not isinstance(wrong, lathe.Error):
        yield "crash", repr(wrong)
        return
    reference, refused = attempt(run_lathe, p, "reference")
    if (wrong is None) != (refused is None):
        yield "backends", f"cpu: {wrong or 'runs'}; reference: {refused or 'runs'}"
        return
    if ours is not None:
        d = difference(ours, reference, p.rtol, p.atol)
        if d:
            yield "backends", d
    answers = {name: attempt(run, p) for name, run in JUDGES.items()}
    if ours is None:
        runs = [name for name, (out, _) in answers.items() if out is not None]
        if runs:
            yield f"refused, {' and '.join(runs)} run" + ("s" if len(runs) == 1 else ""), str(wrong)
        return
    for name, (out, _) in answers.items():
        if out is not None:
            d = difference(ours, out, p.rtol, p.atol)
            if d and not known.reason(p, name):
                yield f"differs from {name}", d
