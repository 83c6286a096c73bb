"""The documents keep to their limits, their links lead somewhere, and their examples are whole. Needs no `lathe`."""

import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/lint"), str(ROOT / "tests/documents")]
import docs  # noqa: E402
from document_examples import examples, with_added  # noqa: E402


def test_documents_keep_to_their_limits_and_links_lead_somewhere():
    assert docs.check(ROOT) == []


def test_the_check_finds_what_it_is_for(tmp_path):
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "docs/guide/quickstart.md").write_text("line\n" * 61)
    (tmp_path / "README.md").write_text(
        "# A title, with `code`\n" + "x" * 141 + "\n| " + "x" * 200 + " |\n```\n" + "x" * 200 + "\n[no link](nowhere.md)\n```\n"
        "[here](#a-title-with-code) [gone](#gone) [away](away.md) [page](docs/guide/quickstart.md) [web](https://example.com)\n"
        "```cpp\nrequire(true);\n```\n<!-- " + "x" * 200 + " -->\n"
    )
    assert docs.check(tmp_path) == [
        "README.md:2: 141 columns, 140 at most",
        "docs/guide/quickstart.md: 61 lines, 60 at most",
        "README.md:8: no heading #gone",
        "README.md:8: no file away.md",
        "README.md: require(true);",
    ]


def test_words_are_those_that_readers_see_and_somebody_wrote():
    text = "one | two\n<!-- generated -->\nthree\n<!-- /generated -->\nfour <!-- five\nsix --> seven\n"
    assert docs.words({"README.md": text, "docs/reference/operators.md": "eight"}) == {"README.md": 4}
    many = {"README.md": "word " * 45_001}
    assert sum(docs.words(many).values()) > docs.MOST_WORDS


def test_hidden_lines_are_put_into_their_places():
    text = "```cpp\na();\nif (b)\n  c();\n```\n\n<!-- test\n+ begin();\n  a();\n+ after_a();\n  c();\n+   after_c();\n-->\n\n```python\nd\n```\n"
    assert examples(text, "cpp") == ["begin();\na();\nafter_a();\nif (b)\n  c();\n  after_c();\n"]
    assert examples(text, "python") == ["d\n"]
    with pytest.raises(ValueError, match="no such line"):
        with_added("a();\n", "  b();\n+ c();\n")


def test_limits_name_options_that_there_are():
    headers = "".join(p.read_text() for p in (ROOT / "include/lathe").glob("*.h"))
    named = re.findall(r"`(\w+)::(\w+)`", (ROOT / "SECURITY.md").read_text())
    assert named
    for struct, member in named:
        assert re.search(rf"\bstruct {struct}\b", headers) and re.search(rf"\b{member} *=|\b{member};", headers), f"{struct}::{member}"
