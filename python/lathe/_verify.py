"""`verify` compares every optimization level with the reference."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Optional, Union

from lathe import _lathe
from lathe._engine import Source, build_options, load_options
from lathe._errors import Error
from lathe._values import to_value


def verify(
    source: Source,
    *,
    inputs: Optional[Mapping[str, Any]] = None,
    levels: Iterable[str] = (),
    sizes: Optional[Mapping[str, int]] = None,
    seed: int = 0,
    seconds: float = 60,
    output: Union[str, "os.PathLike[str]", None] = None,
    untrusted: bool = False,
    link_roots: Iterable[Any] = (),
    **options: Any,
) -> dict[str, Any]:
    """Compares all optimization levels (or `levels`) with the reference backend and finds what is wrong.
    It runs recorded `inputs`, if given, and synthetic ones of several shapes and kinds: docs/internals/verify.md says what they
    are and how results are compared. `sizes` are sizes of symbols; the free ones are tried at 1, 2, 3 and 17. No
    comparison begins after `seconds`. `output` is a directory that gets the reproduction with its inputs and expected
    outputs. Further options are those of `lathe.build`. Thread-safe.

    Returns "trials" (level, shapes, values, difference, amplified), "untried" (with the reasons), and "fault": None
    where all levels agree, otherwise the culprit: kind, nodes, pass, reason, kernel, "error" (a `lathe.Error` that was
    not raised) and "model", a small one that shows the fault. Raises ValueError for an unknown level, and `lathe.Error`
    for what building raises and where nothing could be compared.
    """
    levels, known = list(levels), list(_lathe.OptimizationLevel.__members__)
    if not set(levels) <= set(known):
        raise ValueError(f"levels are of {', '.join(known)}, not {levels!r}")
    model = _lathe.load_model(source, load_options(untrusted, link_roots))
    recorded = [{name: to_value(value, "") for name, value in inputs.items()}] if inputs is not None else []
    report = _lathe.verify(
        model, build_options(**options), levels, dict(sizes or {}), recorded, seed, seconds, os.fspath(output or "")
    )
    if report["fault"] is not None:
        report["fault"]["error"] = Error(report["fault"]["error"])
    return report
