"""Lathe has every operator, version and type of the standard, and docs/reference/operators.md lists what it has."""

import pytest

import lathe
import support_table


def test_what_is_missing_is_what_the_document_says():
    text = support_table.DOCUMENT.read_text()
    said = {line[2:] for line in text.splitlines() if line.startswith("- ")}
    assert set(support_table.missing()) == said


def test_document_is_what_the_library_says():
    text, now = support_table.DOCUMENT.read_text().splitlines(), support_table.page().splitlines()
    assert text == now, "run `python tests/python/support_table.py`"


def test_schemas_are_those_of_all_four_domains():
    assert {domain for domain, _ in support_table.schemas()} == set(support_table.DOMAINS)
    assert len(support_table.schemas()) > 220


@pytest.mark.parametrize("name, kind, fast", [("Conv", "float", True), ("Add", "float", True), ("Det", "double", False), ("Add", "uint16", True)])
def test_fast_types(name, kind, fast):
    (op,) = (op for op in lathe.operators(name) if op["domain"] == "")
    assert (kind in op["fast"]) == fast
