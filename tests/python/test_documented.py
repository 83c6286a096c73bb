"""Every public call is in an example of the documents, which tests compile and run; every family and module has cases."""

import re
import shutil

import numpy as np
import pytest
from gguf import GGUFWriter

import lathe
from documented import CPP_DOCUMENTS, PYTHON_DOCUMENTS, Called, Declarations, Interface, blocks, headers
from lathe import exporters, nn
from support import ROOT

# Calls for the library's own components, which need no examples.
INSIDE = {"Engine::impl"}


@pytest.fixture(scope="module")
def interface():
    return Interface(headers())


def test_the_reader_of_headers_reads_them():
    calls = Declarations(ROOT / "include/lathe/network.h").calls
    assert {"Network::add_convolution", "Layer::get_input", "Transaction::commit", "LoopBody::set_next"} <= set(calls)
    assert not any(hidden in call for call in calls for hidden in ("state_", "Nothing", "friend"))
    assert len(calls) > 100 and sum(len(Declarations(header).calls) for header in headers()) > 400


def test_calls_of_examples_are_told_apart_by_their_objects(interface):
    used = interface.used(
        """
auto engine = lathe::Builder().build_engine(n);  // engine.symbols()
auto context = engine.create_context();
context.trim();
std::string text = "engine.outputs()";
for (const lathe::Layer& l : n.layers()) l.name();
struct Own : lathe::Executor { int concurrency() const override { return 1; } };
somebody.inputs();
"""
    )
    assert used == {
        "Builder::build_engine", "Engine::create_context", "Context::trim", "Layer::name", "Executor::concurrency",
    }  # fmt: skip


def test_documents_with_examples_are_compiled():
    text = (ROOT / "tests/CMakeLists.txt").read_text()
    assert set(re.findall(r"^lathe_examples\((\S+) ", text, re.M)) == set(CPP_DOCUMENTS)
    documents = {str(path.relative_to(ROOT / "docs").with_suffix("")): path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    with_examples = {name for name, text in documents.items() if "\n```cpp\n" in text}
    parts_of_files = {f"internals/add-{what}" for what in ("an-operator", "a-pass", "an-architecture")}
    assert with_examples - set(CPP_DOCUMENTS) <= parts_of_files


@pytest.mark.parametrize("header", headers(), ids=lambda path: path.name)
def test_every_call_of_a_header_has_an_example(interface, header):
    used = set().union(*(interface.used(block) for document in CPP_DOCUMENTS for block in blocks(document, "cpp")))
    assert sorted(set(Declarations(header).calls) - used - INSIDE) == []


def package():
    """Yields what the package and its classes for networks, engines, modules, refits, exports, texts and generators offer."""
    for module in (nn, exporters):
        for name in module.__all__:
            yield name, getattr(module, name)
    for name in (
        "Builder BuilderConfig ChatTemplate Checkpoint Context Engine EngineInspector Generation GenerationConfig Generator LoopBody LoraDelta Layer Machine "
        "ModelForCausalLM Network OptimizationProfile Parser Profile Refitter Roofline RunControl Sampler State StopStrings TensorRef TimingCache TokenSequence "
        "Tokenizer build deserialize from_file load log_probability measure_roofline save_safetensors top_log_probabilities"
    ).split():
        yield name, getattr(lathe, name)


def write_vocabulary(path):
    """Writes a GGUF file that has words and no tensors."""
    file = GGUFWriter(path, "bert")
    file.add_tokenizer_model("bert")
    file.add_token_list(["[UNK]", "[CLS]", "[SEP]", "\u2581eat", "ing"])
    file.add_token_types([3, 3, 3, 1, 1])
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def test_examples_run_and_make_every_call_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "tests/data/exporter/bert", tmp_path / "checkpoint")
    shutil.copytree(ROOT / "tests/data/decoder", tmp_path / "decoder")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "tokenizer").symlink_to(ROOT / "tests/data/tokenizer")
    write_vocabulary(tmp_path / "words.gguf")
    text = ""
    with Called() as called:
        for document in PYTHON_DOCUMENTS:
            examples = blocks(document, "python")
            assert examples, document
            for i, example in enumerate(examples, 1):
                exec(compile(example, f"docs/{document}.md, example {i}", "exec"), {"lathe": lathe, "np": np, "nn": nn})
                text += example
    missing = sorted({call for name, what in package() for call in called.missing(name, what, text)})
    assert missing == [], "\n".join(missing)


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
    missing = [m for m in sorted(modules - {"Conv", "Recurrent"}) if not re.search(rf"\bnn::{m}\b", cases)]
    assert len(modules) > 20 and missing == []
