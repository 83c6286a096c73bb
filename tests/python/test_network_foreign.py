"""Networks that the parser fills from files of other people: all that works on one built by hand works on them."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest

import lathe
from support import ROOT, missing, model_folders

MOST_BYTES = 2_000_000
FOLDERS = [f for f in model_folders() if (f / "model.onnx").stat().st_size <= MOST_BYTES]


def test_there_are_many():
    assert len(FOLDERS) > 500


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda f: f.name)
def folder(request):
    return request.param


@pytest.fixture
def network(folder):
    return lathe.Parser().parse(folder / "model.onnx")


def recorded(folder):
    """Inputs of the first recorded case; nothing where some are no tensors."""
    inputs = json.loads((folder / "meta.json").read_text())["cases"][0]["inputs"]
    if all(f.endswith(".npy") for f in inputs.values()):
        return {name: np.load(folder / file, allow_pickle=True) for name, file in inputs.items()}


@pytest.fixture
def feeds(folder):
    inputs = recorded(folder)
    if inputs is None:
        pytest.skip("its inputs are no tensors")
    return inputs


def told(network):
    """All that it says of itself, with sizes that nobody knows numbered as they come: inference numbers them anew."""
    numbers = {}
    return re.sub(r"\?\d+", lambda m: numbers.setdefault(m.group(), f"?{len(numbers)}"), network.describe() + network.text())


def add_identities(network):
    """After every layer, but for what Identity does not take: maps and sequences of them."""
    for layer in network.layers:
        if "map(" not in layer.outputs[0].type:
            network.insert_after(layer.outputs[0], lambda n, t: n.add_identity(t))


def answers(network, feeds, listener=None):
    """Names and bytes of the outputs; a run says the same each time unless it draws numbers."""
    context = lathe.Builder().build_engine(network, lathe.BuilderConfig(threads=1)).create_context()
    if listener:
        context.on_tap(listener)
    return as_bytes(context.run(feeds))


def as_bytes(outputs):
    return {name: value.tobytes() if getattr(value, "dtype", object) != object else repr(value) for name, value in outputs.items()}


@pytest.fixture
def wanted(folder, feeds):
    engine = lathe.build(folder / "model.onnx", threads=1)
    first, second = (as_bytes(engine.create_context().run(feeds)) for _ in range(2))
    if first != second:
        pytest.skip("it draws numbers")
    return first


def test_built_it_is_the_model(network, feeds, wanted):
    assert answers(network, feeds) == wanted


def test_saved_and_read_again(network, feeds, wanted, tmp_path):
    network.save(tmp_path / "saved.onnx")
    again = lathe.Parser().parse(tmp_path / "saved.onnx")
    assert [layer.kind for layer in again.layers] == [layer.kind for layer in network.layers]
    assert answers(again, feeds) == wanted


def test_rolled_back_it_is_as_before(network):
    before = told(network)
    with pytest.raises(ZeroDivisionError), network.transaction():
        add_identities(network)
        network.add_input("one_more", "float32", (1,))
        1 / 0
    assert told(network) == before


def test_identities_change_nothing(network, feeds, wanted):
    layers = network.num_layers
    add_identities(network)
    assert network.num_layers > layers or all("map(" in layer.outputs[0].type for layer in network.layers)
    assert answers(network, feeds) == wanted


def test_watched_it_computes_the_same(network, feeds, wanted):
    marked = [t for layer in network.layers for t in layer.outputs if t.type.split("[")[0] in ("float", "int64", "bool")]
    for t in marked:
        network.mark_debug(t)
    seen = set()
    assert answers(network, feeds, lambda name, value: seen.add(name)) == wanted
    assert seen <= {t.name for t in marked}


def before_saturation(network, tensor):
    """Returns the input of a function that saturates: its result does not show how large the summed numbers were."""
    makers = {t.name: layer for layer in network.layers for t in layer.outputs}
    while (layer := makers.get(tensor.name)) and layer.operators in (["Erf"], ["Tanh"], ["Sigmoid"]) and layer.inputs[0].name in makers:
        tensor = layer.inputs[0]
    return tensor


def test_a_part_computes_what_the_whole_does_there(network, feeds, wanted):
    floats = [t for layer in network.layers for t in layer.outputs if t.type.startswith("float[")]
    if not floats:
        pytest.skip("it makes no floats")
    middle = before_saturation(network, floats[len(floats) // 2])
    name = middle.name
    part = network.extract([], [middle])
    inputs = {i.name for i in part.inputs}
    assert part.num_layers <= network.num_layers and inputs <= {i.name for i in network.inputs}
    seen = {}
    network.mark_debug(middle)
    assert answers(network, feeds, lambda name, value: seen.setdefault(name, value.copy())) == wanted
    got = lathe.Builder().build_engine(part, lathe.BuilderConfig(threads=1)).run({k: v for k, v in feeds.items() if k in inputs})
    (got,) = got.values()
    # A part may take another tactic: Winograd's sums differ by a share of the greatest numbers.
    finite = seen[name][np.isfinite(seen[name])]
    np.testing.assert_allclose(got, seen[name], rtol=1e-4, atol=1e-5 * max(1, np.abs(finite).max(initial=0)))


def test_refitted_it_is_the_model_of_the_other_weights(folder, network, feeds, wanted, tmp_path):
    """Weights of half the size and back: the bits of engines built with either."""
    config, builder = lathe.BuilderConfig(threads=1, refit=True), lathe.Builder()
    engine = builder.build_engine(network, config)
    if not engine.is_refittable:
        pytest.skip("it has no weights")
    refitter = lathe.Refitter(engine)
    model = onnx.load(folder / "model.onnx")
    ours = {}
    for weight in model.graph.initializer:
        value = onnx.numpy_helper.to_array(weight)
        if value.dtype == np.float32 and weight.name in refitter.all():
            ours[weight.name] = value
            weight.CopyFrom(onnx.numpy_helper.from_array(value / 2, weight.name))
    if not ours:
        pytest.skip("its weights are no floats of the main graph")
    onnx.save(model, tmp_path / "halves.onnx")
    before = as_bytes(engine.run(feeds))
    builder.refit_engine(engine, {name: value / 2 for name, value in ours.items()})
    other = builder.build_engine(lathe.Parser().parse(tmp_path / "halves.onnx"), config)
    assert as_bytes(engine.run(feeds)) == as_bytes(other.run(feeds))
    builder.refit_engine(engine, ours)
    assert as_bytes(engine.run(feeds)) == before


def test_their_printed_source_makes_them_again(tmp_path):
    """Every twelfth of the smallest, in one program that saves what its functions build."""
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler")
    chosen = [f for f in FOLDERS if (f / "model.onnx").stat().st_size < 4000][::12]
    assert len(chosen) > 20
    networks = [lathe.Parser().parse(f / "model.onnx") for f in chosen]
    functions = [n.cpp(function=f"network_{i}") for i, n in enumerate(networks)]
    calls = "".join(f'  network_{i}().save(std::filesystem::path(where[1]) / "{i}.onnx");\n' for i in range(len(networks)))
    main = "\nint main(int, char** where) {\n" + calls + "}\n"
    (tmp_path / "networks.cc").write_text("#include <filesystem>\n" + "\n".join(functions) + main)
    library = pathlib.Path(os.environ.get("LATHE_BUILD", ROOT / "build/release")) / "src/liblathe.a"
    if not library.exists():
        missing(f"{library} is not built")
    command = [compiler, "-std=c++20", "-O0", f"-I{ROOT / 'include'}", "networks.cc", library, "-ldl", "-pthread", "-o", "networks"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    subprocess.run([tmp_path / "networks", tmp_path], check=True)
    for i, network in enumerate(networks):
        again = lathe.Parser().parse(tmp_path / f"{i}.onnx")
        assert [(layer.name, layer.kind) for layer in again.layers] == [(layer.name, layer.kind) for layer in network.layers]
        inputs = recorded(chosen[i])
        if inputs is not None and "Random" not in network.text():
            assert answers(again, inputs) == answers(network, inputs), chosen[i].name
