"""The documents beside the README: their links lead somewhere, and their lines are short enough to read."""

import re

import pytest

from support import ROOT

DOCUMENTS = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/results/README.md", "bench/kernel_reasons.md", "docs/performance.md"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_line_of_prose_is_long(name):
    lines = (ROOT / name).read_text().splitlines()
    assert [line for line in lines if len(line) > 140 and not line.startswith("|")] == []


def test_limits_name_options_that_there_are():
    headers = "".join(p.read_text() for p in (ROOT / "include" / "lathe").glob("*.h"))
    named = re.findall(r"`(\w+)::(\w+)`", (ROOT / "SECURITY.md").read_text())
    assert named
    for struct, member in named:
        assert re.search(rf"\bstruct {struct}\b", headers) and re.search(rf"\b{member} *=|\b{member};", headers), f"{struct}::{member}"
