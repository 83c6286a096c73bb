"""What record_transformers.py records: for every architecture, configurations that together use all options that change the graph."""
import dataclasses

import torch
import transformers


@dataclasses.dataclass
class Case:
    name: str
    model: str  # a class of transformers
    task: str
    options: dict = dataclasses.field(default_factory=dict)
    monolith: bool = False
    sizes: dict = dataclasses.field(default_factory=dict)  # of named axes, one a sample
    dummies: dict = dataclasses.field(default_factory=dict)  # sizes that Optimum has no name for
    parts: tuple = ()  # configurations of an encoder and a decoder
    library: str = "transformers"  # under which Optimum knows the model
    known_as: str = ""  # the model type that Optimum knows it by, where it is not config.model_type
    # Do positions that the attention mask hides have outputs that mean something? What they are is no more than recorded where not.
    padding_counts: bool = True
    # Modules of sentence-transformers behind the encoder, class and options, where it is one of sentences.
    sentence: tuple | None = None
    sentence_folder: bool = False  # the encoder lies in a folder of its own, as earlier versions of sentence-transformers have it

    def make_config(self):
        if self.parts:
            encoder, decoder = (getattr(transformers, kind)(**options) for kind, options in self.parts)
            return transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder, **self.options)
        return getattr(transformers, self.model).config_class(**self.options)


CASES: list[Case] = []


def add(name: str, model: str, task: str, base: dict, /, monolith: bool = False, sizes: dict | None = None, dummies: dict | None = None,
        library: str = "transformers", known_as: str = "", padding_counts: bool = True, **options) -> None:
    CASES.append(Case(name, model, task, {**base, **options}, monolith, sizes or {}, dummies or {}, (), library, known_as, padding_counts))


# ── Encoders of text
ENCODER = dict(vocab_size=47, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=28,
               max_position_embeddings=24, type_vocab_size=3, pad_token_id=0)
CHOICES = {"num_choices": (3, 2, 4)}
add("bert", "BertModel", "feature-extraction", ENCODER)
add("bert_fill_mask", "BertForMaskedLM", "fill-mask", ENCODER, hidden_act="gelu_new", layer_norm_eps=1e-3)
add("bert_fill_mask_untied", "BertForMaskedLM", "fill-mask", ENCODER, hidden_act="relu", tie_word_embeddings=False)
add("bert_classes", "BertForSequenceClassification", "text-classification", ENCODER, hidden_act="silu", num_labels=3)
add("bert_tokens", "BertForTokenClassification", "token-classification", ENCODER, hidden_act="gelu_pytorch_tanh", num_labels=5)
add("bert_answers", "BertForQuestionAnswering", "question-answering", ENCODER, num_hidden_layers=1)
add("bert_choices", "BertForMultipleChoice", "multiple-choice", ENCODER, num_hidden_layers=1, sizes=CHOICES)
add("bert_relative_key", "BertModel", "feature-extraction", ENCODER, position_embedding_type="relative_key")
add("bert_relative_key_query", "BertForMaskedLM", "fill-mask", ENCODER, position_embedding_type="relative_key_query")
# Padding on the left leaves the first tokens nothing to see. What becomes of them is an accident of how two masks are added up.
RIGHT = {"padding": ("right", "right", None)}
add("bert_decoder", "BertModel", "feature-extraction", ENCODER, sizes=RIGHT, is_decoder=True, add_cross_attention=True)

DISTIL = dict(vocab_size=47, dim=16, n_layers=2, n_heads=4, hidden_dim=28, max_position_embeddings=24, pad_token_id=0)
add("distilbert", "DistilBertModel", "feature-extraction", DISTIL, activation="relu")
add("distilbert_fill_mask", "DistilBertForMaskedLM", "fill-mask", DISTIL, sinusoidal_pos_embds=True)
add("distilbert_fill_mask_untied", "DistilBertForMaskedLM", "fill-mask", DISTIL, tie_word_embeddings=False)
add("distilbert_classes", "DistilBertForSequenceClassification", "text-classification", DISTIL, num_labels=3)
add("distilbert_tokens", "DistilBertForTokenClassification", "token-classification", DISTIL, num_labels=5)
add("distilbert_answers", "DistilBertForQuestionAnswering", "question-answering", DISTIL, n_layers=1)
add("distilbert_choices", "DistilBertForMultipleChoice", "multiple-choice", DISTIL, n_layers=1, sizes=CHOICES)

ROBERTA = {**ENCODER, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
for family, cls in (("roberta", "Roberta"), ("xlm_roberta", "XLMRoberta")):
    add(family, f"{cls}Model", "feature-extraction", ROBERTA)
    add(f"{family}_fill_mask", f"{cls}ForMaskedLM", "fill-mask", ROBERTA, layer_norm_eps=1e-5)
    add(f"{family}_classes", f"{cls}ForSequenceClassification", "text-classification", ROBERTA, num_labels=3, hidden_act="gelu_new")
    add(f"{family}_tokens", f"{cls}ForTokenClassification", "token-classification", ROBERTA, num_hidden_layers=1)
    add(f"{family}_answers", f"{cls}ForQuestionAnswering", "question-answering", ROBERTA, num_hidden_layers=1)
    add(f"{family}_choices", f"{cls}ForMultipleChoice", "multiple-choice", ROBERTA, num_hidden_layers=1, sizes=CHOICES)
add("roberta_fill_mask_untied", "RobertaForMaskedLM", "fill-mask", ROBERTA, tie_word_embeddings=False)
add("xlm_roberta_fill_mask_untied", "XLMRobertaForMaskedLM", "fill-mask", ROBERTA, num_hidden_layers=1, tie_word_embeddings=False, pad_token_id=5)
add("roberta_decoder", "RobertaForMaskedLM", "fill-mask", ROBERTA, sizes=RIGHT, is_decoder=True)
add("roberta_relative_key", "RobertaModel", "feature-extraction", ROBERTA, position_embedding_type="relative_key")

MPNET = {k: v for k, v in ENCODER.items() if k != "type_vocab_size"} | {"pad_token_id": 1}
add("mpnet", "MPNetModel", "feature-extraction", MPNET)
add("mpnet_fill_mask", "MPNetForMaskedLM", "fill-mask", MPNET, layer_norm_eps=1e-3, hidden_act="gelu_new")
add("mpnet_classes", "MPNetForSequenceClassification", "text-classification", MPNET, num_labels=3)
add("mpnet_tokens", "MPNetForTokenClassification", "token-classification", MPNET, num_hidden_layers=1, pad_token_id=5)  # which it does not read
add("mpnet_fill_mask_untied", "MPNetForMaskedLM", "fill-mask", MPNET, num_hidden_layers=1, tie_word_embeddings=False)
add("mpnet_answers", "MPNetForQuestionAnswering", "question-answering", MPNET, num_hidden_layers=1)
add("mpnet_buckets", "MPNetModel", "feature-extraction", MPNET, num_hidden_layers=1, relative_attention_num_buckets=40)
add("mpnet_choices", "MPNetForMultipleChoice", "multiple-choice", MPNET, num_hidden_layers=1, sizes=CHOICES)

# ── Decoders of text
GPT2 = dict(vocab_size=47, n_embd=16, n_layer=2, n_head=4, n_positions=32, bos_token_id=3, eos_token_id=3, pad_token_id=0)
PAST = "text-generation-with-past"
add("gpt2", "GPT2Model", "feature-extraction", GPT2, sizes=RIGHT)
add("gpt2_past", "GPT2LMHeadModel", PAST, GPT2, sizes=RIGHT)
add("gpt2_generation", "GPT2LMHeadModel", "text-generation", GPT2, sizes=RIGHT, activation_function="relu", n_inner=20, layer_norm_epsilon=1e-3)
add("gpt2_unscaled", "GPT2LMHeadModel", PAST, GPT2, sizes=RIGHT, scale_attn_weights=False, activation_function="gelu")
add("gpt2_scaled_by_layer", "GPT2LMHeadModel", PAST, GPT2, sizes=RIGHT, scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True)
add("gpt2_untied", "GPT2LMHeadModel", PAST, GPT2, sizes=RIGHT, tie_word_embeddings=False)
add("gpt2_cross", "GPT2LMHeadModel", PAST, GPT2, sizes=RIGHT, n_layer=1, add_cross_attention=True)  # no encoder: it is not read
LEFT = {"padding": ("left", "left", None)}
add("gpt2_left", "GPT2LMHeadModel", PAST, GPT2, sizes=LEFT, padding_counts=False)
add("gpt2_feature_past", "GPT2Model", "feature-extraction-with-past", GPT2, sizes=RIGHT, n_layer=1)
add("gpt2_classes", "GPT2ForSequenceClassification", "text-classification", GPT2, sizes=RIGHT, num_labels=3)
add("gpt2_tokens", "GPT2ForTokenClassification", "token-classification", GPT2, sizes=RIGHT, num_labels=5)

LLAMA = dict(vocab_size=47, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, intermediate_size=28,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GQA = {**LLAMA, "num_key_value_heads": 2}
LONG = {"sequence_length": (14, 4, 20), "past_sequence_length": (5, 0, 6)}
add("llama", "LlamaModel", "feature-extraction", LLAMA)
add("llama_past", "LlamaForCausalLM", PAST, GQA)
add("llama_generation", "LlamaForCausalLM", "text-generation", LLAMA, rms_norm_eps=1e-3, rope_theta=500.0, hidden_act="gelu")
add("llama_multi_query", "LlamaForCausalLM", PAST, {**LLAMA, "num_key_value_heads": 1}, head_dim=8, tie_word_embeddings=True)
add("llama_biases", "LlamaForCausalLM", PAST, GQA, attention_bias=True, mlp_bias=True)
add("llama_rope_linear", "LlamaForCausalLM", PAST, GQA, rope_scaling={"rope_type": "linear", "factor": 3.0})
add("llama_rope_dynamic", "LlamaForCausalLM", PAST, GQA, sizes=LONG, max_position_embeddings=16,
    rope_scaling={"rope_type": "dynamic", "factor": 2.0})
add("llama_rope_llama3", "LlamaForCausalLM", PAST, GQA, head_dim=16, rope_scaling={
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16})
add("llama_rope_yarn", "LlamaForCausalLM", PAST, GQA, head_dim=16, rope_scaling={
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8})
add("llama_rope_yarn_scales", "LlamaForCausalLM", PAST, GQA, head_dim=16, rope_scaling={
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "beta_fast": 8.0, "beta_slow": 2.0, "mscale": 0.7,
    "mscale_all_dim": 1.3, "truncate": False})
add("llama_rope_longrope", "LlamaForCausalLM", PAST, GQA, sizes=LONG, head_dim=6, original_max_position_embeddings=16, rope_scaling={
    "rope_type": "longrope", "factor": 2.0, "original_max_position_embeddings": 16, "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.0, 4.0]})
add("llama_rope_longrope_factor", "LlamaForCausalLM", PAST, GQA, sizes=LONG, head_dim=6, max_position_embeddings=16, rope_scaling={
    "rope_type": "longrope", "factor": 3.0, "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.0, 4.0]})
add("llama_rope_yarn_attention", "LlamaForCausalLM", PAST, GQA, head_dim=16, rope_scaling={
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "attention_factor": 0.8})
add("llama_classes", "LlamaForSequenceClassification", "text-classification", GQA, num_labels=3)
add("qwen2", "Qwen2Model", "feature-extraction", GQA)
add("qwen2_past", "Qwen2ForCausalLM", PAST, GQA, tie_word_embeddings=True)
add("qwen2_window", "Qwen2ForCausalLM", PAST, GQA, use_sliding_window=True, sliding_window=4, max_window_layers=1)
add("qwen2_classes", "Qwen2ForSequenceClassification", "text-classification", GQA, num_labels=3, hidden_act="relu", rms_norm_eps=1e-3,
    rope_theta=500.0)
add("qwen2_tokens", "Qwen2ForTokenClassification", "token-classification", GQA, num_labels=5, rope_scaling={
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8})
add("mistral", "MistralModel", "feature-extraction", GQA, sliding_window=None)
add("mistral_past", "MistralForCausalLM", PAST, GQA, sliding_window=4)
add("mistral_generation", "MistralForCausalLM", "text-generation", GQA, sliding_window=3, head_dim=8, hidden_act="gelu", rms_norm_eps=1e-3,
    rope_theta=500.0, tie_word_embeddings=True)
add("mistral_classes", "MistralForSequenceClassification", "text-classification", GQA, num_labels=3)

# ── Encoders and decoders
T5 = dict(vocab_size=47, d_model=16, d_kv=6, d_ff=28, num_layers=2, num_heads=4, pad_token_id=0, eos_token_id=1,
          relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=0)
SEQ2SEQ = "text2text-generation-with-past"
add("t5", "T5Model", "feature-extraction", T5)
add("t5_past", "T5ForConditionalGeneration", SEQ2SEQ, T5)
# Heads that divide the hidden size, as most published models have them and Optimum's ORTModel classes expect.
add("t5_even", "T5ForConditionalGeneration", SEQ2SEQ, T5, d_kv=4, num_layers=1)
add("t5_generation", "T5ForConditionalGeneration", "text2text-generation", T5, num_layers=1)
add("t5_gated", "T5ForConditionalGeneration", SEQ2SEQ, T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
add("t5_gated_silu", "T5ForConditionalGeneration", SEQ2SEQ, T5, feed_forward_proj="gated-silu", num_decoder_layers=1,
    layer_norm_epsilon=1e-3, d_kv=8)

BART = dict(vocab_size=47, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=28, decoder_ffn_dim=24, max_position_embeddings=24, pad_token_id=1, bos_token_id=0, eos_token_id=2,
            decoder_start_token_id=2, forced_eos_token_id=2)
for family, cls in (("bart", "Bart"), ("mbart", "MBart")):
    add(family, f"{cls}Model", "feature-extraction", BART)
    add(f"{family}_past", f"{cls}ForConditionalGeneration", SEQ2SEQ, BART)
    add(f"{family}_generation", f"{cls}ForConditionalGeneration", "text2text-generation", BART, scale_embedding=True,
        activation_function="relu", decoder_layers=1, decoder_attention_heads=2)
    add(f"{family}_classes", f"{cls}ForSequenceClassification", "text-classification", BART, num_labels=4, encoder_layers=1, eos_token_id=3,
        decoder_start_token_id=1, pad_token_id=0)
    add(f"{family}_answers", f"{cls}ForQuestionAnswering", "question-answering", BART, decoder_layers=1, pad_token_id=5)
    add(f"{family}_decoder", f"{cls}ForCausalLM", PAST, BART)
    add(f"{family}_untied", f"{cls}ForConditionalGeneration", SEQ2SEQ, BART, encoder_layers=1, decoder_layers=1, tie_word_embeddings=False)

# ── Images
VIT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=28, image_size=12, patch_size=4)
add("vit", "ViTModel", "feature-extraction", VIT, qkv_bias=False)
add("vit_classes", "ViTForImageClassification", "image-classification", VIT, num_labels=3, hidden_act="gelu_new", layer_norm_eps=1e-3)
add("vit_wide", "ViTForImageClassification", "image-classification", VIT, image_size=(8, 16), patch_size=(4, 8), num_channels=1)
add("vit_masked_stride", "ViTForMaskedImageModeling", "masked-im", VIT, num_hidden_layers=1, patch_size=2, encoder_stride=3)
add("vit_masked", "ViTForMaskedImageModeling", "masked-im", VIT, num_hidden_layers=1, encoder_stride=4)
DEIT = VIT | dict(num_hidden_layers=1)
add("deit", "DeiTModel", "feature-extraction", DEIT, image_size=(8, 16), patch_size=(4, 8))
add("deit_classes", "DeiTForImageClassification", "image-classification", DEIT, num_labels=3, hidden_act="gelu_new", layer_norm_eps=1e-3)
add("deit_teacher", "DeiTForImageClassificationWithTeacher", "image-classification", DEIT, num_labels=3, qkv_bias=False)
add("deit_masked", "DeiTForMaskedImageModeling", "masked-im", DEIT, encoder_stride=3, num_channels=1)
SWIN = dict(image_size=16, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4, mlp_ratio=2.0)
add("swin", "SwinModel", "feature-extraction", SWIN)
add("swin_classes", "SwinForImageClassification", "image-classification", SWIN, num_labels=3, hidden_act="relu")
add("swin_padded", "SwinForImageClassification", "image-classification", SWIN, image_size=20, window_size=3, qkv_bias=False,
    depths=[2, 1], layer_norm_eps=1e-3, num_channels=1)
add("donut_swin", "DonutSwinModel", "feature-extraction", SWIN, hidden_act="relu", layer_norm_eps=1e-3, qkv_bias=False, num_channels=1)
add("swin_masked", "SwinForMaskedImageModeling", "masked-im", SWIN, encoder_stride=4)
RESNET = dict(embedding_size=8, hidden_sizes=[8, 12, 16], depths=[1, 2, 1], num_channels=3)
SQUARE = {"batch_size": (2, 1, 1), "height": (32, 48, 40), "width": (32, 40, 64)}
add("resnet", "ResNetModel", "feature-extraction", RESNET, layer_type="basic", sizes=SQUARE)
add("resnet_classes", "ResNetForImageClassification", "image-classification", RESNET, num_labels=3, hidden_sizes=[16, 24, 32], sizes=SQUARE)
add("resnet_downsample", "ResNetForImageClassification", "image-classification", RESNET, num_labels=3, hidden_sizes=[16, 24],
    depths=[1, 1], downsample_in_first_stage=True, downsample_in_bottleneck=True, hidden_act="gelu", num_channels=1, sizes=SQUARE)

# ── Images and text, sound and text
CLIP_TEXT = dict(vocab_size=47, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=28,
                 max_position_embeddings=16, pad_token_id=1, bos_token_id=0, eos_token_id=46)
CLIP_VISION = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=28, image_size=12, patch_size=4)
CLIP_SIZES = {"text_batch_size": (3, 1, 2), "image_batch_size": (2, 3, 1)}
add("clip", "CLIPModel", "zero-shot-image-classification", dict(text_config=CLIP_TEXT, vision_config=CLIP_VISION), projection_dim=20,
    sizes=CLIP_SIZES)
add("clip_old_end", "CLIPModel", "feature-extraction", dict(text_config={**CLIP_TEXT, "eos_token_id": 2, "hidden_act": "gelu"},
    vision_config={**CLIP_VISION, "hidden_act": "gelu"}), projection_dim=12, sizes=CLIP_SIZES)
add("clip_classes", "CLIPForImageClassification", "image-classification", dict(text_config=CLIP_TEXT, vision_config=CLIP_VISION),
    num_labels=3)
add("clip_vision", "CLIPVisionModel", "feature-extraction", CLIP_VISION, num_channels=1, layer_norm_eps=1e-3)
# These are parts of pipelines that paint images.
PART = dict(library="diffusers")
add("clip_text", "CLIPTextModel", "feature-extraction", CLIP_TEXT, **PART, known_as="clip-text", hidden_act="gelu", layer_norm_eps=1e-3)
add("clip_text_projected", "CLIPTextModelWithProjection", "feature-extraction", CLIP_TEXT, **PART, known_as="clip-text-with-projection",
    projection_dim=12, output_hidden_states=True)
WHISPER = dict(vocab_size=47, num_mel_bins=8, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=28, decoder_ffn_dim=24, max_source_positions=10, max_target_positions=24,
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)
FRAMES = {"nb_max_frames": 20}
add("whisper_past", "WhisperForConditionalGeneration", "automatic-speech-recognition-with-past", WHISPER, dummies=FRAMES)
add("whisper_scaled", "WhisperForConditionalGeneration", "automatic-speech-recognition", WHISPER, dummies=FRAMES, scale_embedding=True,
    activation_function="relu", decoder_layers=1)
add("whisper_untied", "WhisperForConditionalGeneration", "automatic-speech-recognition", WHISPER, dummies=FRAMES, encoder_layers=1,
    decoder_layers=1, tie_word_embeddings=False)
add("whisper_feature", "WhisperModel", "feature-extraction", WHISPER, dummies=FRAMES, encoder_layers=1, decoder_layers=1)
add("whisper_audio_classes", "WhisperForAudioClassification", "audio-classification", WHISPER, dummies=FRAMES, num_labels=3,
    use_weighted_layer_sum=True, classifier_proj_size=12)

add("whisper_audio_classes_last", "WhisperForAudioClassification", "audio-classification", WHISPER, dummies=FRAMES, num_labels=3,
    encoder_layers=1)

# ── Documents read: Donut
MBART_DECODER = BART | dict(
    is_decoder=True, is_encoder_decoder=False, add_cross_attention=True, add_final_layer_norm=True, scale_embedding=True)
CASES.append(Case("donut_past", "VisionEncoderDecoderModel", "image-to-text-with-past", dict(pad_token_id=1, decoder_start_token_id=2),
                  parts=(("DonutSwinConfig", SWIN), ("MBartConfig", MBART_DECODER))))
CASES.append(Case("donut_projected", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=1, decoder_start_token_id=2),
                  parts=(("DonutSwinConfig", {**SWIN, "image_size": [20, 12], "window_size": 3}),
                         ("MBartConfig", {**MBART_DECODER, "scale_embedding": False, "d_model": 12, "tie_word_embeddings": False}))))
CASES.append(Case("vit_gpt2_past", "VisionEncoderDecoderModel", "image-to-text-with-past", dict(pad_token_id=0, decoder_start_token_id=3),
                  parts=(("ViTConfig", VIT), ("GPT2Config", {**GPT2, "is_decoder": True, "add_cross_attention": True}))))
CASES.append(Case("vit_gpt2_projected", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=0, decoder_start_token_id=3),
                  parts=(("ViTConfig", {**VIT, "image_size": (8, 16)}),
                         ("GPT2Config", {**GPT2, "n_embd": 12, "tie_word_embeddings": False, "scale_attn_by_inverse_layer_idx": True,
                                         "is_decoder": True, "add_cross_attention": True}))))
CASES.append(Case("swin_bart", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=1, decoder_start_token_id=2),
                  parts=(("SwinConfig", SWIN), ("BartConfig", {**BART, "is_decoder": True, "is_encoder_decoder": False,
                                                               "add_cross_attention": True}))))
# Lines of text read: TrOCR. Its decoder reads what encoders of another size give, without a projection between them.
TROCR = dict(vocab_size=47, d_model=24, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=28, max_position_embeddings=24,
             pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
CASES.append(Case("trocr_past", "VisionEncoderDecoderModel", "image-to-text-with-past", dict(pad_token_id=1, decoder_start_token_id=2),
                  parts=(("ViTConfig", {**VIT, "qkv_bias": False}),
                         ("TrOCRConfig", {**TROCR, "cross_attention_hidden_size": 16, "scale_embedding": True}))))
# As it reads print: positions that no weight holds, in which padding has none. Few words: some of what is read is padding.
CASES.append(Case("trocr_printed", "VisionEncoderDecoderModel", "image-to-text-with-past", dict(pad_token_id=5, decoder_start_token_id=2),
                  parts=(("DeiTConfig", DEIT),
                         ("TrOCRConfig", {**TROCR, "vocab_size": 9, "pad_token_id": 5, "decoder_layers": 1, "activation_function": "relu",
                                          "use_learned_position_embeddings": False, "layernorm_embedding": False,
                                          "tie_word_embeddings": False}))))
CASES.append(Case("deit_trocr", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=1, decoder_start_token_id=2),
                  parts=(("DeiTConfig", DEIT), ("TrOCRConfig", {**TROCR, "d_model": 16, "decoder_layers": 1}))))
# Read by what was made to fill in masks, with cross attention: BERT (manga-ocr) and RoBERTa. They keep no keys and values in Optimum's files.
CROSS = dict(num_hidden_layers=1, is_decoder=True, add_cross_attention=True)
CASES.append(Case("vit_bert", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=0, decoder_start_token_id=2),
                  parts=(("ViTConfig", {**VIT, "num_hidden_layers": 1}),
                         ("BertConfig", {**ENCODER, **CROSS, "num_hidden_layers": 2, "layer_norm_eps": 1e-3, "hidden_act": "gelu_new"}))))
CASES.append(Case("deit_roberta", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=5, decoder_start_token_id=2),
                  parts=(("DeiTConfig", DEIT),
                         ("RobertaConfig", {**ROBERTA, **CROSS, "hidden_size": 24, "vocab_size": 9, "pad_token_id": 5,
                                            "tie_word_embeddings": False}))))
CASES.append(Case("swin_xlm_roberta", "VisionEncoderDecoderModel", "image-to-text", dict(pad_token_id=1, decoder_start_token_id=2),
                  parts=(("SwinConfig", {**SWIN, "depths": [1, 1]}),
                         ("XLMRobertaConfig", {**ROBERTA, **CROSS, "position_embedding_type": "relative_key"}))))

# ── Encoders of sentences
def add_sentence(name: str, model: str, base: dict, *modules, sizes: dict | None = None) -> None:
    CASES.append(Case(name, model, "feature-extraction", base, sizes=sizes or {}, library="sentence_transformers", known_as="transformer",
                      sentence=modules))


ALL_WAYS = {f"pooling_mode_{way}": True for way in ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens",
                                                      "lasttoken")}
add_sentence("sentence_bert", "BertModel", ENCODER, ("Pooling", dict(word_embedding_dimension=16)), ("Normalize", {}))
add_sentence("sentence_mpnet_first", "MPNetModel", MPNET, ("Pooling", dict(word_embedding_dimension=16, pooling_mode="cls")))
add_sentence("sentence_all_ways", "DistilBertModel", DISTIL, ("Pooling", dict(word_embedding_dimension=16, **ALL_WAYS)),
             ("Dense", dict(in_features=96, out_features=10)),
             ("Dense", dict(in_features=10, out_features=6, bias=False, activation_function=torch.nn.Identity())), ("Normalize", {}))
add_sentence("sentence_norm", "RobertaModel", ROBERTA | dict(num_hidden_layers=1), ("Pooling", dict(word_embedding_dimension=16)),
             ("Dropout", {}), ("LayerNorm", dict(dimension=16)))
add_sentence("sentence_t5", "T5EncoderModel", T5, ("Pooling", dict(word_embedding_dimension=16)),
             ("Dense", dict(in_features=16, out_features=8, bias=False, activation_function=torch.nn.Identity())), ("Normalize", {}))
add_sentence("sentence_qwen2_last", "Qwen2Model", GQA, ("Pooling", dict(word_embedding_dimension=16, pooling_mode="lasttoken")),
             ("Normalize", {}), sizes=RIGHT)
for name, options in (("sentence_clip", dict(projection_dim=20)), ("sentence_clip_folder", dict(projection_dim=12))):
    CASES.append(Case(name, "CLIPModel", "feature-extraction", dict(text_config=CLIP_TEXT, vision_config=CLIP_VISION) | options,
                      sizes=CLIP_SIZES, library="sentence_transformers", known_as="clip", sentence=(),
                      sentence_folder=name.endswith("folder")))
