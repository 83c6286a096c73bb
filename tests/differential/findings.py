"""One problem solved by everybody, and what differs."""

import dataclasses

import known
import lathe
import numpy_judges
from tolerances import Allowed
from problem import difference, narrowed, run_lathe, run_onnxruntime, run_reference

JUDGES = {"onnxruntime": run_onnxruntime, "onnx.reference": run_reference, "NumPy": numpy_judges.run}


@dataclasses.dataclass
class Judgement:
    found: list[tuple[str, str]]  # kind and text of what nobody has looked at
    known: list[str]  # who differs and when, of what was looked at
    answers: list[str]  # of these judges; none where the problem is refused
    ran: bool = False  # by Lathe
    agreed: int = 0  # how many of the judges' answers are Lathe's


def attempt(run, *arguments):
    """(outputs, None) or (None, what went wrong)."""
    try:
        return run(*arguments), None
    except Exception as e:  # noqa: BLE001: whatever another implementation raises is its answer
        return None, e


def solve(p):
    return run_lathe(p, "reference")


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
    if ours is not None and (d := difference(ours, reference, Allowed(p, None, solve))):
        j.found.append(("backends", d))
    j.ran = ours is not None
    if ours is not None and p.newest and (d := another(ours, p.newest)):
        j.found.append(("differs from its newest form", d))
    for name, run in JUDGES.items():
        for form in p.asked(name):
            tell(name)
            hear(j, form, name, run, ours, wrong)
    return j


def another(ours, newest):
    """Returns the difference if the newest form of the same problem gives another result."""
    theirs, wrong = attempt(run_lathe, newest, "cpu")
    return f"the newest form is refused: {wrong}" if theirs is None else difference(ours, theirs, Allowed(newest, None, solve))


def hear(j, form, name, run, ours, wrong):
    """Records the answer of one other implementation to one form of the problem."""
    theirs, _ = attempt(run, form)
    if theirs is None:
        return
    if name not in j.answers:
        j.answers.append(name)
    kind = f"refused, {name} runs" if ours is None else f"differs from {name}"
    d = str(wrong) if ours is None else difference(ours, narrowed(theirs, ours), Allowed(form, name, solve))
    if d and ours is not None and (entry := known.reason(form, name)):
        j.known.append(f"{name}: {entry.when}")
    elif d:
        j.found.append((kind, d))
    else:
        j.agreed += 1
