"""Weights of engines exchanged, and what builds have measured, with TensorRT's words."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from lathe import _lathe
from lathe._engine import Engine, RunControl, Source, _limited, load_options
from lathe._network.handles import constant_tensor
from lathe._values import array_from_tensor

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class WeightInfo:
    """A weight of an engine, by its name in the model."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class LoraDelta:
    """A low-rank change of one weight [out, in]: scale * b @ a, with a [rank, in] and b [out, rank]. `transposed`: the
    weight is stored as [in, out]."""

    weight: str
    a: Any
    b: Any
    scale: float = 1.0
    transposed: bool = False


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a checkpoint. `bytes` are those of its elements; `mapped`: an array of it is the file's own memory, else a
    copy."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    file: str
    mapped: bool


class Checkpoint:
    """Named tensors of a file or of shards with an index: safetensors, .npy and .npz, PyTorch's zip files; a directory of
    Hugging Face too. Tensors are mapped; nothing in a file is executed. Raises `lathe.Error`."""

    def __init__(self, path: Path, *, untrusted: bool = False):
        self._native = _lathe.Checkpoint.open(os.fspath(path), untrusted)

    @property
    def format(self) -> str:
        return self._native.format()

    def files(self) -> list[str]:
        """The files it is in: one, or the shards."""
        return self._native.files()

    def names(self) -> list[str]:
        return self._native.names()

    def info(self, name: str) -> TensorInfo:
        """What the file says of one tensor, without reading it."""
        return TensorInfo(**self._native.info(name))

    def __contains__(self, name: str) -> bool:
        return self._native.contains(name)

    def __getitem__(self, name: str) -> Any:
        """As an array, not to be written to."""
        return array_from_tensor(self._native.tensor(name))

    def metadata(self) -> dict[str, str]:
        return self._native.metadata()

    def tied(self) -> list[list[str]]:
        """Groups of names for the very same elements."""
        return self._native.tied()

    def duplicates(self) -> list[list[str]]:
        """Groups of names whose type, shape and bytes are equal, whether tied or stored twice: what may be stored once. Reads
        all tensors that share type and shape with another."""
        return self._native.duplicates()


def save_safetensors(path: Path, tensors: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None) -> None:
    """Writes arrays by name."""
    given = {name: constant_tensor(value) for name, value in tensors.items()}
    _lathe.save_safetensors(os.fspath(path), given, dict(metadata or {}))


def from_file(path: Path, name: str = "") -> _lathe.Tensor:
    """The tensor of a .npy file, or the one of that name in a checkpoint, mapped."""
    return _lathe.from_file(os.fspath(path), name)


class Refitter:
    """Exchanges weights of an engine that was built with `refit=True`. What is set waits until `refit()`, which takes all
    of it or, where it raises, nothing; contexts have it from their next run on. Arrays are NumPy's or anything with
    DLPack, and copied, unless `copy=False` promises that they stay as they are."""

    def __init__(self, engine: Engine):
        self._native = _lathe.Refitter(engine._engine)

    def all(self) -> list[str]:
        """The names of all weights that can be exchanged."""
        return self._native.all()

    def missing(self) -> list[str]:
        """Those that nothing was set for since the last `refit()`: they keep what they hold."""
        return self._native.missing()

    def knows(self, name: str) -> bool:
        """Whether there is a weight of that name that can be exchanged."""
        return self._native.knows(name)

    def prototype(self, name: str) -> WeightInfo:
        """Type and shape that the weight has, and keeps."""
        return WeightInfo(name, *self._native.prototype(name))

    def get_named_weights(self, name: str) -> Any:
        """A copy of what is set for the weight, else of what the engine holds."""
        return array_from_tensor(self._native.get_named_weights(name))

    def set_weights(self, name: str, weights: Any, *, copy: bool = True) -> None:
        """One weight, of the type and the shape that it has. Raises `lathe.Error` that says which, or names that are
        near."""
        self._native.set_weights(name, constant_tensor(weights, self._dtype(name)), copy)

    def set_named_weights(
        self,
        weights: Union[Mapping[str, Any], Checkpoint, Source],
        *,
        name_of: Optional[Callable[[str], Optional[str]]] = None,
        copy: bool = True,
        untrusted: bool = False,
    ) -> list[str]:
        """Several weights, or none where one does not fit: a mapping of names; a checkpoint (or its path), whose names
        `name_of` may translate; or an .onnx file, its bytes, or a model. Returns the names, in the file, that the
        engine has no weight for; of a mapping all must be there."""
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
        """Forgets what was set for the weight, or for all."""
        self._native.unset_weights(name)

    def add_lora(self, adapter: str, deltas: Sequence[LoraDelta], *, copy: bool = True) -> None:
        """An adapter: from the next `refit()` on, weights are what they hold plus the deltas of all adapters. Removing
        it gives back, bit by bit, what there was without it."""
        native = [(d.weight, constant_tensor(d.a), constant_tensor(d.b), d.scale, d.transposed) for d in deltas]
        self._native.add_lora(adapter, native, copy)

    def remove_lora(self, adapter: str) -> None:
        self._native.remove_lora(adapter)

    def loras(self) -> list[str]:
        """Adapters that there will be after `refit()`."""
        return self._native.loras()

    def refit(self, *, timeout: Optional[float] = None, control: Optional[RunControl] = None) -> dict[str, Any]:
        """Makes what is set the weights of the engine. Returns how many `weights` hold something else now, how many
        arrays were `folded` and `packed` anew, their `bytes`, and `seconds`."""
        with _limited(control, timeout) as limited:
            return self._native.refit(limited)

    def _dtype(self, name: str) -> Optional[str]:
        return self._native.prototype(name)[0] if self._native.knows(name) else None


@dataclass(frozen=True)
class Machine:
    """Whose times they are: they mean nothing to another processor, or another version of the library."""

    cpu: str
    features: tuple[str, ...]
    version: str

    @classmethod
    def here(cls) -> "Machine":
        """This one."""
        cpu, features, version = _lathe.TimingCache.here()
        return cls(cpu, tuple(features), version)


class TimingCache:
    """What builds have measured: give it to them as `timings`, or save it to a file for `timing_cache`. Problems are
    those of this machine and version; others are kept."""

    def __init__(self) -> None:
        self._native = _lathe.TimingCache()

    @classmethod
    def _over(cls, native: _lathe.TimingCache) -> "TimingCache":
        cache = cls()
        cache._native = native
        return cache

    @classmethod
    def deserialize(cls, text: str) -> "TimingCache":
        return cls._over(_lathe.TimingCache.deserialize(text))

    @classmethod
    def load(cls, path: Path) -> "TimingCache":
        return cls._over(_lathe.TimingCache.load(path))

    def serialize(self) -> str:
        """JSON, as in files."""
        return self._native.serialize()

    def save(self, path: Path) -> None:
        self._native.save(path)

    def combine(self, other: "TimingCache") -> None:
        """Takes in another cache: of two times for one tactic the lesser, of two choices the tactic that is then
        fastest."""
        self._native.combine(other._native)

    def machines(self) -> dict[Machine, int]:
        """Whose times it has, and how many problems of each."""
        return {Machine(cpu, tuple(features), version): count for cpu, features, version, count in self._native.machines()}

    def query_keys(self) -> list[str]:
        """The problems of this machine that it knows."""
        return self._native.query_keys()

    def query(self, problem: str) -> Optional[tuple[str, dict[str, float]]]:
        """The tactic that builds take, and the microseconds of all that were measured."""
        known: Any = self._native.query(problem)
        return known

    def update(self, problem: str, chosen: str, microseconds: Mapping[str, float] = {}) -> None:
        """Sets what is known of a problem: what builds take, and times, if any."""
        self._native.update(problem, chosen, dict(microseconds))

    def pin(self, problem: str, tactic: str) -> None:
        """Builds take this tactic from now on."""
        self._native.pin(problem, tactic)


__all__ = ["Checkpoint", "LoraDelta", "Machine", "Refitter", "TensorInfo", "TimingCache", "WeightInfo"]
