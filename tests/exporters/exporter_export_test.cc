// Exports from beginning to end: which files come out, of architectures that tests bring.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "lathe/builder.h"
#include "lathe/error.h"
#include "lathe/exporters.h"
#include "lathe/values.h"
#include "support/checkpoint_files.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "support/toy_exports.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

TEST(Export, FromACheckpointToFilesThatWereRun) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", quick());
  EXPECT_EQ(r.task, "feature-extraction");
  EXPECT_EQ(r.model_type, "toy");
  EXPECT_EQ(names_in(folder / "out"), (Strings{"config.json", "model.onnx", "tokenizer.json"}));
  EXPECT_EQ(names_in(folder.path()), (Strings{"out", "toy"}));
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  EXPECT_EQ(m.proto.opset_import[0].version, 18);
  const onnx::GraphProto& g = *m.proto.graph;
  EXPECT_EQ(axes_of(g.input[0]), (Strings{"batch_size", "sequence_length"}));
  EXPECT_EQ(g.output[0].name, "last_hidden_state");
  EXPECT_EQ(axes_of(g.output[0]), (Strings{"batch_size", "sequence_length", "6"}));
  std::set<std::string> weights;
  for (const auto& t : g.initializer) weights.insert(*t.name);
  for (const auto& [name, shape] : toy_tensors) EXPECT_TRUE(weights.contains(name)) << name;
  const ValidationReport& v = r.validation.at("model.onnx");
  std::set<std::string> sizes;
  for (const ValidationRun& run : v.runs) {
    sizes.insert(run.sizes);
    EXPECT_LT(run.outputs.at(0).engine_ulps, 64);
  }
  EXPECT_EQ(sizes,
            (std::set<std::string>{"batch_size=2, sequence_length=5", "batch_size=1, sequence_length=1",
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
  EXPECT_EQ(axes_of(m.proto.graph->input[0]), (Strings{"4", "5"}));
  EXPECT_EQ(r.validation.at("model.onnx").runs.size(), 2u);
}

TEST(Export, OtherTypesOpsetsOptimizedAndAsPlans) {
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
  EXPECT_EQ(brain.proto.graph->output[0].type->tensor_type->elem_type,
            static_cast<int32_t>(DataType::bfloat16));
  EXPECT_EQ(brain.proto.graph->input[0].type->tensor_type->elem_type, static_cast<int32_t>(DataType::int32));
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
  EXPECT_EQ(axes_of(g.input[1]), (Strings{"batch_size", "past_sequence_length + sequence_length"}));
  EXPECT_EQ(axes_of(g.input[2]), (Strings{"batch_size", "2", "past_sequence_length", "3"}));
  ASSERT_EQ(g.output.size(), 3u);
  EXPECT_EQ(g.output[1].name, "present.0.key");
  EXPECT_EQ(axes_of(g.output[1]),
            (Strings{"batch_size", "2", "past_sequence_length + sequence_length", "3"}));
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
            (Strings{"config.json", "decoder_model.onnx", "decoder_model_merged.onnx",
                     "decoder_with_past_model.onnx", "encoder_model.onnx", "tokenizer.json"}));
  EXPECT_GE(r.validation.at("decoder_model_merged.onnx").runs.size(), 8u);
  const onnx::Model merged = onnx::Model::load(folder / "out" / "decoder_model_merged.onnx");
  const onnx::GraphProto& g = *merged.proto.graph;
  ASSERT_EQ(g.node.size(), 1u);
  EXPECT_EQ(g.node[0].op_type, "If");
  EXPECT_EQ(g.input.back().name, "use_cache_branch");
  EXPECT_EQ(std::ranges::count_if(g.initializer, [](const auto& t) { return t.name == "shared.weight"; }), 1);

  // Both branches give the bits of the files that were merged.
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

/// BERT behind an encoder of images has no KV cache in Optimum's files: the automatic task is without a past.
TEST(Export, ADecoderInsideOfAnotherModelMayKeepNothing) {
  const TempDirectory folder;
  const fs::path fixtures = fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter";
  ExportOptions o = quick();
  o.validation.reset();
  EXPECT_EQ(export_checkpoint(fixtures / "vit_bert", folder / "bert", o).task, "image-to-text");
  EXPECT_EQ(names_in(folder / "bert"), (Strings{"config.json", "decoder_model.onnx", "encoder_model.onnx"}));
  EXPECT_EQ(export_checkpoint(fixtures / "vit_gpt2_past", folder / "gpt2", o).task,
            "image-to-text-with-past");
  o.task = "image-to-text-with-past";
  EXPECT_EQ(code_of([&] { export_checkpoint(fixtures / "vit_bert", folder / "kept", o); }),
            Code::not_supported);
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

// ── A patch, an override, another config for a file

TEST(Export, ConfigsOfTheUsersOwn) {
  struct Patched : ToyOnnxConfig {
    using ToyOnnxConfig::ToyOnnxConfig;
    std::vector<PatchingSpec> patching_specs() const override {
      return {{"inner", [](const nn::Module& m, Network&, const TensorRef& x) { return nn::relu(x); }}};
    }
    std::map<std::string, std::string> values_override() const override { return {{"pad_token_id", "3"}}; }
    NamedAxes outputs() const override {
      return {{"last_hidden_state", {{0, "batch_size"}, {1, "sequence_length"}}}};
    }
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
      // A tracer makes this of x.view(2, 5, 6).
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
  write_checkpoint(folder / "eye", R"({"model_type": "eye", "architectures": ["EyeModel"]})",
                   {{"scale", {1}}});
  for (const int64_t columns : {0, 64}) {
    TasksManager mine = toys();
    mine.register_config<ToyEyeOnnxConfig>("eye", {"feature-extraction"});
    mine.models().add("eye", {"feature-extraction"}, [=](const ModelConfig&, std::string_view) {
      return std::make_unique<ToyEye>(columns);
    });
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

/// Returns the sizes that validation ran for a checkpoint of tests/data/exporter: values by name.
std::map<std::string, std::set<std::string>> sizes_run(const std::string& fixture, Strings* one_size) {
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
  Strings one_size;
  auto sizes = sizes_run("resnet", &one_size);
  EXPECT_EQ(sizes.at("height").size(), 3u);
  EXPECT_EQ(sizes.at("width").size(), 3u);
  EXPECT_EQ(one_size, Strings{"num_channels=3"});
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

/// The vector is the mean of the tokens by default, else modules.json decides.
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
  EXPECT_EQ(axes_of(m.proto.graph->output[1]), (Strings{"batch_size", "6"}));
  auto context = Engine::build(m).create_context();
  const auto out =
      context.run({{"input_ids", Tensor::from<int64_t>({1, 3}, std::vector<int64_t>{1, 2, 3})},
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
  EXPECT_EQ(fails(R"([{"path": "0_CLIPModel", "type": "sentence_transformers.models.CLIPModel"}])"),
            Code::file_not_found);
  EXPECT_EQ(fails(first + "]"), Code::bad_argument);  // nothing pools
  EXPECT_EQ(fails(first + R"(, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])"),
            Code::bad_argument);  // its folder is not there
  EXPECT_EQ(fails(first + R"(, {"path": "../1", "type": "sentence_transformers.models.Pooling"}])"),
            Code::bad_argument);
  EXPECT_EQ(fails(first + R"(, {"path": "/1", "type": "sentence_transformers.models.Pooling"}])"),
            Code::bad_argument);
  EXPECT_EQ(fails(first + R"(, {"path": "1", "type": "sentence_transformers.models.CNN"}])"),
            Code::not_supported);
  EXPECT_FALSE(fs::exists(folder / "again"));
  // The task of the encoder alone is that of another library.
  ExportOptions o = quick();
  o.task = "text-classification";
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "toy", folder / "again", o); }), Code::not_supported);
  o.library = "transformers";
  EXPECT_EQ(export_checkpoint(folder / "toy", folder / "again", o).task, "text-classification");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
