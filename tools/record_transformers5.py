#!/usr/bin/env python3
"""Records how transformers 5 saves and reads what transformers 4 saved: tests/data/transformers5.json, and tests/data/transformers5/.

Every checkpoint of tests/data/exporter is loaded by transformers 5 and saved again in three ways,

    again    by the model that was loaded
    anew     by a model of the same configuration that never saw the files: names are those of new models
    inside   with save_original_format=False: names are those of transformers' own modules

and so are variants of them in which weights that the configuration ties have values of their own, or the configuration says something else. Of
each the JSON file has config.json, and for each way that differs how the tensors of the file are made of those of the checkpoint in tests/data/exporter: `names` (new name: old
name, where they differ), `rolled` (the same, the rows moved on by one), `zeros` (name: shape) and `lost` (old names). Every model is run with the inputs that
are recorded beside the checkpoint. Where transformers 5 computes something else than transformers 4 did, or it is a variant, the outputs lie in
tests/data/transformers5/<name>.<file>.io-<n>.safetensors; `not_run` says of which files they could not be had.

    pip install torch==2.15.0 transformers==5.23.0
    python tools/record_transformers5.py [NAME...]
"""
import copy
import importlib.metadata
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors import safe_open  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers.cache_utils import DynamicCache, EncoderDecoderCache  # noqa: E402

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
SOURCE, TARGET = DATA / "exporter", DATA / "transformers5"
VERSIONS = {p: importlib.metadata.version(p) for p in ("torch", "transformers")}

LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.0, 4.0]}
# Name: the checkpoint, what its config.json says else, and parameters with values of their own (the rows of others, moved on by one).
VARIANTS = {
    "t5_own_head": ("t5_past", {}, {"lm_head.weight": "shared.weight"}),
    "t5_own_tokens": ("t5_past", {}, {"encoder.embed_tokens.weight": "shared.weight", "lm_head.weight": "decoder.final_layer_norm.weight"}),
    "t5_own_decoder_tokens": ("t5_even", {}, {"decoder.embed_tokens.weight": "shared.weight"}),
    "t5_scaled_with_own_head": ("t5_gated", {"tie_word_embeddings": True}, {}),
    "gpt2_own_head": ("gpt2_past", {}, {"lm_head.weight": "transformer.wte.weight"}),
    "llama_own_head": ("llama_multi_query", {}, {"lm_head.weight": "model.embed_tokens.weight"}),
    "qwen2_own_head": ("qwen2_past", {}, {"lm_head.weight": "model.embed_tokens.weight"}),
    "mistral_own_head": ("mistral_generation", {}, {"lm_head.weight": "model.embed_tokens.weight"}),
    "bert_own_head": ("bert_fill_mask", {}, {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight"}),
    "bert_own_bias": ("bert_fill_mask", {}, {"cls.predictions.decoder.bias": "cls.predictions.bias"}),
    "bert_untied_bias": ("bert_fill_mask_untied", {}, {"cls.predictions.decoder.bias": "cls.predictions.bias"}),
    "distilbert_own_head": ("distilbert_fill_mask", {}, {"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"}),
    "roberta_own_head": ("roberta_fill_mask", {}, {"lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
                                                   "lm_head.decoder.bias": "lm_head.bias"}),
    "roberta_untied_bias": ("roberta_fill_mask_untied", {}, {"lm_head.decoder.bias": "lm_head.bias"}),
    "xlm_roberta_own_bias": ("xlm_roberta_fill_mask", {}, {"lm_head.decoder.bias": "lm_head.bias"}),
    "xlm_roberta_untied_bias": ("xlm_roberta_fill_mask_untied", {}, {"lm_head.decoder.bias": "lm_head.bias"}),
    "mpnet_own_head": ("mpnet_fill_mask", {}, {"lm_head.decoder.weight": "mpnet.embeddings.word_embeddings.weight"}),
    "mpnet_untied_bias": ("mpnet_fill_mask_untied", {}, {"lm_head.decoder.bias": "lm_head.bias"}),
    "bart_own_head": ("bart_past", {}, {"lm_head.weight": "model.shared.weight"}),
    "bart_own_tokens": ("bart_past", {}, {"model.encoder.embed_tokens.weight": "model.shared.weight"}),
    "bart_decoder_own_head": ("bart_decoder", {}, {"lm_head.weight": "model.decoder.embed_tokens.weight"}),
    "mbart_own_tokens": ("mbart_past", {}, {"model.decoder.embed_tokens.weight": "model.shared.weight"}),
    "whisper_own_head": ("whisper_past", {}, {"proj_out.weight": "model.decoder.embed_tokens.weight"}),
    "donut_own_head": ("donut_past", {}, {"decoder.lm_head.weight": "decoder.model.decoder.embed_tokens.weight"}),
    "vit_gpt2_own_head": ("vit_gpt2_past", {}, {"decoder.lm_head.weight": "decoder.transformer.wte.weight"}),
    "trocr_own_head": ("trocr_past", {}, {"decoder.output_projection.weight": "decoder.model.decoder.embed_tokens.weight"}),
    "vit_bert_own_bias": ("vit_bert", {}, {"decoder.cls.predictions.decoder.bias": "decoder.cls.predictions.bias"}),
    "deit_roberta_untied_bias": ("deit_roberta", {}, {"decoder.lm_head.decoder.bias": "decoder.lm_head.bias"}),
    "longrope_factor_and_lengths": ("llama_rope_longrope", {"original_max_position_embeddings": None, "rope_scaling": {
        **LONG, "factor": 5.0, "original_max_position_embeddings": 8}}, {}),
    "longrope_lengths": ("llama_rope_longrope", {"original_max_position_embeddings": 8, "rope_scaling": {
        **LONG, "original_max_position_embeddings": 16}}, {}),
    "longrope_factor_one": ("llama_rope_longrope", {"rope_scaling": {**LONG, "factor": 1.0}}, {}),
    "yarn_factor_and_lengths": ("llama_rope_yarn", {"rope_scaling": {
        "rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 8}}, {}),
    "yarn_length_beside": ("llama_rope_yarn", {"original_max_position_embeddings": 64, "rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}}, {}),
    "llama3_length_beside": ("llama_rope_llama3", {"original_max_position_embeddings": 4}, {}),
}


def rolled(t: torch.Tensor) -> torch.Tensor:
    return torch.roll(t, 1, 0) if t.dim() else t


def source_of(name: str) -> tuple[pathlib.Path, dict]:
    case = json.loads((SOURCE / name / "case.json").read_text())
    return SOURCE / name / case.get("config_folder", ""), case


def loaded(folder: pathlib.Path, changes: dict):
    """The model, and which of its parameters the files had nothing for."""
    with tempfile.TemporaryDirectory() as changed:
        said = json.loads((folder / "config.json").read_text())
        for key, value in changes.items():
            if value is None:
                said.pop(key, None)
            else:
                said[key] = value
        pathlib.Path(changed, "config.json").write_text(json.dumps(said))
        shutil.copy(folder / "model.safetensors", changed)
        return getattr(transformers, said["architectures"][0]).from_pretrained(changed, attn_implementation="eager").eval()


def give_own(model, own: dict) -> None:
    for path, like in own.items():
        parent, _, name = path.rpartition(".")
        t = model.get_parameter(path if like.endswith("norm.weight") else like).detach()
        setattr(model.get_submodule(parent), name, torch.nn.Parameter(rolled(t).clone()))


def anew(model):
    """A model of its own with the same weights, tied where they are."""
    made = type(model)._from_config(copy.deepcopy(model.config), attn_implementation="eager").eval()
    for path, t in model.named_parameters(remove_duplicate=False):
        parent, _, name = path.rpartition(".")
        setattr(made.get_submodule(parent), name, t)
    for path, t in model.named_buffers():
        parent, _, name = path.rpartition(".")
        setattr(made.get_submodule(parent), name, t)
    return made


def made_of(tensors: dict, old: dict) -> dict:
    """How the tensors of a file are made of the old ones."""
    names, moved, zeros = {}, {}, {}
    for name, t in tensors.items():
        same = [n for n, o in old.items() if o.shape == t.shape and o.dtype == t.dtype and torch.equal(o, t)]
        like = [n for n, o in old.items() if o.shape == t.shape and o.dtype == t.dtype and torch.equal(rolled(o), t)]
        tail = ".".join(name.split(".")[-2:])
        ends = sorted(same, key=lambda n: (n != name, not n.endswith(tail), n))
        if ends:
            if ends[0] != name:
                names[name] = ends[0]
        elif like:
            moved[name] = like[0]
        elif not t.any():
            zeros[name] = list(t.shape)
        else:
            raise ValueError(f"'{name}' is none of the old tensors")
    lost = sorted(set(old) - set(tensors))
    return {k: v for k, v in (("names", names), ("rolled", moved), ("zeros", zeros), ("lost", lost)) if v}


def saved(model, old: dict, **how) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **how)
        config = json.loads(pathlib.Path(folder, "config.json").read_text())
        return {"config": config, **made_of(load_file(pathlib.Path(folder, "model.safetensors")), old)}


# ── What it computes

def cache_of(inputs: dict, part: str, config) -> DynamicCache | None:
    pairs = []
    for i in range(1000):
        names = [f"past_key_values.{i}.{part}{kind}" for kind in ("key", "value")]
        if names[0] not in inputs:
            break
        pairs.append(tuple(inputs.pop(n).clone() for n in names))
    if not pairs:
        return None
    cache = DynamicCache()
    for i, (key, value) in enumerate(pairs):
        cache.update(key, value, i)
    return cache


def ran(model, file: str, inputs: dict, outputs: list[str]) -> dict:
    inputs = {k: v.clone() for k, v in inputs.items()}
    if file == "encoder_model":
        return {"last_hidden_state": model.get_encoder()(**inputs).last_hidden_state}
    own, cross = cache_of(inputs, "decoder.", model.config), cache_of(inputs, "encoder.", model.config)
    if file != "model":
        states, mask = inputs.pop("encoder_hidden_states", None), inputs.pop("encoder_attention_mask", None)
        call = {"decoder_input_ids": inputs.pop("input_ids"), **inputs}
        if "attention_mask" in inputs:
            call["decoder_attention_mask"] = call.pop("attention_mask")
        if mask is not None:
            call["attention_mask"] = mask
        flat = cache_of(call, "", model.config)
        if flat is not None:
            call["past_key_values"] = EncoderDecoderCache(flat, DynamicCache())
        if own is not None:
            keys = cross.layers[0].keys
            states = torch.zeros(keys.shape[0], keys.shape[2], 1) if states is None else states
            cache = EncoderDecoderCache(own, cross)
            for i in range(len(cross.layers)):
                cache.is_updated[i] = True
            call["past_key_values"] = cache
        call["encoder_outputs"] = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=states)
    else:
        call = dict(inputs)
        flat = cache_of(call, "", model.config)
        if flat is not None:
            call["past_key_values"] = flat
        if "encoder_outputs" in call:
            call["encoder_outputs"] = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=call["encoder_outputs"])
    if any(n.startswith("hidden_states.") for n in outputs):
        call["output_hidden_states"] = True
    if any(n.startswith("present.") for n in outputs):
        call["use_cache"] = True
    found = model(**call)
    made = {}
    for name in outputs:
        parts = name.split(".")
        if parts[0] == "present":
            cache = found.past_key_values
            if len(parts) == 4:
                cache = cache.self_attention_cache if parts[2] == "decoder" else cache.cross_attention_cache
            elif isinstance(cache, EncoderDecoderCache):
                cache = cache.self_attention_cache
            layer = cache.layers[int(parts[1])]
            made[name] = layer.keys if parts[-1] == "key" else layer.values
        elif parts[0] == "hidden_states":
            made[name] = found.hidden_states[int(parts[1])]
        else:
            made[name] = getattr(found, name)
    return made


def record_runs(name: str, base: str, model, case: dict, entry: dict) -> None:
    """Outputs beside those of transformers 4, where they are not the same."""
    for old in TARGET.glob(f"{name}.*.io-*.safetensors"):
        old.unlink()
    if case.get("exported_type", "") in ("transformer", "sentence_transformers/clip"):
        entry["not_run"] = {"model": "modules of sentence-transformers stand behind it"}
        return
    for file in case["files"]:
        for n in range(3):
            with safe_open(SOURCE / base / f"{file}.io-{n}.safetensors", "pt") as recorded:
                listed = recorded.metadata()
                inputs = {k: recorded.get_tensor(k) for k in listed["inputs"].split(",")}
                outputs = {k: recorded.get_tensor(k) for k in listed["outputs"].split(",")}
            try:
                with torch.inference_mode():
                    got = ran(model, file, inputs, list(outputs))
            except Exception as e:  # of this run only
                entry.setdefault("not_run", {})[f"{file}.io-{n}"] = f"{type(e).__name__}: {e}"[:160]
                continue
            off = max(float((got[k] - v).abs().max() / max(float(v.abs().max()), 1e-9)) if v.numel() else 0.0 for k, v in outputs.items())
            if off > 2e-5 and case.get("padding_counts", True):
                entry.setdefault("outputs", {})[f"{file}.io-{n}"] = float(f"{off:.2g}")
                TARGET.mkdir(exist_ok=True)
                tensors = {k: v.contiguous().clone() for k, v in {**inputs, **got}.items()}
                save_file(tensors, TARGET / f"{name}.{file}.io-{n}.safetensors", listed)


def record(name: str, base: str, changes: dict, own: dict, variant: bool) -> dict:
    folder, case = source_of(base)
    old = load_file(folder / "model.safetensors")
    model = loaded(folder, changes)
    give_own(model, own)
    entry: dict = {"base": base} if variant else {}
    ways = {"again": saved(model, old), "anew": saved(anew(model), old), "inside": saved(anew(model), old, save_original_format=False)}
    config = ways["again"]["config"]
    if any(way.pop("config") != config for way in ways.values()):
        raise ValueError("configurations differ from way to way")
    entry["config"], entry["ways"] = config, {}
    for way, names in ways.items():
        if names not in entry["ways"].values():
            entry["ways"][way] = names
    # It is read again from what was saved: what counts is what transformers 5 makes of the file.
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        read = type(model).from_pretrained(place, attn_implementation="eager").eval()
        record_runs(name, base, read, case, entry)
    said = ", ".join(f"{k}: {v}" for k, v in entry.items() if k in ("outputs", "not_run"))
    print(f"{name}: {', '.join(entry['ways'])} {said}", flush=True)
    return entry


def main() -> None:
    path = DATA / "transformers5.json"
    wanted, failed = set(sys.argv[1:]), []
    everything = json.loads(path.read_text()) if wanted and path.exists() else {"cases": {}, "variants": {}}
    everything["made_by"] = VERSIONS
    cases = {p.name: (p.name, {}, {}) for p in sorted(SOURCE.iterdir())}
    for group, members in (("cases", cases), ("variants", VARIANTS)):
        for name, (base, changes, own) in members.items():
            if wanted and name not in wanted:
                continue
            try:
                everything[group][name] = record(name, base, changes, own, group == "variants")
            except Exception as e:
                failed.append(name)
                print(f"{name}: {type(e).__name__}: {e}", flush=True)
    path.write_text(json.dumps(everything, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    if failed:
        sys.exit(f"not recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
