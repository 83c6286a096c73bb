#!/usr/bin/env bash
# A package that carries an ONNX model with external data loads after `pip install` and does not after `uv pip install`.
# onnx 1.23.0, uv 0.13.9, pip, Python 3.11, Linux. Seen on 2026-11-29, by this script:
#
#   installed by pip: links 1, onnx.load: 2000 weights
#   installed by uv: links 2, onnx.load: ValidationError: ... it has multiple hard links, indicating a potential hardlink attack.
#
# uv puts hard links to the files in its cache into site-packages, where both are on one file system (its default on Linux). onnx.load refuses external data in
# a file that has more than one hard link, since it cannot tell such a link from one that somebody laid to a file outside of the model's folder. Each
# does what it says; together a model that was packaged and installed as intended is refused, with the word attack. `uv pip install --link-mode=copy` helps, or
# one file without external data. (ONNX Runtime loads both.)
#
# Exits with 1 where any of it is otherwise now.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.0 uv==0.13.9 setuptools==80.9.0 wheel==0.45.1
export UV_CACHE_DIR=$place/cache

mkdir -p "$place/source/carries_a_model"
"$place/venv/bin/python" - "$place/source/carries_a_model" <<'PROGRAM'
import sys

import numpy as np
import onnx
import onnx.helper as oh

weights = onnx.numpy_helper.from_array(np.ones(2000, np.float32), "w")
infos = [oh.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2000]) for name in "xy"]
model = oh.make_model(oh.make_graph([oh.make_node("Add", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [weights]))
onnx.save(model, f"{sys.argv[1]}/model.onnx", save_as_external_data=True, location="model.data")
open(f"{sys.argv[1]}/__init__.py", "w").close()
PROGRAM
cat >"$place/source/setup.py" <<'PROGRAM'
from setuptools import setup

setup(name="carries-a-model", version="1.0", packages=["carries_a_model"], package_data={"carries_a_model": ["model.*"]})
PROGRAM
"$place/venv/bin/pip" wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$place" "$place/source"

cat >"$place/load.py" <<'PROGRAM'
import os
import pathlib
import sys

import onnx

folder = pathlib.Path(sys.argv[1]) / "carries_a_model"
links = os.stat(folder / "model.data").st_nlink
try:
    loaded = f"{onnx.numpy_helper.to_array(onnx.load(folder / 'model.onnx').graph.initializer[0]).size} weights"
except Exception as e:
    loaded = f"{type(e).__name__}: ... {str(e).split('but ')[-1]}"
print(f"installed by {sys.argv[2]}: links {links}, onnx.load: {loaded}")
PROGRAM
"$place/venv/bin/pip" install -q --disable-pip-version-check --no-deps --target "$place/by_pip" "$place"/carries_a_model-1.0-*.whl
"$place/venv/bin/uv" pip install -q --no-deps --python "$place/venv/bin/python" --target "$place/by_uv" "$place"/carries_a_model-1.0-*.whl
by_pip=$("$place/venv/bin/python" "$place/load.py" "$place/by_pip" pip)
by_uv=$("$place/venv/bin/python" "$place/load.py" "$place/by_uv" uv)
printf '%s\n%s\n' "$by_pip" "$by_uv"
[ "$by_pip" = "installed by pip: links 1, onnx.load: 2000 weights" ]
[[ $by_uv == "installed by uv: links 2, onnx.load: ValidationError: "*"multiple hard links"* ]]
