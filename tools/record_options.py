#!/usr/bin/env python3
"""Records what a config.json of every architecture that `lathe export` knows can say, for the tests of the exporter:
tests/data/transformers_options.json, by model type the arguments of its configuration class in `transformers` with their defaults.
Needs Python 3.11 and these (nothing of them is needed to run the tests):

    pip install torch==2.6.0 transformers==4.57.1 'numpy<2.3'
    python tools/record_options.py
"""
import importlib.metadata
import inspect
import json
import pathlib

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
# What every configuration takes that changes what an architecture computes.
COMMON = ("add_cross_attention", "cross_attention_hidden_size", "is_decoder", "pruned_heads", "tie_encoder_decoder", "tie_word_embeddings")


def model_types(config: dict) -> set[str]:
    """Of a config.json, its halves too."""
    found = {config["model_type"]} if "model_type" in config else set()
    for half in config.values():
        if isinstance(half, dict):
            found |= model_types(half)
    return found


def options(model_type: str) -> dict:
    known = CONFIG_MAPPING[model_type]
    own = {
        name: p.default
        for name, p in inspect.signature(known.__init__).parameters.items()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and name != "self"
    }
    plain = known() if model_type != "vision-encoder-decoder" else transformers.PretrainedConfig()
    return {name: getattr(plain, name, None) for name in COMMON if name not in own} | own


def main() -> None:
    types = set()
    for file in sorted((DATA / "exporter").glob("**/config.json")):
        types |= model_types(json.loads(file.read_text()))
    found = {t: options(t) for t in sorted(types)}
    lines = ",\n".join(f"  {json.dumps(t)}: {json.dumps(o)}" for t, o in found.items())
    text = f'{{\n "made_by": {{"transformers": "{importlib.metadata.version("transformers")}"}},\n "options": {{\n{lines}\n }}\n}}\n'
    (DATA / "transformers_options.json").write_text(text)


if __name__ == "__main__":
    main()
