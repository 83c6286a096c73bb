"""Every public declaration of the C++ headers has a docstring; the script that counts is tried on samples."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("docstrings", ROOT / "tests" / "lint" / "docstrings.py")
docstrings = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(docstrings)


def missing(text):
    return docstrings.missing_docstrings(text)


def names(text):
    return [name for _, name in missing(text)]


DOCUMENTED = [
    "/// Adds.\nint add(int a, int b);",
    "/// Adds,\n/// and returns.\ntemplate <class T>\nT add(T a, T b) { return a + b; }",
    "int add(int a, int b);  // adds",
    "inline constexpr int limit = 4;  // bytes",
    "/// A point.\nstruct Point {\n  int x = 0, y = 0;  // pixels\n  /// Above.\n  std::vector<int> z = {1, 2};\n};",
    "/// Names.\nusing Names = std::map<std::string, int, std::less<>>;",
    "/// Colors.\nenum class Color : uint8_t { red, green };",
    "/// Adds.\nint add(int a);\nint add(int a, int b);\nint add(int a, int b, int c);",  # one group of overloads
    "class Forward;\nstruct Point;\nenum class Color : int;",
    "namespace detail {\nint hidden();\n}\nnamespace a::detail {\nint hidden();\n}",
    "/// A class.\nclass C {\n  int hidden_;\n  void hidden();\n\n public:\n  C() = default;\n  C(const C&) = delete;\n"
    "  friend class D;\n  using Base::Base;\n  int overrides() const override { return 1; }\n"
    "  struct Impl;\n\n private:\n  int more_ = 0;\n};",
    "/// T.\ntemplate <class T>\nT get();\ntemplate <>\nint get();",
    "#define LOUD(x) \\\n  int x();\n",
    "extern \"C\" {\n/// Is C.\nint c();\n}",
    "/// A constructor of its own line.\nstruct A {\n  /// Makes.\n  A(int a) : a_{a}, b_(a) {}\n\n private:\n  int a_, b_;\n};",
    "  /// Calls.\n  void call(const std::function<void(int)>& f = {});",
]

MISSING = [
    ("int add(int a, int b);", ["add"]),
    ("// An ordinary comment.\nint add(int a, int b);", ["add"]),
    ("/// Apart.\n\nint add(int a, int b);", ["add"]),
    ("/// Adds.\nint add(int a);\nint sub(int a);", ["sub"]),
    ("/// Adds.\nint add(int a);\n\nint add(int a, int b);", ["add"]),
    ("int add(int a) {\n  return a;  // inside\n}", ["add"]),
    ("struct Point {\n  int x;\n  std::function<void(int)> f = {};\n};", ["Point", "x", "f"]),
    ("/// P.\nstruct P {\n  bool operator==(const P&) const;\n  int operator()(int i) { return i; }\n"
     "  explicit operator bool() const { return true; }\n};", ["operator==", "operator()", "operator bool"]),
    ("/// C.\nclass C {\n public:\n  explicit C(int a) : a_(a), b_{a} {}\n  virtual void f() = 0;\n\n private:\n  int g();\n};",
     ["C", "f"]),
    ("enum class Color { red };", ["Color"]),
    ("using Names = std::map<int, std::string>;", ["Names"]),
    ("inline constexpr Color colors[] = {Color::red, Color::green};", ["colors"]),
    ("namespace a {\nnamespace b {\nint f();\n}\n}", ["f"]),
    ("/// C.\nclass C {\n public:\n  /// D.\n  struct D {\n    int x;\n  };\n\n protected:\n  int y;\n};", ["x"]),
    ("/// C.\nstruct C {\n  friend bool operator<(const C& a, const C& b) { return a.x < b.x; }\n  int x;  // x\n};",
     ["operator<"]),
    ("template <class T>\nstruct Traits {};", ["Traits"]),
    ("std::string text = R\"(/// no docstring)\";\n", ["text"]),
]


@pytest.mark.parametrize("text", DOCUMENTED)
def test_documented(text):
    assert names(text) == []


@pytest.mark.parametrize("text, expected", MISSING)
def test_missing(text, expected):
    assert names(text) == expected


def test_line_is_where_the_declaration_begins():
    assert missing("/// A.\nint a();\n\ntemplate <class T>\nint b(\n    T t);\n") == [(4, "b")]


def test_public_headers():
    found = [f"{h.relative_to(ROOT)}:{line}: {name}" for h in docstrings.headers_of([ROOT / "include" / "lathe"])
             for line, name in missing(h.read_text(encoding="utf-8"))]
    assert found == []


def test_fragments():
    text = "/// What it is.\n/// Of no use.\nint a;  // of the layer\n// Is it?\n\n/// It is what it is.\nint b;  // ofcourse\n"
    assert docstrings.fragments(text) == [(1, "What it is."), (3, "of the layer"), (4, "Is it?")]
    assert [f for h in docstrings.headers_of([ROOT / "include" / "lathe"])
            for f in docstrings.fragments(h.read_text(encoding="utf-8"))] == []


def test_exit_code(tmp_path, capsys):
    good, bad = tmp_path / "good.h", tmp_path / "bad.h"
    good.write_text("/// Adds.\nint add(int a);\n")
    bad.write_text("int add(int a);\n")
    assert docstrings.main([str(good)]) == 0
    assert docstrings.main([str(good), str(bad)]) == 1
    assert "bad.h:1: add" in capsys.readouterr().out
    bad.write_text("/// Of no use.\nint add(int a);\n")
    assert docstrings.main([str(bad)]) == 1
