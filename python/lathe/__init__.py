"""Lathe reads, checks, optimises and runs ONNX models.

    import lathe
    engine = lathe.build("model.onnx")
    outputs = engine.run({"x": array})
"""

from __future__ import annotations

import os
from typing import Any, Iterable

from lathe import _lathe, exporters, nn, onnx
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
from lathe._network.builder import Builder, BuilderConfig, OptimizationProfile, Parser
from lathe._network.control import LoopBody
from lathe._network.handles import Layer, TensorRef
from lathe._network.network import Network
from lathe._profile import Profile, Roofline, StepEvent, StepProfile, measure_roofline
from lathe._refit import Checkpoint, LoraDelta, Machine, Refitter, TensorInfo, TimingCache, WeightInfo, from_file, save_safetensors
from lathe._tokenizer import Encoding, Padding, Tokenizer, Truncation
from lathe._verify import verify

__version__: str = _lathe.version()

ExecutionContext = Context  # TensorRT's word
inferred_size = "inferred_size"  # in the reshape of add_shuffle: the size that is left


def operators(pattern: str = "*") -> list[dict[str, Any]]:
    """The operators that are supported, per version and type, with their kernels."""
    return _lathe.operators(pattern)


def system_info() -> dict[str, Any]:
    """Facts about this machine and how many threads are used, and why."""
    return _lathe.system_info()


def merge_timing_caches(caches: Iterable[Any], output: Any = "") -> list[dict[str, Any]]:
    """What several timing caches hold, machine by machine; written to `output` as one unless that is empty."""
    return _lathe.merge_timing_caches([os.fspath(c) for c in caches], os.fspath(output))


__all__ = [
    "ActivationType",
    "BoxFormat",
    "Builder",
    "BuilderConfig",
    "Checkpoint",
    "Context",
    "CoordinateTransformation",
    "CumulativeOperation",
    "ElementWiseOperation",
    "Encoding",
    "Engine",
    "EngineInspector",
    "Error",
    "ExecutionContext",
    "FillOperation",
    "GatherMode",
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
    "ScatterMode",
    "ScatterReduction",
    "SliceMode",
    "SparseTensor",
    "Step",
    "StepEvent",
    "StepProfile",
    "StepRun",
    "Tensor",
    "TensorInfo",
    "TensorRef",
    "TimingCache",
    "Tokenizer",
    "TopKOperation",
    "Truncation",
    "UnaryOperation",
    "WeightInfo",
    "build",
    "deserialize",
    "exporters",
    "from_file",
    "inferred_size",
    "load",
    "measure_roofline",
    "merge_timing_caches",
    "nn",
    "onnx",
    "operators",
    "save_safetensors",
    "system_info",
    "verify",
]
