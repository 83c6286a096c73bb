"""Modules are trees of parameters."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, Optional, Union

from lathe import _lathe
from lathe._network.handles import Layer, TensorRef, constant_tensor, type_name
from lathe._refit import Checkpoint
from lathe._values import array_from_tensor

natives = _lathe.nn
Tensor = Union[TensorRef, Layer]
# The Python classes of the library's own modules, by their names in the library.
CLASSES: dict[str, type[Module]] = {}


def ref(x: Optional[Tensor]) -> _lathe.TensorRef:
    """Returns the native handle of a tensor or layer, and an empty one for None."""
    if x is None:
        return _lathe.TensorRef()
    if not isinstance(x, (TensorRef, Layer)):
        raise TypeError(f"a tensor of a network expected, got {type(x).__name__}")
    return x._tensor()._native


class Parameter:
    """Weights that a module needs: an element type, a shape and, once bound, values; PyTorch's Parameter.
    It is a handle: `a.weight = b.weight` ties two, which are one constant of a network and are stored once in its file.
    As thread-safe as its module."""

    def __init__(self, dtype: Any = "float32", shape: Iterable[int] = ()):
        self._native = natives.Parameter(type_name(dtype), tuple(shape))

    @classmethod
    def _over(cls, native: Any) -> "Parameter":
        parameter = cls.__new__(cls)
        parameter._native = native
        return parameter

    @property
    def dtype(self) -> str:
        """The element type, which can be set; weights of another type are then removed."""
        return self._native.dtype()

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self._native.set_dtype(type_name(dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._native.shape()

    @property
    def bound(self) -> bool:
        """True once it has values."""
        return self._native.bound()

    @property
    def name(self) -> str:
        """Its path in the tree that it was last bound or emitted in, "" before."""
        return self._native.name()

    @property
    def value(self) -> Any:
        """The weights as an array, which can be set.
        Set it to an array, anything with DLPack, numbers, or a tensor of `lathe.from_file`, of the parameter's type and
        shape: `lathe.Error` E2103 (tensor_bad_type) or E2101 (tensor_bad_shape) otherwise. Arrays are lent, not copied,
        and must not change any more. Reading raises `lathe.Error` E6001 (bad_argument) while there are no weights."""
        return array_from_tensor(self._native.value())

    @value.setter
    def value(self, value: Any) -> None:
        self._native.set_value(constant_tensor(value, self.dtype))

    def reset(self) -> None:
        """Removes the weights."""
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
    """A part of a model with parameters and other modules as attributes, or lists of them; PyTorch's Module.
    Derive from it, make the members in `__init__` after `super().__init__()`, and append layers in `forward`. Use a
    module, and all that share parameters with it, from one thread at a time."""

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
        module.__dict__.update(_native=native, _keep=keep)  # keeps its parent alive
        return module

    # Parameters and modules

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
        """Returns the parameters by path; tied ones appear once, under their first path."""
        return {name: Parameter._over(native) for name, native, _ in self._native.named_parameters()}

    def aliases(self) -> dict[str, list[str]]:
        """Returns the other paths of tied parameters, by their first path."""
        return {name: others for name, _, others in self._native.named_parameters() if others}

    def parameter(self, path: str) -> Parameter:
        """Returns a parameter by path or alias.
        Raises `lathe.Error` E6001 (bad_argument), with similar paths, where there is none."""
        return Parameter._over(self._native.parameter(path))

    def named_modules(self) -> dict[str, "Module"]:
        """Returns this module under the empty path, and all below it by their paths."""
        return {path: Module._over(native, self) if path else self for path, native in self._native.named_modules()}

    def unbound(self) -> list[str]:
        """Returns the paths of parameters without weights."""
        return self._native.unbound()

    def to(self, dtype: Any) -> "Module":
        """Makes `dtype` the type of all floating-point parameters, converts their weights, and returns the module.
        Raises `lathe.Error` E6001 (bad_argument) for a type that weights cannot be converted to."""
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
        """Gives every parameter the tensor of its path in a checkpoint (a path, or a `lathe.Checkpoint`), mapped.
        `rename` replaces beginnings of the checkpoint's names. `base_prefix` is a prefix that only one side may have.
        `other_parts` are parts of the module's paths with what the checkpoint may have in their place. `convert`
        converts floating-point tensors of another type, `allow_missing` leaves parameters that are missing. Returns
        "bound", "missing", "unexpected", "converted" and "untied". Raises `lathe.Error`: E6001 (bad_argument) that
        lists all missing paths, E2103 (tensor_bad_type) or E2101 (tensor_bad_shape) for the first tensor that does not
        fit; nothing is bound then."""
        opened = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)

        def pairs(given: Union[Mapping[str, str], Iterable[tuple[str, str]]]) -> list[tuple[str, str]]:
            return list(given.items()) if isinstance(given, Mapping) else [(old, new) for old, new in given]

        options: dict[str, Any] = dict(rename=pairs(rename), base_prefix=base_prefix, other_parts=pairs(other_parts))
        options |= dict(convert=convert, allow_missing=allow_missing)
        return self._native.bind(opened._native, options)

    # Layers that it appends

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Appends layers for tensors of a network, and returns tensors; derived classes define it."""
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
        """Returns the parameter as a constant of the network that x is in, which is added once."""
        return x._tensor()._network._tensor(self._native.use(ref(x), parameter._native))

    def op(self, op: str, *inputs: Any, **attributes: Any) -> TensorRef:
        """Appends an ONNX operator as part of this module, and returns its first output.
        Parameters may be given as inputs; the first tensor says which network the operator is appended to."""
        x = next(i for i in inputs if isinstance(i, (TensorRef, Layer)))
        network = x._tensor()._network
        given = [self.use(i, x) if isinstance(i, Parameter) else i for i in inputs]
        name = self._native.name_for(ref(x), op)
        return network._innermost.add_operator(op, given, attributes=attributes, name=name).output

    def __repr__(self) -> str:
        return f"<lathe.nn.{type(self).__name__}: {len(self._native.named_parameters())} parameters>"
