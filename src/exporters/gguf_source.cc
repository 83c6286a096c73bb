#include "exporters/gguf_source.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "base/error_about.h"
#include "base/json.h"
#include "base/pages.h"
#include "io/gguf.h"
#include "io/stored_tensor.h"

namespace lathe::exporters {

namespace fs = std::filesystem;

namespace {

/// What differs between the architectures whose decoder is that of Llama.
struct Architecture {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // of transformers
  std::string_view classname;
  /// llama.cpp turns neighbors (2i, 2i + 1) of a head, transformers halves (i, i + d/2): its converter has
  /// put the rows of queries and keys in its order.
  bool interleaves_rows;
};
constexpr Architecture architectures[] = {
    {"llama", "llama", "LlamaForCausalLM", true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", false},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", false},
};

Error fault(const Gguf& g, Code code, std::string expected, std::string got, std::string remedy = {}) {
  return error_about(code, "read gguf", g.files().front(), std::move(expected), std::move(got),
                     std::move(remedy));
}

const Architecture& architecture_of(const Gguf& g) {
  const auto name = g.get<std::string>("general.architecture");
  const auto at = std::ranges::find(architectures, name, &Architecture::name);
  if (at != std::end(architectures)) return *at;
  std::string known;
  for (const Architecture& a : architectures) known += (known.empty() ? "" : ", ") + std::string(a.name);
  throw fault(g, Code::not_supported, "an architecture among " + known, in_quotes(name));
}

/// The metadata of an architecture: "llama.block_count" and the like.
class Facts {
 public:
  explicit Facts(const Gguf& g) : gguf_(g), architecture_(architecture_of(g)) {}

  const Architecture& architecture() const { return architecture_; }
  std::string key(std::string_view name) const {
    return std::string(architecture_.name) + "." + std::string(name);
  }
  bool has(std::string_view name) const { return gguf_.find(key(name)) != nullptr; }
  int64_t integer(std::string_view name) const { return one(name); }
  int64_t integer(std::string_view name, int64_t fallback) const { return has(name) ? one(name) : fallback; }
  double number(std::string_view name, double fallback) const {
    return gguf_.get<double>(key(name), fallback);
  }
  std::string text(std::string_view name, std::string fallback) const {
    return gguf_.get<std::string>(key(name), std::move(fallback));
  }

  int64_t heads() const { return integer("attention.head_count"); }
  int64_t groups() const { return integer("attention.head_count_kv", heads()); }
  int64_t head_size() const {
    const int64_t count = heads();
    if (count < 1)
      throw fault(gguf_, Code::bad_argument, key("attention.head_count") + " of 1 or more",
                  std::to_string(count));
    return integer("attention.key_length", integer("embedding_length") / count);
  }

 private:
  /// Some keys have a number for each layer; modules have one for all.
  int64_t one(std::string_view name) const {
    const GgufValue* v = gguf_.find(key(name));
    if (!v || v->type() != GgufValueType::array) return gguf_.get<int64_t>(key(name));
    const auto all = v->get<std::vector<int64_t>>();
    if (all.empty() || std::ranges::any_of(all, [&](int64_t n) { return n != all[0]; }))
      throw fault(gguf_, Code::not_supported, key(name) + " that is one number for all layers", v->text());
    return all[0];
  }

  const Gguf& gguf_;
  const Architecture& architecture_;
};

void add_rope(const Gguf& g, const Facts& facts, Json& config) {
  const int64_t size = facts.head_size(), turned = facts.integer("rope.dimension_count", size);
  if (turned != size)
    throw fault(g, Code::not_supported, "heads of " + std::to_string(size) + " that are turned whole",
                facts.key("rope.dimension_count") + " of " + std::to_string(turned));
  config["rope_theta"] = facts.number("rope.freq_base", 10000);
  const double factor = facts.number("rope.scaling.factor", facts.number("rope.scale_linear", 1));
  std::string type = facts.text("rope.scaling.type", factor == 1 ? "none" : "linear");
  if (g.contains("rope_freqs.weight")) {
    // A factor for each frequency, which is LongRoPE's form. llama.cpp's converter has made it of what
    // config.json said of Llama 3.
    if (type != "none" && factor != 1)
      throw fault(g, Code::not_supported, "either rope_freqs.weight or " + facts.key("rope.scaling.type"),
                  "both");
    const auto factors = [&] {
      const Tensor t = g.float32("rope_freqs.weight");
      Json list = Json::array();
      for (float f : t.as<float>()) list.push_back(static_cast<double>(f));
      return list;
    };
    Json rope{{"rope_type", "longrope"}, {"factor", 1.0}, {"attention_factor", 1.0}};
    rope["short_factor"] = factors();
    rope["long_factor"] = factors();
    config["rope_scaling"] = std::move(rope);
    return;
  }
  if (type == "none" || (type == "linear" && factor == 1)) return;
  if (type == "linear") {
    config["rope_scaling"] = Json{{"rope_type", "linear"}, {"factor", factor}};
    return;
  }
  if (type != "yarn")
    throw fault(g, Code::not_supported, "rope scaling of none, linear or yarn", in_quotes(type));
  Json rope{{"rope_type", "yarn"}, {"factor", factor}};
  if (facts.has("rope.scaling.original_context_length"))
    rope["original_max_position_embeddings"] = facts.integer("rope.scaling.original_context_length");
  for (const auto& [ours, theirs] :
       {std::pair{"beta_fast", "rope.scaling.yarn_beta_fast"}, {"beta_slow", "rope.scaling.yarn_beta_slow"}})
    if (facts.has(theirs)) rope[ours] = facts.number(theirs, 0);
  for (const char* name : {"rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor",
                           "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_log_multiplier"})
    if (facts.has(name) && facts.number(name, 1) != 1)
      throw fault(g, Code::not_supported, facts.key(name) + " of 1, or none",
                  std::to_string(facts.number(name, 1)));
  config["rope_scaling"] = std::move(rope);
}

int64_t vocabulary_of(const Gguf& g) {
  const Shape& s = g.at("token_embd.weight").shape;
  if (s.size() != 2) throw fault(g, Code::tensor_bad_shape, "a matrix token_embd.weight", describe(s));
  return s[0];
}

/// The paths of modules for the parts of a tensor's name.
const std::map<std::string_view, std::string_view>& layer_parts() {
  static const std::map<std::string_view, std::string_view> parts{
      {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
      {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"}};
  return parts;
}

const std::map<std::string_view, std::string_view>& gemma3_parts() {
  static const std::map<std::string_view, std::string_view> parts = [] {
    std::map<std::string_view, std::string_view> all = layer_parts();
    all["attn_q_norm"] = "self_attn.q_norm", all["attn_k_norm"] = "self_attn.k_norm";
    all["post_attention_norm"] = "post_attention_layernorm";
    all["ffn_norm"] = "pre_feedforward_layernorm", all["post_ffw_norm"] = "post_feedforward_layernorm";
    return all;
  }();
  return parts;
}

/// Returns transformers' name of a tensor; empty for those that are no weight of a module.
std::string name_of(const Gguf& g, const std::string& name) {
  const auto& layer_names = architecture_of(g).name == "gemma3" ? gemma3_parts() : layer_parts();
  if (name == "token_embd.weight") return "model.embed_tokens.weight";
  if (name == "output_norm.weight") return "model.norm.weight";
  if (name == "output.weight") return "lm_head.weight";
  if (name == "rope_freqs.weight") return {};
  // blk.<layer>.<part>.<weight or bias>
  const size_t layer = name.find('.') + 1, part = name.find('.', layer) + 1, kind = name.rfind('.');
  if (name.starts_with("blk.") && layer < part && part <= kind) {
    const std::string number = name.substr(layer, part - 1 - layer), suffix = name.substr(kind);
    const auto at = layer_names.find(std::string_view(name).substr(part, kind - part));
    if (at != layer_names.end() && (suffix == ".weight" || suffix == ".bias") && !number.empty() &&
        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; }))
      return "model.layers." + number + "." + std::string(at->second) + suffix;
    // Older files have the frequencies of each layer, which follow from the configuration.
    if (name.ends_with(".attn_rot_embd.weight") || name.ends_with(".attn_rot_embd")) return {};
  }
  throw fault(g, Code::not_supported, "tensors of the decoders that are known", in_quotes(name));
}

/// Returns the number of heads whose rows llama.cpp has in its own order; 0 for other tensors.
int64_t interleaved_heads(const Facts& facts, const std::string& name) {
  if (!facts.architecture().interleaves_rows) return 0;
  if (name.find(".attn_q.") != std::string::npos) return facts.heads();
  return name.find(".attn_k.") != std::string::npos ? facts.groups() : 0;
}

/// Returns rows (2i, 2i + 1) of each head as (i, i + d/2).
Tensor with_rows_in_halves(const Tensor& t, int64_t heads, const std::string& name) {
  const int64_t rows = t.shape()[0];
  if (heads < 1 || rows % heads != 0 || rows / heads % 2 != 0)
    throw Error(Code::tensor_bad_shape, "read gguf",
                std::to_string(heads) + " heads of an even number of rows",
                describe(t.shape()) + " of " + in_quotes(name));
  const int64_t size = rows / heads, half = size / 2;
  const size_t bytes = rows == 0 ? 0 : t.bytes() / static_cast<size_t>(rows);
  Tensor turned(t.type(), t.shape());
  const auto* from = static_cast<const std::byte*>(t.data());
  auto* to = static_cast<std::byte*>(turned.data());
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t i = 0; i < half; ++i)
      for (int64_t side = 0; side < 2; ++side)
        std::memcpy(to + static_cast<size_t>(head * size + side * half + i) * bytes,
                    from + static_cast<size_t>(head * size + 2 * i + side) * bytes, bytes);
  return turned;
}

/// Weights of norms to which 1 was added, without it. The difference is exact from 0.5 on.
Tensor without_one(const Tensor& t) {
  Tensor less(DataType::float32, t.shape());
  for (size_t i = 0; i < static_cast<size_t>(t.size()); ++i) less.as<float>()[i] = t.as<float>()[i] - 1;
  return less;
}

/// Adds what Gemma 3 has besides Llama: five layers with a window, which turn heads by other angles, then one
/// without.
void add_gemma3(const Gguf& g, const Facts& facts, Json& config) {
  const int64_t window = facts.integer("attention.sliding_window");
  if (facts.has("attention.sliding_window_pattern"))
    throw fault(g, Code::not_supported, "five layers with a window before each without",
                facts.key("attention.sliding_window_pattern"));
  config["hidden_act"] = "gelu_pytorch_tanh";
  config["hidden_activation"] = "gelu_pytorch_tanh";
  config["sliding_window"] = window;
  config["sliding_window_pattern"] = 6;
  config["rope_theta"] = facts.number("rope.freq_base", 1e6);
  config["rope_local_base_freq"] = facts.number("rope.freq_base_swa", 10000);
  // llama.cpp scales queries of the model of 27B alone by another number than the size of a head.
  const int64_t layers = facts.integer("block_count"), size = facts.integer("embedding_length");
  config["query_pre_attn_scalar"] = layers == 62 ? size / facts.heads() : facts.head_size();
  for (const auto& [ours, theirs] : {std::pair{"final_logit_softcapping", "final_logit_softcapping"},
                                     {"attn_logit_softcapping", "attn_logit_softcapping"}})
    if (facts.has(theirs)) config[ours] = facts.number(theirs, 0);
}

std::string config_of(const Gguf& g) {
  const Facts facts(g);
  const Architecture& a = facts.architecture();
  Json config{{"model_type", a.model_type},
              {"hidden_size", facts.integer("embedding_length")},
              {"num_hidden_layers", facts.integer("block_count")},
              {"intermediate_size", facts.integer("feed_forward_length")},
              {"num_attention_heads", facts.heads()},
              {"num_key_value_heads", facts.groups()},
              {"head_dim", facts.head_size()},
              {"hidden_act", "silu"},
              {"rms_norm_eps", facts.number("attention.layer_norm_rms_epsilon", 1e-5)},
              {"max_position_embeddings", facts.integer("context_length")},
              {"vocab_size", vocabulary_of(g)},
              {"tie_word_embeddings", !g.contains("output.weight")},
              {"torch_dtype", "float32"}};
  config["architectures"] = Json::array(a.classname);
  if (facts.integer("attention.value_length", facts.head_size()) != facts.head_size())
    throw fault(g, Code::not_supported, "keys and values of one size",
                std::to_string(facts.integer("attention.value_length")) + " beside " +
                    std::to_string(facts.head_size()));
  if (facts.integer("expert_count", 0) != 0)
    throw fault(g, Code::not_supported, "a model without experts", facts.key("expert_count"));
  if (a.name == "llama") {
    config["attention_bias"] = g.contains("blk.0.attn_q.bias");
    config["mlp_bias"] = g.contains("blk.0.ffn_up.bias");
  }
  if (a.name != "gemma3" && facts.has("attention.sliding_window") &&
      facts.integer("attention.sliding_window") > 0)
    throw fault(g, Code::not_supported, "attention without a window",
                facts.key("attention.sliding_window") + " of " +
                    std::to_string(facts.integer("attention.sliding_window")));
  add_rope(g, facts, config);
  if (a.name == "gemma3") add_gemma3(g, facts, config);
  for (const auto& [ours, theirs] : {std::pair{"bos_token_id", "tokenizer.ggml.bos_token_id"},
                                     {"eos_token_id", "tokenizer.ggml.eos_token_id"},
                                     {"pad_token_id", "tokenizer.ggml.padding_token_id"}})
    if (g.find(theirs)) config[ours] = g.get<int64_t>(theirs);
  return config.dump(2) + "\n";
}

/// Returns whether numbers() has the tensor.
bool has_numbers(const GgufTensor& t) {
  return t.shape.size() == 2 && number_type_of(t.type) != DataType::undefined;
}

size_t widened_bytes(const GgufTensor& t) {
  return bytes_for(DataType::float32, static_cast<size_t>(count_of(t.shape)));
}

/// Returns the bytes of all tensors that have numbers, widened.
size_t bytes_with_numbers(const Gguf& g) {
  size_t bytes = 0;
  for (const GgufTensor& t : g.tensors())
    if (has_numbers(t)) bytes += widened_bytes(t);
  return bytes;
}

/// `zeros`: memory for the elements of all tensors that have numbers, one after the other; null: they are
/// widened.
Checkpoint weights_of(const Gguf& g, const std::shared_ptr<void>& zeros) {
  const Facts facts(g);
  CheckpointContents contents;
  contents.format = CheckpointFormat::gguf;
  size_t used = 0;  // of the zeros
  for (const GgufTensor& t : g.tensors()) {
    std::string name = name_of(g, t.name);
    if (name.empty()) continue;
    const int64_t heads = interleaved_heads(facts, t.name);
    StoredTensor stored;
    const GgufTypeInfo& type = info_of(t.type);
    stored.info.name = std::move(name);
    stored.info.type = type.plain == DataType::undefined ? DataType::float32 : type.plain;
    stored.info.shape = t.shape;
    stored.info.file = g.files()[t.part];
    stored.info.bytes = bytes_for(stored.info.type, static_cast<size_t>(count_of(t.shape)));
    stored.offset = contents.tensors.size();
    const auto in_order = [heads, name = t.name](const Tensor& rows) {
      return heads > 0 ? with_rows_in_halves(rows, heads, name) : rows;
    };
    const bool has_one = facts.architecture().name == "gemma3" && t.shape.size() == 1 &&
                         t.type == GgufType::f32 && stored.info.name.ends_with("norm.weight");
    stored.load = [g, name = t.name, in_order, has_one] {
      return has_one ? without_one(g.tensor(name)) : in_order(g.tensor(name));
    };
    if (zeros && has_numbers(t)) {
      stored.load = [shape = t.shape, at = static_cast<char*>(zeros.get()) + used, zeros] {
        return Tensor::view(DataType::float32, shape, at, zeros);
      };
      used += widened_bytes(t);
    }
    if (type.plain == DataType::undefined) {
      stored.info.blocks = type.name;
      stored.info.block_bytes = t.bytes;
      stored.load_blocks = [g, name = t.name, in_order] { return in_order(g.raw(name)); };
    }
    contents.tensors.push_back(std::move(stored));
  }
  return checkpoint_of(std::move(contents), g.files());
}

}  // namespace

GgufSource::GgufSource(const fs::path& file, const CheckpointOptions& options)
    : gguf_(Gguf::open(file, options)),
      config_(config_of(gguf_)),
      weights_(weights_of(gguf_, nullptr)),
      zero_bytes_(bytes_with_numbers(gguf_)),
      zeros_(zero_pages(zero_bytes_)),
      placeholders_(weights_of(gguf_, zeros_)) {
  const Facts facts(gguf_);
  for (const GgufTensor& t : gguf_.tensors())
    if (exporters::has_numbers(t))
      if (std::string theirs = name_of(gguf_, t.name); !theirs.empty())
        in_blocks_[std::move(theirs)] = {t.name, interleaved_heads(facts, t.name), t.type};
}

bool GgufSource::is_placeholder(const void* element) const {
  const auto at = reinterpret_cast<uintptr_t>(element), zeros = reinterpret_cast<uintptr_t>(zeros_.get());
  return zeros_ && at >= zeros && at - zeros < zero_bytes_;
}

bool GgufSource::has_two_bits() const {
  return std::ranges::any_of(in_blocks_,
                             [](const auto& t) { return bits_of(number_type_of(t.second.type)) == 2; });
}

GgufNumbers GgufSource::numbers(const std::string& name) const {
  const InBlocks& t = in_blocks_.at(name);
  GgufNumbers n = gguf_.numbers(t.name);
  if (t.heads == 0) return n;
  n.numbers = with_rows_in_halves(n.numbers, t.heads, t.name);
  n.scales = with_rows_in_halves(n.scales, t.heads, t.name);
  if (n.minimums.defined()) n.minimums = with_rows_in_halves(n.minimums, t.heads, t.name);
  return n;
}

bool is_gguf(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::ifstream in(path, std::ios::binary);
  char magic[4] = {};
  return in.read(magic, 4) && begins_as_gguf({magic, 4});
}

}  // namespace lathe::exporters
