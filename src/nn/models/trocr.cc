// TrOCR's decoder, which is used behind an encoder of images only (vision_encoder_decoder.cc).
#include "nn/models/trocr.h"

#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {

SequenceOptions trocr_options(const ModelConfig& c) {
  refuse_other_names("trocr", c,
                     {{"hidden_size", "d_model"},
                      {"num_attention_heads", "decoder_attention_heads"},
                      {"num_hidden_layers", "decoder_layers"}});
  SequenceOptions o;
  o.size = c.get<int64_t>("d_model", 1024);
  o.heads = c.get<int64_t>("decoder_attention_heads", 16);
  o.layers = c.get<int64_t>("decoder_layers", 12);
  o.inner = c.get<int64_t>("decoder_ffn_dim", 4096);
  o.activation = activation_in(c, "activation_function", "gelu");
  o.vocabulary = c.get<int64_t>("vocab_size", 50265);
  o.positions = c.get<int64_t>("max_position_embeddings", 512);
  o.position_offset = 2;  // rows for padding, which its positions never use
  o.scale_embedding = c.get<bool>("scale_embedding", false);
  o.norm_embedding = c.get<bool>("layernorm_embedding", true);
  o.memory_size = c.get<int64_t>("cross_attention_hidden_size", 0);
  if (c.get<bool>("use_learned_position_embeddings", true)) return o;
  if (o.size % 2 != 0 || o.size < 4)
    throw unsupported_config("trocr", "for positions that are not learnt a size of two halves", "d_model",
                             std::to_string(o.size),
                             "export a checkpoint with 'use_learned_position_embeddings' true");
  o.sinusoidal_but = c.get<int64_t>("pad_token_id", 1);
  return o;
}

void register_trocr(ModelRegistry& all) {
  all.add("trocr", {"feature-extraction"},
          [](const ModelConfig&, std::string_view) -> std::unique_ptr<Model> {
            throw unsupported_config("config.json", "an encoder of images before this decoder", "model_type",
                                     "'trocr'", "export the vision-encoder-decoder that it is part of");
          });
}

}  // namespace lathe::nn
