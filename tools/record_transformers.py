#!/usr/bin/env python3
"""Records what small random models of `transformers` compute, for the tests of the exporter: tests/data/exporter/<case>/ with

    config.json, model.safetensors   the checkpoint, as transformers saves it
    case.json                        model type, task, the files that Optimum makes of it, and the versions that made this
    <file>.io-<n>.safetensors        inputs and outputs of one run of <file>.onnx together, float32, under the names that they have in
                                     Optimum's files; metadata `inputs` and `outputs` list them in their order

PyTorch runs the models on the CPU in eval mode; Optimum says names and what belongs into which file. What is there is written anew:
with the same versions the same weights and inputs, and outputs that differ by roundings at most. Needs Python 3.11 and these (nothing of them is needed to run the tests):

    pip install torch==2.6.0 transformers==4.57.1 'numpy<2.3' onnx onnxruntime
    pip install --no-deps optimum==2.1.0 optimum-onnx==0.1.0
    pip install sentence-transformers==5.1.2
    python tools/record_transformers.py [CASE...]
"""
import importlib.metadata
import json
import pathlib
import shutil
import sys
import tempfile
import zlib

import torch
import transformers
from exporter_cases import CASES, Case
import optimum.exporters.onnx.model_configs  # noqa: F401  registers what TasksManager knows
from optimum.exporters.onnx.base import OnnxConfigWithPast
from optimum.exporters.tasks import TasksManager
from optimum.exporters.utils import _get_submodels_and_export_configs
from safetensors.torch import save_file

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "exporter"
VERSIONS = {p: importlib.metadata.version(p) for p in ("torch", "transformers", "optimum-onnx")}

# Sizes of the axes that Optimum names. `padding` says on which side the second row of a batch has tokens that do not count.
SAMPLES = (
    {"batch_size": 2, "sequence_length": 7, "past_sequence_length": 5, "padding": "right"},
    {"batch_size": 3, "sequence_length": 4, "past_sequence_length": 0, "padding": "left"},
    {"batch_size": 1, "sequence_length": 1, "past_sequence_length": 6, "padding": None},
)


def randomize(model: torch.nn.Module) -> None:
    """Weights under which every one of them matters: those that transformers starts with are nearly zero, and biases are."""
    for name, p in [*model.named_parameters(), *model.named_buffers()]:
        if not p.is_floating_point() or name.endswith(("inv_freq", "logit_scale")):
            continue
        noise = torch.randn_like(p)
        if name.endswith("running_var"):
            p.data = 0.5 + noise.abs()
        elif p.dim() < 2:
            p.data = 0.2 * noise + (1.0 if name.endswith("weight") else 0.0)
        elif "embed" in name or "wte" in name or "wpe" in name or "shared" in name:
            p.data = 0.7 * noise
        else:
            p.data = noise * p[0].numel() ** -0.5


def sizes_of(axes: dict[int, str], like: torch.Tensor, sizes: dict[str, int]) -> list[int]:
    """The shape of `like` with the axes that have names in the sizes asked for."""
    shape = list(like.shape)
    for axis, name in axes.items():
        parts = [p.strip() for p in name.split("+")]
        if all(p in sizes for p in parts):
            shape[axis] = sum(sizes[p] for p in parts)
    return shape


def mask_of(shape: list[int], padding: str | None) -> torch.Tensor:
    mask = torch.ones(shape, dtype=torch.int64)
    rows = mask.view(-1, shape[-1])
    if padding and shape[-1] > 2 and len(rows) > 1:
        rows[1, slice(-2, None) if padding == "right" else slice(0, 2)] = 0
    return mask


def fill(name: str, shape: list[int], like: torch.Tensor, config, sizes: dict) -> torch.Tensor:
    if name in ("attention_mask", "encoder_attention_mask", "decoder_attention_mask"):
        return mask_of(shape, sizes["padding"])
    if name == "token_type_ids":
        return torch.randint(0, config.type_vocab_size, shape)
    if name == "bool_masked_pos":
        return torch.rand(shape) < 0.4
    if like.is_floating_point():
        return torch.randn(shape)
    text = getattr(config, "text_config", None) or getattr(config, "decoder", None) or config
    # Not 0 to 3: among them are the tokens for padding and for the end, at which some heads look.
    return torch.randint(4, text.vocab_size, shape)


def make_inputs(model, onnx_config, sizes: dict, dummies: dict) -> dict:
    """What the model is called with: past_key_values nested, encoder_outputs in a tuple."""
    like = onnx_config.generate_dummy_inputs(framework="pt", batch_size=2, sequence_length=8, **dummies)
    axes = onnx_config.inputs
    made = {}
    for name, value in like.items():
        if name == "past_key_values":
            key = "past_key_values.0.decoder.key" if "past_key_values.0.decoder.key" in axes else "past_key_values.0.key"
            cross = axes.get("past_key_values.0.encoder.key")
            made[name] = [
                tuple(torch.randn(sizes_of(axes[key] if i < 2 else cross, t, sizes)) for i, t in enumerate(layer)) for layer in value
            ]
        elif isinstance(value, tuple):
            made[name] = (torch.randn(sizes_of(axes[name], value[0], sizes)), None, None)
        else:
            made[name] = fill(name, sizes_of(axes[name], value, sizes), value, model.config, sizes)
    if "position_ids" in made:
        positions = (made["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        made["position_ids"] = positions[:, -made["position_ids"].shape[1] :].contiguous()
    finish_sentences(made, model.config)
    return made


def finish_sentences(made: dict, config) -> None:
    """Tokens that heads look for: padding behind the last token of a sequence, as many ends in every row."""
    if "input_ids" not in made or made["input_ids"].dim() != 2:
        return
    ids = made["input_ids"]
    pad, end = getattr(config, "pad_token_id", None), getattr(config, "eos_token_id", None)
    mask = made.get("attention_mask")
    if config.is_encoder_decoder or "pixel_values" in made or config.model_type == "clip_text_model":
        ids[:, -1] = end if isinstance(end, int) else ids[:, -1]
    if mask is not None and isinstance(pad, int) and mask.shape == ids.shape and not config.is_encoder_decoder:
        ids[mask == 0] = pad


def flatten(name: str, value, onnx_config) -> dict:
    if not isinstance(value, (tuple, list)):
        return {name: value}
    if isinstance(onnx_config, OnnxConfigWithPast) and isinstance(value[0], (tuple, list)):
        return onnx_config.flatten_output_collection_property(name, value)
    return {name: value[0]} if value[1] is None else {f"{name}.{i}": v for i, v in enumerate(value)}


def run(model, onnx_config, sizes: dict, dummies: dict) -> tuple[dict, dict]:
    inputs = make_inputs(model, onnx_config, sizes, dummies)
    recorded_in = {}
    for name, value in onnx_config.rename_ambiguous_inputs(dict(inputs)).items():
        for key, t in flatten(onnx_config.torch_to_onnx_input_map.get(name, name), value, onnx_config).items():
            recorded_in[key] = t.clone()
    patcher = onnx_config.patch_model_for_export(model, model_kwargs={})
    with patcher, torch.inference_mode():
        names = onnx_config.ordered_inputs(model)
        found = model(**onnx_config.rename_ambiguous_inputs(inputs))
    recorded_out = {}
    for name, value in found.items():
        name = "present" if name == "past_key_values" else onnx_config.torch_to_onnx_output_map.get(name, name)
        recorded_out.update(flatten(name, value, onnx_config))
    missing = set(onnx_config.outputs) - set(recorded_out)
    if missing:
        raise ValueError(f"{sorted(missing)} are not among the outputs {sorted(recorded_out)}")
    inputs_in_order = [n for n in names if n in recorded_in]
    assert set(inputs_in_order) == set(recorded_in), (inputs_in_order, list(recorded_in))
    return {n: recorded_in[n] for n in inputs_in_order}, {n: recorded_out[n] for n in onnx_config.outputs}


def untie(model: torch.nn.Module) -> None:
    """Weights of their own, as transformers reads them, where the configuration ties none."""
    text = getattr(model.config, "decoder", None) or model.config
    if text.tie_word_embeddings:
        return
    for path in getattr(model, "_tied_weights_keys", None) or []:
        if path.endswith("embed_tokens.weight"):
            owner = model if hasattr(model, path.split(".")[0]) else model.base_model
            module = owner.get_submodule(path.removesuffix(".weight"))
            if module is not model.get_input_embeddings():
                module.weight = torch.nn.Parameter(module.weight.detach().clone())


def sentence_model(encoder, case: Case, folder: pathlib.Path) -> torch.nn.Module:
    """The encoder with the modules behind it, saved as sentence-transformers does, but for what tokenizes."""
    from sentence_transformers import SentenceTransformer, models

    with tempfile.TemporaryDirectory() as plain:
        encoder.save_pretrained(plain)
        first = (clip_encoder if case.known_as == "clip" else text_encoder)(pathlib.Path(plain))
    type(first).save_in_root = not case.sentence_folder
    whole = SentenceTransformer(modules=[first, *(getattr(models, kind)(**options) for kind, options in case.sentence)], device="cpu").eval()
    for module in list(whole)[1:]:
        randomize(module)
    whole.save(str(folder), create_model_card=False)
    for path in folder.rglob("*"):
        if path.name.startswith(("tokenizer", "vocab", "special_tokens", "merges", "preprocessor", "README")):
            path.unlink()
    whole.config = encoder.config
    return whole


def text_encoder(plain: pathlib.Path):
    from sentence_transformers import models

    add_tokenizer(plain)
    return models.Transformer(str(plain), model_args={"attn_implementation": "eager"})


def clip_encoder(plain: pathlib.Path):
    from sentence_transformers.models import CLIPModel

    add_clip_processor(plain)
    return CLIPModel(str(plain))


def add_tokenizer(plain: pathlib.Path) -> None:
    words = plain / "vocab.txt"
    words.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]) + "\n")
    transformers.BertTokenizerFast(str(words)).save_pretrained(plain)


def add_clip_processor(plain: pathlib.Path) -> None:
    words = ["<|startoftext|>", "<pad>", *(f"w{i}" for i in range(44)), "<|endoftext|>"]
    (plain / "words.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (plain / "merges").write_text("#version: 0.2\n")
    transformers.CLIPTokenizer(str(plain / "words.json"), str(plain / "merges")).save_pretrained(plain)
    transformers.CLIPImageProcessor(size=12, crop_size=12).save_pretrained(plain)


def exported_type(case: Case) -> str:
    """What is exported, where it is more than the architecture: a model type of another library, by that library's name where the
    architecture has one of the same name."""
    if case.sentence is None:
        return ""
    return f"{case.library}/{case.known_as}" if case.known_as == "clip" else case.known_as


def parts_of(model, case: Case) -> dict:
    """File: what computes it, and Optimum's configuration of it."""
    if not case.known_as:
        _, parts = _get_submodels_and_export_configs(
            model, case.task, case.monolith, {}, False, "default", "transformers", exporter="onnx"
        )
        return parts
    make = TasksManager.get_exporter_config_constructor("onnx", model_type=case.known_as, task=case.task, library_name=case.library)
    return {"model": (model, make(model.config, task=case.task))}


def record(case: Case) -> None:
    folder = TARGET / case.name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(zlib.crc32(case.name.encode()))
    config = case.make_config()
    config._attn_implementation = "eager"
    model = getattr(transformers, case.model)._from_config(config, attn_implementation="eager").eval()
    untie(model)
    randomize(model)
    model.tie_weights()
    if case.sentence is not None:
        model = sentence_model(model, case, folder)
    else:
        model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    parts = parts_of(model, case)
    files = []
    for part, (submodel, onnx_config) in parts.items():
        files.append(part)
        for n, sizes in enumerate(SAMPLES):
            sizes = {**sizes, **{"encoder_sequence_length": 5 + n, "decoder_sequence_length": sizes["sequence_length"]}}
            sizes |= {"past_decoder_sequence_length": sizes["past_sequence_length"], "encoder_sequence_length_out": 5 + n}
            sizes |= {k: v[n % len(v)] for k, v in case.sizes.items()}
            inputs, outputs = run(submodel, onnx_config, sizes, case.dummies)
            # Names that are in both are the very same tensor on the way through, as encoder_hidden_states are.
            tensors = {k: v.contiguous().clone() for k, v in {**inputs, **outputs}.items()}
            assert len(tensors) == len(inputs) + len(outputs), set(inputs) & set(outputs)
            assert all(torch.isfinite(t).all() for t in tensors.values() if t.is_floating_point()), case.name
            metadata = {"inputs": ",".join(inputs), "outputs": ",".join(outputs)}
            save_file(tensors, folder / f"{part}.io-{n}.safetensors", metadata)
    facts = {"model_type": config.model_type, "task": case.task, "monolith": case.monolith, "files": files}
    if case.sentence_folder:
        facts["config_folder"] = "0_CLIPModel"
    facts |= {"exported_type": exported_type(case), "padding_counts": case.padding_counts, "made_by": VERSIONS}
    (folder / "case.json").write_text(json.dumps(facts, indent=1) + "\n")
    size = sum(f.stat().st_size for f in folder.rglob("*"))
    print(f"{case.name}: {', '.join(files)}; {size / 1024:.0f} KiB", flush=True)


def main() -> None:
    wanted, failed = set(sys.argv[1:]), []
    for case in CASES:
        if wanted and case.name not in wanted:
            continue
        try:
            record(case)
        except Exception as e:  # the other cases are worth having all the same
            failed.append(case.name)
            print(f"{case.name}: {type(e).__name__}: {e}", flush=True)
    if failed:
        sys.exit(f"not recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
