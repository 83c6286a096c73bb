#!/usr/bin/env bash
# sentencepiece 0.2.1 and 0.2.3, PyPI; Python 3.11.
#
# Two patch releases tokenize the same text differently with the same model file. Where runs of a character are
# user-defined symbols, as runs of spaces are in models for code, many ways to cut a longer run have the same score, and
# the releases score such symbols differently: another way wins. A model that was trained with the tokens of one
# release then reads unusual ones, and nothing tells of it: the file, the vocabulary and the decoded text are equal.
#
# Seen on 2026-12-01, by this script:
#
#   runs that differ: [6, 8, 9, 11, 12, 13]
#   8 characters: 0.2.1 ['▁', '___', '_____'] 0.2.3 ['▁', '_____', '___']
#
# Exits with 1 where it is otherwise now.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for version in 0.2.1 0.2.3; do
  python3 -m venv "$version"
  "$version/bin/pip" install -q --disable-pip-version-check "sentencepiece==$version"
done

cat >train.py <<'PY'
import sentencepiece

lines = ["a dog ate the bone", "birds sing in the morning light", "rivers run down to the sea", "the cat sat on the mat"] * 50
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(lines), model_prefix="model", model_type="unigram", vocab_size=60, hard_vocab_limit=False,
    user_defined_symbols=["_" * n for n in range(2, 6)], num_threads=1, minloglevel=3,
)
PY
0.2.1/bin/python train.py

cat >encode.py <<'PY'
import json
import sentencepiece

model = sentencepiece.SentencePieceProcessor(model_file="model.model")
found = {n: model.encode("_" * n, out_type=str) for n in range(4, 14)}
assert all(model.decode(pieces) == "_" * n for n, pieces in found.items())
print(json.dumps(found))
PY
for version in 0.2.1 0.2.3; do "$version/bin/python" encode.py >"$version.json"; done

python3 - <<'PY'
import json

old, new = (json.load(open(f"{v}.json")) for v in ("0.2.1", "0.2.3"))
differ = [int(n) for n in old if old[n] != new[n]]
print("runs that differ:", differ)
print("8 characters: 0.2.1", old["8"], "0.2.3", new["8"])
assert differ == [6, 8, 9, 11, 12, 13], "the behavior has changed"
PY
