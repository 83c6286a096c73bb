"""The tables of all passes in docs/reference/passes.md, made of what `lathe info --json` says:

    python tests/cli/pass_table.py build/release/cli/lathe
"""

import json
import pathlib
import re
import subprocess
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "passes.md"
GENERATED = re.compile(r"(?<=<!-- generated -->\n).*?(?=<!-- /generated -->)", re.S)


def tables(passes):
    """The passes as rows of two tables, in their order."""
    lines = ["| graph pass | level | what it does |", "|---|---|---|"]
    for p in passes:
        if p["phase"] == "graph":
            level = p["level"] if p["by_default"] else f"{p['level']}, where it is switched on"
            lines.append(f"| `{p['name']}` | {level} | {p['description']} |")
    lines += ["", "| lowering pass | target | needs | provides | can be left out | what it does |", "|---|---|---|---|---|---|"]
    for p in passes:
        if p["phase"] == "lowering":
            out = "no" if p["required"] else "yes"
            lines.append(f"| `{p['name']}` | {p['target'] or 'all'} | {p['needs']} | {p['provides']} | {out} | {p['description']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    info = json.loads(subprocess.run([sys.argv[1], "info", "--json"], check=True, capture_output=True).stdout)
    DOCUMENT.write_text(GENERATED.sub(lambda _: tables(info["passes"]), DOCUMENT.read_text()))
