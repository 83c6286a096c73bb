"""Lathe reads, checks, optimizes and runs ONNX models.

    import lathe
    engine = lathe.build("model.onnx")
    outputs = engine.run({"x": array})
"""

from __future__ import annotations

import os
from typing import Any, Iterable

from lathe import _lathe, exporters, nn, onnx
from lathe._causal_lm import ModelForCausalLM
from lathe._chat_template import ChatTemplate
from lathe._engine import Context, Engine, EngineInspector, IoInfo, RunControl, Step, StepRun, build, deserialize, load
from lathe._errors import Error
from lathe._lathe import (
    ActivationType,
    BoxFormat,
    CoordinateTransformation,
    CumulativeOperation,
    ElementWiseOperation,
    FillOperation,
    GatherMode,
    GridPadding,
    InterpolationMode,
    KvCacheMode,
    LoopOutput,
    Map,
    MatrixOperation,
    NearestRounding,
    NormalizationType,
    PaddingFill,
    PaddingMode,
    PoolingType,
    ReduceOperation,
    ScatterMode,
    ScatterReduction,
    SliceMode,
    SparseTensor,
    Tensor,
    TopKOperation,
    UnaryOperation,
)
from lathe._generator import GeneratedToken, Generation, Generator, TokenSequence
from lathe._gguf import Gguf, GgufTensor
from lathe._network.builder import Builder, BuilderConfig, OptimizationProfile, Parser
from lathe._network.control import LoopBody
from lathe._network.handles import Layer, TensorRef
from lathe._network.network import Network
from lathe._profile import Profile, Roofline, StepEvent, StepProfile, measure_roofline
from lathe._refit import Checkpoint, LoraDelta, Machine, Refitter, TensorInfo, TimingCache, WeightInfo, from_file, save_safetensors
from lathe._sampling import GenerationConfig, Sampler, StopStrings, log_probability, top_log_probabilities
from lathe._state import State
from lathe._tokenizer import DecodeStream, Encoding, Padding, Tokenizer, Truncation
from lathe._verify import verify

__version__: str = _lathe.version()

ExecutionContext = Context  # TensorRT's word
inferred_size = "inferred_size"  # in the reshape of add_shuffle: the size that is left


def operators(pattern: str = "*") -> list[dict[str, Any]]:
    """Returns the supported operators whose name fits the shell pattern, with their versions, types and kernels.
    Each is a dict: "domain" ("" is ai.onnx), "name", "folder" (under src/ops), "versions", "kernels", "internal_forms"
    (operators of the library's own that may run in its place, each with "name", "folder" and "kernels"), "fast" (types
    that have a kernel other than the reference), "differentiable" and "component" (the optional component that it
    needs, or None). Thread-safe."""
    return _lathe.operators(pattern)


def system_info() -> dict[str, Any]:
    """Returns facts about this machine and this library: processor, instruction sets, memory limits, threads.
    "threads_reason" says why so many threads are used. Memory is in bytes; "cpu_quota" is in processors, 0 for none;
    "components" are the optional parts of the library."""
    return _lathe.system_info()


def devices(plugins: Iterable[Any] = ()) -> list[dict[str, Any]]:
    """Returns the devices that engines can be built for: the CPU, then those that `plugins` (shared libraries) bring.
    Each is a dict: "name" (for `backend=`), "description", "types" (element types that its kernels take; empty: all),
    "instruction_sets" (worst first), "details" (other facts by name), "memory_total" and "memory_free" (bytes, 0 where
    unknown). Raises `lathe.Error` E3005 (build_plugin_failed) where a plug-in cannot be loaded. Thread-safe."""
    return _lathe.devices([os.fspath(plugin) for plugin in plugins])


def merge_timing_caches(caches: Iterable[Any], output: Any = "") -> list[dict[str, Any]]:
    """Merges timing caches and returns what they hold, a dict for each machine; writes `output` unless it is empty.
    Of two times for one tactic the lesser is kept. Raises `lathe.Error` E1001 (file_not_found), E1152 (json_malformed),
    E1004 (file_write_failed)."""
    return _lathe.merge_timing_caches([os.fspath(c) for c in caches], os.fspath(output))


__all__ = [
    "ActivationType",
    "BoxFormat",
    "Builder",
    "BuilderConfig",
    "ChatTemplate",
    "Checkpoint",
    "Context",
    "CoordinateTransformation",
    "CumulativeOperation",
    "DecodeStream",
    "ElementWiseOperation",
    "Encoding",
    "Engine",
    "EngineInspector",
    "Error",
    "ExecutionContext",
    "FillOperation",
    "GatherMode",
    "GeneratedToken",
    "Generation",
    "GenerationConfig",
    "Generator",
    "Gguf",
    "GgufTensor",
    "GridPadding",
    "InterpolationMode",
    "IoInfo",
    "KvCacheMode",
    "Layer",
    "LoopBody",
    "LoopOutput",
    "LoraDelta",
    "Machine",
    "Map",
    "MatrixOperation",
    "NearestRounding",
    "ModelForCausalLM",
    "Network",
    "NormalizationType",
    "Padding",
    "PaddingFill",
    "PaddingMode",
    "OptimizationProfile",
    "Parser",
    "PoolingType",
    "Profile",
    "ReduceOperation",
    "Refitter",
    "Roofline",
    "RunControl",
    "Sampler",
    "ScatterMode",
    "ScatterReduction",
    "SliceMode",
    "SparseTensor",
    "State",
    "Step",
    "StepEvent",
    "StepProfile",
    "StepRun",
    "StopStrings",
    "Tensor",
    "TensorInfo",
    "TensorRef",
    "TimingCache",
    "TokenSequence",
    "Tokenizer",
    "TopKOperation",
    "Truncation",
    "UnaryOperation",
    "WeightInfo",
    "build",
    "deserialize",
    "devices",
    "exporters",
    "from_file",
    "inferred_size",
    "load",
    "log_probability",
    "measure_roofline",
    "merge_timing_caches",
    "nn",
    "onnx",
    "operators",
    "save_safetensors",
    "system_info",
    "top_log_probabilities",
    "verify",
]
