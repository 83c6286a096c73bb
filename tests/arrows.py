#!/usr/bin/env python3
"""Reads the #includes under src/ and fails on an arrow that runs backwards (docs/architecture.md, "Rooms").

The table says which rooms a room may include besides itself and the public headers."""
import pathlib
import re
import sys

MEANING = {"base", "tensor", "graph", "schema", "ops.meaning"}
EXECUTION = {"base", "tensor", "kernel", "cpu", "ops.kernels"}
ALLOWED = {
    "base": set(),
    "tensor": {"base"},
    "graph": {"base", "tensor"},
    "schema": {"base", "tensor", "graph"},
    "ops.header": {"base", "tensor", "ops.header"},
    "ops.meaning": {"base", "tensor", "graph", "schema", "ops.header"},
    "onnx": MEANING | {"ops.header", "io"},
    "io": {"base", "tensor"},
    "kernel": {"base", "tensor"},
    "cpu": {"base", "tensor", "kernel"},
    "ops.kernels": {"base", "tensor", "kernel", "cpu", "ops.header"},
    "ops.cases": {"base", "tensor", "ops.header"},
    "plan": {"base", "tensor", "kernel"},
    "runtime": EXECUTION | {"plan"},
    "eval": MEANING | EXECUTION,
    "passes": MEANING | EXECUTION | {"eval"},
    "build": MEANING | EXECUTION | {"eval", "passes", "plan", "runtime"},
    "api": MEANING | EXECUTION | {"onnx", "io", "eval", "passes", "build", "plan", "runtime", "ops.header"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room_of(path: str) -> str:
    first = path.split("/")[0]
    if first != "ops":
        return first
    if path.endswith(".h"):
        return "ops.header"
    if path.endswith(".cases.cc"):
        return "ops.cases"
    return "ops.kernels" if re.search(r"\.(ref|cpu)\.cc$|\.isa\.h$", path) else "ops.meaning"


def main(root: pathlib.Path) -> int:
    source, faults, seen = root / "src", [], 0
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        path = file.relative_to(source).as_posix()
        room = room_of(path) if not path.endswith(".isa.h") else "ops.kernels"
        for include in INCLUDE.findall(file.read_text()):
            if include.startswith("lathe/") or not (source / include).exists():
                continue  # public headers are everybody's; generated and third-party ones have no room
            seen += 1
            other = room_of(include) if not include.endswith(".isa.h") else "ops.kernels"
            if other != room and other not in ALLOWED.get(room, set()):
                faults.append(f"{path} ({room}) includes {include} ({other})")
    for third_party in ("protozero", "flatbuffers", "nlohmann", "fmt/", "CLI/"):
        for header in sorted((root / "include").rglob("*.h")):
            if third_party in header.read_text():
                faults.append(f"public header {header.name} shows {third_party}")
    print("\n".join(faults) or f"{seen} includes follow the arrows")
    return 1 if faults or seen < 50 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
