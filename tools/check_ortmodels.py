#!/usr/bin/env python3
"""Do Optimum's ORTModel classes load what `lathe export` writes, and compute what transformers computes with the same checkpoint?

The checkpoints are those of tests/data/exporter. Each is exported, loaded by the class that Optimum has for its task, called with the
recorded inputs and, where it writes text, asked to: greedily, and with three beams. The answer is a table, which docs/reference/export.md keeps. Not part of
the tests: it needs PyTorch, and Lathe installed beside these:

    pip install torch==2.6.0 transformers==4.57.1 'numpy<2.3' onnx onnxruntime
    pip install --no-deps optimum==2.1.0 optimum-onnx==0.1.0
    python tools/check_ortmodels.py [FIXTURE...]
"""
import importlib.metadata
import json
import pathlib
import sys
import tempfile

import torch
import transformers
from optimum import onnxruntime as ort
from safetensors import safe_open

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "exporter"
# ORTModel class: class of transformers, fixtures
CLASSES = {
    "ORTModelForFeatureExtraction": ("AutoModel", ["bert", "distilbert", "xlm_roberta", "mpnet"]),
    "ORTModelForMaskedLM": ("AutoModelForMaskedLM", ["bert_fill_mask", "roberta_fill_mask"]),
    "ORTModelForSequenceClassification": ("AutoModelForSequenceClassification", ["bert_classes", "bart_classes"]),
    "ORTModelForTokenClassification": ("AutoModelForTokenClassification", ["distilbert_tokens"]),
    "ORTModelForQuestionAnswering": ("AutoModelForQuestionAnswering", ["mpnet_answers"]),
    "ORTModelForMultipleChoice": ("AutoModelForMultipleChoice", ["roberta_choices"]),
    "ORTModelForImageClassification": ("AutoModelForImageClassification", ["vit_classes", "deit_teacher", "swin_classes", "resnet_classes", "clip_classes"]),
    "ORTModelForZeroShotImageClassification": ("AutoModelForZeroShotImageClassification", ["clip"]),
    "ORTModelForAudioClassification": ("AutoModelForAudioClassification", ["whisper_audio_classes"]),
    "ORTModelForCausalLM": ("AutoModelForCausalLM", ["gpt2_past", "gpt2_left", "llama_past", "mistral_past", "qwen2_past", "gpt2_generation", "bart_decoder"]),
    # Not t5_past: ORTModelForSeq2SeqLM makes an empty past of d_model / num_heads, whatever d_kv is.
    "ORTModelForSeq2SeqLM": ("AutoModelForSeq2SeqLM", ["t5_even", "bart_past", "mbart_past", "t5_generation"]),
    "ORTModelForSpeechSeq2Seq": ("AutoModelForSpeechSeq2Seq", ["whisper_past"]),
    "ORTModelForVision2Seq": ("VisionEncoderDecoderModel", ["donut_past", "vit_gpt2_past", "trocr_past", "trocr_printed", "swin_bart", "deit_trocr", "vit_bert"]),
    "ORTModelForCustomTasks": ("SentenceTransformer", ["sentence_bert", "sentence_clip"]),
}
WRITERS = ("ORTModelForCausalLM", "ORTModelForSeq2SeqLM", "ORTModelForSpeechSeq2Seq", "ORTModelForVision2Seq")
TOKENS = 6  # written


def recorded(folder: pathlib.Path, file: str) -> dict[str, torch.Tensor]:
    with safe_open(folder / f"{file}.io-0.safetensors", "pt") as f:
        return {name: f.get_tensor(name) for name in f.metadata()["inputs"].split(",")}


def export(folder: pathlib.Path, to: pathlib.Path, task: str) -> None:
    from lathe import exporters

    exporters.export(folder, to, task=task, do_validation=False)


def name_of_encoder(folder: pathlib.Path) -> str:
    return json.loads((folder / "config.json").read_text())["model_type"]


def made_by_transformers(name: str, folder: pathlib.Path):
    if name == "SentenceTransformer":
        from sentence_transformers import models

        if name_of_encoder(folder) == "clip":
            both = transformers.CLIPModel.from_pretrained(folder).eval()
            return lambda input_ids, attention_mask, pixel_values: {
                "text_embeds": both.get_text_features(input_ids=input_ids, attention_mask=attention_mask),
                "image_embeds": both.get_image_features(pixel_values=pixel_values),
            }
        modules = [models.Transformer.__new__(models.Transformer)]
        torch.nn.Module.__init__(modules[0])
        modules[0].auto_model = transformers.AutoModel.from_pretrained(folder)
        pooling, normalize = models.Pooling.load(str(folder / "1_Pooling")), models.Normalize()

        def run(input_ids, attention_mask, **_):
            tokens = modules[0].auto_model(input_ids=input_ids, attention_mask=attention_mask)[0]
            features = {"token_embeddings": tokens, "attention_mask": attention_mask}
            return normalize(pooling(features))

        return run
    return getattr(transformers, name).from_pretrained(folder, attn_implementation="eager").eval()


def difference(a: dict, b: dict) -> float:
    """The largest, of outputs that both have, in parts of the largest element."""
    names = [n for n, t in a.items() if isinstance(t, torch.Tensor) and t.is_floating_point() and isinstance(b.get(n), torch.Tensor)]
    assert names, (list(a), list(b))
    return max(((a[n] - b[n]).abs().max() / b[n].abs().max()).item() for n in names)


def texts_differ(ours, theirs, inputs: dict) -> str:
    for beams in (1, 3):
        asked = dict(max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False, num_beams=beams)
        a, b = ours.generate(**inputs, **asked), theirs.generate(**inputs, **asked)
        if a.shape != b.shape or not torch.equal(a, b):
            return f"{beams} beams: {a.tolist()} and {b.tolist()}"
    return ""


def checked(ort_class: str, their_class: str, name: str) -> str:
    folder = FIXTURES / name
    facts = json.loads((folder / "case.json").read_text())
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory) / "out"
        export(folder, out, facts["task"])
        asked = {"use_cache": facts["task"].endswith("-with-past")} if ort_class in WRITERS else {}
        ours = getattr(ort, ort_class).from_pretrained(out, **asked)
        theirs = made_by_transformers(their_class, folder)
        inputs = recorded(folder, facts["files"][0])
        inputs = {n: t for n, t in inputs.items() if not n.startswith("past_key_values.") and n != "position_ids"}
        with torch.inference_mode():
            if ort_class in WRITERS:
                if ort_class == "ORTModelForCausalLM":
                    # The mask of a past that is not there; padding on the left, behind which text is written.
                    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
                    inputs["attention_mask"][-1, :2] = 0
                called = inputs | ({} if ort_class == "ORTModelForCausalLM" else {"decoder_input_ids": torch.tensor([[2, 5, 7]] * len(next(iter(inputs.values()))))})
                a, b = ours(**called), theirs(**called)
                if ort_class == "ORTModelForCausalLM":  # what becomes of padding means nothing
                    counts = inputs["attention_mask"][..., None]
                    a, b = ({"logits": x.logits * counts} for x in (a, b))
                differs = texts_differ(ours, theirs, inputs)
            else:
                a, b, differs = ours(**inputs), theirs(**inputs), ""
        apart = difference(dict(a), dict(b))
    assert apart < 1e-4, apart
    assert not differs, differs
    return f"{apart:.1e}" + (", the same text" if ort_class in WRITERS else "")


def main() -> None:
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("optimum-onnx", "optimum", "transformers", "torch", "onnxruntime"))
    print(f"{versions}\n\n| class | checkpoint | largest difference |\n|---|---|---|")
    failed = 0
    for ort_class, (their_class, names) in CLASSES.items():
        for name in names:
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            try:
                said = checked(ort_class, their_class, name)
            except Exception as e:  # the others are worth knowing all the same
                said, failed = f"**{type(e).__name__}: {str(e)[:300]}**", failed + 1
            print(f"| {ort_class} | {name} | {said} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
