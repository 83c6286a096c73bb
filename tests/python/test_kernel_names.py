"""Kernels that comments and documents name are there: "conv.avx2" is one that some file of src registers."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A kernel's name ends with the instruction set that it needs; tunables may follow in brackets.
QUOTED = re.compile(r"[\"`]([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)\.(generic|avx2|avx512)(?:\"|`| \[[0-9, ]+\]|:)")
LITERAL = re.compile(r'"([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)"')
SUFFIX = re.compile(r'\+\s*"([_.][a-z0-9_.]+)"')


def code_of(text):
    return re.sub(r"//[^\n]*", "", text)


def registered(texts):
    """Whether a name without its instruction set can be one that the files register."""
    names, suffixes = set(), {""}
    for text in map(code_of, texts):
        if "kernel_name(" in text or "KernelCatalog" in text:
            names.update(LITERAL.findall(text))
            suffixes.update(SUFFIX.findall(text))
    return lambda name: any(name.endswith(s) and name[: len(name) - len(s)] in names for s in suffixes)


def quoted(text):
    return [(m.group(1), m.group(2)) for m in QUOTED.finditer(text)]


@pytest.fixture(scope="module")
def known():
    return registered(p.read_text(encoding="utf-8") for p in sorted((ROOT / "src").rglob("*.cc")))


def test_kernels_of_the_library_are_found(known):
    for name in ("conv", "softmax", "matmul", "unblock", "blocked_conv.winograd4"):
        assert known(name), name
    assert not known("winograd") and not known("conv.nothing")


def test_quotes_are_found():
    text = 'a "conv.avx2", `blocked_conv.winograd4.avx512 [65536]`, "softmax.avx512: only float32", cpu.avx2'
    assert quoted(text) == [("conv", "avx2"), ("blocked_conv.winograd4", "avx512"), ("softmax", "avx512")]


def test_names_that_are_put_together():
    known = registered(['k.add({.name = cpu::kernel_name(name + "_apart", isa)});  // "lost"\nadd("relu");'])
    assert known("relu") and known("relu_apart") and not known("lost") and not known("_apart")


def files():
    for folder, pattern in (("include", "*.h"), ("src", "*.h"), ("src", "*.cc"), ("docs", "*.md"), ("cli", "*.cc"),
                            ("python", "*.py"), ("python", "*.cc")):
        yield from sorted((ROOT / folder).rglob(pattern))
    yield ROOT / "README.md"


def test_kernels_that_are_named_exist(known):
    named, missing = 0, []
    for path in files():
        for name, isa in quoted(path.read_text(encoding="utf-8")):
            named += 1
            if not known(name):
                missing.append(f"{path.relative_to(ROOT)}: {name}.{isa}")
    assert missing == []
    assert named > 10
