#!/usr/bin/env python3
"""Lathe and ONNX Runtime side by side, on one thread unless told otherwise.

    bench/peers.py                                  every model under ../shared/models
    bench/peers.py --models yolox mnist path.onnx   those whose names contain a word, and files
    bench/peers.py --rounds 5 --json peers.json --profile

Both get the same inputs: those recorded beside a model, else random ones with unknown sizes taken as 1. The two alternate;
of each the median over the rounds of the median latency counts, so that a busy machine harms both alike. A model that one
of them cannot run is listed with the reason.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

SHORTEST = 1e-4  # seconds
HERE = Path(__file__).resolve().parent
NUMPY_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


def machine():
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "cpu": cpu,
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "onnxruntime": ort.__version__,
        "lathe": commit.stdout.strip() or "unknown",
        "date": time.strftime("%Y-%m-%d"),
    }


def find_models(words, root):
    files = [Path(w) for w in words if Path(w).is_file()]
    names = [w for w in words if not Path(w).is_file()]
    if names or not words:
        for meta in sorted(root.glob("*/meta.json")):
            if not names or any(n in meta.parent.name for n in names):
                files.append(meta.parent / "model.onnx")
    return files


def recorded_inputs(model):
    """The first data set of a model of the collection: by name, as in its meta.json."""
    meta = model.parent / "meta.json"
    if not meta.exists():
        return None
    case = json.loads(meta.read_text())["cases"][0]
    if any(not f.endswith(".npy") for f in case["inputs"].values()):
        raise ValueError("inputs that are not tensors")
    return {name: np.load(model.parent / f) for name, f in case["inputs"].items()}


def random_inputs(session):
    rng = np.random.default_rng(0)
    values = {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        dtype = NUMPY_TYPES[i.type]
        values[i.name] = (rng.standard_normal(shape) if np.issubdtype(dtype, np.floating) else rng.integers(0, 2, shape)).astype(dtype)
    return values


class Ort:
    def __init__(self, model, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def call(self, inputs):
        """Bound memory costs least; models whose declared output shapes are wrong run only without."""
        binding = self.session.io_binding()
        for name, value in inputs.items():
            binding.bind_cpu_input(name, value)
        for output in self.session.get_outputs():
            binding.bind_output(output.name)
        try:
            for _ in range(2):
                self.session.run_with_iobinding(binding)
            return lambda: self.session.run_with_iobinding(binding)
        except Exception:
            return lambda: self.session.run(None, inputs)

    def median(self, inputs, seconds):
        call = self.call(inputs)
        call()
        times = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times)


class Lathe:
    def __init__(self, executable, model, threads, directory):
        self.command = [executable, "bench", model, "--threads", str(threads), "--json"]
        self.directory = directory

    def measure(self, inputs, seconds, *more):
        command = [*self.command, "--seconds", str(seconds), *more]
        for i, (name, value) in enumerate(inputs.items()):
            np.save(self.directory / f"{i}.npy", value)
            command += ["--input", f"{name}={self.directory / f'{i}.npy'}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ValueError((done.stderr or done.stdout).strip().splitlines()[0])
        return json.loads(done.stdout)

    def median(self, inputs, seconds):
        return self.measure(inputs, seconds)["latency_seconds"]["p50"]


def compare(model, arguments, directory):
    peer = Ort(str(model), arguments.threads)
    ours = Lathe(arguments.lathe, str(model), arguments.threads, directory)
    inputs = recorded_inputs(model)
    if inputs is None:
        inputs = random_inputs(peer.session)
    samples = {"lathe": [], "onnxruntime": []}
    for _ in range(arguments.rounds):
        samples["lathe"].append(ours.median(inputs, arguments.seconds))
        samples["onnxruntime"].append(peer.median(inputs, arguments.seconds))
    row = {name: statistics.median(times) for name, times in samples.items()}
    row["ratio"] = row["lathe"] / row["onnxruntime"]
    if arguments.profile:
        row["kernels"] = ours.measure(inputs, arguments.seconds, "--profile")["kernels"]
    return row


def name_of(model):
    return model.parent.name if model.name == "model.onnx" else model.stem


def show(row):
    if "why" in row:
        print(f"{row['model']:40} {row['why']}")
        return
    print(f"{row['model']:40} {row['lathe'] * 1e3:10.3f} {row['onnxruntime'] * 1e3:10.3f} {row['ratio']:8.2f}", flush=True)
    for k in row.get("kernels", [])[:6]:
        print(f"    {k['seconds'] * 1e3:10.3f} ms  {k['steps']:6.0f} steps  {k['kernel']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=[], metavar="WORD|FILE")
    parser.add_argument("--root", type=Path, default=Path(os.environ.get("LATHE_SHARED", HERE / "../../shared")) / "models")
    parser.add_argument("--lathe", default=str(HERE / "../build/release/cli/lathe"), help="the command to measure")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each, a round")
    parser.add_argument("--profile", action="store_true", help="also the kernels that take longest")
    parser.add_argument("--json", type=Path, help="write everything there")
    arguments = parser.parse_args()
    models = find_models(arguments.models, arguments.root)
    if not models:
        parser.error(f"no models in {arguments.root}")

    facts = machine()
    print(", ".join(f"{k}: {v}" for k, v in facts.items()))
    print(f"{'model':40} {'lathe ms':>10} {'ORT ms':>10} {'ratio':>8}   (below 1: Lathe is faster)")
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for model in models:
            row = {"model": name_of(model)}
            try:
                row.update(compare(model, arguments, Path(directory)))
            except Exception as e:  # whatever either of them says of a model
                row["why"] = str(e).splitlines()[0][:120]
            rows.append(row)
            show(row)
    # ONNX Runtime is called through Python, which costs some microseconds: shorter runs compare that.
    ratios = [r["ratio"] for r in rows if r.get("onnxruntime", 0) >= SHORTEST]
    if ratios:
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        print(f"{len(ratios)} models of {SHORTEST * 1e3:.1f} ms or more, geometric mean of the ratios {mean:.2f}, {sum(r > 2 for r in ratios)} above 2")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "threads": arguments.threads, "models": rows}, indent=1))
    return 0 if ratios else 1


if __name__ == "__main__":
    sys.exit(main())
