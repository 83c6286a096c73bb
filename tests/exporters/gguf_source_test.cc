// GGUF files that are exported: they compute what the checkpoints of transformers compute that they were made
// of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/json.h"
#include "lathe/check.h"
#include "lathe/engine.h"
#include "lathe/error.h"
#include "lathe/exporters.h"
#include "lathe/gguf.h"
#include "lathe/tokenizer.h"
#include "lathe/values.h"
#include "plan/plan_file.h"
#include "support/error_code.h"
#include "support/gguf_file.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
namespace fs = std::filesystem;

fs::path fixture(const std::string& name) {
  return fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter" / name;
}

std::string gguf_f32(double v) {
  const auto f = static_cast<float>(v);
  std::string bytes(sizeof f, '\0');
  std::memcpy(bytes.data(), &f, sizeof f);
  return gguf_value(GgufValueType::float32, bytes);
}

/// llama.cpp's name of a weight of transformers' Llama or Qwen2.
std::string gguf_name(std::string name) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  for (const auto& [from, to] : {std::pair{"model.layers.", "blk."},
                                 {"self_attn.q_proj", "attn_q"},
                                 {"self_attn.k_proj", "attn_k"},
                                 {"self_attn.v_proj", "attn_v"},
                                 {"self_attn.o_proj", "attn_output"},
                                 {"post_attention_layernorm", "ffn_norm"},
                                 {"input_layernorm", "attn_norm"},
                                 {"mlp.gate_proj", "ffn_gate"},
                                 {"mlp.up_proj", "ffn_up"},
                                 {"mlp.down_proj", "ffn_down"},
                                 {"model.embed_tokens", "token_embd"},
                                 {"model.norm", "output_norm"},
                                 {"lm_head", "output"}})
    replace(from, to);
  return name;
}

/// The elements of a float32 tensor; rows (i, i + d/2) of each of `heads` heads as (2i, 2i + 1) if there are
/// some, as llama.cpp's converter stores queries and keys of Llama.
std::string elements(const Tensor& t, int64_t heads) {
  const auto* bytes = static_cast<const char*>(t.data());
  if (heads == 0) return {bytes, t.bytes()};
  const int64_t size = t.shape()[0] / heads;
  const size_t row = t.bytes() / static_cast<size_t>(t.shape()[0]);
  std::string out;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t i = 0; i < size; ++i)
      out.append(bytes + static_cast<size_t>(head * size + i % 2 * (size / 2) + i / 2) * row, row);
  return out;
}

std::vector<uint64_t> sizes_of(const Shape& shape) {
  std::vector<uint64_t> sizes(shape.begin(), shape.end());
  std::ranges::reverse(sizes);
  return sizes;
}

/// The checkpoint as a GGUF file.
GgufFile gguf_of(const fs::path& checkpoint) {
  const ModelConfig c = ModelConfig::open(checkpoint);
  const Checkpoint weights = Checkpoint::open(checkpoint);
  const auto type = c.get<std::string>("model_type");
  const auto heads = c.get<int64_t>("num_attention_heads"), groups = c.get<int64_t>("num_key_value_heads"),
             size = c.get<int64_t>("hidden_size"), head_size = c.get<int64_t>("head_dim", size / heads);
  GgufFile f;
  f.with("general.architecture", gguf_text(type));
  const auto integer = [&](const std::string& key, int64_t v) {
    f.with(type + "." + key, gguf_u32(static_cast<uint32_t>(v)));
  };
  integer("block_count", c.get<int64_t>("num_hidden_layers"));
  integer("context_length", c.get<int64_t>("max_position_embeddings"));
  integer("embedding_length", size);
  integer("feed_forward_length", c.get<int64_t>("intermediate_size"));
  integer("attention.head_count", heads);
  integer("attention.head_count_kv", groups);
  integer("attention.key_length", head_size);
  integer("attention.value_length", head_size);
  integer("rope.dimension_count", head_size);
  f.with(type + ".attention.layer_norm_rms_epsilon", gguf_f32(c.get<double>("rms_norm_eps")));
  f.with(type + ".rope.freq_base", gguf_f32(c.get<double>("rope_theta")));
  if (c.has("rope_scaling")) {
    const auto r = c.get<ModelConfig>("rope_scaling");
    const auto kind = r.get<std::string>("rope_type");
    if (kind != "llama3") {
      f.with(type + ".rope.scaling.type", gguf_text(kind));
      f.with(type + ".rope.scaling.factor", gguf_f32(r.get<double>("factor")));
      if (r.has("original_max_position_embeddings"))
        integer("rope.scaling.original_context_length", r.get<int64_t>("original_max_position_embeddings"));
    } else {
      // What the converter makes of it: the factor by which each frequency is divided.
      const double low = r.get<double>("low_freq_factor"), high = r.get<double>("high_freq_factor"),
                   factor = r.get<double>("factor"),
                   original = static_cast<double>(r.get<int64_t>("original_max_position_embeddings"));
      std::string factors;
      for (int64_t i = 0; i < head_size; i += 2) {
        const double wave =
            2 * M_PI *
            std::pow(c.get<double>("rope_theta"), static_cast<double>(i) / static_cast<double>(head_size));
        const double smooth = (original / wave - low) / (high - low);
        const auto by = static_cast<float>(wave < original / high  ? 1
                                           : wave > original / low ? factor
                                                                   : 1 / ((1 - smooth) / factor + smooth));
        factors.append(reinterpret_cast<const char*>(&by), sizeof by);
      }
      f.with("rope_freqs.weight", {static_cast<uint64_t>(head_size / 2)}, GgufType::f32, factors);
    }
  }
  for (const CheckpointTensor& t : weights.tensors()) {
    const std::string name = gguf_name(t.name);
    const bool is_query = name.find(".attn_q.") != std::string::npos,
               is_key = name.find(".attn_k.") != std::string::npos;
    const int64_t split = type != "llama" ? 0 : is_query ? heads : is_key ? groups : 0;
    f.with(name, sizes_of(t.shape), GgufType::f32, elements(weights.tensor(t.name), split));
  }
  return f;
}

ExportOptions options() {
  ExportOptions o;
  o.task = "text-generation";
  o.validation.reset();
  return o;
}

Value logits(const fs::path& folder, int64_t vocabulary, const BuildOptions& build = {}) {
  const Engine e = Engine::build(folder / "model.onnx", build);
  NamedValues inputs;
  for (const IoInfo& io : e.inputs()) {
    Tensor t(DataType::int64, {2, 9});
    for (int64_t i = 0; i < t.size(); ++i)
      t.as<int64_t>()[static_cast<size_t>(i)] = io.name == "input_ids"      ? (i * 7 + 3) % vocabulary
                                                : io.name == "position_ids" ? i % 9
                                                                            : 1;
    inputs[io.name] = t;
  }
  return e.create_context().run(inputs).at("logits");
}

TEST(GgufSource, ComputesWhatTransformersDoes) {
  for (const char* name :
       {"llama_past", "llama_biases", "llama_rope_linear", "llama_rope_yarn", "qwen2_past"}) {
    const TempDirectory folder;
    folder.write("m.gguf", gguf_of(fixture(name)).bytes());
    export_checkpoint(fixture(name), folder / "expected", options());
    const ExportReport r = export_checkpoint(folder / "m.gguf", folder / "got", options());
    EXPECT_TRUE(r.unexpected.empty()) << name;
    const Comparison same = compare(logits(folder / "got", 47), logits(folder / "expected", 47), 0, 0);
    EXPECT_TRUE(same.equal) << name << ": " << same.reason;
    EXPECT_TRUE(fs::exists(folder / "got" / "config.json"));
  }
}

/// What others need to run the model is beside it, or named with the reason.
TEST(GgufSource, FilesBesideTheModel) {
  GgufFile f = gguf_of(fixture("llama_past"));
  const TempDirectory folder;
  folder.write("bare.gguf", f.bytes());
  const ExportReport bare = export_checkpoint(folder / "bare.gguf", folder / "bare", options());
  ASSERT_EQ(bare.left_out.size(), 1);
  EXPECT_TRUE(bare.left_out[0].starts_with("tokenizer.json: ")) << bare.left_out[0];
  EXPECT_FALSE(fs::exists(folder / "bare" / "genai_config.json"));

  std::string tokens, types;
  for (const char* token : {"a", "b", "ab", "<s>", "</s>"}) tokens += gguf_string(token);
  for (const uint64_t type : {1u, 1u, 1u, 3u, 3u}) types += little(type, 4);
  f.with("tokenizer.ggml.model", gguf_text("gpt2"));
  f.with("tokenizer.ggml.pre", gguf_text("smollm"));
  f.with("tokenizer.ggml.tokens", gguf_array(GgufValueType::string, 5, tokens));
  f.with("tokenizer.ggml.token_type", gguf_array(GgufValueType::uint32, 5, types));
  f.with("tokenizer.ggml.merges", gguf_array(GgufValueType::string, 1, gguf_string("a b")));
  f.with("tokenizer.ggml.bos_token_id", gguf_u32(3));
  f.with("tokenizer.ggml.eos_token_id", gguf_u32(4));
  folder.write("whole.gguf", f.bytes());
  ExportOptions with_past = options();
  with_past.task = "text-generation-with-past";
  const ExportReport whole = export_checkpoint(folder / "whole.gguf", folder / "whole", with_past);
  EXPECT_TRUE(whole.left_out.empty());
  EXPECT_EQ(Tokenizer::open(folder / "whole").encode("abb").ids, (std::vector<int64_t>{2, 1}));
  const ModelConfig genai = ModelConfig::open(folder / "whole" / "genai_config.json");
  EXPECT_EQ(genai.get<std::string>("model.decoder.filename"), "model.onnx");
  EXPECT_EQ(genai.get<int64_t>("model.eos_token_id"), 4);
  // Without a past there is nothing to generate with.
  EXPECT_FALSE(fs::exists(folder / "none"));
  export_checkpoint(folder / "whole.gguf", folder / "none", options());
  EXPECT_FALSE(fs::exists(folder / "none" / "genai_config.json"));
  EXPECT_TRUE(fs::exists(folder / "none" / "tokenizer.json"));
}

TEST(GgufSource, FrequenciesOfLlama3) {
  const TempDirectory folder;
  folder.write("m.gguf", gguf_of(fixture("llama_rope_llama3")).bytes());
  export_checkpoint(fixture("llama_rope_llama3"), folder / "expected", options());
  export_checkpoint(folder / "m.gguf", folder / "got", options());
  // The factors are rounded to float32 in between.
  const Comparison close = compare(logits(folder / "got", 47), logits(folder / "expected", 47), 1e-5, 1e-5);
  EXPECT_TRUE(close.equal) << close.reason;
}

/// Where a block has its scales and minimums of 16 bits.
std::vector<size_t> scales_of(GgufType type) {
  switch (type) {
    case GgufType::q2_k:
      return {80, 82};
    case GgufType::q3_k:
      return {108};
    case GgufType::q6_k:
      return {208};
    case GgufType::q4_0:
    case GgufType::q8_0:
      return {0};
    default:
      return {0, 2};
  }
}

/// A small Llama whose matrices are random blocks of one type, or the same numbers as floats.
GgufFile in_blocks(GgufType type, bool widened) {
  GgufFile f;
  f.with("general.architecture", gguf_text("llama"));
  for (const auto& [key, v] : {std::pair{"block_count", 2u},
                               {"context_length", 64u},
                               {"embedding_length", 256u},
                               {"feed_forward_length", 512u},
                               {"attention.head_count", 4u},
                               {"attention.head_count_kv", 2u}})
    f.with(std::string("llama.") + key, gguf_u32(v));
  f.with("llama.attention.layer_norm_rms_epsilon", gguf_f32(1e-5));
  uint32_t state = 9;
  const auto draw = [&] { return (state = state * 1664525 + 1013904223) >> 24; };
  const GgufTypeInfo& info = info_of(type);
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    std::string bytes;
    for (uint64_t b = 0; b < rows * columns / info.elements; ++b) {
      std::string block;
      for (uint32_t i = 0; i < info.bytes; ++i) block += static_cast<char>(draw());
      // Scales of small numbers: no infinities among them.
      for (size_t at : scales_of(type))
        block[at + 1] = static_cast<char>((static_cast<unsigned char>(block[at + 1]) & 0x83) | 0x10);
      bytes += block;
    }
    f.with(name, {columns, rows}, type, bytes);
  };
  const auto ones = [&](const std::string& name) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += std::string("\0\0\x80\x3f", 4);
    f.with(name, {256}, GgufType::f32, bytes);
  };
  matrix("token_embd.weight", 96, 256);
  ones("output_norm.weight");
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    ones(layer + "attn_norm.weight"), ones(layer + "ffn_norm.weight");
    matrix(layer + "attn_q.weight", 256, 256), matrix(layer + "attn_k.weight", 128, 256);
    matrix(layer + "attn_v.weight", 128, 256), matrix(layer + "attn_output.weight", 256, 256);
    matrix(layer + "ffn_gate.weight", 512, 256), matrix(layer + "ffn_up.weight", 512, 256);
    matrix(layer + "ffn_down.weight", 256, 512);
  }
  if (!widened) return f;
  const TempDirectory folder;
  folder.write("m.gguf", f.bytes());
  const Gguf g = Gguf::open(folder / "m.gguf");
  for (GgufFile::OneTensor& t : f.tensors) {
    const Tensor floats = g.float32(t.name);
    t.type = static_cast<uint32_t>(GgufType::f32);
    t.bytes.assign(static_cast<const char*>(floats.data()), floats.bytes());
  }
  return f;
}

TEST(GgufSource, BlocksCountAsTheNumbersThatTheyStandFor) {
  for (GgufType type : {GgufType::q4_0, GgufType::q4_1, GgufType::q5_1, GgufType::q8_0, GgufType::q2_k,
                        GgufType::q3_k, GgufType::q4_k, GgufType::q5_k, GgufType::q6_k}) {
    const TempDirectory folder;
    folder.write("blocks.gguf", in_blocks(type, false).bytes());
    folder.write("floats.gguf", in_blocks(type, true).bytes());
    ExportOptions widened = options();
    widened.widen_weights = true;
    export_checkpoint(folder / "blocks.gguf", folder / "widened", widened);
    export_checkpoint(folder / "floats.gguf", folder / "floats", options());
    const Value want = logits(folder / "floats", 96);
    for (float v : want.tensor().as<float>()) ASSERT_TRUE(std::isfinite(v)) << name_of(type);
    const Comparison same = compare(logits(folder / "widened", 96), want, 0, 0);
    EXPECT_TRUE(same.equal) << name_of(type) << ": " << same.reason;

    const ExportReport r = export_checkpoint(folder / "blocks.gguf", folder / "bits", options());
    EXPECT_EQ(r.opset, type == GgufType::q2_k ? 25 : 21);
    EXPECT_LT(fs::file_size(folder / "bits" / "model.onnx"),
              fs::file_size(folder / "widened" / "model.onnx") / 2);
    const onnx::Model model = onnx::Model::load(folder / "bits" / "model.onnx");
    EXPECT_TRUE(check(model).empty());
    // At level `none` every weight is made as the file says, and then multiplied.
    const Value as_written =
        logits(folder / "bits", 96, {.backend = "reference", .level = OptimizationLevel::none});
    const Value reference =
        logits(folder / "floats", 96, {.backend = "reference", .level = OptimizationLevel::none});
    const Comparison equal = compare(as_written, reference, 0, 0);
    EXPECT_TRUE(equal.equal) << name_of(type) << ": " << equal.reason;
    const Comparison close = compare(logits(folder / "bits", 96), want, 1e-3, 1e-3);
    EXPECT_TRUE(close.equal) << name_of(type) << ": " << close.reason;
    std::map<std::string, int> steps;
    for (const StepInfo& s : Engine::build(model, {}).steps()) ++steps[s.op];
    EXPECT_EQ(steps["LowBitMatMul"], 15) << name_of(type);
    EXPECT_EQ(steps["LowBitGather"], 1) << name_of(type);
    EXPECT_EQ(steps["DequantizeLinear"], 0) << name_of(type);
  }
}

/// An engine of the model in the folder, as a plan without the arrays that others were packed from.
Plan native_plan(const fs::path& folder) {
  BuildOptions o;
  o.portable = false;
  Engine::build(folder / "model.onnx", o).save(folder / "m.lathe");
  return load_plan(folder / "m.lathe");
}

TEST(GgufSource, ATiedEmbeddingIsPackedOnce) {
  for (GgufType type :
       {GgufType::q4_0, GgufType::q4_1, GgufType::q8_0, GgufType::q2_k, GgufType::q4_k, GgufType::q6_k}) {
    const TempDirectory folder;
    GgufFile f = in_blocks(type, false);
    folder.write("tied.gguf", f.bytes());
    // The same matrix again, as a head of its own.
    const GgufFile::OneTensor embedding = f.tensors.front();
    ASSERT_EQ(embedding.name, "token_embd.weight");
    f.with("output.weight", {256, 96}, type, embedding.bytes);
    folder.write("untied.gguf", f.bytes());
    for (const char* name : {"tied", "untied"})
      export_checkpoint(folder / (std::string(name) + ".gguf"), folder / name, options());
    const Comparison same = compare(logits(folder / "tied", 96), logits(folder / "untied", 96), 0, 0);
    EXPECT_TRUE(same.equal) << name_of(type) << ": " << same.reason;

    const Plan plan = native_plan(folder / "tied");
    const auto is = [](const char* op) { return [op](const PlanStep& s) { return s.op == op; }; };
    const std::vector<PlanStep>& steps = plan.graphs[0].steps;
    const auto gather = std::ranges::find_if(steps, is("LowBitGather"));
    ASSERT_NE(gather, steps.end());
    const PlanStep& head = *std::ranges::find_if(steps.rbegin(), steps.rend(), is("LowBitMatMul"));
    ASSERT_EQ(gather->packed.size(), head.packed.size());
    EXPECT_EQ(gather->packed[0], head.packed[1]) << name_of(type);
    for (size_t i = 2; i < head.packed.size(); ++i)
      EXPECT_EQ(gather->packed[i], head.packed[i]) << name_of(type) << " " << i;
    const auto source = plan.graphs[0].values[static_cast<size_t>(gather->inputs[0])].weight;
    EXPECT_FALSE(plan.weights[static_cast<size_t>(source)].stored);

    GgufFile of_its_own = in_blocks(type, false);
    const auto query =
        std::ranges::find(of_its_own.tensors, "blk.0.attn_q.weight", &GgufFile::OneTensor::name);
    const std::string rows = query->bytes.substr(0, embedding.bytes.size());  // it has more
    of_its_own.with("output.weight", {256, 96}, type, rows);
    folder.write("other.gguf", of_its_own.bytes());
    export_checkpoint(folder / "other.gguf", folder / "other", options());
    const Plan other = native_plan(folder / "other");
    const auto alone = std::ranges::find_if(other.graphs[0].steps, is("LowBitGather"));
    ASSERT_NE(alone, other.graphs[0].steps.end());
    EXPECT_TRUE(alone->packed.empty());  // rows are read as they are in the file
  }
}

/// But for arrays so small that their memory is not worth it.
TEST(GgufSource, WhatWasPackedIsReleased) {
  const TempDirectory folder;
  folder.write("m.gguf", in_blocks(GgufType::q4_1, false).bytes());
  export_checkpoint(folder / "m.gguf", folder / "out", options());
  const auto weights = [&](bool portable) {
    BuildOptions o;
    o.portable = portable;
    const Engine e = Engine::build(folder / "out" / "model.onnx", o);
    lathe::NamedShapes shapes;
    for (const IoInfo& io : e.inputs()) shapes[io.name] = {1, 1};
    return e.memory(shapes).weights;
  };
  // Three matrices of each layer have 2^17 numbers of 4 bits.
  EXPECT_EQ(weights(true) - weights(false), 2 * 3 * (512 * 256 / 2));
}

TEST(GgufSource, BitsNeedAnOpset) {
  const TempDirectory folder;
  folder.write("m.gguf", in_blocks(GgufType::q4_1, false).bytes());
  ExportOptions o = options();
  o.opset = 18;
  EXPECT_EQ(code_of([&] { export_checkpoint(folder / "m.gguf", folder / "out", o); }), Code::bad_argument);
  o.widen_weights = true;
  EXPECT_EQ(export_checkpoint(folder / "m.gguf", folder / "out", o).opset, 18);
}

TEST(GgufSource, WhatTheModulesCannotDoIsRefused) {
  const GgufFile good = gguf_of(fixture("llama_past"));
  const auto refused = [&](auto change) {
    GgufFile f = good;
    change(f);
    const TempDirectory folder;
    folder.write("m.gguf", f.bytes());
    const Code code = code_of([&] { export_checkpoint(folder / "m.gguf", folder / "out", options()); });
    EXPECT_FALSE(fs::exists(folder / "out"));
    return code;
  };
  const auto set = [](GgufFile& f, const std::string& key, const std::string& value) {
    std::erase_if(f.metadata, [&](const auto& m) { return m.first == key; });
    f.with(key, value);
  };
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "general.architecture", gguf_text("mamba")); }),
            Code::not_supported);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.expert_count", gguf_u32(8)); }), Code::not_supported);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.rope.dimension_count", gguf_u32(2)); }),
            Code::not_supported);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.attention.sliding_window", gguf_u32(16)); }),
            Code::not_supported);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.rope.scaling.type", gguf_text("spiral")); }),
            Code::not_supported);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.attention.head_count", gguf_u32(0)); }),
            Code::bad_argument);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.attention.head_count", gguf_text("4")); }),
            Code::bad_argument);
  EXPECT_EQ(refused([](GgufFile& f) {
              std::erase_if(f.metadata, [](const auto& m) { return m.first == "llama.block_count"; });
            }),
            Code::bad_argument);
  EXPECT_EQ(refused([](GgufFile& f) {
              std::erase_if(f.tensors, [](const auto& t) { return t.name == "blk.0.ffn_up.weight"; });
            }),
            Code::bad_argument);
  EXPECT_EQ(
      refused([](GgufFile& f) { f.with("blk.0.ssm_in.weight", {4}, GgufType::f32, std::string(16, '\0')); }),
      Code::not_supported);
  EXPECT_EQ(refused([&](GgufFile& f) { set(f, "llama.embedding_length", gguf_u32(12)); }),
            Code::tensor_bad_shape);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
