"""Decoding with states in place against handing keys and values on, and against ONNX Runtime with IOBinding.

    python bench/states.py MODEL.onnx OLD NEW [ROUNDS]

MODEL is a decoder of one file with past keys and values (`lathe export --task text-generation-with-past`), OLD and NEW are
`lathe` programs: OLD runs the model as it is, NEW with `--states auto`. Each round takes both in turn at every length of the
past, on one thread; the least times of all rounds are printed as JSON, with the memory bandwidth that NEW measures in the same
run, and the limit: the time at the shortest past, and the bytes of keys and values over that bandwidth. ONNX Runtime is measured
where it is installed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time

PASTS = (1, 256, 1000, 4000)
PROMPT = 512


def lathe_json(program: str, command: str, model: str, *options: str) -> dict:
    done = subprocess.run([program, command, model, "--json", *options], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def sizes(past: int, new: int) -> list[str]:
    return ["--shape", "batch_size=1", "--shape", f"past_sequence_length={past}", "--shape", f"sequence_length={new}"]


def bytes_of_a_token(program: str, model: str) -> int:
    """Bytes of keys and values that a token adds, of float32."""
    inputs = lathe_json(program, "inspect", model)["inputs"]
    pasts = [i["shape"] for i in inputs if i["type"] == "tensor(float)" and "past_sequence_length" in i["shape"]]
    return sum(4 * math.prod(n for n in shape if isinstance(n, int)) for shape in pasts)


def onnxruntime_times(model: str, seconds: float = 2) -> dict[int, float]:
    """Milliseconds of a token by length of the past, its outputs bound to memory of their own."""
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError:
        return {}
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    times = {}
    for past in PASTS:
        symbols = {"batch_size": 1, "sequence_length": 1, "past_sequence_length": past}
        binding = session.io_binding()
        for value in session.get_inputs():
            shape = [symbols.get(n, past + 1) if isinstance(n, str) else n for n in value.shape]
            array = np.zeros(shape, np.float32) if value.type == "tensor(float)" else np.ones(shape, np.int64)
            binding.bind_ortvalue_input(value.name, ort.OrtValue.ortvalue_from_numpy(array))
        for value in session.get_outputs():
            shape = [symbols.get(n, past + 1) if isinstance(n, str) else n for n in value.shape]
            binding.bind_ortvalue_output(value.name, ort.OrtValue.ortvalue_from_shape_and_type(shape, np.float32))
        least, end = float("inf"), time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.perf_counter()
            session.run_with_iobinding(binding)
            least = min(least, time.perf_counter() - begin)
        times[past] = least * 1e3
    return times


def main(model: str, old: str, new: str, rounds: int = 7) -> None:
    programs = {"old": (old, []), "new": (new, ["--states", "auto", "--state-capacity", "4608"])}
    runs = [(past, 1) for past in PASTS] + [(0, PROMPT)]
    times = {name: {run: [] for run in runs} for name in programs}
    bandwidths = []
    for i in range(rounds):
        for run in runs:
            for name in sorted(programs, reverse=bool(i % 2)):
                program, options = programs[name]
                result = lathe_json(program, "bench", model, "--threads", "1", "--seconds", "1", *sizes(*run), *options)
                times[name][run].append(result["latency_seconds"]["min"] * 1e3)
        profile = lathe_json(new, "profile", model, "--threads", "1", "--runs", "1", *sizes(1, 1))
        bandwidths.append(profile["roofline"]["levels"][-1]["bytes_per_second"])
    theirs = onnxruntime_times(model)
    bandwidth, token = max(bandwidths), bytes_of_a_token(new, model)
    least = {name: {run: min(t) for run, t in by_run.items()} for name, by_run in times.items()}
    rows = []
    for past, count in runs:
        mine, before = least["new"][past, count], least["old"][past, count]
        row = {"past": past, "tokens": count, "old_ms": before, "new_ms": mine, "old_over_new": before / mine}
        if count == 1:
            limit = least["new"][PASTS[0], 1] + 1e3 * past * token / bandwidth
            row |= {"limit_ms": limit, "over_limit": mine / limit}
            if past in theirs:
                row["onnxruntime_ms"] = theirs[past]
        rows.append({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})
    print(json.dumps({"bandwidth": bandwidth, "rounds": rounds, "rows": rows}, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:4], *map(int, sys.argv[4:5]))
