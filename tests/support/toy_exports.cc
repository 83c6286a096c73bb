#include "support/toy_exports.h"

#include <algorithm>
#include <fstream>

#include "lathe/values.h"
#include "support/checkpoint_files.h"

namespace lathe::testing {

using namespace exporters;
namespace fs = std::filesystem;

namespace {

// ── A decoder that keeps one key and one value

class ToyDecoder : public nn::Model {
 public:
  ToyDecoder(const ModelConfig& config, std::string_view)
      : embed(config.get<int64_t>("vocab_size"), config.get<int64_t>("hidden_size")),
        heads(config.get<int64_t>("num_attention_heads")) {}
  void fields(nn::Fields& f) override { f("embed", embed); }
  nn::Outputs forward(Network&, const nn::Inputs& inputs) const override {
    const nn::Ops o(*this, inputs.at("input_ids"));
    TensorRef key = o.transpose(o.reshape(embed(inputs.at("input_ids")), {0, 0, heads, -1}), {0, 2, 1, 3});
    if (const TensorRef past = inputs.find("past_key_values.0.key")) key = o.concat({past, key}, 2);
    TensorRef value = o.mul(key, 0.5);
    if (const TensorRef past = inputs.find("past_key_values.0.value"))
      value = o.concat({past, o.slice(value, 2, o.size(past, 2), o.size(key, 2))}, 2);
    const TensorRef seen = o.sum(value, {1, 2}, false);
    nn::Outputs all;
    all.set("logits",
            o.add(embed(inputs.at("input_ids")), o.unsqueeze(o.concat(std::vector(heads, seen), 1), {1})));
    all.set("present.0.key", key);
    all.set("present.0.value", value);
    return all;
  }
  nn::Embedding embed;
  int64_t heads;
};

// ── An encoder with a decoder

class ToySeq2Seq : public nn::Seq2SeqModel {
 public:
  ToySeq2Seq(const ModelConfig& config, std::string_view)
      : shared(config.get<int64_t>("vocab_size"), config.get<int64_t>("hidden_size")),
        cross(config.get<int64_t>("hidden_size"), config.get<int64_t>("hidden_size")),
        heads(config.get<int64_t>("num_attention_heads")) {}
  void fields(nn::Fields& f) override { f("shared", shared), f("cross", cross); }
  nn::Outputs encode(Network&, const nn::Inputs& inputs) const override {
    const nn::Ops o(*this, inputs.at("input_ids"));
    const TensorRef mask = o.unsqueeze(o.cast(inputs.at("attention_mask"), DataType::float32), {-1});
    return {{"last_hidden_state", o.mul(shared(inputs.at("input_ids")), mask)}};
  }
  nn::Outputs decode(Network&, const nn::Inputs& inputs) const override {
    const TensorRef ids = inputs.at("input_ids");
    const nn::Ops o(*this, ids);
    TensorRef crossed = inputs.find("past_key_values.0.encoder.key");
    if (!crossed) crossed = split(o, cross(inputs.at("encoder_hidden_states")));
    TensorRef key = split(o, shared(ids));
    if (const TensorRef past = inputs.find("past_key_values.0.decoder.key")) key = o.concat({past, key}, 2);
    const TensorRef mask =
        o.unsqueeze(o.cast(inputs.at("encoder_attention_mask"), DataType::float32), {1, 3});
    const TensorRef seen = o.add(o.sum(o.mul(crossed, mask), {1, 2, 3}), o.sum(key, {1, 2, 3}));
    nn::Outputs all;
    all.set("logits", o.add(shared(ids), o.squeeze(seen, {3})));
    for (const char* half : {"key", "value"}) {
      all.set(std::string("present.0.decoder.") + half, half[0] == 'k' ? key : o.mul(key, 2));
      all.set(std::string("present.0.encoder.") + half, half[0] == 'k' ? crossed : o.mul(crossed, 3));
    }
    return all;
  }
  TensorRef split(const nn::Ops& o, const TensorRef& x) const {
    return o.transpose(o.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
  }
  nn::Embedding shared;
  nn::Linear cross;
  int64_t heads;
};

}  // namespace

const TasksManager& toys() {
  static const TasksManager all = [] {
    TasksManager t = TasksManager::builtin();
    t.register_config<ToyOnnxConfig>("toy", {"feature-extraction", "text-classification"});
    t.models().add(
        "toy", {"feature-extraction", "text-classification"},
        [](const ModelConfig& c, std::string_view task) { return std::make_unique<Toy>(c, task); });
    t.register_config<TextDecoderOnnxConfig>("toy-decoder", {"text-generation", "text-generation-with-past"});
    t.models().add("toy-decoder", {"text-generation"}, [](const ModelConfig& c, std::string_view task) {
      return std::make_unique<ToyDecoder>(c, task);
    });
    t.register_config<TextSeq2SeqOnnxConfig>("toy-seq2seq",
                                             {"text2text-generation", "text2text-generation-with-past"});
    t.models().add("toy-seq2seq", {"text2text-generation"}, [](const ModelConfig& c, std::string_view task) {
      return std::make_unique<ToySeq2Seq>(c, task);
    });
    return t;
  }();
  return all;
}

void write_checkpoint(const fs::path& to, const std::string& config, const NamedShapes& tensors, bool half) {
  fs::create_directories(to);
  std::ofstream(to / "config.json") << config;
  std::ofstream(to / "tokenizer.json") << "{}";
  std::string header = "{", data;
  uint64_t seed = 1;
  for (const auto& [name, shape] : tensors) {
    const Tensor t = random_tensor(half ? DataType::float16 : DataType::float32, shape, seed++);
    std::string sizes;
    for (int64_t d : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(d);
    header += (data.empty() ? "" : ",") +
              entry(name, half ? "F16" : "F32", sizes, data.size(), data.size() + t.bytes());
    data.append(static_cast<const char*>(t.data()), t.bytes());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream(to / "model.safetensors", std::ios::binary) << safetensors(header, data);
}

ExportOptions quick() {
  ExportOptions o;
  o.tasks = &toys();
  o.shapes.sequence_length = 5;
  o.build.threads = 1;
  o.validation->build.threads = 1;
  return o;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> all;
  for (const auto& e : fs::directory_iterator(directory)) all.push_back(e.path().filename().string());
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> axes_of(const onnx::ValueInfoProto& v) {
  std::vector<std::string> all;
  for (const auto& d : v.type->tensor_type->shape->dim)
    all.push_back(d.dim_param ? *d.dim_param : std::to_string(*d.dim_value));
  return all;
}

}  // namespace lathe::testing
