// Exports from beginning to end, of architectures and configurations that this test brings.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "lathe/builder.h"
#include "lathe/error.h"
#include "lathe/exporters.h"
#include "lathe/values.h"
#include "support/checkpoint_files.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace {

using namespace lathe::testing;
namespace fs = std::filesystem;

// ── A text encoder: embed, project, and for classification the mean

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

class ToyOnnxConfig : public TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  NamedAxes inputs() const override {
    const Axes text = {{0, "batch_size"}, {1, "sequence_length"}};
    return {{"input_ids", text}, {"attention_mask", text}};
  }
};

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
    all.set("logits", o.add(embed(inputs.at("input_ids")), o.unsqueeze(o.concat(std::vector(heads, seen), 1), {1})));
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
    const TensorRef mask = o.unsqueeze(o.cast(inputs.at("encoder_attention_mask"), DataType::float32), {1, 3});
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

const TasksManager& toys() {
  static const TasksManager all = [] {
    TasksManager t = TasksManager::builtin();
    t.register_config<ToyOnnxConfig>("toy", {"feature-extraction", "text-classification"});
    t.models().add("toy", {"feature-extraction", "text-classification"},
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

/// A checkpoint of random weights: names and shapes.
void write_checkpoint(const fs::path& to, const std::string& config,
                      const std::vector<std::pair<std::string, Shape>>& tensors, bool half = false) {
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

const std::vector<std::pair<std::string, Shape>> toy_tensors = {
    {"embed.weight", {11, 6}}, {"inner.weight", {6, 6}}, {"inner.bias", {6}}};
constexpr const char* toy_config = R"({"model_type": "toy", "architectures": ["ToyModel"], "vocab_size": 11,
  "hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2, "pad_token_id": 0, "use_cache": true})";

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

using Words = std::vector<std::string>;

TEST(Export, FromACheckpointToFilesThatWereRun) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", quick());
  EXPECT_EQ(r.task, "feature-extraction");
  EXPECT_EQ(r.model_type, "toy");
  EXPECT_EQ(names_in(folder / "out"), (Words{"config.json", "model.onnx", "tokenizer.json"}));
  EXPECT_EQ(names_in(folder.path()), (Words{"out", "toy"}));
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  EXPECT_EQ(m.proto.opset_import[0].version, 18);
  const onnx::GraphProto& g = *m.proto.graph;
  EXPECT_EQ(axes_of(g.input[0]), (Words{"batch_size", "sequence_length"}));
  EXPECT_EQ(g.output[0].name, "last_hidden_state");
  EXPECT_EQ(axes_of(g.output[0]), (Words{"batch_size", "sequence_length", "6"}));
  std::set<std::string> weights;
  for (const auto& t : g.initializer) weights.insert(*t.name);
  for (const auto& [name, shape] : toy_tensors) EXPECT_TRUE(weights.contains(name)) << name;
  const ValidationReport& v = r.validation.at("model.onnx");
  std::set<std::string> sizes;
  for (const ValidationRun& run : v.runs) {
    sizes.insert(run.sizes);
    EXPECT_LT(run.outputs.at(0).engine_ulps, 64);
  }
  EXPECT_EQ(sizes, (std::set<std::string>{"batch_size=2, sequence_length=5", "batch_size=1, sequence_length=1",
                                          "batch_size=3, sequence_length=7"}));
  EXPECT_EQ(v.runs.size(), 6u);  // two seeds each
  EXPECT_TRUE(v.skipped.empty());
}

TEST(Export, TheTaskDecidesOutputs) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  ExportOptions o = quick();
  o.task = "sequence-classification";
  export_checkpoint(folder / "toy", folder / "out", o);
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  ASSERT_EQ(m.proto.graph->output.size(), 1u);
  EXPECT_EQ(m.proto.graph->output[0].name, "logits");
}

TEST(Export, SizesMayBeFixed) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  ExportOptions o = quick();
  o.no_dynamic_axes = true;
  o.shapes.batch_size = 4;
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", o);
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  EXPECT_EQ(axes_of(m.proto.graph->input[0]), (Words{"4", "5"}));
  EXPECT_EQ(r.validation.at("model.onnx").runs.size(), 2u);
}

TEST(Export, OtherTypesOpsetsOptimisedAndAsPlans) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  ExportOptions o = quick();
  o.dtype = DataType::float16;
  o.opset = 20;
  o.engine = true;
  o.optimize = OptimizationLevel::basic;
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", o);
  EXPECT_EQ(r.opset, 20);
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  EXPECT_EQ(m.proto.graph->output[0].type->tensor_type->elem_type, static_cast<int32_t>(DataType::float16));
  const Engine plan = Engine::load(folder / "out" / "model.lathe");
  EXPECT_EQ(plan.outputs()[0].name, "last_hidden_state");
  o.dtype = DataType::bfloat16;
  o.int_type = DataType::int32;
  o.engine = false;
  export_checkpoint(folder / "toy", folder / "brain", o);
  const onnx::Model brain = onnx::Model::load(folder / "brain" / "model.onnx");
  EXPECT_EQ(brain.proto.graph->output[0].type->tensor_type->elem_type, static_cast<int32_t>(DataType::bfloat16));
  EXPECT_EQ(brain.proto.graph->input[0].type->tensor_type->elem_type, static_cast<int32_t>(DataType::int32));
}

TEST(Export, HalfAsLargeWeightsAreWidened) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors, true);
  export_checkpoint(folder / "toy", folder / "out", quick());
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  for (const auto& t : m.proto.graph->initializer)
    EXPECT_NE(t.data_type, static_cast<int32_t>(DataType::float16)) << *t.name;
}

/// Where the export is of the checkpoint's own type, they are the checkpoint's own bytes.
TEST(Export, WeightsOfTheTypeAskedForStayMapped) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors, true);
  const Checkpoint checkpoint = Checkpoint::open(folder / "toy");
  Toy toy(ModelConfig::open(folder / "toy"), "feature-extraction");
  toy.to(DataType::float16);
  EXPECT_TRUE(toy.bind(checkpoint, {.convert = true}).converted.empty());
  for (const auto& [name, shape] : toy_tensors)
    EXPECT_EQ(toy.parameter(name).value.tensor().data(), checkpoint.tensor(name).data()) << name;
  ExportOptions o = quick();
  o.dtype = DataType::float16;
  export_checkpoint(folder / "toy", folder / "out", o);
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  for (const auto& t : m.proto.graph->initializer) {
    if (*t.name != "embed.weight") continue;
    const Tensor want = checkpoint.tensor("embed.weight");
    EXPECT_EQ(t.data_type, static_cast<int32_t>(DataType::float16));
    ASSERT_EQ(t.raw_data->size(), want.bytes());
    EXPECT_EQ(std::memcmp(t.raw_data->data(), want.data(), want.bytes()), 0);
  }
}

TEST(Export, TiedWeightsAreStoredOnce) {
  const TempDirectory folder;
  std::string config = toy_config;
  config.insert(1, R"("tied": true, )");
  write_checkpoint(folder / "toy", config, toy_tensors);
  export_checkpoint(folder / "toy", folder / "out", quick());
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  EXPECT_EQ(std::ranges::count_if(m.proto.graph->initializer,
                                  [](const auto& t) { return t.dims == std::vector<int64_t>{11, 6}; }),
            1);
}

const std::string decoder_config = R"({"model_type": "toy-decoder", "architectures": ["ToyForCausalLM"],
  "vocab_size": 11, "hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2, "use_cache": false})";

TEST(Export, ADecoderWithPastIsOneFile) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", decoder_config, {{"embed.weight", {11, 6}}});
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", quick());
  EXPECT_EQ(r.task, "text-generation-with-past");
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  const onnx::GraphProto& g = *m.proto.graph;
  ASSERT_EQ(g.input.size(), 4u);
  EXPECT_EQ(axes_of(g.input[1]), (Words{"batch_size", "past_sequence_length + sequence_length"}));
  EXPECT_EQ(axes_of(g.input[2]), (Words{"batch_size", "2", "past_sequence_length", "3"}));
  ASSERT_EQ(g.output.size(), 3u);
  EXPECT_EQ(g.output[1].name, "present.0.key");
  EXPECT_EQ(axes_of(g.output[1]), (Words{"batch_size", "2", "past_sequence_length + sequence_length", "3"}));
  EXPECT_TRUE(ModelConfig::open(folder / "out").get<bool>("use_cache"));
  ExportOptions plain = quick();
  plain.task = "text-generation";
  export_checkpoint(folder / "toy", folder / "plain", plain);
  EXPECT_EQ(onnx::Model::load(folder / "plain" / "model.onnx").proto.graph->input.size(), 2u);
  ExportOptions legacy = quick();
  legacy.legacy = true;
  export_checkpoint(folder / "toy", folder / "legacy", legacy);
  EXPECT_TRUE(fs::exists(folder / "legacy" / "decoder_with_past_model.onnx"));
}

const std::string seq2seq_config = R"({"model_type": "toy-seq2seq",
  "architectures": ["ToyForConditionalGeneration"], "vocab_size": 11, "hidden_size": 6, "num_hidden_layers": 1,
  "num_attention_heads": 2, "is_encoder_decoder": true})";
const std::vector<std::pair<std::string, Shape>> seq2seq_tensors = {
    {"shared.weight", {11, 6}}, {"cross.weight", {6, 6}}, {"cross.bias", {6}}};

TEST(Export, AnEncoderWithADecoderIsSplitAndMerged) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", seq2seq_config, seq2seq_tensors);
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", quick());
  EXPECT_EQ(r.task, "text2text-generation-with-past");
  EXPECT_EQ(names_in(folder / "out"),
            (Words{"config.json", "decoder_model.onnx", "decoder_model_merged.onnx", "decoder_with_past_model.onnx",
                   "encoder_model.onnx", "tokenizer.json"}));
  EXPECT_GE(r.validation.at("decoder_model_merged.onnx").runs.size(), 8u);
  const onnx::Model merged = onnx::Model::load(folder / "out" / "decoder_model_merged.onnx");
  const onnx::GraphProto& g = *merged.proto.graph;
  ASSERT_EQ(g.node.size(), 1u);
  EXPECT_EQ(g.node[0].op_type, "If");
  EXPECT_EQ(g.input.back().name, "use_cache_branch");
  EXPECT_EQ(std::ranges::count_if(g.initializer, [](const auto& t) { return t.name == "shared.weight"; }), 1);

  // Both branches give the bits of the files that they were made of.
  const auto run = [&](const char* file, NamedValues inputs) {
    return Engine::build(folder / "out" / file, quick().build).create_context().run(inputs);
  };
  NamedValues first{{"input_ids", Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{3, 4})},
                    {"encoder_attention_mask", Tensor::from<int64_t>({1, 3}, std::vector<int64_t>{1, 1, 0})},
                    {"encoder_hidden_states", random_tensor(DataType::float32, {1, 3, 6}, 5)}};
  const NamedValues start = run("decoder_model.onnx", first);
  NamedValues second{{"input_ids", Tensor::from<int64_t>({1, 1}, std::vector<int64_t>{7})},
                     {"encoder_attention_mask", first.at("encoder_attention_mask")}};
  for (const char* half : {"decoder.key", "decoder.value", "encoder.key", "encoder.value"})
    second[std::string("past_key_values.0.") + half] = start.at(std::string("present.0.") + half);
  const NamedValues next = run("decoder_with_past_model.onnx", second);
  EXPECT_EQ(next.at("present.0.decoder.key").tensor().dim(2), 3);
  NamedValues all = second;
  all["use_cache_branch"] = Tensor::from<bool>({1}, std::span<const bool>(std::array{true}));
  all["encoder_hidden_states"] = first.at("encoder_hidden_states");
  const NamedValues with_past = run("decoder_model_merged.onnx", all);
  for (const auto& [name, value] : next) EXPECT_TRUE(compare(with_past.at(name), value, 0, 0).equal) << name;
  for (const auto& [name, value] : first) all[name] = value;
  all["use_cache_branch"] = Tensor::from<bool>({1}, std::span<const bool>(std::array{false}));
  const NamedValues without = run("decoder_model_merged.onnx", all);
  for (const auto& [name, value] : start) EXPECT_TRUE(compare(without.at(name), value, 0, 0).equal) << name;
}

TEST(Export, AMonolithAndDecodersThatAreNotMerged) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", seq2seq_config, seq2seq_tensors);
  ExportOptions o = quick();
  o.no_post_process = true;
  export_checkpoint(folder / "toy", folder / "apart", o);
  EXPECT_FALSE(fs::exists(folder / "apart" / "decoder_model_merged.onnx"));
  o.monolith = true;
  EXPECT_EQ(export_checkpoint(folder / "toy", folder / "whole", o).task, "text2text-generation");
  const onnx::Model m = onnx::Model::load(folder / "whole" / "model.onnx");
  ASSERT_EQ(m.proto.graph->input.size(), 3u);
  EXPECT_EQ(m.proto.graph->input[2].name, "decoder_input_ids");
  o.task = "text2text-generation-with-past";
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "toy", folder / "both", o); }), Code::bad_argument);
}

/// One file, shards with an index, PyTorch's file, and its shards: the same weights, so the same model.
TEST(Export, OfCheckpointsInEveryForm) {
  const TempDirectory folder;
  write_checkpoint(folder / "whole", toy_config, toy_tensors);
  const Checkpoint whole = Checkpoint::open(folder / "whole");
  const auto bytes_of = [&](const std::string& name) {
    const Tensor t = whole.tensor(name);
    return std::string(static_cast<const char*>(t.data()), t.bytes());
  };
  const auto begin = [&](const std::string& form) {
    fs::create_directories(folder / form);
    for (const char* name : {"config.json", "tokenizer.json"})
      fs::copy_file(folder / "whole" / name, folder / form / name);
  };
  const auto write = [&](const std::string& form, const std::string& name, const std::string& bytes) {
    std::ofstream(folder / form / name, std::ios::binary) << bytes;
  };
  const auto as_pytorch = [&](const std::vector<std::string>& tensors) {
    std::vector<std::pair<std::string, std::string>> items;
    std::vector<std::string> storages;
    for (const std::string& name : tensors) {
      const Shape& shape = whole.at(name).shape;
      std::vector<int64_t> strides(shape.size(), 1);
      for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
      items.emplace_back(
          name, tensor(storage("FloatStorage", std::to_string(storages.size()), whole.tensor(name).size()), 0,
                       {shape.begin(), shape.end()}, strides));
      storages.push_back(bytes_of(name));
    }
    return pytorch(dictionary(items), storages);
  };
  begin("shards");
  for (const auto& [name, shape] : toy_tensors) {
    std::string sizes;
    for (int64_t d : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(d);
    write("shards", name + ".safetensors",
          safetensors("{" + entry(name, "F32", sizes, 0, bytes_of(name).size()) + "}", bytes_of(name)));
  }
  write("shards", "model.safetensors.index.json",
        R"({"metadata": {"total_size": 432}, "weight_map": {"embed.weight": "embed.weight.safetensors",
            "inner.weight": "inner.weight.safetensors", "inner.bias": "inner.bias.safetensors"}})");
  begin("pytorch");
  write("pytorch", "pytorch_model.bin", as_pytorch({"embed.weight", "inner.weight", "inner.bias"}));
  begin("pytorch_shards");
  write("pytorch_shards", "pytorch_model-00001-of-00002.bin", as_pytorch({"inner.weight"}));
  write("pytorch_shards", "pytorch_model-00002-of-00002.bin", as_pytorch({"inner.bias", "embed.weight"}));
  write("pytorch_shards", "pytorch_model.bin.index.json",
        R"({"weight_map": {"inner.weight": "pytorch_model-00001-of-00002.bin",
            "inner.bias": "pytorch_model-00002-of-00002.bin", "embed.weight": "pytorch_model-00002-of-00002.bin"}})");

  const auto exported = [&](const std::string& form) {
    const ExportReport r = export_checkpoint(folder / form, folder / (form + "_out"), quick());
    EXPECT_TRUE(r.unexpected.empty());
    EXPECT_EQ(names_in(folder / (form + "_out")), (Words{"config.json", "model.onnx", "tokenizer.json"}))
        << form;
    std::ifstream in(folder / (form + "_out") / "model.onnx", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string want = exported("whole");
  ASSERT_GT(want.size(), 432u);
  for (const char* form : {"shards", "pytorch", "pytorch_shards"})
    EXPECT_TRUE(exported(form) == want) << form;
}

// ── A patch, an override, another config for a file

TEST(Export, ConfigsOfTheUsersOwn) {
  struct Patched : ToyOnnxConfig {
    using ToyOnnxConfig::ToyOnnxConfig;
    std::vector<PatchingSpec> patching_specs() const override {
      return {{"inner", [](const nn::Module& m, Network&, const TensorRef& x) { return nn::relu(x); }}};
    }
    std::map<std::string, std::string> values_override() const override { return {{"pad_token_id", "3"}}; }
    NamedAxes outputs() const override { return {{"last_hidden_state", {{0, "batch_size"}, {1, "sequence_length"}}}}; }
  };
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  TasksManager mine = toys();
  mine.register_config<Patched>("toy", {"feature-extraction"}, true);
  ExportOptions o = quick();
  o.tasks = &mine;
  export_checkpoint(folder / "toy", folder / "out", o);
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  EXPECT_TRUE(std::ranges::any_of(m.proto.graph->node, [](const auto& n) { return n.op_type == "Relu"; }));
  EXPECT_FALSE(std::ranges::any_of(m.proto.graph->node, [](const auto& n) { return n.op_type == "MatMul"; }));
  EXPECT_EQ(ModelConfig::open(folder / "out").get<int64_t>("pad_token_id"), 3);
}

TEST(Export, ASizeThatIsBuiltInIsFound) {
  struct Fixed : Toy {
    using Toy::Toy;
    nn::Outputs forward(Network& n, const nn::Inputs& inputs) const override {
      nn::Outputs all = Toy::forward(n, inputs);
      const nn::Ops o(n);
      // What a tracer makes of x.view(2, 5, 6).
      all.set("last_hidden_state", o.reshape(all.at("last_hidden_state"), {2, 5, 6}));
      return all;
    }
  };
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  TasksManager mine = toys();
  mine.models().add("toy", {"feature-extraction"}, [](const ModelConfig& c, std::string_view task) {
    return std::make_unique<Fixed>(c, task);
  });
  ExportOptions o = quick();
  o.tasks = &mine;
  const std::string said = sentence_of([&] { export_checkpoint(folder / "toy", folder / "out", o); });
  EXPECT_NE(said.find("last_hidden_state"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

/// Something of an image, a row at a time; `columns`: as many as a tracer would have seen.
class ToyEye : public nn::Model {
 public:
  explicit ToyEye(int64_t columns) : columns_(columns) {}
  void fields(nn::Fields& f) override { f("scale", scale); }
  nn::Outputs forward(Network&, const nn::Inputs& inputs) const override {
    const nn::Ops o(*this, inputs.at("pixel_values"));
    TensorRef x = o.mul(inputs.at("pixel_values"), o.use(scale));
    if (columns_) x = o.reshape(x, {0, 0, -1, columns_});
    return {{"last_hidden_state", o.sum(o.op("ReduceMax", {x, o.ints({3})}), {2, 3}, false)}};
  }
  nn::Parameter scale{DataType::float32, {1}};

 private:
  int64_t columns_;
};
class ToyEyeOnnxConfig : public VisionOnnxConfig {
 public:
  using VisionOnnxConfig::VisionOnnxConfig;
  NamedAxes inputs() const override {
    return {{"pixel_values", {{0, "batch_size"}, {1, "num_channels"}, {2, "height"}, {3, "width"}}}};
  }
  NamedAxes outputs() const override { return {{"last_hidden_state", {{0, "batch_size"}}}}; }
};

TEST(Export, AWidthThatIsBuiltInIsFound) {
  const TempDirectory folder;
  write_checkpoint(folder / "eye", R"({"model_type": "eye", "architectures": ["EyeModel"]})", {{"scale", {1}}});
  for (const int64_t columns : {0, 64}) {
    TasksManager mine = toys();
    mine.register_config<ToyEyeOnnxConfig>("eye", {"feature-extraction"});
    mine.models().add("eye", {"feature-extraction"},
                      [=](const ModelConfig&, std::string_view) { return std::make_unique<ToyEye>(columns); });
    ExportOptions o = quick();
    o.tasks = &mine;
    if (columns) {
      EXPECT_NE(sentence_of([&] { export_checkpoint(folder / "eye", folder / "out", o); }).find("Reshape"),
                std::string::npos);
      continue;
    }
    const ExportReport r = export_checkpoint(folder / "eye", folder / "any", o);
    std::set<std::string> sizes;
    for (const ValidationRun& run : r.validation.at("model.onnx").runs) sizes.insert(run.sizes);
    EXPECT_EQ(sizes, (std::set<std::string>{"batch_size=2, height=64, num_channels=3, width=64",
                                            "batch_size=1, height=33, num_channels=3, width=35",
                                            "batch_size=3, height=41, num_channels=3, width=57"}));
  }
}

/// What validation ran of a checkpoint of tests/data/exporter: values by size.
std::map<std::string, std::set<std::string>> sizes_run(const std::string& fixture, Words* one_size) {
  const TempDirectory folder;
  ExportOptions o = quick();
  o.tasks = nullptr;
  const ExportReport r =
      export_checkpoint(fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter" / fixture, folder / "out", o);
  std::map<std::string, std::set<std::string>> all;
  for (const ValidationRun& run : r.validation.at("model.onnx").runs) {
    std::istringstream sizes(run.sizes);
    for (std::string one; std::getline(sizes >> std::ws, one, ',');)
      all[one.substr(0, one.find('='))].insert(one.substr(one.find('=') + 1));
  }
  *one_size = r.validation.at("model.onnx").one_size;
  return all;
}

TEST(Export, ImagesAreOfManySizesAndTextsOfAnotherNumber) {
  Words one_size;
  auto sizes = sizes_run("resnet", &one_size);
  EXPECT_EQ(sizes.at("height").size(), 3u);
  EXPECT_EQ(sizes.at("width").size(), 3u);
  EXPECT_EQ(one_size, Words{"num_channels=3"});
  sizes = sizes_run("clip", &one_size);
  EXPECT_EQ(sizes.at("batch_size"), (std::set<std::string>{"1", "2", "3"}));
  EXPECT_EQ(sizes.at("text_batch_size"), (std::set<std::string>{"1", "2", "4"}));
  sizes = sizes_run("vit", &one_size);  // which takes one size of image
  EXPECT_EQ(sizes.at("height").size(), 1u);
  EXPECT_EQ(one_size.size(), 3u);
}

// ── What was recorded elsewhere

TEST(Export, ComparedWithWhatWasRecorded) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  export_checkpoint(folder / "toy", folder / "out", quick());
  const Tensor ids = Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{3, 4});
  const Tensor mask = Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{1, 1});
  const auto y = Engine::build(folder / "out" / "model.onnx", quick().build)
                     .create_context()
                     .run({{"input_ids", ids}, {"attention_mask", mask}});
  const auto record = [&](const char* name, float more) {
    Tensor out = y.at("last_hidden_state").tensor().clone();
    out.as<float>()[0] += more;
    std::string data, header = "{";
    for (const auto& [key, type, sizes, t] :
         {std::tuple{"input_ids", "I64", "1,2", ids}, std::tuple{"attention_mask", "I64", "1,2", mask},
          std::tuple{"last_hidden_state", "F32", "1,2,6", out}}) {
      header += (data.empty() ? "" : ",") + entry(key, type, sizes, data.size(), data.size() + t.bytes());
      data.append(static_cast<const char*>(t.data()), t.bytes());
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return folder.write(name, safetensors(header, data));
  };
  ExportOptions o = quick();
  o.reference = record("right.safetensors", 0);
  const ExportReport r = export_checkpoint(folder / "toy", folder / "again", o);
  ASSERT_TRUE(r.recorded);
  EXPECT_EQ(r.recorded->outputs.at(0).engine_ulps, 0);
  o.reference = record("wrong.safetensors", 0.25f);
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "toy", folder / "wrong", o); }), Code::run_bad_value);
  EXPECT_FALSE(fs::exists(folder / "wrong"));
}

// ── Errors

TEST(Export, Errors) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  const auto fails = [&](const char* checkpoint, const ExportOptions& o) {
    const Code code = code_of([&] { export_checkpoint(folder / checkpoint, folder / "out", o); });
    EXPECT_FALSE(fs::exists(folder / "out"));
    return code;
  };
  ExportOptions o = quick();
  EXPECT_EQ(fails("absent", o), Code::file_not_found);
  o.task = "fill-the-mask";
  EXPECT_EQ(fails("toy", o), Code::bad_argument);
  o.task = "fill-mask";
  EXPECT_EQ(fails("toy", o), Code::not_supported);
  o = quick();
  o.tasks = nullptr;
  EXPECT_EQ(fails("toy", o), Code::not_supported);
  o = quick();
  o.opset = 1;
  EXPECT_EQ(fails("toy", o), Code::node_cannot_convert);
  o = quick();
  o.variant = "other";
  EXPECT_EQ(fails("toy", o), Code::not_supported);
  o = quick();
  o.progress = [](const ExportProgress& p) { return p.stage != "writing model.onnx"; };
  EXPECT_EQ(fails("toy", o), Code::cancelled);
  o = quick();
  o.validation->ulps = 0;
  o.validation->atol = 0;
  EXPECT_EQ(fails("toy", o), Code::run_bad_value);
  write_checkpoint(folder / "short", toy_config, {toy_tensors[0], toy_tensors[1]});
  EXPECT_EQ(fails("short", quick()), Code::bad_argument);
  write_checkpoint(folder / "wide", toy_config, {{"embed.weight", {11, 7}}, toy_tensors[1], toy_tensors[2]});
  EXPECT_EQ(fails("wide", quick()), Code::tensor_bad_shape);
  write_checkpoint(folder / "cut", toy_config, toy_tensors);
  fs::resize_file(folder / "cut" / "model.safetensors", fs::file_size(folder / "cut" / "model.safetensors") - 4);
  EXPECT_EQ(fails("cut", quick()), Code::external_bad_range);
  write_checkpoint(folder / "shards", toy_config, toy_tensors);
  fs::rename(folder / "shards" / "model.safetensors", folder / "shards" / "one.safetensors");
  std::ofstream(folder / "shards" / "model.safetensors.index.json")
      << R"({"weight_map": {"embed.weight": "one.safetensors", "inner.weight": "two.safetensors"}})";
  EXPECT_EQ(fails("shards", quick()), Code::file_not_found);
  std::ofstream(folder / "target") << "a file";
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "toy", folder / "target", quick()); }),
            Code::file_write_failed);
}

/// The mean of the tokens where nobody says otherwise, and what modules.json says where it does.
TEST(Export, EncodersOfSentences) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  std::ofstream(folder / "toy" / "sentence_bert_config.json") << R"({"max_seq_length": 8})";
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", quick());
  EXPECT_EQ(r.library, "sentence_transformers");
  EXPECT_EQ(r.task, "feature-extraction");
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  ASSERT_EQ(m.proto.graph->output.size(), 2u);
  EXPECT_EQ(m.proto.graph->output[0].name, "token_embeddings");
  EXPECT_EQ(axes_of(m.proto.graph->output[1]), (Words{"batch_size", "6"}));
  auto context = Engine::build(m).create_context();
  const auto out = context.run({{"input_ids", Tensor::from<int64_t>({1, 3}, std::vector<int64_t>{1, 2, 3})},
                                {"attention_mask", Tensor::from<int64_t>({1, 3}, std::vector<int64_t>{1, 1, 0})}});
  const Tensor tokens = out.at("token_embeddings").tensor(), mean = out.at("sentence_embedding").tensor();
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(mean.as<float>()[i], (tokens.as<float>()[i] + tokens.as<float>()[6 + i]) / 2, 1e-6);

  const auto fails = [&](const std::string& modules) {
    std::ofstream(folder / "toy" / "modules.json") << modules;
    return code_of([&] { export_checkpoint(folder / "toy", folder / "again", quick()); });
  };
  const std::string first = R"([{"path": "", "type": "sentence_transformers.models.Transformer"})";
  EXPECT_EQ(fails("["), Code::json_malformed);
  EXPECT_EQ(fails("{}"), Code::bad_argument);
  EXPECT_EQ(fails("[]"), Code::bad_argument);
  EXPECT_EQ(fails("[1]"), Code::bad_argument);
  EXPECT_EQ(fails(R"([{"path": 1, "type": "x"}])"), Code::bad_argument);
  EXPECT_EQ(fails(std::string(100, '[') + std::string(100, ']')), Code::json_malformed);
  EXPECT_EQ(fails(R"([{"path": "0_BoW", "type": "sentence_transformers.models.BoW"}])"), Code::not_supported);
  EXPECT_EQ(fails(R"([{"path": "0_CLIPModel", "type": "sentence_transformers.models.CLIPModel"}])"), Code::file_not_found);
  EXPECT_EQ(fails(first + "]"), Code::bad_argument);  // nothing pools
  EXPECT_EQ(fails(first + R"(, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])"),
            Code::bad_argument);  // its folder is not there
  EXPECT_EQ(fails(first + R"(, {"path": "../1", "type": "sentence_transformers.models.Pooling"}])"), Code::bad_argument);
  EXPECT_EQ(fails(first + R"(, {"path": "/1", "type": "sentence_transformers.models.Pooling"}])"), Code::bad_argument);
  EXPECT_EQ(fails(first + R"(, {"path": "1", "type": "sentence_transformers.models.CNN"}])"), Code::not_supported);
  EXPECT_FALSE(fs::exists(folder / "again"));
  // The task of the encoder alone is that of another library.
  ExportOptions o = quick();
  o.task = "text-classification";
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "toy", folder / "again", o); }), Code::not_supported);
  o.library = "transformers";
  EXPECT_EQ(export_checkpoint(folder / "toy", folder / "again", o).task, "text-classification");
}

TEST(Export, UnknownValuesOfAConfig) {
  const fs::path bert = fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter/bert";
  for (const auto& [known, unknown] : {std::pair{"gelu", "geluu"}, {"absolute", "absolut"}}) {
    const TempDirectory folder;
    fs::copy(bert, folder / "bert");
    std::ifstream in(bert / "config.json");
    std::string config(std::istreambuf_iterator<char>(in), {});
    const std::string said = "\"" + std::string(known) + "\"";
    if (config.find(said) == std::string::npos)
      config.insert(config.find('{') + 1, R"("position_embedding_type": "absolute",)");
    config.replace(config.find(said), said.size(), "\"" + std::string(unknown) + "\"");
    std::ofstream(folder / "bert" / "config.json") << config;
    const std::string sentence = sentence_of([&] { export_checkpoint(folder / "bert", folder / "out"); });
    EXPECT_NE(sentence.find("E6001"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("near to it: '" + std::string(known) + "'"), std::string::npos) << sentence;
    EXPECT_FALSE(fs::exists(folder / "out"));
  }
}

TEST(Export, PaddingOfClassifiersIsSaidSomewhere) {
  const TempDirectory folder;
  std::string config = toy_config;
  config.replace(config.find(R"("pad_token_id": 0, )"), 19, "");
  write_checkpoint(folder / "toy", config, toy_tensors);
  ExportOptions o = quick();
  o.task = "text-classification";
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "toy", folder / "out", o); }), Code::bad_argument);
  o.pad_token_id = 4;
  export_checkpoint(folder / "toy", folder / "out", o);
  EXPECT_EQ(ModelConfig::open(folder / "out").get<int64_t>("pad_token_id"), 4);
  folder.write("toy/tokenizer_config.json",
               R"({"pad_token": "<pad>", "added_tokens_decoder": {"7": {"content": "<pad>"}}})");
  o.pad_token_id.reset();
  export_checkpoint(folder / "toy", folder / "again", o);
  EXPECT_EQ(ModelConfig::open(folder / "again").get<int64_t>("pad_token_id"), 7);
  EXPECT_TRUE(fs::exists(folder / "again" / "tokenizer_config.json"));
}

// ── Large

TEST(Export, LargeWeightsLieBesideAndAreNotHeld) {
  const TempDirectory folder;
  constexpr int64_t rows = 1'000'000, width = 1000;  // 10⁹ parameters, 4 GB of holes
  fs::create_directories(folder / "big");
  std::ofstream(folder / "big" / "config.json")
      << R"({"model_type": "toy", "architectures": ["ToyModel"], "vocab_size": 1000000, "hidden_size": 1000})";
  constexpr uint64_t embed = uint64_t{rows} * width * 4, inner = uint64_t{width} * width * 4, bias = width * 4;
  std::string header = "{" + entry("embed.weight", "F32", "1000000,1000", 0, embed) + "," +
                       entry("inner.weight", "F32", "1000,1000", embed, embed + inner) + "," +
                       entry("inner.bias", "F32", "1000", embed + inner, embed + inner + bias) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const fs::path file = folder.write("big/model.safetensors", safetensors(header));
  fs::resize_file(file, 8 + header.size() + embed + inner + bias);
  ExportOptions o = quick();
  uint64_t told = 0, total = 0;
  o.progress = [&](const ExportProgress& p) {
    EXPECT_GE(p.bytes, told);
    told = p.bytes, total = p.total_bytes;
    return true;
  };
  const ExportReport r = export_checkpoint(folder / "big", folder / "out", o);
  EXPECT_EQ(names_in(folder / "out"), (Words{"config.json", "model.onnx", "model.onnx_data"}));
  EXPECT_GE(total, embed);
  EXPECT_EQ(told, total);
  EXPECT_TRUE(r.validation.at("model.onnx").runs.empty());  // an engine would hold them once more
  EXPECT_EQ(r.validation.at("model.onnx").skipped.size(), 1u);
  EXPECT_LT(fs::file_size(folder / "out" / "model.onnx"), 100'000u);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) {
      EXPECT_LT(std::stoull(line.substr(6)), 500u * 1024) << line;
    }
  const Engine engine = Engine::build(folder / "out" / "model.onnx", {.threads = 1, .fold_limit = 0});
  EXPECT_EQ(engine.outputs()[0].name, "last_hidden_state");
}

}  // namespace
}  // namespace lathe::exporters
