"""Every public call is in an example of the documents, which tests compile and run; every family and module has cases."""

import inspect
import re

import pytest

import lathe
from documented import CPP_DOCUMENTS, PYTHON_DOCUMENTS, examples, headers, public_calls
from lathe import exporters, nn
from support import ROOT


def used(name, text):
    return re.search(rf"\b{name}\b", text) is not None


def test_the_reader_of_headers_reads_them():
    calls = public_calls(ROOT / "include/lathe/network.h")
    assert {"Network::add_convolution", "Layer::get_input", "Transaction::commit", "LoopBody::set_next"} <= calls
    assert not any(hidden in call for call in calls for hidden in ("state_", "Nothing", "friend"))
    assert len(calls) > 100 and sum(len(public_calls(header)) for header in headers()) > 400


def test_documents_with_examples_are_compiled():
    text = (ROOT / "tests/CMakeLists.txt").read_text()
    assert set(re.findall(r"^lathe_examples\((\w+) ", text, re.M)) == set(CPP_DOCUMENTS)


@pytest.mark.parametrize("header", headers(), ids=lambda path: path.name)
def test_every_call_of_a_header_has_an_example(header):
    text = examples(CPP_DOCUMENTS, "cpp")
    missing = sorted(call for call in public_calls(header) if not used(call.rpartition("::")[2], text))
    assert missing == []


def python_calls():
    """What the package and its classes for networks, modules, refits and exports offer."""
    for module in (nn, exporters):
        for name in module.__all__:
            yield name, getattr(module, name)
    for name in (
        "Builder BuilderConfig OptimizationProfile Parser Network Layer TensorRef LoopBody Refitter TimingCache LoraDelta "
        "Checkpoint EngineInspector save_safetensors from_file"
    ).split():
        yield name, getattr(lathe, name)


@pytest.mark.parametrize("name,what", list(python_calls()), ids=[name for name, _ in python_calls()])
def test_every_call_of_the_package_has_an_example(name, what):
    text = examples(PYTHON_DOCUMENTS, "python")
    if name not in ("Layer", "TensorRef", "LoopBody", "EngineInspector"):  # which calls return
        assert used(name, text), f"no example of {name}"
    if inspect.isclass(what):
        missing = [
            member
            for member, value in vars(what).items()
            if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
            if not used(member, text)
        ]
        inherited = [m for base in what.__mro__[1:-1] for m in vars(base) if m.startswith("add_") and not used(m, text)]
        assert missing + inherited == [], name


def test_every_family_and_module_has_cases():
    header = (ROOT / "include/lathe/network.h").read_text()
    cases = "\n".join(path.read_text() for path in (ROOT / "tests/network").glob("*_cases.cc"))
    families = set(re.findall(r"Layer (add_\w+)\(", header)) - {"add_moe", "add_dist_collective", "add_plugin"}
    assert len(families) > 50 and [f for f in sorted(families) if f".{f}(" not in cases] == []
    modules = set()
    for name in ("layers", "attention"):
        text = (ROOT / f"include/lathe/nn/{name}.h").read_text()
        modules |= set(re.findall(r"class LATHE_API (\w+) : public (?:Module|Recurrent)", text))
        modules |= set(re.findall(r"using (\w+) = Conv<", text))
    missing = [m for m in sorted(modules - {"Conv", "Recurrent"}) if not used(f"nn::{m}", cases)]
    assert len(modules) > 20 and missing == []
