// BERT with its heads; see nn/bert.h.
#include "nn/bert.h"

namespace lathe::nn {

void register_bert(ModelRegistry& all) {
  all.add("bert", text_encoder_tasks, [](const ModelConfig& c, std::string_view task) {
    return std::make_unique<TextEncoder>(
        std::make_shared<BertBody>(c), c, task,
        TextEncoderNames{.body = "bert",
                         .masked_path = "cls.predictions",
                         .masked = {"transform.dense", "transform.LayerNorm", "decoder", "bias"},
                         .masked_activation = c.get<std::string>("hidden_act", "gelu"),
                         .masked_epsilon = c.get<double>("layer_norm_eps", 1e-12),
                         .first_path = {}});
  });
}

}  // namespace lathe::nn
