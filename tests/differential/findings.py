"""One problem solved by everybody, and what differs."""

import dataclasses

import known
import lathe
import numpy_judges
from problem import difference, narrowed, run_lathe, run_onnxruntime, run_reference

JUDGES = {"onnxruntime": run_onnxruntime, "onnx.reference": run_reference, "NumPy": numpy_judges.run}


@dataclasses.dataclass
class Judgement:
    found: list[tuple[str, str]]  # kind and text of what nobody has looked at
    known: list[str]  # who differs and when, of what was looked at
    answers: list[str]  # of these judges; none where the problem is refused
    ran: bool = False  # by Lathe


def attempt(run, *arguments):
    """(outputs, None) or (None, what went wrong)."""
    try:
        return run(*arguments), None
    except Exception as e:  # noqa: BLE001: whatever another implementation raises is its answer
        return None, e


def judge(p, tell=lambda who: None):
    """Calls `tell` with the name of each who is asked next: not everybody comes back."""
    j = Judgement([], [], [])
    tell("lathe")
    ours, wrong = attempt(run_lathe, p, "cpu")
    if wrong is not None and not isinstance(wrong, lathe.Error):
        j.found.append(("crash", repr(wrong)))
        return j
    reference, refused = attempt(run_lathe, p, "reference")
    if (wrong is None) != (refused is None):
        j.found.append(("backends", f"cpu: {wrong or 'runs'}; reference: {refused or 'runs'}"))
        return j
    if ours is not None and (d := difference(ours, reference, p.rtol, p.atol)):
        j.found.append(("backends", d))
    j.ran = ours is not None
    for name, run in JUDGES.items():
        tell(name)
        theirs, _ = attempt(run, p.wide or p)
        if theirs is None:
            continue
        theirs = narrowed(theirs, ours) if p.wide and ours else theirs
        j.answers.append(name)
        kind = f"refused, {name} runs" if ours is None else f"differs from {name}"
        d = str(wrong) if ours is None else difference(ours, theirs, p.rtol, p.atol)
        if d and (entry := known.reason(p, name, refused=ours is None)):
            j.known.append(f"{name}: {entry.when}")
        elif d:
            j.found.append((kind, d))
    return j

