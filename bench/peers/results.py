"""The files in bench/results: which form they have, what they are called, and how they are read and written.

bench/results/README.md describes the form for people; `check` holds a document against it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"

# A type, a list of one form, a map ("*") or an object. A key that ends with "?" may be absent, and its value may be null.
NUMBER = (int, float)
MACHINE = {
    "date": str,
    "commit?": str,
    "cpu?": str,
    "vendor?": str,
    "cpu_family?": str,
    "cpu_model?": str,
    "instruction_sets?": [str],
    "processors?": int,
    "memory_bytes?": int,
    "compiler?": str,
    "load?": NUMBER,
    "lathe?": str,
    "onnxruntime?": str,
    "openvino?": str,
    "noisy?": bool,
    "peak_gflops?": {"*": NUMBER},
    "note?": str,
}
RUN = {"command?": str, "threads?": [int], "rounds?": int, "seconds?": NUMBER, "loads?": int}
RATIO = {"ratio": NUMBER, "low?": NUMBER, "high?": NUMBER, "rounds?": int}
TIMES = {"time?": NUMBER, "bare?": NUMBER, "samples?": int, "dropped?": int, "peak_share?": NUMBER, "busy?": NUMBER}
ENGINE = {
    "times": {"*": TIMES},
    "load?": NUMBER,
    "first?": NUMBER,
    "memory?": NUMBER,
    "plan_load?": NUMBER,
    "plan_first?": NUMBER,
    "unbound?": str,
    "why?": str,
}
COSTS = {"load_ratio?": NUMBER, "plan_ratio?": NUMBER, "first_ratio?": NUMBER, "memory_ratio?": NUMBER}
MODEL = COSTS | {
    "name": str,
    "kind": str,
    "must?": NUMBER,
    "cnn?": bool,
    "gflop?": NUMBER,
    "file_bytes?": int,
    "ratio?": NUMBER,
    "spread?": [NUMBER],
    "ratios": {"*": {"*": RATIO}},
    "engines?": {"*": ENGINE},
    "agree?": {"*": {"ok": bool, "with?": str, "difference?": NUMBER, "why?": str}},
    "scaling?": {"*": {"*": NUMBER}},
    "plan_first_ratio?": NUMBER,
    "line_ns?": {"*": [NUMBER]},
    "call_matters?": bool,
    "why?": {"*": str},
    "reason?": str,
}
COMPARISON = {"machine": MACHINE, "run?": RUN, "geomean": {"*": {"*": NUMBER}}, "costs?": COSTS, "models": [MODEL]}
TABLE = {"title?": str, "columns": [str], "rows": [list]}
TABLES = {"subject": str, "summary": str, "machine": MACHINE, "run?": RUN, "tables": [TABLE], "notes?": [str]}

KINDS = ("fp32", "tiny", "int8", "bf16", "shared", "none")
# The name of a processor holds one of these; a file is called after it.
BRANDS = ("epyc", "ryzen", "xeon", "core", "neoverse", "graviton", "apple")


def faults(value: object, form: object, at: str) -> list[str]:
    """Returns each part of a value that does not have the form, with its place."""
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{at}: a list is expected"]
        return [fault for i, each in enumerate(value) for fault in faults(each, form[0], f"{at}[{i}]")]
    if not isinstance(form, dict):
        wrong = not isinstance(value, form) or (isinstance(value, bool) and form is not bool)
        return [f"{at}: {value!r} has the wrong type"] if wrong else []
    if not isinstance(value, dict):
        return [f"{at}: an object is expected"]
    if "*" in form:
        # A ratio or a mean that no round gave is null.
        return [fault for key, each in value.items() if each is not None for fault in faults(each, form["*"], f"{at}.{key}")]
    found = [f"{at}.{key} is missing" for key in form if not key.endswith("?") and key not in value]
    for key, each in value.items():
        if key in form:
            found += faults(each, form[key], f"{at}.{key}")
        elif f"{key}?" not in form:
            found.append(f"{at}.{key} is unknown")
        elif each is not None:
            found += faults(each, form[f"{key}?"], f"{at}.{key}")
    return found


def check(document: dict, name: str) -> list[str]:
    """Returns all faults of a document that is to be stored under this name (without folder)."""
    is_tables = "subject" in document
    found = faults(document, TABLES if is_tables else COMPARISON, name)
    if not is_tables:
        found += [f"{name}.machine.{key} is missing" for key in ("commit", "cpu") if key not in document.get("machine", {})]
    if found:
        return found
    if name != file_name(document):
        found.append(f"{name}: is to be called {file_name(document)}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", document["machine"]["date"]):
        found.append(f"{name}: the date is to be written YYYY-MM-DD")
    for table in document.get("tables", []):
        for row in table["rows"]:
            if len(row) != len(table["columns"]):
                found.append(f"{name}: a row has {len(row)} cells and not {len(table['columns'])}: {row}")
            found += [f"{name}: {cell!r} is no cell" for cell in row if not isinstance(cell, (str, int, float, type(None)))]
    for model in document.get("models", []):
        if model["kind"] not in KINDS:
            found.append(f"{name}: {model['name']} has an unknown kind")
        for by_threads in model["ratios"].values():
            for ratio in filter(None, by_threads.values()):
                if not ratio.get("low", ratio["ratio"]) <= ratio["ratio"] <= ratio.get("high", ratio["ratio"]):
                    found.append(f"{name}: {model['name']}: a ratio lies outside of its spread")
    return found


def machine_name(machine: dict) -> str:
    """Returns the part of a file name: "amd-epyc-26-2" is an EPYC of AMD's, family 26, model 2."""
    words = re.findall(r"[a-z0-9]+", machine["cpu"].lower())
    brand = next((b for b in BRANDS if b in words), None)
    vendor = next((v for v in ("amd", "intel") if v in words or v in machine.get("vendor", "").lower()), None)
    parts = [vendor, brand] if vendor or brand else words[:2]
    return "-".join(str(p) for p in [*parts, machine.get("cpu_family"), machine.get("cpu_model")] if p)


def file_name(document: dict) -> str:
    return f"{document['machine']['date']}-{document.get('subject') or machine_name(document['machine'])}.json"


def text_of(document: dict) -> str:
    """Returns the text that is stored: one model or row a line, so that changes are easy to read."""
    lists = ("models", "tables")

    def line(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, default=float)

    def table(value: dict) -> str:
        head = [f"   {line(key)}: {line(each)}," for key, each in value.items() if key != "rows"]
        rows = ",\n".join("    " + line(row) for row in value["rows"])
        return "\n".join(["  {", *head, '   "rows": [', rows, "   ]", "  }"])

    parts = []
    for key, value in document.items():
        if key in lists:
            each = ",\n".join(table(v) if key == "tables" else "  " + line(v) for v in value)
            parts.append(f" {line(key)}: [\n{each}\n ]")
        else:
            parts.append(f" {line(key)}: {line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_all(folder: Path = RESULTS) -> dict[str, dict]:
    """Returns all documents by file name, the oldest first."""
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
