"""Two published packages that use onnxruntime, unmodified, once with onnxruntime and once with Lathe in its place."""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent / "programs"


def answers(program, *how):
    done = subprocess.run([sys.executable, *how, str(HERE / program)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_magika_tells_file_types():
    ours, theirs = answers("file_types.py", "-m", "lathe.compat"), answers("file_types.py")
    assert ours["runtime"].startswith("Lathe") and not theirs["runtime"].startswith("Lathe")
    assert len(ours["types"]) >= 8
    for (label, score), (want_label, want_score) in zip(ours["types"], theirs["types"], strict=True):
        assert label == want_label and abs(score - want_score) < 1e-3


def test_rapidocr_reads_text():
    ours, theirs = answers("read_text.py", "-m", "lathe.compat"), answers("read_text.py")
    assert ours["runtime"].startswith("Lathe") and not theirs["runtime"].startswith("Lathe")
    assert [line["text"] for line in ours["lines"]] == [line["text"] for line in theirs["lines"]]
    assert "Lathe turns models" in " ".join(" ".join(line["text"] for line in ours["lines"]).split())
    for mine, real in zip(ours["lines"], theirs["lines"]):
        assert abs(mine["score"] - real["score"]) < 1e-2
        assert all(abs(a - b) <= 2 for p, q in zip(mine["box"], real["box"]) for a, b in zip(p, q))
