#!/usr/bin/env python3
"""Reads the #includes under src/ and fails on an arrow that runs backwards (docs/internals/architecture.md, "Components and their dependencies").

The table says which rooms a room may include besides itself and the public headers."""
import pathlib
import re
import sys

MEANING = {"base", "tensor", "graph", "schema", "ops.meaning"}
EXECUTION = {"base", "tensor", "kernel", "cpu", "ops.kernels"}
ALLOWED = {
    "base": {"components"},
    "components": set(),  # each side of the line includes these headers, and nothing of the other's
    "tensor": {"base"},
    "graph": {"base", "tensor"},
    "schema": {"base", "tensor", "graph"},
    "ops.header": {"base", "components", "tensor", "ops.header"},
    "ops.meaning": {"base", "components", "tensor", "graph", "schema", "ops.header"},
    "gradient": MEANING,
    "onnx": MEANING | {"ops.header", "io", "gradient", "eval"},
    "io": {"base", "tensor"},
    "text": {"base", "tensor", "io"},
    "network": {"base", "tensor", "graph", "schema", "onnx", "io"},
    "nn": {"base", "tensor", "graph", "io", "network"},
    "kernel": {"base", "tensor"},
    "cpu": {"base", "tensor", "kernel"},
    "ops.kernels": {"base", "components", "tensor", "kernel", "cpu", "ops.header"},
    "ops.cases": {"base", "tensor", "ops.header"},
    "plan": {"base", "tensor", "kernel"},
    "runtime": EXECUTION | {"plan"},
    "eval": MEANING | EXECUTION,
    "passes": MEANING | EXECUTION | {"eval", "ops.header"},
    "tune": EXECUTION | {"io", "plan", "runtime"},
    "build": MEANING | EXECUTION | {"eval", "passes", "plan", "runtime", "tune"},
    "verify": MEANING | EXECUTION | {"onnx", "eval", "passes", "build", "plan", "runtime"},
    "exporters": MEANING | EXECUTION | {"onnx", "io", "eval", "network", "nn"},
    "api": MEANING | EXECUTION | {"onnx", "io", "eval", "passes", "build", "plan", "runtime", "tune", "verify", "network", "gradient", "ops.header"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def side_of(header: pathlib.Path, source: pathlib.Path) -> str:
    """Most headers of operators are seen by both sides. One that includes a vocabulary belongs to that side, and so do those
    that include it."""
    reached = {room_of(i, source) for i in INCLUDE.findall(header.read_text()) if (source / i).exists()}
    if reached & {"kernel", "cpu", "ops.kernels"}:
        return "ops.kernels"
    return "ops.meaning" if reached & {"schema", "graph", "ops.meaning"} else "ops.header"


def room_of(path: str, source: pathlib.Path) -> str:
    first = path.split("/")[0]
    if first != "ops":
        return first
    if path.endswith(".isa.h"):
        return "ops.kernels"
    if path.endswith(".h"):
        return side_of(source / path, source)
    if path.endswith(".cases.cc"):
        return "ops.cases"
    return "ops.kernels" if re.search(r"\.(ref|cpu)\.cc$", path) else "ops.meaning"


def main(root: pathlib.Path) -> int:
    source, faults, seen = root / "src", [], 0
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        path = file.relative_to(source).as_posix()
        room = room_of(path, source)
        for include in INCLUDE.findall(file.read_text()):
            if include.startswith("lathe/") or not (source / include).exists():
                continue  # public headers are everybody's; generated and third-party ones have no room
            seen += 1
            other = room_of(include, source)
            if other != room and other not in ALLOWED.get(room, set()):
                faults.append(f"{path} ({room}) includes {include} ({other})")
    for third_party in ("protozero", "flatbuffers", "nlohmann", "fmt/", "CLI/", "jpeglib", "png.h", "webp/", "tiffio", "openjpeg", "re2/"):
        for header in sorted((root / "include").rglob("*.h")):
            if third_party in header.read_text():
                faults.append(f"public header {header.name} shows {third_party}")
    print("\n".join(faults) or f"{seen} includes follow the arrows")
    return 1 if faults or seen < 50 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
