#!/usr/bin/env python3
"""Records what Optimum calls the files, inputs, outputs and axes of every architecture and task that `lathe export` knows, for the
tests of the exporter: tests/data/optimum_axes.json, a list with for each pair

    model_type, library, task    as Optimum registers them
    checkpoint                   of tests/data/exporter that was exported
    files                        by name: {"inputs": {name: [axis or size, …]}, "outputs": …}, as the file itself has them

The checkpoints are exported by Optimum and PyTorch, without looking at the numbers. Pairs that Optimum has for one of these architectures
and that no checkpoint can be found for are an error: `tools/exporter_cases.py` then lacks one. Needs Python 3.11 and these (nothing of
them is needed to run the tests):

    pip install torch==2.6.0 transformers==4.57.1 'numpy<2.3' onnx onnxruntime
    pip install --no-deps optimum==2.1.0 optimum-onnx==0.1.0
    pip install sentence-transformers==5.1.2
    python tools/record_axes.py [MODEL_TYPE...]
"""
import importlib.metadata
import json
import logging
import pathlib
import shutil
import sys
import tempfile
import warnings

import onnx
import record_transformers
from optimum.exporters.onnx import main_export
from optimum.exporters.tasks import TasksManager

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
TARGET = DATA / "optimum_axes.json"
VERSIONS = {p: importlib.metadata.version(p) for p in ("torch", "transformers", "optimum", "optimum-onnx")}
LIBRARIES = ("transformers", "diffusers", "sentence_transformers")
SHAPES = {"sequence_length": 6, "nb_max_frames": 20}  # within what the checkpoints have positions for
# What checkpoints of parts of pipelines call themselves.
PARTS = {"clip-text": "clip_text_model", "clip-text-with-projection": "clip_text_model"}


def checkpoints() -> list[dict]:
    """What case.json says of each, with its folder and what it is in Optimum's words."""
    found = []
    for folder in sorted((DATA / "exporter").iterdir()):
        facts = json.loads((folder / "case.json").read_text())
        facts["folder"] = folder
        facts["sentence"] = bool(facts.get("exported_type"))
        found.append(facts)
    return found


def known_as(facts: dict) -> str:
    return (facts.get("exported_type") or facts["model_type"]).removeprefix("sentence_transformers/")


def base(task: str) -> str:
    return task.removesuffix("-with-past")


def supported(model_type: str, library: str) -> list[str]:
    known = TasksManager._LIBRARY_TO_SUPPORTED_MODEL_TYPES[library]
    return sorted(known[model_type]["onnx"]) if model_type in known and "onnx" in known[model_type] else []


def pairs(found: list[dict]) -> list[tuple[str, str, str]]:
    types = {known_as(f) for f in found} | set(PARTS)
    return sorted((t, library, task) for t in types for library in LIBRARIES for task in supported(t, library))


def checkpoints_for(model_type: str, library: str, task: str, found: list[dict]) -> list[dict]:
    """One with the head that the task wants; for features any of the architecture will do. Of what is made of two other architectures
    all: each pair has names of its own."""
    mine = [f for f in found if known_as(f) == PARTS.get(model_type, model_type) and f["sentence"] == (library == "sentence_transformers")]
    if library == "diffusers":
        projected = model_type == "clip-text-with-projection"
        mine = [f for f in mine if ("projected" in f["folder"].name) == projected]
    exact = [f for f in mine if f["task"] == task] or [f for f in mine if base(f["task"]) == base(task)]
    if not exact and base(task) in ("feature-extraction", "sentence-similarity"):
        exact = mine
    if not exact and task == "zero-shot-image-classification":
        exact = [f for f in mine if f["task"] == "feature-extraction"]
    if not exact:
        raise LookupError(f"no checkpoint of {model_type} for {task}")
    if model_type == "vision-encoder-decoder":
        return exact
    return [min(exact, key=lambda facts: (len(facts["folder"].name), facts["folder"].name))]  # the plainest


def dims(values) -> dict[str, list]:
    return {
        v.name: [d.dim_param if d.HasField("dim_param") else d.dim_value for d in v.type.tensor_type.shape.dim] for v in values
    }


def export_part(folder: pathlib.Path, model_type: str, task: str, to: pathlib.Path) -> None:
    """The text side of CLIP, which Optimum exports as a part of a pipeline only."""
    import transformers
    from optimum.exporters.onnx.convert import export_models

    projected = model_type == "clip-text-with-projection"
    cls = transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel
    model = cls.from_pretrained(folder).eval()
    make = TasksManager.get_exporter_config_constructor("onnx", model_type=model_type, task=task, library_name="diffusers")
    export_models({"model": (model, make(model.config, task=task))}, to, output_names=["model.onnx"])


def record(model_type: str, library: str, task: str, facts: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, to = pathlib.Path(folder) / "checkpoint", pathlib.Path(folder)
        shutil.copytree(facts["folder"], checkpoint)
        if library == "sentence_transformers":  # which loads nothing without
            (record_transformers.add_clip_processor if model_type == "clip" else record_transformers.add_tokenizer)(checkpoint)
        if library == "diffusers":
            export_part(checkpoint, model_type, task, to)
        else:
            main_export(str(checkpoint), to, task=task, library_name=library, do_validation=False, device="cpu", **SHAPES)
        files = {}
        for file in sorted(to.glob("*.onnx")):
            graph = onnx.load(file, load_external_data=False).graph
            files[file.name] = {"inputs": dims(graph.input), "outputs": dims(graph.output)}
    return {"model_type": model_type, "library": library, "task": task, "checkpoint": facts["folder"].name, "files": files}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    wanted = set(sys.argv[1:])
    found = checkpoints()
    kept = json.loads(TARGET.read_text())["exports"] if wanted and TARGET.exists() else []
    exports = [e for e in kept if e["model_type"] not in wanted]
    failed = []
    for model_type, library, task in pairs(found):
        if wanted and model_type not in wanted:
            continue
        try:
            for facts in checkpoints_for(model_type, library, task, found):
                exports.append(record(model_type, library, task, facts))
                print(f"{model_type} ({library}), {task}: {', '.join(exports[-1]['files'])} of {facts['folder'].name}", flush=True)
        except Exception as e:  # the other pairs are worth having all the same
            failed.append(f"{model_type} {task}")
            print(f"{model_type} ({library}), {task}: {type(e).__name__}: {e}", flush=True)
    exports.sort(key=lambda e: (e["model_type"], e["library"], e["task"], e["checkpoint"]))
    lines = ",\n".join("  " + json.dumps(e) for e in exports)
    TARGET.write_text(f'{{\n "made_by": {json.dumps(VERSIONS)},\n "exports": [\n{lines}\n ]\n}}\n')
    if failed:
        sys.exit(f"not recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
