"""The onnx package's backend suite through both runners, and docs/reference/scoreboard.md, which is made of what they say:

    python tests/python/scoreboard.py [--build build/release]

The C++ runner reads the cases as files, the Python runner has the onnx package make them; both compute with the plan that
`lathe.build` makes. Cases in tests/exclusions.json are run by neither.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "scoreboard.md"
EXCLUSIONS = json.loads((ROOT / "tests" / "exclusions.json").read_text())
CATEGORIES = {
    "node": "node",
    "expanded": "node, expanded bodies",
    "simple": "simple",
    "pytorch-converted": "pytorch-converted",
    "pytorch-operator": "pytorch-operator",
    "real": "real",
}
PYTHON_CLASSES = {
    "OnnxBackendNodeModelTest": "node",
    "OnnxBackendSimpleModelTest": "simple",
    "OnnxBackendPyTorchConvertedModelTest": "pytorch-converted",
    "OnnxBackendPyTorchOperatorModelTest": "pytorch-operator",
    "OnnxBackendRealModelTest": "real",
}
CPP_TESTS = {
    "Node": "node",
    "Simple": "simple",
    "PytorchConverted": "pytorch-converted",
    "PytorchOperator": "pytorch-operator",
    "Real": "real",
}
# Cases that only the Python runner fails, by no fault of the answers: told, and counted as not passed.
_NOISE = "the inverse transform of numbers without imaginary parts: the case expects the rounding of NumPy's float32 transform, 1.9e-7, where 0 is exact, and allows 1e-7"
REASONS = {
    "test_dft_inverse": _NOISE,
    "test_dft_inverse_opset19": _NOISE,
    "test_loop16_seq_none": "the answer is equal; the onnx package's runner asks for the length of each item of the expected sequence too, and the first is a scalar: no answer can pass",
}
# The published backend scoreboard of onnx 1.22, July 2026.
PUBLISHED = (
    ("onnx's Python reference", "98.3 %", ""),
    ("an ONNX-to-C generator", "97.9 %", ""),
    ("ONNX Runtime 1.27", "82.1 %", ""),
    ("OpenVINO through ONNX Runtime", "72.5 %", "504 cases skipped"),
    ("OpenCV", "14 %", ""),
    ("tract, TVM", "–", "their entries do not run"),
)


def category(kind, name):
    return "expanded" if kind == "node" and "_expanded" in name else kind


def python_cases():
    """{category: [(case class, test name)]} of the suite, the CPU's, without exclusions."""
    import lathe.backend
    import onnx.backend.test

    classes = onnx.backend.test.BackendTest(lathe.backend, __name__).test_cases
    cases = collections.defaultdict(list)
    for name, kind in PYTHON_CLASSES.items():
        for test in dir(classes[name]):
            if test.startswith("test_") and test.endswith("_cpu") and test.removesuffix("_cpu") not in EXCLUSIONS:
                cases[category(kind, test)].append((classes[name], test))
    return cases


def run_case(case, test):
    """None where it passes, else why not. A case that skips itself does not pass."""
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case(test).run(result)
    if result.skipped:
        return "skipped: " + result.skipped[0][1]
    trouble = result.errors + result.failures
    return trouble[0][1] if trouble else None


def run_python():
    """{category: {name: whether it passes}}"""
    return {
        kind: {test.removesuffix("_cpu"): run_case(case, test) is None for case, test in cases}
        for kind, cases in python_cases().items()
    }


def run_cpp(build):
    """The same by the C++ runner, in the dress `cpu`."""
    environment = {**os.environ, "LATHE_CONFIGURATION": "cpu", "LATHE_CASE": "_"}
    chosen = ":".join(f"Conformance.{test}" for test in CPP_TESTS)
    run = subprocess.run([build / "tests" / "models_test", f"--gtest_filter={chosen}"], env=environment, text=True, capture_output=True)
    verdicts, kind = collections.defaultdict(dict), None
    for line in run.stdout.splitlines():
        if started := re.match(r"\[ RUN +\] Conformance\.(\w+)", line):
            kind = CPP_TESTS[started[1]]
        elif verdict := re.match(r"(ok|FAIL) +(\w+)", line):
            verdicts[category(kind, verdict[2])][verdict[2]] = verdict[1] == "ok"
    return verdicts


def count(verdicts):
    """{category: (passed, of)}"""
    return {kind: (sum(verdicts[kind].values()), len(verdicts[kind])) for kind in CATEGORIES}


def failing(verdicts):
    return sorted(name for cases in verdicts.values() for name, passed in cases.items() if not passed)


def documented():
    """Returns what the document says: ({category: (python, cpp)}, cases that do not pass)."""
    text = DOCUMENT.read_text()
    rows = re.findall(r"^\| ([^|]+?) \| (\d+) of (\d+) \| (\d+) of (\d+) \|$", text, re.M)
    titles = {title: kind for kind, title in CATEGORIES.items()}
    counts = {titles[t]: ((int(a), int(b)), (int(c), int(d))) for t, a, b, c, d in rows if t in titles}
    return counts, set(re.findall(r"^- `(\w+)`(?:: .*)?$", text, re.M))


def percent(passed, of):
    return f"{100 * passed / of:.1f} %"


def passing_names(not_passing):
    """Cases of the suite that pass."""
    import suite_cases

    return sorted(set(suite_cases.all_cases() | suite_cases.real_cases()) - set(not_passing) - set(EXCLUSIONS))


def page(python, cpp):
    import ml_dtypes
    import numpy
    import onnx

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True, capture_output=True).stdout.strip()
    by_python, by_cpp = count(python), count(cpp)
    passed, of = (sum(c[i] for c in by_python.values()) for i in (0, 1))
    cpp_passed, cpp_of = (sum(c[i] for c in by_cpp.values()) for i in (0, 1))
    lines = [
        "# The backend scoreboard",
        "",
        "The onnx package has a suite of cases that every implementation can be held against. This page is made of a run by",
        "`python tests/python/scoreboard.py`; `models_test` and `tests/python/test_onnx_backend.py` hold it against theirs.",
        "",
        f"Run on {datetime.date.today().isoformat()} after commit {commit}: onnx {onnx.__version__}, NumPy {numpy.__version__}, "
        f"ml_dtypes {ml_dtypes.__version__}, Python {platform.python_version()}.",
        "",
        "| implementation | passes | |",
        "|---|---|---|",
        f"| **Lathe** | **{percent(passed, of + len(EXCLUSIONS))}** | {passed} of {of + len(EXCLUSIONS)}, onnx {onnx.__version__} |",
        *(f"| {name} | {share} | {note} |" for name, share, note in PUBLISHED),
        "",
        "The rows below ours are those published for onnx 1.22 in July 2026.",
        "",
        "| category | through Python | through C++ |",
        "|---|---|---|",
    ]
    for kind, title in CATEGORIES.items():
        lines.append(f"| {title} | {by_python[kind][0]} of {by_python[kind][1]} | {by_cpp[kind][0]} of {by_cpp[kind][1]} |")
    lines += [
        f"| all | {passed} of {of} | {cpp_passed} of {cpp_of} |",
        "",
        "## Left out",
        "",
        f"{len(EXCLUSIONS)} cases, by both runners (`tests/exclusions.json`), counted as not passed above:",
        "",
        *(f"- {name}: {why}" for name, why in EXCLUSIONS.items()),
        "",
        "## Not passing",
        "",
    ]
    alone = sorted({*failing(python)} - {*failing(cpp)})
    missing = sorted({*failing(python), *failing(cpp)} - {*alone})
    lines += [f"- `{name}`" for name in missing] or ["None."]
    if alone:
        lines += ["", "Through Python alone:", "", *(f"- `{name}`: {REASONS.get(name, 'not explained yet')}" for name in alone)]
    import opsets

    lines += [
        "",
        "## At other opsets",
        "",
        "Every case that passes, written at another opset (`lathe convert --opset N`) and run again: equal answers, or a refusal that names",
        "the node, the opset it needs and why.",
        "",
        "| opset | equal answers | refused |",
        "|---|---|---|",
        *(f"| {opset} | {equal} | {refused} |" for opset, (equal, refused) in opsets.counts(passing_names(missing + alone)).items()),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="where models_test was built")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["ONNX_HOME"] = home
        os.environ.pop("ONNX_MODELS", None)
        text = page(run_python(), run_cpp(options.build))
    new = DOCUMENT.with_suffix(".md.tmp")
    new.write_text(text)
    new.rename(DOCUMENT)
    print(text)


if __name__ == "__main__":
    main()
