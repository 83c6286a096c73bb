"""Every recorded checkpoint, exported and run in ONNX Runtime: the files compute what transformers computed, optimized or not."""

import json
import pathlib
import struct

import numpy as np
import onnxruntime
import pytest

from lathe import exporters

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "data/exporter"
TYPES = {"F32": np.float32, "I64": np.int64, "BOOL": np.bool_}
# The largest difference that sums in another order explain, in epsilons of the largest element.
EPSILONS = 128


def read_run(path):
    """Inputs and outputs, each by name."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    names = header.pop("__metadata__")
    data = memoryview(content)[8 + length :]

    def tensor(name):
        entry = header[name]
        start, end = entry["data_offsets"]
        return np.frombuffer(data[start:end], TYPES[entry["dtype"]]).reshape(entry["shape"])

    return tuple({name: tensor(name) for name in names[side].split(",")} for side in ("inputs", "outputs"))


def of_tokens_that_count(name, value, mask):
    """0 where the mask hides a token: keys and values have all positions on axis 2, others the last ones on axis 1."""
    axis = 2 if name.startswith("present.") else 1
    shape = [1] * value.ndim
    shape[0], shape[axis] = value.shape[0], value.shape[axis]
    return value * mask[:, mask.shape[1] - value.shape[axis] :].reshape(shape)


def of_tokens(name, value, inputs):
    """Returns whether the output has a row for every token."""
    return name.startswith("present.") or (value.ndim == 3 and value.shape[1] <= inputs["attention_mask"].shape[1])


@pytest.mark.parametrize("optimize", (None, "O1", "O2", "O3"))
@pytest.mark.parametrize("folder", sorted(FIXTURES.iterdir()), ids=lambda folder: folder.name)
def test_the_export_in_onnxruntime(folder, optimize, tmp_path):
    facts = json.loads((folder / "case.json").read_text())
    exporters.export(folder, tmp_path / "out", task=facts["task"], optimize=optimize, do_validation=False, threads=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    compared = 0
    for file in facts["files"]:
        session = onnxruntime.InferenceSession(tmp_path / "out" / f"{file}.onnx", options, providers=["CPUExecutionProvider"])
        taken = {i.name for i in session.get_inputs()}
        for path in sorted(folder.glob(f"{file}.io-*.safetensors")):
            inputs, wanted = read_run(path)
            got = session.run(list(wanted), {name: value for name, value in inputs.items() if name in taken})
            for (name, want), value in zip(wanted.items(), got):
                assert value.shape == want.shape, name
                # Attention of ONNX Runtime gives 0 for a token whose keys are all hidden; the standard's body, their mean.
                if not facts.get("padding_counts", True) or (optimize in ("O2", "O3") and "attention_mask" in inputs and of_tokens(name, value, inputs)):
                    value, want = (of_tokens_that_count(name, v, inputs["attention_mask"]) for v in (value, want))
                bound = EPSILONS * np.finfo(np.float32).eps * np.abs(want).max(initial=0)
                np.testing.assert_allclose(value, want, rtol=0, atol=bound, err_msg=f"{path.name}: {name}")
                compared += 1
    assert compared >= 3 * len(facts["files"])
