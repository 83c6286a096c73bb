"""A folder under src/ops is all that a new operator needs: in a scratch copy of the sources one is added, with every side that an operator can
have; the build finds and compiles it, the differential test has its problems, and no other file has changed."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ("CMakeLists.txt", "LICENSE", "README.md", "cmake", "include", "src", "tests/differential", "tests/layering.py")

FOLDER = {
    "twice_abs.h": """// TwiceAbs: Y = 2 |X|.
#pragma once

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct TwiceAbs {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
  }
  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return D(2) * counting::output_elements(s);
  }
};

}  // namespace lathe
""",
    "twice_abs.cc": """#include "ops/twice_abs/twice_abs.h"

#include "schema/schema.h"

namespace lathe {

void declare_twice_abs(SchemaCatalog& c) {
  c.add("TwiceAbs").version(1, "(X: T) -> (Y: T) [T: float]").rule<TwiceAbs>().tolerance({.epsilons = 1});
}

}  // namespace lathe
""",
    "twice_abs.ref.cc": """#include "ops/twice_abs/twice_abs.h"

#include <cmath>

#include "kernel/kernel.h"

namespace lathe {
namespace {

void twice_abs(const TwiceAbs&, KernelContext& c) {
  const auto x = c.in(0).as<float>();
  const auto y = c.out(0).as<float>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = 2 * std::fabs(x[i]);
}

}  // namespace

void reference_twice_abs(KernelCatalog& k) { k.reference<TwiceAbs>("TwiceAbs", twice_abs); }

}  // namespace lathe
""",
    "twice_abs.cpu.cc": """#include <cmath>

#include "cpu/support.h"
#include "ops/twice_abs/twice_abs.h"

namespace lathe {
namespace {

void twice_abs_lines(const TwiceAbs&, KernelContext& c) {
  const float* const x = c.in(0).as<float>().data();
  float* const y = c.out(0).as<float>().data();
  c.parallel(c.in(0).size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = 2 * std::fabs(x[i]);
  });
}

}  // namespace

void cpu_twice_abs(KernelCatalog& k) {
  k.add<TwiceAbs>({.op = "TwiceAbs", .name = cpu::kernel_name("twice_abs", Isa::generic), .overwrites = true},
                  {.run = twice_abs_lines, .supports = cpu::supports_float32<TwiceAbs>});
}

}  // namespace lathe
""",
    "twice_abs.cases.cc": """#include "ops/cases.h"

namespace lathe {

void cases_twice_abs(CaseTable& t) {
  t.add("TwiceAbs", "by hand").input<float>({2}, {-1, 3}).expect<float>({2}, {2, 6});
}

}  // namespace lathe
""",
    "twice_abs.gradient.cc": """#include "gradient/terms.h"

namespace lathe {
namespace {

Term of_twice_abs(Backward&, Term x, Term) { return 2 * call("Sign", x); }

}  // namespace

void gradient_twice_abs(GradientTable& t) { t["TwiceAbs"] = unary_rule<of_twice_abs>; }

}  // namespace lathe
""",
    "twice_abs_problems.py": '''"""Problems of TwiceAbs."""

import numpy as np

from draw import array, makes, shape
from problem import Problem, rare_numbers
from slopes import one, real, slopes
from tolerances import held_to


@makes("TwiceAbs")
def twice_abs(op, rng):
    return Problem(op, [array(rng, np.float32, shape(rng))])


rare_numbers("TwiceAbs")
held_to(0, "TwiceAbs")


@slopes("TwiceAbs")
def derivative(op):
    yield one(op, {"x": real(5)})
''',
}
# The sides and what registers them.
GENERATED = {
    "all_schemas.cc": "declare_twice_abs(all);",
    "all_references.cc": "reference_twice_abs(all);",
    "all_cpu_kernels.cc": "cpu_twice_abs(all);",
    "all_cases.cc": "cases_twice_abs(all);",
    "all_gradients.cc": "gradient_twice_abs(all);",
}
PROBLEMS = """
import generators, slopes, tally, tolerances
assert generators.FOLDERS["TwiceAbs"] == "twice_abs" and tolerances.HELD["TwiceAbs"] == 0
assert tally.problem("TwiceAbs", 1, 2).model().graph.node[0].op_type == "TwiceAbs"
assert len(slopes.of("TwiceAbs")) == 1
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def compiled(build, sources):
    """Each source alone, as the build would, without optimization; the cases, which the tests compile, as the kernels are."""
    commands = {pathlib.Path(c["file"]): c for c in json.loads((build / "compile_commands.json").read_text())}
    like = next(c for path, c in commands.items() if path.name == "twice_abs.ref.cc")

    def one(source):
        entry = commands.get(source, like)
        words = [word if word != entry["file"] else str(source) for word in shlex.split(entry["command"])]
        words[words.index("-o") + 1] = str(build / f"{source.name}.o")
        run(*words, "-O0", cwd=entry["directory"])
        return build / f"{source.name}.o"

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, sources))


def changed(tree):
    return run("git", "status", "--porcelain", "--untracked-files=all", cwd=tree).splitlines()


def test_a_new_operator_is_a_new_folder(tmp_path):
    if not shutil.which("cmake") or not shutil.which("ninja"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("cmake and ninja configure the copy")
    tree, build = tmp_path / "tree", tmp_path / "build"
    for name in COPIED:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    run("git", "init", "-q", cwd=tree)
    run("git", "add", "-A", "-f", cwd=tree)
    run("git", *identity, "commit", "-q", "-m", "as it is", cwd=tree)

    folder = tree / "src" / "ops" / "twice_abs"
    folder.mkdir()
    for name, text in FOLDER.items():
        (folder / name).write_text(text)
    off = [f"-DLATHE_{what}=OFF" for what in ("TESTS", "CLI", "EXAMPLES", "PYTHON", "UNITY", "IMAGES", "REGEX")]
    run("cmake", "-G", "Ninja", "-S", tree, "-B", build, "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", *off)

    generated = build / "generated"
    assert {name: call for name, call in GENERATED.items() if call not in (generated / name).read_text()} == {}
    assert 'all.begin_folder("twice_abs");' in (generated / "all_schemas.cc").read_text()
    objects = compiled(build, [*sorted(folder.glob("*.cc")), *(generated / name for name in GENERATED)])
    assert len(objects) == len(GENERATED) + 5 and all(o.stat().st_size for o in objects)

    run(sys.executable, tree / "tests" / "layering.py", tree)
    paths = [str(tree / "tests" / "differential"), *filter(None, [os.environ.get("PYTHONPATH")])]
    run(sys.executable, "-B", "-c", PROBLEMS, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
    assert changed(tree) == [f"?? src/ops/twice_abs/{name}" for name in sorted(FOLDER)]
