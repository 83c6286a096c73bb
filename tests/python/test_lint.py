"""Sources and documents keep to the project's names, formatting and limits."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lint(script, root=ROOT):
    done = subprocess.run([sys.executable, ROOT / "tests" / "lint" / script, root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_names_and_formatting():
    code, said = lint("lint.py")
    assert code == 0, said


def test_documents():
    code, said = lint("docs.py")
    assert code == 0, said


def test_what_is_retired_or_badly_formatted_is_found(tmp_path):
    (tmp_path / ".clang-format").write_text((ROOT / ".clang-format").read_text())
    (tmp_path / "a.cc").write_text("int a;\nint   b;\n")
    (tmp_path / "b.h").write_text("struct Turn" + "Kernels;\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "turn.h").write_text("struct Turn {\n  float degrees;\n};\n")
    (tmp_path / "src" / "turn.cc").write_text("void turn(int degrees) {\n  turn(0);\n  back(degrees);\n}\n")
    (tmp_path / "d.md").write_text("| one | `turn` | `src/turn.cc` |\n| two | `back` | `src/turn.cc` |\n| three | `turn` | `src/none.cc` |\n")
    (tmp_path / "c.md").write_text("[a link](nowhere.md), held by nowhere_test, of `Turn::angle` and `Other::angle`\n" + "long " * 40 + "\n")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    code, said = lint("lint.py", tmp_path)
    assert code == 1 and "a.cc: clang-format -i a.cc" in said and "b.h:1: 'Turn" + "Kernels' is retired: TransposeKernels" in said
    code, said = lint("docs.py", tmp_path)
    assert code == 1
    assert "c.md:1: no file nowhere.md" in said and "c.md:1: no test nowhere_test" in said and "c.md:2: 200 columns" in said
    assert "c.md:1: no member Turn::angle" in said and "Other" not in said
    functions = [line for line in said.splitlines() if line.startswith("d.md")]
    assert functions == ["d.md:2: no function back in src/turn.cc", "d.md:3: no function turn in src/none.cc"]
