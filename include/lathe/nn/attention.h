// Attention in its published forms: heads in groups, masks, windows, biases of position, rotary embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/nn/layers.h"

namespace lathe::nn {

// ── Masks
// ───────────────────────────────────────────────────────────────────────────────────────────────────

struct MaskOptions {
  /// A query at position p sees keys up to p. Queries are the last of the keys' positions.
  bool causal = false;
  /// And no key before p - window + 1; 0: all. Without `causal` none after p + window - 1 either.
  int64_t window = 0;
};
/// What is added to scores [batch, heads, queries, keys]: 0 where a key is seen, the lowest number of `type`
/// where it is not. `padding`: [batch, keys], not 0 for keys that count; left out: all do. queries, keys:
/// int64 [1]. No tensor where nothing is to be masked. The result broadcasts: [batch or 1, 1, queries or 1,
/// keys].
LATHE_API TensorRef attention_mask(const Ops& o, const TensorRef& padding, const TensorRef& queries,
                                   const TensorRef& keys, DataType type, const MaskOptions& m = {});

/// ALiBi (Press et al. 2022): slope of the head · (key - query), [1, heads, 1, keys] or, with `queries`, [1,
/// heads, queries, keys]; both are the same after softmax.
LATHE_API TensorRef alibi_bias(const Ops& o, int64_t heads, const TensorRef& keys, DataType type,
                               const TensorRef& queries = {});
/// The slopes of its paper's code, for any number of heads.
LATHE_API std::vector<double> alibi_slopes(int64_t heads);

struct RelativeBiasOptions {
  int64_t buckets = 32, max_distance = 128;
  bool bidirectional = true;
};
/// T5's bias by buckets of distance (Raffel et al. 2020): weight [buckets, heads] → [1, heads, queries,
/// keys]. Queries are the last of the keys' positions. int64 [1] both.
LATHE_API TensorRef relative_bias(const Ops& o, const TensorRef& weight, const TensorRef& queries,
                                  const TensorRef& keys, const RelativeBiasOptions& b = {});

// ── Rotary embeddings
// ───────────────────────────────────────────────────────────────────────────────────────

/// How frequencies are changed for longer texts, with the names of `rope_scaling` in config.json.
struct RopeOptions {
  double theta = 10000;
  /// "default", "linear", "dynamic", "llama3", "yarn", "longrope".
  std::string type = "default";
  double factor = 1;
  int64_t max_positions = 2048;                      // max_position_embeddings
  int64_t original_max_positions = 0;                // original_max_position_embeddings; 0: max_positions
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1, mscale = 0, mscale_all_dim = 0;  // yarn
  bool truncate = true;                                                  // yarn
  std::vector<double> short_factor = {}, long_factor = {};               // longrope
  std::optional<double> attention_factor = {};                           // yarn, longrope
  bool interleaved = false;  // pairs are neighbours; else half the turned part apart
  double partial = 1;        // part of a head that is turned
  /// From rope_theta, rope_scaling (and rope_parameters, which newer files have), partial_rotary_factor and
  /// max_position_embeddings. Throws bad_argument for a type that is not known, with those that are near, and
  /// for one without the factor that it has.
  static LATHE_API RopeOptions from(const ModelConfig& config);
};
/// cos and sin [batch, 1, length, turned], or half of it where pairs are neighbours; made once for all
/// layers.
struct RopeAngles {
  TensorRef cos, sin;
};
/// Turns pairs of elements by angles that grow with the position (Su et al. 2021).
class LATHE_API Rope : public Module {
 public:
  Rope() = default;
  Rope(int64_t head_size, const RopeOptions& o = {});
  void fields(Fields&) override {}
  /// positions: int64 [batch, length]. "dynamic" and "longrope" depend on the largest of them.
  RopeAngles angles(const TensorRef& positions) const;
  /// x [batch, heads, length, head_size] turned.
  TensorRef operator()(const TensorRef& x, const RopeAngles& angles) const;
  /// Angles by which neighbouring positions differ, before anything that depends on the length.
  const std::vector<double>& frequencies() const { return frequencies_; }
  /// What cos and sin are multiplied by.
  double attention_scale() const { return attention_scale_; }

 private:
  TensorRef frequencies_for(const Ops& o, const TensorRef& positions) const;
  int64_t head_size_ = 0, turned_ = 0;
  RopeOptions options_;
  std::vector<double> frequencies_, long_frequencies_;
  double attention_scale_ = 1;
};

// ── Attention
// ───────────────────────────────────────────────────────────────────────────────────────────────

struct AttendOptions {
  TensorRef mask = {};               // added to the scores, broadcasting: masks and biases, of q's type
  std::optional<double> scale = {};  // left out: 1 / √size
  double softcap = 0;                // scores become cap · tanh(scores / cap); 0: none
};
/// softmax(q · kᵀ · scale + mask) · v. q [batch, heads, queries, size], k [batch, groups, keys, size],
/// v [batch, groups, keys, size'] → [batch, heads, queries, size']; heads is a multiple of groups.
LATHE_API TensorRef attend(const Ops& o, const TensorRef& q, const TensorRef& k, const TensorRef& v,
                           const AttendOptions& a = {});
/// x [batch, length, heads · size] → [batch, heads, length, size], and back.
LATHE_API TensorRef split_heads(const Ops& o, const TensorRef& x, int64_t heads);
LATHE_API TensorRef merge_heads(const Ops& o, const TensorRef& x);

/// Keys and values of the positions before, [batch, groups, past, size]; none at the start.
struct KeyValues {
  TensorRef key, value;
  explicit operator bool() const { return static_cast<bool>(key); }
};

struct AttentionModuleOptions {
  int64_t groups = 0;       // heads of keys and values: 1 is MQA, fewer than `heads` GQA; 0: `heads`
  int64_t head_size = 0;    // 0: size / heads
  int64_t memory_size = 0;  // of what keys and values are made of, of cross attention; 0: size
  bool bias = true, output_bias = true;
  bool causal = false;  // with `window`, used where the call is given no mask
  int64_t window = 0;
  bool alibi = false;
  std::optional<double> scale = {};
  double softcap = 0;
  std::optional<RopeOptions> rope = {};
};
struct AttentionInputs {
  TensorRef memory = {};     // [batch, keys, memory_size]: cross attention; left out: x
  TensorRef padding = {};    // [batch, keys], not 0 for keys that count (past ones included)
  TensorRef mask = {};       // added to the scores, instead of all masks of the options
  TensorRef positions = {};  // int64 [batch, length], of rope; left out: behind the past
  KeyValues past = {};
};
struct AttentionResult {
  TensorRef output;
  KeyValues present;  // past ones included
};
/// Multi-head attention as a module: q_proj, k_proj, v_proj, out_proj. Architectures with other names use
/// attend() with Linears of their own.
class LATHE_API Attention : public Module {
 public:
  Attention() = default;
  Attention(int64_t size, int64_t heads, const AttentionModuleOptions& o = {});
  void fields(Fields& f) override {
    f("q_proj", q_proj), f("k_proj", k_proj), f("v_proj", v_proj), f("out_proj", out_proj), f("rope", rope);
  }
  /// x [batch, length, size].
  AttentionResult operator()(const TensorRef& x, const AttentionInputs& in = {}) const;
  Linear q_proj, k_proj, v_proj, out_proj;
  std::optional<Rope> rope;

 private:
  int64_t heads_ = 1, groups_ = 1;
  AttentionModuleOptions options_;
};

}  // namespace lathe::nn
