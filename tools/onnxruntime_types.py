"""Writes src/passes/onnxruntime_types.inc: the element types that the installed ONNX Runtime's CPU kernels lack, by operator and opset.

  python tools/onnxruntime_types.py        (needs onnx and onnxruntime)

A line is an operator, the opset from which it holds, a type variable of the standard's signature, and the types that a kernel takes for it.
Variables of which all types are taken have no line. Operators that ONNX Runtime only knows by their function body take float.
"""

import collections
import pathlib

import onnx.defs
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as state

FIRST = 7  # nothing is written at an older opset
TARGET = pathlib.Path(__file__).parents[1] / "src/passes/onnxruntime_types.inc"


def short(types):
    return {t.removeprefix("tensor(").removesuffix(")") if t.startswith("tensor") else t for t in types}


def kernels():
    found = collections.defaultdict(list)
    for k in state.get_all_opkernel_def():
        if k.provider == "CPUExecutionProvider" and k.domain in ("", "ai.onnx"):
            found[k.op_name].append((k.version_range, {v: short(t) for v, t in k.type_constraints.items()}))
    return found


def schemas():
    found = collections.defaultdict(list)
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "" and not s.deprecated:
            found[s.name].append(s)
    return {op: sorted(versions, key=lambda s: s.since_version) for op, versions in sorted(found.items())}


def taken(schema, rows):
    """By type variable, where it is not all."""
    found = {}
    for constraint in schema.type_constraints:
        allowed = short(constraint.allowed_type_strs)
        if not any(t.startswith(("seq", "optional", "map")) for t in allowed):
            have = set().union(*(r.get(constraint.type_param_str, allowed) for r in rows)) & allowed if rows else {"float"} & allowed
            if have != allowed and (rows or "float" in allowed):
                found[constraint.type_param_str] = have
    return found


def lines():
    rows_of = kernels()
    for op, versions in schemas().items():
        rows = rows_of.get(op, [])
        ends = {last + 1 for (_, last), _ in rows if last < 1000}
        opsets = {FIRST} | {s.since_version for s in versions} | {first for (first, _), _ in rows} | ends
        before = {}
        for opset in sorted(o for o in opsets if o >= FIRST):
            current = [s for s in versions if s.since_version <= opset]
            live = [types for (first, last), types in rows if first <= opset <= last]
            if not current or (rows and not live) or not (live or current[-1].has_function or current[-1].has_context_dependent_function):
                continue
            now = taken(current[-1], live)
            if now != before:
                yield from (f"{op} {opset} {variable} {' '.join(sorted(types))}" for variable, types in sorted(now.items()))
                if not now:
                    yield f"{op} {opset}"
            before = now


if __name__ == "__main__":
    head = f"// Made by tools/onnxruntime_types.py from onnxruntime {onnxruntime.__version__}."
    TARGET.write_text(head + '\nR"(\n' + "".join(line + "\n" for line in lines()) + ')"\n')
