"""Every public name of the package has a docstring of its own: modules, classes, functions, methods, properties.

The tests walk the installed package. As a script this file reads the sources instead, which need not be built:
`python tests/python/test_public_docstrings.py` prints what lacks a docstring, and fails where something does."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import pathlib
import pkgutil
import re
import sys
from types import ModuleType
from typing import Any, Iterator, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Classes of exceptions say that they live in the package that they stand for.
OURS = ("lathe", "onnxruntime")
# Modules that need a package which may not be there.
NEEDS_ONNX = ("lathe.backend", "lathe.compat.onnxruntime.backend")
MANY = 300  # names that the package has at least: fewer mean that the walk went wrong
# A docstring that begins so is part of a sentence, which it does not have.
FRAGMENT = re.compile(r"(What|Which|Whose|Whether|Where|When|How|Of|Is|Does(?! nothing)|And|As|By|Those|Not yet)\b")


def is_public(name: str) -> bool:
    return not name.startswith("_")


def is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] in OURS


# The installed package


def modules() -> Iterator[ModuleType]:
    """Yields the public modules of the package, and its native half, whose classes are what public ones return."""
    import lathe

    yield lathe
    yield lathe._lathe
    for found in pkgutil.walk_packages(lathe.__path__, "lathe."):
        # Components are shared libraries beside the modules: Python would take them for extensions.
        if all(map(is_public, found.name.split("."))) and not found.name.startswith("lathe.liblathe_"):
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as e:
                if not (found.name.startswith(NEEDS_ONNX) and (e.name or "").split(".")[0] == "onnx"):
                    raise


def is_sentence(doc: Optional[str]) -> bool:
    """Returns whether it is there, does not begin as a fragment, and its first line ends as a sentence or goes on."""
    text = (doc or "").strip()
    return bool(re.search(r"[.:!?)`]$|\.\s", text)) and not FRAGMENT.match(text)


def doc_of_function(f: Any) -> Optional[str]:
    """Returns what was written for a function; those of nanobind have their signatures in __doc__ besides."""
    overloads = getattr(f, "__nb_signature__", None)
    if overloads is not None:
        return next((overload[1] for overload in overloads if overload[1]), None)
    return getattr(f, "__doc__", None)


def doc_of_class(c: type) -> Optional[str]:
    """Returns what was written for a class itself: neither inherited nor made up by dataclasses and enum."""
    doc = vars(c).get("__doc__")
    made_up = not doc or doc.startswith(f"{c.__name__}(") or doc == "An enumeration."
    return None if made_up else doc


def doc_of_member(member: Any) -> Optional[str]:
    if isinstance(member, (staticmethod, classmethod)):
        return doc_of_function(member.__func__)
    if isinstance(member, property):
        return doc_of_function(member.fget) if hasattr(member.fget, "__nb_signature__") else member.__doc__
    if isinstance(member, functools.cached_property):
        return member.__doc__
    return doc_of_function(member)


def is_documentable(member: Any) -> bool:
    described = (staticmethod, classmethod, property, functools.cached_property)
    return isinstance(member, described) or inspect.isroutine(member) or hasattr(member, "__nb_signature__")


def members(c: type) -> Iterator[tuple[str, Any]]:
    """Yields public methods and properties, those of base classes of ours included, each where it is defined."""
    seen = set()
    for base in c.__mro__:
        for name, member in vars(base).items():
            if name in seen or not is_public(name):
                continue
            seen.add(name)
            if is_ours(base) and is_documentable(member) and not isinstance(member, enum.Enum):
                yield name, member


def walk(module: ModuleType) -> Iterator[tuple[str, Any, Optional[str]]]:
    """Yields path, object and docstring of a module and of everything public in it."""
    yield module.__name__, module, module.__doc__
    for name in getattr(module, "__all__", None) or filter(is_public, vars(module)):
        value = getattr(module, name)
        path = f"{module.__name__}.{name}"
        if inspect.isclass(value) and is_ours(value):
            yield path, value, doc_of_class(value)
            yield from ((f"{path}.{called}", member, doc_of_member(member)) for called, member in members(value))
        elif inspect.ismodule(value):
            if value.__name__.startswith("lathe._lathe."):  # a submodule of the native half
                yield from walk(value)
        elif is_documentable(value) and (is_ours(value) or hasattr(value, "__nb_signature__")):
            yield path, value, doc_of_function(value)


def test_every_public_name_has_a_docstring():
    found = [entry for module in modules() for entry in walk(module)]
    assert len(found) > MANY
    # Many names stand for one object, and many classes have the method of one: it is reported once.
    lacking = {id(value): path for path, value, doc in reversed(found) if not is_sentence(doc)}
    assert not lacking, f"{len(lacking)} without a docstring: {', '.join(sorted(lacking.values()))}"


def test_the_walk_sees_what_is_missing():
    class Base(Exception):
        """A base."""

        def told(self):
            """Says something."""

    class Derived(Base):
        def told(self):
            return 1

        @property
        def size(self):
            return 1

        @classmethod
        def made(cls):
            return cls()

    Base.__module__ = Derived.__module__ = "lathe.example"
    assert doc_of_class(Base) == "A base." and doc_of_class(Derived) is None
    lacking = {name for name, member in members(Derived) if not is_sentence(doc_of_member(member))}
    assert lacking == {"told", "size", "made"}
    assert not is_sentence("words") and is_sentence("A sentence.\n\nAnd more")


def test_the_sources_agree():
    assert [*lacking_in_python(), *lacking_in_bindings()] == []


# The sources


def lacking_in(path: str, body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from lacking_in(path, [*node.body, *node.orelse])
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("__"):
            continue
        decorators = [ast.unparse(d) for d in node.decorator_list]
        of_property = any(d.endswith((".setter", ".deleter")) or d.endswith("overload") for d in decorators)
        if is_public(node.name) and not of_property and not is_sentence(ast.get_docstring(node)):
            yield f"{path}:{node.lineno}: {node.name}"
        if isinstance(node, ast.ClassDef):  # a class whose name is private may be the base of a public one
            yield from lacking_in(path, node.body)


def lacking_in_python() -> Iterator[str]:
    """Modules, and public classes, functions, methods and properties in python/lathe without a docstring."""
    for file in sorted((ROOT / "python/lathe").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        path = str(file.relative_to(ROOT))
        if not is_sentence(ast.get_docstring(tree)):
            yield f"{path}:1: the module"
        yield from lacking_in(path, tree.body)


# Patterns that bring a name to Python, and how many arguments precede the docstring: the module (of classes) and the
# name, which bind_enum takes from the declaration.
BINDINGS = {
    r"\.def(?:_static|_ro|_rw|_prop_ro|_prop_rw)?\(": 1,
    r"\bdef_submodule\(": 1,
    r"nb::class_<[^;{}()]*>(?: \w+)?\(": 2,
    r"nb::enum_<[^;{}()]*>(?: \w+)?\(": 2,
    r"\bbind_enum<(?P<named>\w+)>\(": 1,
    r"\b(?:bind_conv|bind_pool|bind_recurrent|layer|window_options|Options)<[^;{}()]*>\(": 2,
}
TOKEN = re.compile(r"""R"\(.*?\)"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|//[^\n]*|[()\[\]{},]|[^"'()\[\]{},/]+|/""", re.S)


def arguments_at(text: str, at: int) -> list[str]:
    """The arguments of a call whose parenthesis opens before `at`, without comments."""
    arguments, depth = [""], 0
    for token in TOKEN.finditer(text, at):
        word = token.group()
        if word.startswith("//"):
            continue
        if word in "([{":
            depth += 1
        elif word in ")]}":
            if depth == 0:
                break
            depth -= 1
        if word == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += word
    return [a.strip() for a in arguments]


def lacking_in_bindings() -> Iterator[str]:
    """Classes, functions and properties that python/src gives to Python without a docstring."""
    for file in sorted((ROOT / "python/src").iterdir()):
        text = file.read_text(encoding="utf-8")
        for pattern, before in BINDINGS.items():
            for call in re.finditer(pattern, text):
                arguments = arguments_at(text, call.end())
                name = call.groupdict().get("named")
                if not name:
                    if len(arguments) < before or not arguments[before - 1].startswith('"'):
                        continue  # a constructor, or what a helper is given under another name
                    name = arguments[before - 1].strip('"')
                doc = next((a for a in arguments[before:] if a.startswith('"')), None)
                if name.startswith("__") or (doc and not FRAGMENT.match(doc.strip('"'))):
                    continue
                yield f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, call.start()) + 1}: {name}"


if __name__ == "__main__":
    lacking = [*lacking_in_python(), *lacking_in_bindings()]
    print("\n".join([*lacking, f"{len(lacking)} without a docstring"]))
    sys.exit(bool(lacking))
