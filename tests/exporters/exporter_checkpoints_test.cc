// Tests the sources of exports: weights in every form and type, tied, large, missing; and configurations that
// lack keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "lathe/builder.h"
#include "lathe/error.h"
#include "lathe/exporters.h"
#include "lathe/safetensors.h"
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

TEST(Export, HalfAsLargeWeightsAreWidened) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors, true);
  export_checkpoint(folder / "toy", folder / "out", quick());
  const onnx::Model m = onnx::Model::load(folder / "out" / "model.onnx");
  for (const auto& t : m.proto.graph->initializer)
    EXPECT_NE(t.data_type, static_cast<int32_t>(DataType::float16)) << *t.name;
}

/// If the export has the checkpoint's type, the weights are the checkpoint's own bytes.
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
                                  [](const auto& t) {
                                    return t.dims == std::vector<int64_t>{11, 6};
                                  }),
            1);
}

/// A copy of a recorded checkpoint with other weights and another config.json.
struct Changed {
  explicit Changed(const char* fixture) : from(fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter" / fixture) {
    const Checkpoint checkpoint = Checkpoint::open(from);
    for (const CheckpointTensor& t : checkpoint.tensors())
      weights.emplace_back(t.name, checkpoint.tensor(t.name));
    fs::create_directories(folder / "in");
    fs::copy_file(from / "config.json", folder / "in/config.json");
  }
  void rename(const std::string& name, const std::string& other) {
    for (auto& [called, t] : weights)
      if (called == name) called = other;
  }
  void erase(const std::string& name) {
    ASSERT_EQ(std::erase_if(weights, [&](const auto& w) { return w.first == name; }), 1u) << name;
  }
  void exported(const std::string& library = {}) const {
    save_safetensors(folder / "in/model.safetensors", weights);
    ExportOptions o;
    o.library = library;
    o.validation.reset();
    o.build.threads = 1;
    export_checkpoint(folder / "in", folder / "out", o);
  }
  const fs::path from;
  std::vector<std::pair<std::string, Tensor>> weights;
  const TempDirectory folder;
};

/// Weights that were bound but are in no file count as unused, whatever a module reports.
TEST(Export, WeightsThatNoFileHasAreNamed) {
  const TempDirectory folder;
  auto tensors = toy_tensors;
  tensors.emplace_back("step", Shape{1});
  write_checkpoint(folder / "toy", toy_config, tensors);
  const ExportReport r = export_checkpoint(folder / "toy", folder / "out", quick());
  EXPECT_EQ(r.unexpected, Strings{"step"});
  // A decoder's cross attention, where there is no encoder: bound, and not read.
  const Changed c("gpt2_cross");
  save_safetensors(c.folder / "in/model.safetensors", c.weights);
  ExportOptions o;
  o.validation.reset();
  const Strings named = export_checkpoint(c.folder / "in", c.folder / "out", o).unexpected;
  for (const auto& [name, t] : c.weights)
    EXPECT_EQ(std::ranges::find(named, name) != named.end(), name.find("cross") != std::string::npos) << name;
}

/// Counts matrices with a row or a column for every word.
std::ptrdiff_t matrices_of_words(const fs::path& model) {
  const onnx::Model m = onnx::Model::load(model);
  return std::ranges::count_if(m.proto.graph->initializer, [](const auto& t) {
    return t.dims.size() == 2 && std::ranges::count(t.dims, 47) == 1 && std::ranges::count(t.dims, 1) == 0;
  });
}

TEST(Export, TiedWeightsOfArchitecturesAreStoredOnce) {
  const auto stored = [](const char* fixture) {
    const Changed c(fixture);
    c.exported();
    std::map<std::string, std::ptrdiff_t> found;
    for (const std::string& name : names_in(c.folder / "out"))
      if (name.ends_with(".onnx")) found[name] = matrices_of_words(c.folder / "out" / name);
    return found;
  };
  for (const char* fixture : {"bert_fill_mask", "distilbert_fill_mask", "roberta_fill_mask",
                              "mpnet_fill_mask", "gpt2_past", "llama_multi_query", "qwen2_past"})
    EXPECT_EQ(stored(fixture), (std::map<std::string, std::ptrdiff_t>{{"model.onnx", 1}})) << fixture;
  for (const char* fixture :
       {"t5_past", "bart_past", "mbart_past", "whisper_past", "donut_past", "trocr_past"})
    for (const auto& [file, matrices] : stored(fixture)) {
      const bool reads_words = file != "encoder_model.onnx" || std::string(fixture) == "t5_past" ||
                               std::string(fixture).find("bart") != std::string::npos;
      EXPECT_EQ(matrices, reads_words) << fixture << " " << file;
    }
  EXPECT_EQ(stored("gpt2_untied").at("model.onnx"), 2);
  EXPECT_EQ(stored("llama_past").at("model.onnx"), 2);
}

TEST(Export, MoreLayersThanTheCheckpointHasAreSaid) {
  const auto said = [](const char* fixture, const std::string& from, const std::string& to) {
    const Changed c(fixture);
    std::ifstream in(c.from / "config.json");
    std::string config(std::istreambuf_iterator<char>(in), {});
    const size_t at = config.find(from);
    EXPECT_NE(at, std::string::npos);
    config.replace(at, from.size(), to);
    std::ofstream(c.folder / "in/config.json") << config;
    const std::string sentence = sentence_of([&] { c.exported(); });
    EXPECT_FALSE(fs::exists(c.folder / "out"));
    return sentence;
  };
  for (const auto& [fixture, from, to, words] :
       {std::tuple{
            "bert", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 4000",
            "'num_hidden_layers' of 2, as many layers as the checkpoint has under 'encoder.layer', got 4000"},
        {"gpt2_past", "\"n_layer\": 2", "\"n_layer\": 3",
         "'n_layer' of 2, as many layers as the checkpoint has under 'transformer.h', got 3"},
        {"t5_past", "\"num_decoder_layers\": 2", "\"num_decoder_layers\": 5",
         "'num_decoder_layers' of 2, as many layers as the checkpoint has under 'decoder.block', got 5"},
        {"bert", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2147483648",
         "'num_hidden_layers' from 0 to 4096, got 2147483648"},
        {"llama_past", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2147483648",
         "'num_hidden_layers' from 0 to 4096, got 2147483648"},
        {"bert", "\"vocab_size\": 47", "\"vocab_size\": 2147483647",
         "got float32[47, 16]; in config.json 'vocab_size' is 2147483647: the configuration is not that of"},
        {"gpt2_past", "\"n_embd\": 16", "\"n_embd\": 32", "in config.json 'n_embd', 'n_positions' is 32"}}) {
    const std::string sentence = said(fixture, from, to);
    EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
  }
  // Fewer leave weights, which are named.
  const Changed c("bert");
  std::ifstream in(c.from / "config.json");
  std::string config(std::istreambuf_iterator<char>(in), {});
  config.replace(config.find("\"num_hidden_layers\": 2"), 22, "\"num_hidden_layers\": 1");
  std::ofstream(c.folder / "in/config.json") << config;
  save_safetensors(c.folder / "in/model.safetensors", c.weights);
  ExportOptions o;
  o.validation.reset();
  const Strings named = export_checkpoint(c.folder / "in", c.folder / "out", o).unexpected;
  EXPECT_NE(std::ranges::find(named, "encoder.layer.1.output.dense.weight"), named.end());
}

/// transformers would read them as noise.
TEST(Export, WordsThatACheckpointLacksAreSaidWithWhatMayStandForThem) {
  const auto said = [](const char* fixture, const std::vector<std::string>& without) {
    Changed c(fixture);
    for (const std::string& name : without) c.erase(name);
    return sentence_of([&] { c.exported(); });
  };
  for (const char* fixture : {"bart_untied", "mbart_untied"}) {
    const std::string words =
        said(fixture, {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"});
    for (const char* part :
         {"2 missing: 'model.encoder.embed_tokens.weight', 'model.decoder.embed_tokens.weight'",
          "'lm_head.weight', 'model.shared.weight'", "'tie_word_embeddings' true"})
      EXPECT_NE(words.find(part), std::string::npos) << words;
  }
  for (const auto& [fixture, head, words] :
       {std::tuple{"gpt2_untied", "lm_head.weight", "'transformer.wte.weight'"},
        {"llama_past", "lm_head.weight", "'model.embed_tokens.weight'"},
        {"t5_gated", "lm_head.weight", "'shared.weight'"},
        {"trocr_printed", "decoder.output_projection.weight",
         "'decoder.model.decoder.embed_tokens.weight'"}}) {
    const std::string told = said(fixture, {head});
    EXPECT_NE(told.find("1 missing: '" + std::string(head) + "'"), std::string::npos) << told;
    EXPECT_NE(told.find("of that shape there is " + std::string(words) + ": "), std::string::npos) << told;
  }
  // Other weights are no embeddings of words.
  const std::string other = said("gpt2_untied", {"lm_head.weight", "transformer.ln_f.bias"});
  EXPECT_EQ(other.find("tie_word_embeddings"), std::string::npos) << other;
}

/// T5 has one embedding matrix, tied to the head or not, under any of three names.
TEST(Export, TheWordsOfT5HaveThreeNames) {
  const auto bytes = [](const Changed& c, const std::string& library, const char* file) {
    c.exported(library);
    std::ifstream in(c.folder / "out" / file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto check = [&](const char* fixture, const std::string& library, const char* file,
                         const std::vector<std::string>& names) {
    const std::string want = bytes(Changed(fixture), library, file);
    ASSERT_FALSE(want.empty());
    for (const std::string& name : names) {
      Changed c(fixture);
      c.rename("shared.weight", name);
      EXPECT_TRUE(bytes(c, library, file) == want) << fixture << " " << name;
    }
  };
  for (const char* fixture : {"t5_past", "t5_gated"})
    check(fixture, "", "decoder_model_merged.onnx",
          {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"});
  check("sentence_t5", "sentence_transformers", "model.onnx", {"encoder.embed_tokens.weight"});
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
    EXPECT_EQ(names_in(folder / (form + "_out")), (Strings{"config.json", "model.onnx", "tokenizer.json"}))
        << form;
    std::ifstream in(folder / (form + "_out") / "model.onnx", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string want = exported("whole");
  ASSERT_GT(want.size(), 432u);
  for (const char* form : {"shards", "pytorch", "pytorch_shards"})
    EXPECT_TRUE(exported(form) == want) << form;
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
  fs::resize_file(folder / "cut" / "model.safetensors",
                  fs::file_size(folder / "cut" / "model.safetensors") - 4);
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

/// The peak memory of this process, in bytes.
uint64_t peak_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

/// The bytes that this process has written, to disks and other files.
uint64_t written() {
  std::ifstream account("/proc/self/io");
  for (std::string line; std::getline(account, line);)
    if (line.starts_with("wchar:")) return std::stoull(line.substr(6));
  return 0;
}

/// 1.1 · 10⁹ parameters in 201 tensors, all of them holes of the file.
void export_a_large_llama(const std::string& dtype, uint64_t bytes_each) {
  constexpr int64_t hidden = 2048, inner = 5632, layers = 22, words = 32000, keys = 256;
  std::vector<std::pair<std::string, Shape>> tensors{{"model.embed_tokens.weight", {words, hidden}}};
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
      tensors.emplace_back(layer + norm + ".weight", Shape{hidden});
    for (const auto& [part, out, in] : {std::tuple{"self_attn.q_proj", hidden, hidden},
                                        {"self_attn.k_proj", keys, hidden},
                                        {"self_attn.v_proj", keys, hidden},
                                        {"self_attn.o_proj", hidden, hidden},
                                        {"mlp.gate_proj", inner, hidden},
                                        {"mlp.up_proj", inner, hidden},
                                        {"mlp.down_proj", hidden, inner}})
      tensors.emplace_back(layer + part + ".weight", Shape{out, in});
  }
  tensors.emplace_back("model.norm.weight", Shape{hidden});
  tensors.emplace_back("lm_head.weight", Shape{words, hidden});
  std::string header = "{";
  uint64_t end = 0;
  for (const auto& [name, shape] : tensors) {
    uint64_t bytes = bytes_each;
    std::string sizes;
    for (int64_t d : shape)
      bytes *= static_cast<uint64_t>(d), sizes += (sizes.empty() ? "" : ",") + std::to_string(d);
    header += (end ? "," : "") + entry(name, dtype, sizes, end, end + bytes);
    end += bytes;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  ASSERT_GT(end / bytes_each, 1'000'000'000u);
  const TempDirectory folder;
  fs::create_directories(folder / "llama");
  fs::resize_file(folder.write("llama/model.safetensors", safetensors(header)), 8 + header.size() + end);
  folder.write("llama/config.json",
               R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048,
    "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
    "vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "hidden_act": "silu",
    "tie_word_embeddings": false})");
  ExportOptions o;
  o.build.threads = 1;
  const uint64_t before = written();
  const ExportReport r = export_checkpoint(folder / "llama", folder / "out", o);
  EXPECT_LT(written() - before, end / bytes_each * 4 + (uint64_t{64} << 20));  // once
  EXPECT_EQ(r.task, "text-generation-with-past");
  EXPECT_EQ(names_in(folder / "out"), (Strings{"config.json", "model.onnx", "model.onnx_data"}));
  EXPECT_GE(fs::file_size(folder / "out" / "model.onnx_data"),
            end / bytes_each * 4 - (uint64_t{1} << 20));  // the rest lies in the model
  EXPECT_LT(fs::file_size(folder / "out" / "model.onnx_data"), end / bytes_each * 4 + (uint64_t{32} << 20));
  EXPECT_LT(peak_resident(), 500u << 20);
}

TEST(Export, ALlamaOfABillionParameters) { export_a_large_llama("F32", 4); }
TEST(Export, ALlamaOfABillionParametersWidened) { export_a_large_llama("BF16", 2); }

TEST(Export, LargeWeightsLieBesideAndAreNotHeld) {
  const TempDirectory folder;
  constexpr int64_t rows = 1'000'000, width = 1000;  // 10⁹ parameters, 4 GB of holes
  fs::create_directories(folder / "big");
  std::ofstream(folder / "big" / "config.json")
      << R"({"model_type": "toy", "architectures": ["ToyModel"], "vocab_size": 1000000, "hidden_size": 1000})";
  constexpr uint64_t embed = uint64_t{rows} * width * 4, inner = uint64_t{width} * width * 4,
                     bias = width * 4;
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
  const uint64_t before = written();
  const ExportReport r = export_checkpoint(folder / "big", folder / "out", o);
  EXPECT_LT(written() - before, embed + (uint64_t{64} << 20));  // once
  EXPECT_EQ(names_in(folder / "out"), (Strings{"config.json", "model.onnx", "model.onnx_data"}));
  EXPECT_GE(total, embed);
  EXPECT_EQ(told, total);
  EXPECT_TRUE(r.validation.at("model.onnx").runs.empty());  // an engine would hold them once more
  EXPECT_EQ(r.validation.at("model.onnx").skipped.size(), 1u);
  EXPECT_LT(fs::file_size(folder / "out" / "model.onnx"), 100'000u);
  EXPECT_LT(peak_resident(), 500u << 20);
  const Engine engine = Engine::build(folder / "out" / "model.onnx", {.threads = 1, .fold_limit = 0});
  EXPECT_EQ(engine.outputs()[0].name, "last_hidden_state");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
