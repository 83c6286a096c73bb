#!/usr/bin/env python3
"""Reads the #includes under src/ and fails on a dependency that src/CMakeLists.txt does not allow.

USES of lathe_subsystem() there names the subsystems that one may include besides itself and the public headers."""
import pathlib
import re
import sys

# What is no subsystem of its own: headers that optional components share, and the sides of an operator's folder.
ALLOWED = {
    "components": set(),  # each side of the line includes these headers, and nothing of the other's
    "ops_header": {"base", "components", "tensor", "ops_header"},
    "ops_cases": {"base", "tensor", "ops_header"},
    "ops_gradient": {"base", "tensor", "graph", "gradient"},  # a rule is written in operators, whatever computes them
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def allowed(cmake: str) -> dict[str, set[str]]:
    """Returns what each subsystem may include, from the calls of lathe_subsystem() in src/CMakeLists.txt."""
    groups = {name: values.split() for name, values in re.findall(r"^set\((meaning|execution) ([^)]*)\)", cmake, re.M)}
    table = dict(ALLOWED)
    for call in re.findall(r"^lathe_subsystem\(([^)]*)\)", cmake, re.M):
        name, *rest = call.split()
        uses = re.search(r"\bUSES ((?:[a-z_]+|\$\{\w+\})(?:\s+(?:[a-z_]+|\$\{\w+\}))*)", " ".join(rest))
        words = uses[1].split() if uses else []
        table[name] = {n for w in words for n in (groups[w[2:-1]] if w.startswith("$") else [w])}
    return table


def side_of(header: pathlib.Path, source: pathlib.Path) -> str:
    """Most headers of operators are seen by both sides. One that includes a vocabulary belongs to that side, and so do those
    that include it."""
    reached = {subsystem_of(i, source) for i in INCLUDE.findall(header.read_text()) if (source / i).exists()}
    if reached & {"kernel", "cpu", "ops_kernels"}:
        return "ops_kernels"
    if reached & {"gradient", "ops_gradient"}:
        return "ops_gradient"
    return "ops_meaning" if reached & {"schema", "graph", "ops_meaning"} else "ops_header"


def subsystem_of(path: str, source: pathlib.Path) -> str:
    first = path.split("/")[0]
    if first != "ops":
        return first
    if path.endswith(".isa.h"):
        return "ops_kernels"
    if path.endswith(".h"):
        return side_of(source / path, source)
    if path.endswith(".cases.cc"):
        return "ops_cases"
    if path.endswith(".gradient.cc"):
        return "ops_gradient"
    return "ops_kernels" if re.search(r"\.(ref|cpu)\.cc$", path) else "ops_meaning"


def main(root: pathlib.Path) -> int:
    source, faults, seen = root / "src", [], 0
    table = allowed((source / "CMakeLists.txt").read_text())
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        path = file.relative_to(source).as_posix()
        if "#include <nlohmann/" in file.read_text() and path != "base/json.cc":
            faults.append(f"{path} includes nlohmann/json, which takes seconds to compile: base/json.h has what it needs")
        subsystem = subsystem_of(path, source)
        for include in INCLUDE.findall(file.read_text()):
            if include.startswith("lathe/") or not (source / include).exists():
                continue  # public headers are everybody's; generated and third-party ones belong to none
            seen += 1
            # What a folder of src/cpu shows to others is in the header named after it; the types of one instruction set in
            # simd/ are chosen one by one.
            inside = re.fullmatch(r"(cpu/(?!simd/)\w+)/.*", include)
            if inside and not path.startswith((inside[1] + "/", inside[1] + ".h")):
                faults.append(f"{path} includes {include}, not {inside[1]}.h")
            other = subsystem_of(include, source)
            if other != subsystem and other not in table.get(subsystem, set()):
                faults.append(f"{path} ({subsystem}) includes {include} ({other})")
    for third_party in ("protozero", "flatbuffers", "nlohmann", "fmt/", "CLI/", "jpeglib", "png.h", "webp/", "tiffio", "openjpeg", "re2/"):
        for header in sorted((root / "include").rglob("*.h")):
            if third_party in header.read_text():
                faults.append(f"public header {header.name} shows {third_party}")
    print("\n".join(faults) or f"{seen} includes follow the layers")
    return 1 if faults or seen < 50 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
