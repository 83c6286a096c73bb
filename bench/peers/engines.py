"""The engines, each in a process of its own. Run as a program, this file is such a process: it reads requests from
standard input and answers each on standard output, both a line of JSON.

    {"do": "load", "model": path, "threads": 1, "feeds": path.npz, "precision": "float32"}
        → {"load": seconds, "first": seconds, "memory": bytes, "unbound": why it is called without binding, or null}
    {"do": "run", "seconds": 0.3}
        → {"time": seconds or null, "any_time": seconds, "bare": seconds or null, "clean": share, "busy": share}
    {"do": "outputs", "to": path.npz}      → {"names": […], "left_out": […]}
    {"do": "plan", "to": path}             → {}         Lathe alone: what it built, to be loaded as it is

What fails is answered with {"error": sentence}.

A run is timed as a program calls it: the engine's own Python API, inputs and outputs bound to memory once, settings
that are best for latency in float32. Where a run is so short that the call shows, it is also timed bare: without the
Python code that the API wraps around the call into the library, and without what it takes to cross into the library.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import mmap
import os
import re
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from probe import stolen

Run = Callable[[], Any]


# Each engine's class: `bind` and `bind_outputs` give the call that is timed, `bare` the same call without Python around it,
# beside one that crosses into the library and does nothing there.


class Lathe:
    """Binds inputs and outputs to a context."""

    module = "lathe"

    def __init__(self, model: str, threads: int, precision: str = "float32"):
        import lathe

        if model.endswith(".lathe"):
            self.engine = lathe.load(model, threads=threads)
        else:
            self.engine = lathe.build(model, threads=threads, precision=precision)

    def bind(self, feeds: dict[str, np.ndarray]) -> Run:
        self.context = self.engine.create_context()
        for name, value in feeds.items():
            self.context.bind_input(name, value)
        self.bound: dict[str, np.ndarray] = {}
        return self.context.run

    def outputs(self) -> dict[str, Any]:
        unbound = (o.name for o in self.engine.outputs if o.name not in self.bound)
        return self.bound | {name: self.context.output(name) for name in unbound}

    def bind_outputs(self, arrays: dict[str, np.ndarray]) -> Run:
        for name, array in arrays.items():
            self.context.bind_output(name, array)
        self.bound = arrays
        return self.context.run

    def bare(self) -> tuple[Run, Run]:
        inner = self.context._context
        return lambda: inner.run_bound(None), lambda: inner.memory_in_use

    def plan(self, path: str) -> None:
        self.engine.save(path)


class OnnxRuntime:
    """All optimizations, sequential, an I/O binding. Models whose declared output shapes are wrong run only without. It has
    no bfloat16 on processors: float32 then."""

    module = "onnxruntime"

    def __init__(self, model: str, threads: int, precision: str = "float32"):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 4
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.value = ort.OrtValue.ortvalue_from_numpy

    def bind(self, feeds: dict[str, np.ndarray]) -> Run:
        self.names = [o.name for o in self.session.get_outputs()]
        self.inputs = {name: self.value(value) for name, value in feeds.items()}
        return self._binding({})

    def without_binding(self, feeds: dict[str, np.ndarray]) -> Run:
        def run() -> None:
            self.results = self.session.run(None, feeds)

        self.binding = None
        return run

    def _binding(self, outputs: dict[str, Any]) -> Run:
        self.binding = self.session.io_binding()
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, value)
        for name in self.names:
            if name in outputs:
                self.binding.bind_ortvalue_output(name, outputs[name])
            else:
                self.binding.bind_output(name)
        return partial(self.session.run_with_iobinding, self.binding)

    def outputs(self) -> dict[str, Any]:
        return dict(zip(self.names, self.binding.copy_outputs_to_cpu() if self.binding else self.results))

    def bind_outputs(self, arrays: dict[str, np.ndarray]) -> Run:
        return self._binding({name: self.value(array) for name, array in arrays.items()})

    def bare(self) -> tuple[Run, Run]:
        session, binding = self.session._sess, self.binding._iobinding
        return lambda: session.run_with_iobinding(binding, None), lambda: binding.synchronize_inputs()


class OpenVino:
    """OpenVINO, compiled for latency; in float32 also on a processor with bfloat16, unless bfloat16 is compared. It has
    one infer request with its tensors set."""

    module = "openvino"

    def __init__(self, model: str, threads: int, precision: str = "float32"):
        import openvino as ov

        self.tensor = ov.Tensor
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[precision],
        }
        core = ov.Core()
        self.compiled = core.compile_model(core.read_model(model), "CPU", settings)

    def bind(self, feeds: dict[str, np.ndarray]) -> Run:
        self.request = self.compiled.create_infer_request()
        self.names = [port.get_any_name() for port in self.compiled.outputs]
        for name, value in feeds.items():
            self.request.set_tensor(name, self.tensor(value, shared_memory=True))
        return partial(self.request.infer, share_outputs=True)

    def outputs(self) -> dict[str, Any]:
        return {n: np.array(self.request.get_tensor(p).data) for n, p in zip(self.names, self.compiled.outputs)}

    def bind_outputs(self, arrays: dict[str, np.ndarray]) -> Run:
        for name, port in zip(self.names, self.compiled.outputs):
            if port.get_partial_shape().is_static and name in arrays:
                self.request.set_tensor(port, self.tensor(arrays[name], shared_memory=True))
        return partial(self.request.infer, share_outputs=True)

    def bare(self) -> tuple[Run, Run]:
        request = self.request
        infer = super(type(request), request).infer
        return lambda: infer({}, share_outputs=True, decode_strings=False), lambda: request.latency


ENGINES = {"lathe": Lathe, "onnxruntime": OnnxRuntime, "openvino": OpenVino}


def version(engine: str) -> str | None:
    """None where it is not installed."""
    module = ENGINES[engine].module
    if importlib.util.find_spec(module) is None:
        return None
    return importlib.metadata.version(module)


# -------------------------------------------------------------------------------------------------- inside the process


def resident(which: str = "VmRSS") -> int:
    """Bytes resident now, or at most since `forget_peak` ("VmHWM")."""
    line = next(s for s in open("/proc/self/status") if s.startswith(which))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # not allowed everywhere: then the peak of importing the engine counts, which is small


def touch_memory(wanted: int) -> None:
    """Touches memory that the host of a virtual machine took back while it was free. That takes as long as loading a
    model, or ten times as long, and the first engine would pay for all."""
    available = next(s for s in open("/proc/meminfo") if s.startswith("MemAvailable"))
    size = min(wanted, int(available.split()[1]) * 512)
    populate = 23  # MADV_POPULATE_WRITE, which mmap has no name for
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
            memory.madvise(populate)
        except OSError:
            pass  # an older system: as it comes


def aligned(like: np.ndarray) -> np.ndarray:
    """A copy, row by row, that begins with a line of the caches, as the memory does that engines take for
    themselves: NumPy's own begins 16 bytes behind one, which vectors of 64 bytes pay for."""
    memory = np.empty(like.nbytes + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    array = memory[begin : begin + like.nbytes].view(like.dtype).reshape(like.shape)
    array[...] = like
    return array


def is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def seconds_of(call: Run, times: int = 1) -> float:
    start = time.perf_counter()
    for _ in itertools.repeat(None, times):
        call()
    return (time.perf_counter() - start) / times


class Worker:
    BATCH = 5e-4  # seconds: calls that are shorter are timed together
    SHORT = 5e-4  # seconds: of such runs the call may be 2 %
    CHUNK = 0.02  # seconds between looks at the steal counter, which counts in hundredths

    def __init__(self, engine: str):
        self.kind = ENGINES[engine]
        # OpenVINO would tell its maker of each load, from a forked process, on the clock.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        importlib.import_module(self.kind.module)
        gc.disable()

    def load(self, model: str, threads: int, feeds: str, precision: str = "float32") -> dict:
        with np.load(feeds) as stored:
            self.feeds = {n: aligned(v) if is_numeric(v) else np.require(v, requirements=["C"]) for n, v in stored.items()}
        # The second engine would find the file in the page cache, so it is read for all of them.
        with open(model, "rb") as f:
            while f.read(1 << 24):
                pass
        touch_memory(4 * os.path.getsize(model) + (256 << 20))
        forget_peak()
        before = resident()
        # Until it could run: contexts, requests and bindings are made, with the memory they take.
        start = time.perf_counter()
        self.engine = self.kind(model, threads, precision)
        self.call = self.engine.bind(self.feeds)
        loaded = time.perf_counter() - start
        try:
            first = seconds_of(self.call)
            memory = max(0, resident("VmHWM") - before)
            self.bind_outputs()
            unbound = None
        except Exception as e:
            if not hasattr(self.engine, "without_binding"):
                raise
            self.call, unbound = self.engine.without_binding(self.feeds), sentence(e)
            first = seconds_of(self.call)
            memory = max(0, resident("VmHWM") - before)
        self.bare = None if unbound else self.engine.bare()
        return {"load": loaded, "first": first, "memory": memory, "unbound": unbound}

    def bind_outputs(self) -> None:
        """The inputs stay as they are, so do the shapes of the outputs: they can be bound after a run."""
        self.results = {n: aligned(v) for n, v in self.engine.outputs().items() if is_numeric(v)}
        try:
            self.call = self.engine.bind_outputs(self.results)
            self.call()
        except Exception:
            self.call = self.engine.bind_outputs({})
            self.call()
            self.call()  # now into the memory of the run before

    def run(self, seconds: float) -> dict:
        """The median of runs during which nothing was stolen."""
        self.call()  # weights back into the caches, threads awake
        once = min(seconds_of(self.call) for _ in range(3))
        batch = max(1, round(self.BATCH / max(once, 1e-8)))
        bare, nothing = self.bare if self.bare and once < self.SHORT else (None, None)
        clean: list[float] = []
        every: list[float] = []
        bare_times: list[float] = []
        used, begin = time.process_time(), time.perf_counter()
        # If the host takes time away all along, it runs as long again to find an undisturbed chunk.
        while (now := time.perf_counter()) < begin + seconds * (1 if clean else 2) or len(every) < 3:
            ticks, chunk, bare_chunk = stolen(), [], []
            while not chunk or time.perf_counter() < now + self.CHUNK:
                chunk.append(seconds_of(self.call, batch))
                if bare:
                    bare_chunk.append(seconds_of(bare, batch) - seconds_of(nothing, batch))
            every += chunk
            if stolen() == ticks:
                clean += chunk
                bare_times += bare_chunk
        took = time.perf_counter() - begin
        return {
            "time": statistics.median(clean) if clean else None,
            "any_time": statistics.median(every),
            "bare": statistics.median(bare_times) if bare_times else None,
            "clean": len(clean) / len(every),
            "busy": (time.process_time() - used) / took,
        }

    def outputs(self, to: str) -> dict:
        tensors, left_out = {}, []
        for name, value in self.engine.outputs().items():
            # The elements of sequences are outputs of their own.
            for i, v in enumerate(value if isinstance(value, list) else [value]):
                if is_numeric(v):
                    tensors[f"{name}[{i}]" if isinstance(value, list) else name] = v
                else:
                    left_out.append(name)
        # Arrays are named by position, since output names may contain any characters.
        np.savez(to, **{str(i): v for i, v in enumerate(tensors.values())})
        return {"names": list(tensors), "left_out": left_out}

    def plan(self, to: str) -> dict:
        self.engine.plan(to)
        return {}


def sentence(error: BaseException) -> str:
    """Returns the message of an error on one readable line, without places in source files."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Exception from", "Check '"))] or lines
    text = re.sub(r" \[inputs: .*", "", " ".join(telling)) or type(error).__name__
    return text if len(text) <= 240 else text[:240] + "…"


def serve(engine: str) -> None:
    # Libraries print what they like: answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value: dict) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        worker = Worker(engine)
    except Exception as e:
        return answer({"error": sentence(e)})
    answer({})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(getattr(worker, request.pop("do"))(**request))
        except Exception as e:
            answer({"error": sentence(e)})


# ------------------------------------------------------------------------------------------------- outside the process


class Failure(Exception):
    """The message of an engine that failed, or how its process ended."""


class Process:
    """An engine's process, asked over pipes."""

    def __init__(self, engine: str, limit: float = 300):
        self.limit = limit
        self.child = subprocess.Popen([sys.executable, __file__, engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        self._answer()

    def ask(self, do: str, **request: object) -> dict:
        try:
            print(json.dumps({"do": do, **request}), file=self.child.stdin, flush=True)
        except BrokenPipeError:
            pass  # the answer tells how it ended
        return self._answer()

    def _answer(self) -> dict:
        end = time.monotonic() + self.limit
        while not select.select([self.child.stdout], [], [], 1)[0]:
            # A process that ends may leave children that hold its pipe open.
            if self.child.poll() is not None:
                raise Failure(f"its process ended with status {self.child.returncode}")
            if time.monotonic() > end:
                self.close()
                raise Failure(f"no answer within {self.limit:.0f} s")
        line = self.child.stdout.readline()
        if not line:
            raise Failure(f"its process ended with status {self.child.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


if __name__ == "__main__":
    serve(sys.argv[1])
