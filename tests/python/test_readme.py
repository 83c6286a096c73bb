"""The README's examples, run as they stand, and documents that repeat what the code says."""
import inspect
import os
import pathlib
import re
import subprocess
import sys

from lathe import _engine

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def test_python_examples_run():
    examples = [b for b in blocks("python") if "import lathe" in b]
    assert examples
    for code in examples:
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "[" in done.stdout  # the probabilities


def test_commands_run():
    commands = [line.split("#")[0].strip() for b in blocks("sh") for line in b.splitlines() if "cli/lathe " in line]
    assert len(commands) >= 4
    cli = pathlib.Path(os.environ.get("LATHE_CLI", ROOT / "build/release/cli/lathe"))
    for command in commands:
        words = command.replace("model.onnx", "examples/digits/digits.onnx").split()
        done = subprocess.run([str(cli), *words[1:]], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_the_table_of_differences_is_the_codes():
    done = subprocess.run([sys.executable, "tests/differential", "--known"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout in (ROOT / "docs" / "reference" / "differences.md").read_text()


def test_promises_name_tests_that_there_are():
    tests = [p for p in (ROOT / "tests").rglob("*") if p.suffix in (".cc", ".py", ".h", ".sh")]
    text = "".join(p.read_text() for p in tests)
    named = set()
    for words in re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "internals" / "promises.md").read_text()):
        for word in re.split(r"[,/ ]+", words):
            word = word.rsplit(".", 1)[-1] if re.match(r"[A-Z]\w*\.[A-Z]", word) else word
            if re.fullmatch(r"(test_|[A-Z][a-z]+[A-Z])\w*\W*", word):  # `Begins*` and `Begins...` go on somehow
                named.add(word.rstrip("*.()"))
    assert len(named) > 100
    assert [name for name in sorted(named) if name not in text] == []


def test_the_reference_names_every_command_and_option():
    def told(*arguments):
        cli = pathlib.Path(os.environ.get("LATHE_CLI", ROOT / "build/release/cli/lathe"))
        return subprocess.run([str(cli), *arguments, "--help"], capture_output=True, text=True, check=True).stdout

    commands, options = ((ROOT / "docs/reference" / name).read_text() for name in ("command-line.md", "options.md"))
    names = re.findall(r"^  ([a-z]+)  ", told().split("Subcommands:")[1], re.M)
    assert len(names) > 10 and [name for name in names if f"\n| `{name}" not in commands] == []
    flags = set(re.findall(r"(?<=[ ,])--[a-z][a-z-]+", told("build").split("Options:")[1].split("Examples:")[0]))
    assert len(flags) > 20 and sorted(flag for flag in flags if f"{flag}" not in commands + options) == []
    keywords = inspect.signature(_engine.build_options).parameters
    assert [name for name in keywords if f"`{name}`" not in options] == []
