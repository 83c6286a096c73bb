// GPT-2 with its heads; see nn/gpt2.h.
#include "nn/gpt2.h"

namespace lathe::nn {

void register_gpt2(ModelRegistry& all) {
  all.add("gpt2", {"feature-extraction", "text-generation", "text-classification", "token-classification"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<DecoderModel>(std::make_shared<Gpt2Body>(Gpt2Options(config)), config,
                                                  task, DecoderNames{"transformer", "classifier", true});
          });
}

}  // namespace lathe::nn
