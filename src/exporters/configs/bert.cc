// bert, and text encoders that differ from it by inputs.
#include "exporters/configs/tasks.h"
#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

Axes tokens_of(const OnnxConfig& config) {
  if (config.task() == "multiple-choice")
    return {{0, "batch_size"}, {1, "num_choices"}, {2, "sequence_length"}};
  return {{0, "batch_size"}, {1, "sequence_length"}};
}

class BertOnnxConfig : public TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  NamedAxes inputs() const override {
    const Axes tokens = tokens_of(*this);
    return {{"input_ids", tokens}, {"attention_mask", tokens}, {"token_type_ids", tokens}};
  }
};

/// Takes single texts: there are no token types for a second one.
class DistilBertOnnxConfig : public TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  NamedAxes inputs() const override {
    const Axes tokens = tokens_of(*this);
    return {{"input_ids", tokens}, {"attention_mask", tokens}};
  }
};

/// An encoder of texts followed by modules that make one vector of many: sentence-transformers.
class SentenceTransformersTransformerOnnxConfig : public TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  NamedAxes inputs() const override { return {{"input_ids", tokens}, {"attention_mask", tokens}}; }
  NamedAxes outputs() const override {
    return {{"token_embeddings", tokens}, {"sentence_embedding", {{0, "batch_size"}}}};
  }

 private:
  inline static const Axes tokens = {{0, "batch_size"}, {1, "sequence_length"}};
};

}  // namespace

void register_configs_bert(TasksManager& tasks) {
  tasks.register_config<BertOnnxConfig>("bert", common_text_tasks);
  for (const char* type : {"distilbert", "mpnet", "roberta", "xlm-roberta"})
    tasks.register_config<DistilBertOnnxConfig>(type, common_text_tasks);
  tasks.register_config<SentenceTransformersTransformerOnnxConfig>(
      "transformer", {"feature-extraction", "sentence-similarity"});
}

}  // namespace lathe::exporters
