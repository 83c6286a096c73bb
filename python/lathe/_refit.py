"""Weights of engines are exchanged, and timings of builds are kept, with TensorRT's names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from lathe import _lathe
from lathe._engine import Engine, RunControl, Source, _limited, load_options
from lathe._network.handles import constant_tensor
from lathe._values import array_from_tensor, array_of_file

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class WeightInfo:
    """A weight of an engine: its name in the model, element type, shape and size in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class LoraDelta:
    """A low-rank change of one weight [out, in]: scale * b @ a, with a [rank, in] and b [out, rank].
    It is LoRA's (Hu et al. 2021). `transposed` says that the weight is stored as [in, out]."""

    weight: str
    a: Any
    b: Any
    scale: float = 1.0
    transposed: bool = False


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a checkpoint, as its header describes it.
    `bytes` is the size of its elements. `mapped` says that an array of it is the file's own memory and not a copy.
    `blocks` names the blocks of a few bits that a GGUF file has in place of elements, as "Q4_K", which are read as
    float32; it is "" and `block_bytes` 0 where there are none."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    file: str
    mapped: bool
    blocks: str = ""
    block_bytes: int = 0


class Checkpoint:
    """Named tensors of a file, of shards with an index, or of a Hugging Face directory.
    The formats are safetensors, GGUF, .npy, .npz and PyTorch's zip files. Tensors are mapped, and read when they are
    touched; nothing in a file is executed. `untrusted` reads the files into private memory. Immutable and thread-safe.
    Raises `lathe.Error`: E10xx where a file cannot be read, E11xx where it is malformed, E1201 for an index that leaves
    its directory, E21xx for a tensor that is invalid, E6002 (not_supported) for pickles that hold more than tensors."""

    def __init__(self, path: Path, *, untrusted: bool = False):
        self._native = _lathe.Checkpoint.open(os.fspath(path), untrusted)

    @property
    def format(self) -> str:
        """The format of the files: "safetensors", "npy", "npz", "pytorch" or "gguf"."""
        return self._native.format()

    def files(self) -> list[str]:
        """Returns the paths of the files: one, or the shards."""
        return self._native.files()

    def names(self) -> list[str]:
        """Returns the names of all tensors, in the order of the file."""
        return self._native.names()

    def info(self, name: str) -> TensorInfo:
        """Returns the header of one tensor, without reading its elements.
        Raises `lathe.Error` E6001 (bad_argument), with similar names, where there is none."""
        return TensorInfo(**self._native.info(name))

    def __contains__(self, name: str) -> bool:
        return self._native.contains(name)

    def __getitem__(self, name: str) -> Any:
        """Returns a tensor as an array that cannot be written to; raises as `info` does."""
        return array_of_file(self._native.tensor(name))

    def blocks(self, name: str) -> Any:
        """Returns the mapped blocks of a tensor as uint8: its shape, with the last axis in bytes.
        Raises as `info` does, and E6002 (not_supported) for a tensor that is not stored in blocks."""
        return array_of_file(self._native.blocks(name))

    def metadata(self) -> dict[str, str]:
        """Returns the text entries of safetensors' __metadata__; of GGUF numbers, booleans and strings as text.
        `Gguf` has the arrays of such a file, too."""
        return self._native.metadata()

    def tied(self) -> list[list[str]]:
        """Returns groups of names that stand for the same elements of one file (tied weights); reads no elements."""
        return self._native.tied()

    def duplicates(self) -> list[list[str]]:
        """Returns groups of names whose type, shape and bytes are equal, whether they are tied or stored twice.
        Reads all tensors that share type and shape with another."""
        return self._native.duplicates()


def save_safetensors(path: Path, tensors: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None) -> None:
    """Writes arrays by name as a safetensors file, beside the target first, which it then replaces.
    Raises `lathe.Error`: E6002 (not_supported) for an element type that the format lacks, E6001 (bad_argument) for the
    name "__metadata__", E1004 (file_write_failed)."""
    given = {name: constant_tensor(value) for name, value in tensors.items()}
    _lathe.save_safetensors(os.fspath(path), given, dict(metadata or {}))


def from_file(path: Path, name: str = "") -> _lathe.Tensor:
    """Returns the mapped tensor of a .npy file, or the one of that name in a checkpoint."""
    return _lathe.from_file(os.fspath(path), name)


class Refitter:
    """Exchanges weights of an engine that was built with `refit=True`; TensorRT's IRefitter.
    What is set waits until `refit()`, which takes all of it or, where it raises, nothing; contexts use it from their
    next run on. Arrays are NumPy's or anything with DLPack; they are copied unless `copy=False` promises that they do
    not change. Use a refitter from one thread; engines and contexts may run meanwhile. Raises `lathe.Error` E5501
    (refit_not_allowed) for an engine that was built without refit."""

    def __init__(self, engine: Engine):
        self._native = _lathe.Refitter(engine._engine)

    def all(self) -> list[str]:
        """Returns the sorted names of all weights that can be exchanged."""
        return self._native.all()

    def missing(self) -> list[str]:
        """Returns the names of weights that were not set since the last `refit()`; they keep their values."""
        return self._native.missing()

    def knows(self, name: str) -> bool:
        """Returns whether the engine has a weight of that name, one that cannot be exchanged included."""
        return self._native.knows(name)

    def prototype(self, name: str) -> WeightInfo:
        """Returns type and shape that the weight has, and keeps.
        Raises `lathe.Error` E6001 (bad_argument), with similar names, where there is none."""
        return WeightInfo(name, *self._native.prototype(name))

    def get_named_weights(self, name: str) -> Any:
        """Returns a copy of what is set for the weight, or of what the engine holds."""
        return array_from_tensor(self._native.get_named_weights(name))

    def set_weights(self, name: str, weights: Any, *, copy: bool = True) -> None:
        """Sets one weight, of the type and the shape that it has.
        Raises `lathe.Error`: E5502 (refit_bad_weight) for another type or shape, E5503 (refit_built_in) for a weight
        that the engine was built for, E6001 (bad_argument), with similar names, for an unknown one."""
        self._native.set_weights(name, constant_tensor(weights, self._dtype(name)), copy)

    def set_named_weights(
        self,
        weights: Union[Mapping[str, Any], Checkpoint, Source],
        *,
        name_of: Optional[Callable[[str], Optional[str]]] = None,
        copy: bool = True,
        untrusted: bool = False,
    ) -> list[str]:
        """Sets several weights, or none where one does not fit; errors are those of `set_weights`.
        `weights` is a mapping of names, which must all exist; a checkpoint or its path, whose names `name_of` may
        translate (None leaves one out); or an .onnx file, its bytes, or a model. Returns the names, in the file, of
        tensors that the engine has no weight for."""
        if isinstance(weights, Mapping):
            tensors = {name: constant_tensor(value, self._dtype(name)) for name, value in weights.items()}
            self._native.set_named_weights(tensors, copy)
            return []
        if isinstance(weights, (str, os.PathLike)) and not os.fspath(weights).endswith((".onnx", ".onnxtxt")):
            weights = Checkpoint(weights, untrusted=untrusted)
        if isinstance(weights, Checkpoint):
            return self._native.set_from_checkpoint(weights._native, name_of)
        return self._native.set_from_model(_lathe.load_model(weights, load_options(untrusted)))

    def unset_weights(self, name: Optional[str] = None) -> None:
        """Discards what was set for the weight, or for all of them.
        Raises `lathe.Error` E6001 (bad_argument) for an unknown name."""
        self._native.unset_weights(name)

    def add_lora(self, adapter: str, deltas: Sequence[LoraDelta], *, copy: bool = True) -> None:
        """Adds or replaces an adapter, whose deltas are added to the weights from the next `refit()` on.
        Removing it restores the former bits. Raises `lathe.Error` E5502 (refit_bad_weight) for shapes and types that do
        not fit, E6001 (bad_argument) for an unknown weight."""
        native = [(d.weight, constant_tensor(d.a), constant_tensor(d.b), d.scale, d.transposed) for d in deltas]
        self._native.add_lora(adapter, native, copy)

    def remove_lora(self, adapter: str) -> None:
        """Removes an adapter at the next `refit()`.
        Raises `lathe.Error` E6001 (bad_argument) where there is none of that name."""
        self._native.remove_lora(adapter)

    def loras(self) -> list[str]:
        """Returns the names of the adapters that apply after the next `refit()`."""
        return self._native.loras()

    def refit(self, *, timeout: Optional[float] = None, control: Optional[RunControl] = None) -> dict[str, Any]:
        """Makes what is set the weights of the engine.
        Returns how many "weights" changed, how many arrays were "folded" and "packed" again, their "bytes", and
        "seconds". `timeout` is in seconds. Raises `lathe.Error` E4104 (run_out_of_memory), E4201 (cancelled), E4202
        (deadline), E5502 (refit_bad_weight); the engine is then unchanged, and what was set stays set."""
        with _limited(control, timeout) as limited:
            return self._native.refit(limited)

    def _dtype(self, name: str) -> Optional[str]:
        return self._native.prototype(name)[0] if self._native.knows(name) else None


@dataclass(frozen=True)
class Machine:
    """The machine and library whose times a timing cache holds: they mean nothing to others."""

    cpu: str
    features: tuple[str, ...]
    version: str

    @classmethod
    def here(cls) -> "Machine":
        """Returns the description of this machine and library."""
        cpu, features, version = _lathe.TimingCache.here()
        return cls(cpu, tuple(features), version)


class TimingCache:
    """Times that builds measured, TensorRT's ITimingCache.
    Give it to a build as `timings`, or save it to a file and give that as `timing_cache`. Methods by problem read and
    write the times of this machine and version; those of others are kept. Not thread-safe while it is changed."""

    def __init__(self) -> None:
        self._native = _lathe.TimingCache()

    @classmethod
    def _over(cls, native: _lathe.TimingCache) -> "TimingCache":
        cache = cls()
        cache._native = native
        return cache

    @classmethod
    def deserialize(cls, text: str) -> "TimingCache":
        """Makes a cache from the JSON text of a file; raises `lathe.Error` E1152 (json_malformed)."""
        return cls._over(_lathe.TimingCache.deserialize(text))

    @classmethod
    def load(cls, path: Path) -> "TimingCache":
        """Reads a cache from a file.
        Raises `lathe.Error` E1001 (file_not_found), E1002 (file_unreadable), E1152 (json_malformed)."""
        return cls._over(_lathe.TimingCache.load(path))

    def serialize(self) -> str:
        """Returns the cache as JSON text, as `save` writes it."""
        return self._native.serialize()

    def save(self, path: Path) -> None:
        """Writes the cache to a file; raises `lathe.Error` E1004 (file_write_failed)."""
        self._native.save(path)

    def combine(self, other: "TimingCache") -> None:
        """Merges another cache into this one: of two times for one tactic the lesser is kept.
        Of two choices the tactic that is then fastest is kept."""
        self._native.combine(other._native)

    def machines(self) -> dict[Machine, int]:
        """Returns how many problems the cache holds for each machine."""
        return {Machine(cpu, tuple(features), version): count for cpu, features, version, count in self._native.machines()}

    def query_keys(self) -> list[str]:
        """Returns the problems of this machine that it knows."""
        return self._native.query_keys()

    def query(self, problem: str) -> Optional[tuple[str, dict[str, float]]]:
        """Returns the tactic that builds take and the microseconds of all measured ones; None where nothing is known.
        """
        known: Any = self._native.query(problem)
        return known

    def update(self, problem: str, chosen: str, microseconds: Mapping[str, float] = {}) -> None:
        """Sets the tactic that builds take for a problem, and its times in microseconds, if any.
        Raises `lathe.Error` E6001 (bad_argument) where times are not positive or none is of the chosen tactic."""
        self._native.update(problem, chosen, dict(microseconds))

    def pin(self, problem: str, tactic: str) -> None:
        """Makes builds take this tactic for the problem from now on.
        Raises `lathe.Error` E6001 (bad_argument) where the problem is unknown, or has times and none of that tactic."""
        self._native.pin(problem, tactic)


__all__ = ["Checkpoint", "LoraDelta", "Machine", "Refitter", "TensorInfo", "TimingCache", "WeightInfo"]
