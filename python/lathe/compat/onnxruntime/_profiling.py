"""`SessionOptions.enable_profiling` writes the runs of a session in onnxruntime's form of Chrome's trace."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import threading
import time
import weakref
from typing import Any, Iterator, Optional

import lathe
from lathe import _lathe
from lathe._profile import Profile

_KEPT = 1 << 17  # executions a context
_TENSOR = re.compile(r"(\w+)\[([\d,]*)\]")
_NAMES = {"float32": "float", "float64": "double"}


def _type_shapes(text: str) -> list[dict[str, list[int]]]:
    """ "float32[1,3] int64[2]" → [{"float": [1, 3]}, {"int64": [2]}]"""
    return [
        {_NAMES.get(name, name): [int(size) for size in sizes.split(",") if size]}
        for name, sizes in _TENSOR.findall(text)
    ]


def _event(category: str, name: str, start: float, seconds: float, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    """Times in whole microseconds, as onnxruntime has them; ends are rounded, so that nested events stay nested."""
    begin, end = int(start * 1e6), int((start + seconds) * 1e6)
    return {
        "cat": category,
        "pid": os.getpid(),
        "tid": thread,
        "dur": end - begin,
        "ts": begin,
        "ph": "X",
        "name": name,
        "args": args,
    }


def _node_args(step: Any, event: Any) -> dict[str, Any]:
    inputs, _, outputs = event.shapes.partition("->")
    return {
        "op_name": step.op,
        "provider": "CPUExecutionProvider",
        "input_type_shape": _type_shapes(inputs),
        "output_type_shape": _type_shapes(outputs),
        "kernel": step.kernel,
        "fused": step.fused,
        "flops": event.flops,
        "bytes": event.bytes,
    }


class _Recorded:
    """A context whose runs are recorded, and when that began."""

    def __init__(self, context: _lathe.Context, since: float):
        self.context = context
        context.start_profile(_KEPT)
        self.offset = time.perf_counter() - since

    def _profile(self) -> Profile:
        """Waits for a run that is under way: a context does one thing at a time."""
        while True:
            try:
                return Profile(self.context.profile())
            except lathe.Error as e:
                if e.code != "E6001":
                    raise
                time.sleep(0.001)

    def events(self, thread: int) -> Iterator[dict[str, Any]]:
        """Yields the events of the context's profile for the trace."""
        profile = self._profile()
        for start, seconds in profile.run_events:
            for name in ("model_run", "SequentialExecutor::Execute"):
                yield _event("Session", name, self.offset + start, seconds, thread, {})
        for e in profile.events:
            step = profile.steps[e.step]
            name = f"{step.node or step.op}_kernel_time"
            args = {**_node_args(step, e), "node_index": str(e.step)}
            yield _event("Node", name, self.offset + e.start, e.seconds, thread, args)


class SessionProfiler:
    """Lends out contexts that record, to many threads at once; `end` or the end of the session writes the file."""

    def __init__(self, session: Any, engine: _lathe.Engine, prefix: str, began: float):
        self.start_ns = int(began * 1e9)
        self.path = f"{prefix}_{datetime.datetime.now():%Y-%m-%d_%H-%M-%S}.json"
        self._engine = engine
        self._began = began
        self._loaded = time.perf_counter()
        self._lock = threading.Lock()
        self._all: list[_Recorded] = []
        self._idle: list[_lathe.Context] = []
        self._finalizer = weakref.finalize(session, SessionProfiler._write, self)

    @property
    def recording(self) -> bool:
        """True until the file is written."""
        return self._finalizer.alive

    def make_context(self) -> _lathe.Context:
        """Returns a context that the caller keeps."""
        context = self._engine.create_context()
        with self._lock:
            if self.recording:
                self._all.append(_Recorded(context, self._began))
        return context

    @contextlib.contextmanager
    def lent_context(self) -> Iterator[_lathe.Context]:
        """Lends a context for a `with` block."""
        with self._lock:
            context: Optional[_lathe.Context] = self._idle.pop() if self._idle else None
        context = context or self.make_context()
        try:
            yield context
        finally:
            with self._lock:
                self._idle.append(context)

    def end(self) -> str:
        """Writes the file, once, and returns its name."""
        self._finalizer()
        return self.path

    def _write(self) -> None:
        with self._lock:
            events = [
                _event("Session", "session_initialization", 0, self._loaded - self._began, 0, {}),
                *(event for thread, r in enumerate(self._all) for event in r.events(thread)),
            ]
            self._all.clear()
            self._idle.clear()
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(events, file)


__all__ = ["SessionProfiler"]
