#!/usr/bin/env python3
"""Makes a test of the C++ examples of a document: examples.py DOCUMENT OUTPUT."""
import pathlib
import re
import sys

document, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
blocks = re.findall(r"^```cpp\n(.*?)^```", document.read_text(), re.M | re.S)
assert blocks, f"no examples in {document}"
text = """#include <gtest/gtest.h>

#include <thread>

#include "lathe/builder.h"
#include "lathe/checkpoint.h"
#include "lathe/exporters.h"
#include "lathe/lathe.h"
#include "lathe/nn.h"
#include "support/temp_directory.h"

#define require(...) ASSERT_TRUE(__VA_ARGS__)
"""
name = re.sub(r"\W", "_", document.stem)
for i, block in enumerate(blocks, 1):
    if block.startswith("#include"):  # a file of its own: compiled
        text += f"\n{block}"
        continue
    text += f"\nTEST(ExamplesOf_{name}, Number{i}) {{\n[[maybe_unused]] const lathe::testing::TempDirectory folder;\n{block}}}\n"
output.write_text(text)
