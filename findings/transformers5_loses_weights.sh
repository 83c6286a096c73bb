#!/usr/bin/env bash
# transformers 5.23.0 (torch 2.15.0, Python 3.11) reads checkpoints of transformers 4 and computes something else, or nothing. No error is raised while they
# are loaded. Seen on 2026-11-29, by this script:
#
#   relative_key: differs from absolute positions by 0 (they are ignored), 'distance_embedding' is saved again: False
#   untied masked-LM bias: cls.predictions.bias is added to the logits: False
#   TrOCR with sinusoidal positions: NotImplementedError: Cannot copy out of meta tensor; no data!
#
# 1. `position_embedding_type` of BERT and RoBERTa, "relative_key" and "relative_key_query", is no longer read: the weights of the distances are dropped, also
#    when the checkpoint is saved again, whose config.json still says relative_key.
# 2. A BertForMaskedLM with `tie_word_embeddings` false, saved by transformers 4, has its bias as cls.predictions.bias alone. transformers 5 adds
#    cls.predictions.decoder.bias, which it begins with zeros. (RoBERTa, XLM-RoBERTa and MPNet likewise: lm_head.bias.)
# 3. The positions of TrOCR with `use_learned_position_embeddings` false stay on the meta device after from_pretrained.
#
# Exits with 1 where any of it is otherwise now.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install -q --disable-pip-version-check torch==2.15.0 transformers==5.23.0
HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error "$place/venv/bin/python" - "$place" <<'PROGRAM'
import json
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

tf.logging.disable_progress_bar()
place = pathlib.Path(sys.argv[1])
sizes = dict(vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, max_position_embeddings=40)
ids = torch.arange(5, 12)[None]
as_seen = []


def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=ids).logits


def changed(model, name, config, tensors):
    """The checkpoint of a model, with entries of config.json and tensors as transformers 4 has them."""
    folder = place / name
    model.save_pretrained(folder)
    said = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(said))
    weights = load_file(folder / "model.safetensors")
    weights = {k: v for k, v in (weights | tensors).items() if v is not None}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


torch.manual_seed(0)
plain = tf.BertForMaskedLM(tf.BertConfig(**sizes))
distances = {"bert.encoder.layer.0.attention.self.distance_embedding.weight": torch.randn(79, 8)}
folder = changed(plain, "relative", {"position_embedding_type": "relative_key"}, distances)
read = tf.BertForMaskedLM.from_pretrained(folder)
off = float((logits(read) - logits(plain)).abs().max())
read.save_pretrained(place / "relative_again")
kept = any("distance_embedding" in k for k in load_file(place / "relative_again/model.safetensors"))
print(f"relative_key: differs from absolute positions by {off:g} (they are ignored), 'distance_embedding' is saved again: {kept}")
as_seen.append(off == 0 and not kept)

untied = tf.BertForMaskedLM(tf.BertConfig(**sizes, tie_word_embeddings=False))
with torch.no_grad():
    untied.cls.predictions.decoder.bias.zero_()
bias = {"cls.predictions.bias": torch.ones(60), "cls.predictions.decoder.bias": None}
read = tf.BertForMaskedLM.from_pretrained(changed(untied, "untied", {}, bias))
added = bool((logits(read) - logits(untied) - 1).abs().max() < 1e-3)
print(f"untied masked-LM bias: cls.predictions.bias is added to the logits: {added}")
as_seen.append(not added)

image = tf.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=28, image_size=12, patch_size=4)
text = tf.TrOCRConfig(vocab_size=47, d_model=16, decoder_layers=1, decoder_attention_heads=4, decoder_ffn_dim=28, use_learned_position_embeddings=False)
both = tf.VisionEncoderDecoderModel(tf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(image, text))
both.save_pretrained(place / "trocr")
read = tf.VisionEncoderDecoderModel.from_pretrained(place / "trocr").eval()
try:
    with torch.no_grad():
        read(pixel_values=torch.zeros(1, 3, 12, 12), decoder_input_ids=ids)
    said = "it runs"
except NotImplementedError as e:
    said = f"NotImplementedError: {e}"
print(f"TrOCR with sinusoidal positions: {said}")
as_seen.append("meta tensor" in said)
sys.exit(0 if all(as_seen) else 1)
PROGRAM
