#!/usr/bin/env python3
"""Extracts the examples of a document, with the checks that readers do not see; as a program, it makes a C++ test of them:

    document_examples.py DOCUMENT OUTPUT
    document_examples.py --shown OUTPUT DOCUMENT...    a program of the examples as readers see them

An example is a fenced block of code. A comment right behind it adds lines that only the tests have:

    <!-- test
      context.run(inputs);
    + require(context.memory_peak() > 0);
    -->

A line with a plus goes behind the line of the example that was named last, or to the beginning where none was named. Lines are
named in their order, and in full. In C++ `require` is a check that ends the test, `assert` becomes one, and `folder` is the
folder that the example runs in: a new one, which is removed afterwards.
"""

import pathlib
import re
import sys

EXAMPLE = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```\n(?:\n?<!-- test\n(?P<added>.*?)^-->)?", re.M | re.S)

PREAMBLE = """#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "lathe/lathe.h"
#include "support/temp_directory.h"

#define require(...) ASSERT_TRUE(__VA_ARGS__)
"""


def with_added(code, added):
    """The example with the lines of the comment in their places."""
    lines, at = code.splitlines(), 0
    for line in added.splitlines():
        if line.startswith("+"):
            lines.insert(at, line[1:].removeprefix(" "))
            at += 1
        elif line.strip():
            found = [i for i in range(at, len(lines)) if lines[i].strip() == line.strip()]
            if not found:
                raise ValueError(f"no such line in the rest of the example: {line.strip()}")
            at = found[0] + 1
    return "\n".join(lines) + "\n"


def examples(text, language):
    """The code of a document's examples, one by one, as it is run."""
    return [with_added(m["code"], m["added"] or "") for m in EXAMPLE.finditer(text) if m["language"] == language]


def cpp_test(document):
    """The source of a test of every C++ example of a document."""
    blocks = examples(document.read_text(), "cpp")
    assert blocks, f"no examples in {document}"
    text = PREAMBLE
    name = re.sub(r"\W", "_", document.stem)
    for i, block in enumerate(blocks, 1):
        if block.startswith("#include"):  # a file of its own: compiled
            text += f"\n{block}"
            continue
        block = re.sub(r"\bassert\(", "require(", block)
        text += f"\nTEST(ExamplesOf_{name}, Number{i}) {{\n[[maybe_unused]] const lathe::testing::TempWorkingDirectory folder;\n{block}}}\n"
    return text


def cpp_shown(documents):
    """The source of a program with a function for every C++ example, as it is shown: it has to compile and link."""
    text = "#include <cassert>\n#include <cstdio>\n#include <thread>\n\n#include \"lathe/lathe.h\"\n"
    for number, document in enumerate(documents):
        shown = [m["code"] for m in EXAMPLE.finditer(document.read_text()) if m["language"] == "cpp"]
        for i, code in enumerate(shown, 1):
            text += f"\n// {document.name}, example {i}\nvoid example_{number}_{i}() {{\n{code}}}\n"
    return text + "\nint main() {}\n"


if __name__ == "__main__":
    if sys.argv[1] == "--shown":
        pathlib.Path(sys.argv[2]).write_text(cpp_shown([pathlib.Path(name) for name in sys.argv[3:]]))
    else:
        pathlib.Path(sys.argv[2]).write_text(cpp_test(pathlib.Path(sys.argv[1])))
