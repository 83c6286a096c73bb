"""Modules and their parameters."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, Optional, Union

from lathe import _lathe
from lathe._network.handles import Layer, TensorRef, constant_tensor, type_name
from lathe._refit import Checkpoint
from lathe._values import array_from_tensor

natives = _lathe.nn
Tensor = Union[TensorRef, Layer]
# Of the library's own modules, by their names there: what a native one becomes.
CLASSES: dict[str, type[Module]] = {}


def ref(x: Optional[Tensor]) -> _lathe.TensorRef:
    if x is None:
        return _lathe.TensorRef()
    if not isinstance(x, (TensorRef, Layer)):
        raise TypeError(f"a tensor of a network expected, got {type(x).__name__}")
    return x._tensor()._native


class Parameter:
    """Weights that a module wants: an element type, a shape and, once bound, values. A handle: `a.weight = b.weight` ties
    two, which are one constant of a network and stored once in its file."""

    def __init__(self, dtype: Any = "float32", shape: Iterable[int] = ()):
        self._native = natives.Parameter(type_name(dtype), tuple(shape))

    @classmethod
    def _over(cls, native: Any) -> "Parameter":
        parameter = cls.__new__(cls)
        parameter._native = native
        return parameter

    @property
    def dtype(self) -> str:
        return self._native.dtype()

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        """What is expected from now on; weights of another type are taken away."""
        self._native.set_dtype(type_name(dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._native.shape()

    @property
    def bound(self) -> bool:
        return self._native.bound()

    @property
    def name(self) -> str:
        """Its path in the tree that it was last bound or emitted in."""
        return self._native.name()

    @property
    def value(self) -> Any:
        """The weights as an array; raises `lathe.Error` while there are none."""
        return array_from_tensor(self._native.value())

    @value.setter
    def value(self, value: Any) -> None:
        """An array, anything with DLPack, numbers, or what `lathe.from_file` maps: of the parameter's type and shape, or
        `lathe.Error` says what was expected. Arrays are lent, not copied, and must not change any more."""
        self._native.set_value(constant_tensor(value, self.dtype))

    def reset(self) -> None:
        """Takes the weights away again."""
        self._native.reset()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Parameter) and self._native.is_same(other._native)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        state = "" if self.bound else ", not bound"
        return f"<lathe.nn.Parameter {self.name!r}: {self.dtype}{list(self.shape)}{state}>"


class _Members:
    """Members of a module by the paths that they have in checkpoints: `model.bert.encoder.layer[0].output`."""

    def __init__(self, module: "Module", prefix: str):
        self._module, self._prefix = module, prefix

    def __getattr__(self, name: str) -> Any:
        return self._module._member(f"{self._prefix}.{name}")

    def __getitem__(self, i: int) -> Any:
        return self._module._member(f"{self._prefix}.{range(len(self))[i]}")

    def __len__(self) -> int:
        names = (name[len(self._prefix) + 1 :] for name, _ in self._module._native.members() if name.startswith(self._prefix + "."))
        return len({name.partition(".")[0] for name in names})


class Module:
    """A part of a model that has parameters and other modules as attributes, or lists of them. Derive from it, make the
    members in `__init__` after `super().__init__()`, and append layers in `forward`. For one thread at a time."""

    _native: Any

    def __init__(self) -> None:
        self._native = natives.PythonModule(self)

    @staticmethod
    def _over(native: Any, keep: Any = None) -> "Module":
        known = native.object() if isinstance(native, natives.PythonModule) else None
        if known is not None:
            return known
        kind = CLASSES.get(type(native).__name__, Module)
        module = kind.__new__(kind)
        module.__dict__.update(_native=native, _keep=keep)  # what it is a part of lives as long
        return module

    # What it is made of

    def _members(self) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for name, member in vars(self).items():
            if name.startswith("_"):
                continue
            if isinstance(member, (Parameter, Module)):
                found.append((name, member._native))
            elif isinstance(member, (list, tuple)):
                found += [(f"{name}.{i}", m._native) for i, m in enumerate(member) if isinstance(m, (Parameter, Module))]
        return found

    def _wrapped(self, native: Any) -> Any:
        return Parameter._over(native) if isinstance(native, natives.Parameter) else Module._over(native, self)

    def _member(self, name: str) -> Any:
        prefix = False
        for called, native in self._native.members():
            if called == name:
                return self._wrapped(native)
            prefix = prefix or called.startswith(name + ".")
        if prefix:
            return _Members(self, name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "_native" not in self.__dict__ or isinstance(self._native, natives.PythonModule):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return self._member(name)

    def __setattr__(self, name: str, value: Any) -> None:
        native = self.__dict__.get("_native")
        own = native is None or isinstance(native, natives.PythonModule)
        if name.startswith("_") or (own and not isinstance(vars(self).get(name), Parameter)) or hasattr(type(self), name):
            super().__setattr__(name, value)
        elif not isinstance(value, Parameter):
            raise TypeError(f"a Parameter to tie {name!r} to expected; weights are assigned to its .value")
        elif own or native is None:
            super().__setattr__(name, value)
        else:
            native.tie(name, value._native)

    def __getitem__(self, i: int) -> Any:
        return self._member(str(range(len(self))[i]))

    def __len__(self) -> int:
        return sum(name.isdigit() for name, _ in self._native.members())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def named_parameters(self) -> dict[str, Parameter]:
        """By path; tied ones once, under their first path."""
        return {name: Parameter._over(native) for name, native, _ in self._native.named_parameters()}

    def aliases(self) -> dict[str, list[str]]:
        """Other paths of tied parameters, by the first."""
        return {name: others for name, _, others in self._native.named_parameters() if others}

    def parameter(self, path: str) -> Parameter:
        """By path or alias; raises `lathe.Error` with paths that are near."""
        return Parameter._over(self._native.parameter(path))

    def named_modules(self) -> dict[str, "Module"]:
        """This module under the empty path, and all below it."""
        return {path: Module._over(native, self) if path else self for path, native in self._native.named_modules()}

    def unbound(self) -> list[str]:
        """Paths of parameters without weights."""
        return self._native.unbound()

    def to(self, dtype: Any) -> "Module":
        """All parameters of floats are of this type from now on; what is bound is converted."""
        self._native.to(type_name(dtype))
        return self

    def bind(
        self,
        checkpoint: Any,
        *,
        rename: Union[Mapping[str, str], Iterable[tuple[str, str]]] = (),
        base_prefix: str = "",
        other_parts: Union[Mapping[str, str], Iterable[tuple[str, str]]] = (),
        convert: bool = False,
        allow_missing: bool = False,
    ) -> dict[str, Any]:
        """Every parameter gets the tensor of its path from a checkpoint (a path, or a `lathe.Checkpoint`), mapped. Returns
        {"bound": …, "missing": …, "unexpected": …, "converted": …, "untied": …}. Raises `lathe.Error` that lists all that are missing."""
        opened = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)

        def pairs(given: Union[Mapping[str, str], Iterable[tuple[str, str]]]) -> list[tuple[str, str]]:
            return list(given.items()) if isinstance(given, Mapping) else [(old, new) for old, new in given]

        options: dict[str, Any] = dict(rename=pairs(rename), base_prefix=base_prefix, other_parts=pairs(other_parts))
        options |= dict(convert=convert, allow_missing=allow_missing)
        return self._native.bind(opened._native, options)

    # What it appends

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Appends layers for tensors of a network, and returns tensors."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self._native, natives.PythonModule) and args and isinstance(args[0], (TensorRef, Layer)):
            instead = self._native.substituted(ref(args[0]))  # layers of the library look for themselves
            if instead is not None:
                return args[0]._tensor()._network._tensor(instead)
        return self.forward(*args, **kwargs)

    def _call(self, x: Tensor, *others: Any) -> Any:
        result = self._native.call(ref(x), *others)
        network = x._tensor()._network
        return tuple(map(network._tensor, result)) if isinstance(result, list) else network._tensor(result)

    def use(self, parameter: Parameter, x: Tensor) -> TensorRef:
        """The parameter as a constant of the network that x is in, added once."""
        return x._tensor()._network._tensor(self._native.use(ref(x), parameter._native))

    def op(self, op: str, *inputs: Any, **attributes: Any) -> TensorRef:
        """Appends an ONNX operator that is called after this module, and returns its first output; parameters may be
        given as they are. The first tensor says which network it is appended to."""
        x = next(i for i in inputs if isinstance(i, (TensorRef, Layer)))
        network = x._tensor()._network
        given = [self.use(i, x) if isinstance(i, Parameter) else i for i in inputs]
        name = self._native.name_for(ref(x), op)
        return network._innermost.add_operator(op, given, attributes=attributes, name=name).output

    def __repr__(self) -> str:
        return f"<lathe.nn.{type(self).__name__}: {len(self._native.named_parameters())} parameters>"
