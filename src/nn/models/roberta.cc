// RoBERTa (Liu et al. 2019) and XLM-RoBERTa (Conneau et al. 2019): BERT with other positions and heads.
#include "nn/bert.h"

namespace lathe::nn {

void register_roberta(ModelRegistry& all) {
  for (const char* type : {"roberta", "xlm-roberta"})
    all.add(type, text_encoder_tasks, [](const ModelConfig& c, std::string_view task) {
      return std::make_unique<TextEncoder>(std::make_shared<BertBody>(c, c.get<int64_t>("pad_token_id", 1)),
                                           c, task, roberta_names("roberta", c));
    });
}

}  // namespace lathe::nn
