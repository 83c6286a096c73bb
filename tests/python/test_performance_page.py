"""docs/performance.md, its picture and README's table are what bench/results gives, and these files have their form."""

import copy
import json
import sys

import pytest

from support import ROOT


def modules():
    sys.path.insert(0, str(ROOT / "bench" / "peers"))
    try:
        import page
        import report
        import results
    finally:
        sys.path.remove(str(ROOT / "bench" / "peers"))
    return page, report, results


page, report, results = modules()
FILES = sorted((ROOT / "bench" / "results").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_each_file_has_its_form(path):
    document = json.loads(path.read_text())
    assert results.check(document, path.name) == []
    assert results.text_of(document) == path.read_text(), "written by hand? bench/peers/results.py has text_of"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_recorded_means_are_those_of_the_models(path):
    """The tolerance is what rounding to two digits makes of them."""
    document = json.loads(path.read_text())
    for peer, by_threads in document.get("geomean", {}).items():
        for threads, mean in by_threads.items():
            rows = [m["ratios"].get(peer, {}).get(threads) for m in document["models"] if m["kind"] == "fp32"]
            assert mean is None or mean == pytest.approx(report.geometric_mean([r["ratio"] for r in rows if r]), abs=0.011)


def test_what_is_committed_is_what_the_script_writes():
    stale = [path.name for path, text in page.outputs().items() if path.read_text() != text]
    assert stale == [], "run python bench/peers/page.py"


def test_the_page_is_short():
    lines = page.PAGE.read_text().splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 140 and not line.startswith("|")] == []
    assert {"## Method", "## What falls short", "## How to repeat it"} <= set(lines)
    text = "\n".join(lines)
    assert [n for n in range(1, 12) if f"\n{n}. " in text] == list(range(1, 11))
    for model in page.machines(results.read_all())[0].models():
        assert f"| {model['name']} |" in text


def document(**machine):
    models = [
        {
            "name": f"net{i}",
            "kind": "fp32",
            "must": 1.5,
            "ratios": {
                "onnxruntime": {"1": {"ratio": 2.0, "low": 1.9, "high": 2.1}, "2": {"ratio": 1.4}},
                "openvino": {"1": {"ratio": 0.5}, "2": None},
            },
            "engines": {"lathe": {"times": {"1": {"time": 0.0123}, "2": {"time": 4e-7}}}},
        }
        for i in range(page.WHOLE)
    ]
    facts = {"date": "2026-11-28", "commit": "abc", "cpu": "AMD EPYC 9B45", "cpu_family": "26", "cpu_model": "2"} | machine
    facts["instruction_sets"] = ["AVX2", "AVX-512"]
    return {"machine": facts, "geomean": {}, "costs": {"plan_ratio": 84.4, "load_ratio": 3.0}, "models": models}


NAME = "2026-11-28-amd-epyc-26-2.json"


def test_faults_are_found():
    def faults_after(change, name=NAME):
        broken = document()
        change(broken)
        return results.check(broken, name)

    assert faults_after(lambda d: None) == []
    assert faults_after(lambda d: d["machine"].pop("date")) == [f"{NAME}.machine.date is missing"]
    assert faults_after(lambda d: d["machine"].pop("cpu")) == [f"{NAME}.machine.cpu is missing"]
    assert faults_after(lambda d: d["machine"].update(date="28.11.2026"), "28.11.2026-amd-epyc-26-2.json") == [
        "28.11.2026-amd-epyc-26-2.json: the date is to be written YYYY-MM-DD"
    ]
    assert faults_after(lambda d: d["machine"].update(processors="two")) == [f"{NAME}.machine.processors: 'two' has the wrong type"]
    assert faults_after(lambda d: d["machine"].update(processors=True)) == [f"{NAME}.machine.processors: True has the wrong type"]
    assert faults_after(lambda d: d["machine"].update(host="x")) == [f"{NAME}.machine.host is unknown"]
    assert faults_after(lambda d: d["models"][0].update(kind="odd")) == [f"{NAME}: net0 has an unknown kind"]
    assert faults_after(lambda d: d["models"][0]["ratios"]["onnxruntime"]["1"].update(low=2.05)) == [
        f"{NAME}: net0: a ratio lies outside of its spread"
    ]
    assert faults_after(lambda d: d.update(models={})) == [f"{NAME}.models: a list is expected"]
    assert faults_after(lambda d: None, "other.json") == [f"other.json: is to be called {NAME}"]
    table = {"subject": "x", "summary": "s", "machine": {"date": "2026-11-28"}, "tables": [{"columns": ["a"], "rows": [[1, 2], [[]]]}]}
    assert results.check(table, "2026-11-28-x.json") == [
        "2026-11-28-x.json: a row has 2 cells and not 1: [1, 2]",
        "2026-11-28-x.json: [] is no cell",
    ]


def test_machines_have_names():
    name = results.machine_name
    assert name({"cpu": "Intel(R) Xeon(R) Processor", "cpu_family": "6", "cpu_model": "207"}) == "intel-xeon-6-207"
    assert name({"cpu": "AMD EPYC 9B45 128-Core Processor", "cpu_family": "26", "cpu_model": "2"}) == "amd-epyc-26-2"
    assert name({"cpu": "Intel(R) Core(TM) i7", "vendor": "GenuineIntel", "cpu_family": "6", "cpu_model": "85"}) == "intel-core-6-85"
    assert name({"cpu": "aarch64", "cpu_family": None, "cpu_model": None}) == "aarch64"


def test_the_newest_value_of_a_machine_counts():
    old = document()
    later = copy.deepcopy(old)
    later["machine"]["date"] = "2026-11-29"
    later["models"] = [later["models"][3] | {"ratios": {"onnxruntime": {"1": {"ratio": 3.0}}}, "engines": {}}]
    (machine,) = page.machines({"a": old, "b": later})
    assert machine.run is old and machine.title == "EPYC 26-2" and machine.widest == "AVX-512"
    assert machine.ratio("net3", "onnxruntime", "1")["ratio"] == 3.0
    assert machine.ratio("net3", "onnxruntime", "2")["ratio"] == 1.4  # the later run has none
    assert machine.time("net3", "1") == 0.0123
    assert machine.ratio("net3", "openvino", "2") is None
    assert machine.mean("fp32", "onnxruntime", "1") == pytest.approx((2.0**19 * 3.0) ** (1 / 20))
    assert machine.mean("fp32", "openvino", "2") is None
    table = page.model_table([machine])
    assert "| net3 | 12.3 | 3.00 | 0.50 | 0.00040 | 1.40 | – | – | 1.5 |" in table
    missed = page.missed_table([machine]).splitlines()
    assert missed[2].startswith("| EPYC 26-2 | 1 | loading 3.00 of 4 | net0 0.50, ")
    assert missed[3].startswith("| EPYC 26-2 | 2 | net0 1.40 of 1.5, ") and missed[3].endswith("| none |")


def test_a_quiet_machine_stands_first_and_a_partial_run_is_no_machine():
    noisy = document(cpu_model="3", date="2026-11-30", noisy=True)
    quiet = document()
    for each in noisy, quiet:
        each["geomean"] = {"onnxruntime": {"1": 2.0, "2": 1.4}}
    partial = document(cpu_model="4")
    partial["models"] = partial["models"][:3]
    found = page.machines({"a": quiet, "b": noisy, "c": partial})
    assert [m.facts["cpu_model"] for m in found] == ["2", "3"]


def test_the_table_of_the_readme_stands_between_its_markers():
    text = "before\n<!-- measurements -->\nold\n<!-- /measurements -->\nafter\n"
    written = page.readme(text, {"a": document()})
    assert written.startswith("before\n<!-- measurements -->\n\n| ") and written.endswith("|\n\n<!-- /measurements -->\nafter\n")
    assert "| AMD EPYC 26-2, AVX-512 | 2.00× | 1.40× | 0.50× | – | 84× |" in written and "old" not in written
    assert page.readme(written, {"a": document()}) == written
    assert page.readme("no markers\n", {"a": document()}) == "no markers\n"
    with pytest.raises(ValueError):
        page.readme("<!-- measurements -->\n", {"a": document()})


def test_every_table_has_its_place():
    with pytest.raises(ValueError, match="{{machines}}"):
        page.page({"a": document()}, "# Nothing\n")
