// Architectures of a few lines that tests of exports bring, and checkpoints of them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lathe/exporters.h"

namespace lathe::testing {

/// A text encoder: embed, project, and for classification the mean.
class Toy : public nn::Model {
 public:
  Toy(const ModelConfig& config, std::string_view task)
      : embed(config.get<int64_t>("vocab_size"), config.get<int64_t>("hidden_size")),
        inner(config.get<int64_t>("hidden_size"), config.get<int64_t>("hidden_size")),
        classify(task == "text-classification") {
    tied = config.get<bool>("tied", false);
  }
  void fields(nn::Fields& f) override {
    f("embed", embed), f("inner", inner);
    if (tied) f("head", embed.weight);
  }
  nn::Outputs forward(Network&, const nn::Inputs& inputs) const override {
    const nn::Ops o(*this, inputs.at("input_ids"));
    const TensorRef mask = o.unsqueeze(o.cast(inputs.at("attention_mask"), inner.weight.type()), {-1});
    const TensorRef hidden = o.mul(inner(embed(inputs.at("input_ids"))), mask);
    nn::Outputs all;
    all.set("last_hidden_state", hidden);
    if (classify) all.set("logits", o.sum(hidden, {1}, false));
    return all;
  }
  nn::Embedding embed;
  nn::Linear inner;
  bool classify, tied = false;
};

class ToyOnnxConfig : public exporters::TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  exporters::NamedAxes inputs() const override {
    const exporters::Axes text = {{0, "batch_size"}, {1, "sequence_length"}};
    return {{"input_ids", text}, {"attention_mask", text}};
  }
};

/// "toy", "toy-decoder", which keeps one key and one value, and "toy-seq2seq", beside all of the library's.
const exporters::TasksManager& toys();

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// A checkpoint of random weights: names and shapes.
void write_checkpoint(const std::filesystem::path& to, const std::string& config, const NamedShapes& tensors,
                      bool half = false);
inline const NamedShapes toy_tensors = {
    {"embed.weight", {11, 6}}, {"inner.weight", {6, 6}}, {"inner.bias", {6}}};
inline constexpr const char* toy_config =
    R"({"model_type": "toy", "architectures": ["ToyModel"], "vocab_size": 11,
  "hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2, "pad_token_id": 0, "use_cache": true})";

/// Options for exports of the toys: short texts and one thread.
exporters::ExportOptions quick();

std::vector<std::string> names_in(const std::filesystem::path& directory);
std::vector<std::string> axes_of(const onnx::ValueInfoProto& v);

}  // namespace lathe::testing
