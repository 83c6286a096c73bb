// Attention in its published forms: grouped heads, masks, windows, position biases, rotary embeddings.
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

/// Options of attention_mask().
struct MaskOptions {
  /// Lets a query at position p see keys up to p only. Queries are the last of the keys' positions.
  bool causal = false;
  /// Hides keys before p - window + 1; 0: none. Without `causal` it also hides those behind p + window - 1.
  int64_t window = 0;
};
/// Returns what is added to scores [batch, heads, queries, keys]: 0 where a key is seen, the lowest number of
/// `type` where it is not. `padding` is [batch, keys], not 0 for keys that count; without it all do. queries
/// and keys are int64 [1]. The result, [batch or 1, 1, queries or 1, keys], broadcasts; it is no tensor where
/// nothing is masked.
LATHE_API TensorRef attention_mask(const Ops& o, const TensorRef& padding, const TensorRef& queries,
                                   const TensorRef& keys, DataType type, const MaskOptions& m = {});

/// Returns the bias of ALiBi (Press et al. 2022): slope of the head · (key - query), [1, heads, 1, keys] or,
/// with `queries`, [1, heads, queries, keys]; both are the same after softmax.
LATHE_API TensorRef alibi_bias(const Ops& o, int64_t heads, const TensorRef& keys, DataType type,
                               const TensorRef& queries = {});
/// Returns the slopes that the code of that paper has, for any number of heads.
LATHE_API std::vector<double> alibi_slopes(int64_t heads);

/// Options of relative_bias(). transformers: T5Config.
struct RelativeBiasOptions {
  int64_t buckets = 32, max_distance = 128;  // relative_attention_num_buckets and _max_distance
  bool bidirectional = true;                 // tell keys before and behind a query apart
};
/// Returns T5's bias by buckets of distance (Raffel et al. 2020): weight [buckets, heads] → [1, heads,
/// queries, keys]. Queries are the last of the keys' positions; both are int64 [1].
LATHE_API TensorRef relative_bias(const Ops& o, const TensorRef& weight, const TensorRef& queries,
                                  const TensorRef& keys, const RelativeBiasOptions& b = {});

// ── Rotary embeddings
// ───────────────────────────────────────────────────────────────────────────────────────

/// Options of Rope: how frequencies change for longer texts, with the names of `rope_scaling` in config.json.
struct RopeOptions {
  double theta = 10000;  // base of the frequencies (rope_theta)
  /// Kind of scaling: "default", "linear", "dynamic", "llama3", "yarn", "longrope".
  std::string type = "default";
  double factor = 1;                                 // how much longer texts may be
  int64_t max_positions = 2048;                      // max_position_embeddings
  int64_t original_max_positions = 0;                // original_max_position_embeddings; 0: max_positions
  double low_freq_factor = 1, high_freq_factor = 4;  // for llama3
  double beta_fast = 32, beta_slow = 1, mscale = 0, mscale_all_dim = 0;  // for yarn
  bool truncate = true;                                                  // for yarn
  std::vector<double> short_factor = {}, long_factor = {};               // for longrope
  std::optional<double> attention_factor = {};                           // for yarn and longrope
  bool interleaved = false;  // rotated pairs are neighbors; else half of the rotated elements apart
  double partial = 1;        // part of a head that is rotated
  /// Reads rope_theta, rope_scaling (or rope_parameters, which newer files have), partial_rotary_factor and
  /// max_position_embeddings. Throws bad_argument for an unknown type, with similar ones, and for one that
  /// lacks its factor.
  static LATHE_API RopeOptions from(const ModelConfig& config);
};
/// Cosines and sines for Rope, [batch, 1, length, rotated elements], or half of those where pairs are
/// neighbors; made once for all layers.
struct RopeAngles {
  TensorRef cos, sin;  // two tensors of one type and shape
};
/// Rotary position embedding: rotates pairs of elements by angles that grow with the position (Su et al.
/// 2021).
class LATHE_API Rope : public Module {
 public:
  /// Makes one that rotates nothing.
  Rope() = default;
  /// Makes the frequencies for heads of `head_size` elements.
  Rope(int64_t head_size, const RopeOptions& o = {});
  void fields(Fields&) override {}
  /// Returns cosines and sines for positions, int64 [batch, length]. With "dynamic" and "longrope" they
  /// depend on the largest position.
  RopeAngles angles(const TensorRef& positions) const;
  /// Returns x [batch, heads, length, head_size] with its pairs rotated.
  TensorRef operator()(const TensorRef& x, const RopeAngles& angles) const;
  /// Returns the angles by which neighboring positions differ, before anything that depends on the length.
  const std::vector<double>& frequencies() const { return frequencies_; }
  /// Returns the factor of cosines and sines.
  double attention_scale() const { return attention_scale_; }

 private:
  TensorRef frequencies_for(const Ops& o, const TensorRef& positions) const;
  int64_t head_size_ = 0, rotary_size_ = 0;
  RopeOptions options_;
  std::vector<double> frequencies_, long_frequencies_;
  double attention_scale_ = 1;
};

// ── Attention
// ───────────────────────────────────────────────────────────────────────────────────────────────

/// Options of attend().
struct AttendOptions {
  TensorRef mask = {};               // added to the scores, broadcasting: masks and biases of q's type
  std::optional<double> scale = {};  // nothing: 1 / √size
  double softcap = 0;                // c: scores become c · tanh(scores / c); 0: they stay
};
/// Returns softmax(q · kᵀ · scale + mask) · v. q [batch, heads, queries, size], k [batch, groups, keys,
/// size], v [batch, groups, keys, size'] → [batch, heads, queries, size']; heads is a multiple of groups
/// (else node_bad_shape).
LATHE_API TensorRef attend(const Ops& o, const TensorRef& q, const TensorRef& k, const TensorRef& v,
                           const AttendOptions& a = {});
/// Returns x [batch, length, heads · size] as [batch, heads, length, size]. Throws node_bad_shape where the
/// heads do not divide the size.
LATHE_API TensorRef split_heads(const Ops& o, const TensorRef& x, int64_t heads);
/// Returns x [batch, heads, length, size] as [batch, length, heads · size].
LATHE_API TensorRef merge_heads(const Ops& o, const TensorRef& x);

/// The KV cache of one layer: keys and values of earlier positions, [batch, groups, past, size]; undefined at
/// the start.
struct KeyValues {
  TensorRef key, value;  // two tensors of one shape
  /// Returns whether there are some.
  explicit operator bool() const { return static_cast<bool>(key); }
};

/// Options of Attention.
struct AttentionModuleOptions {
  int64_t groups = 0;       // heads of keys and values: 1 is MQA, fewer than `heads` GQA; 0: `heads`
  int64_t head_size = 0;    // elements of a head; 0: size / heads
  int64_t memory_size = 0;  // size of AttentionInputs::memory; 0: size
  bool bias = true, output_bias = true;  // biases of q_proj, k_proj and v_proj; bias of out_proj
  bool causal = false;                   // mask used, with `window`, where a call has none
  int64_t window = 0;                    // as in MaskOptions
  bool alibi = false;                    // add alibi_bias()
  std::optional<double> scale = {};      // as in AttendOptions
  double softcap = 0;                    // as in AttendOptions
  std::optional<RopeOptions> rope = {};  // nothing: no rotary embedding
};
/// Inputs of Attention besides x.
struct AttentionInputs {
  /// Source of keys and values, [batch, keys, memory_size] (cross attention); left out: x.
  TensorRef memory = {};
  TensorRef padding = {};    // [batch, keys], not 0 for keys that count (those of the past included)
  TensorRef mask = {};       // added to the scores, instead of all masks of the options
  TensorRef positions = {};  // int64 [batch, length], for rope; left out: behind the past
  KeyValues past = {};       // KV cache of earlier calls
};
/// Outputs of Attention.
struct AttentionResult {
  TensorRef output;   // [batch, length, size]
  KeyValues present;  // KV cache with the past included
};
/// Multi-head attention (Vaswani et al. 2017) as a module with q_proj, k_proj, v_proj, out_proj.
/// Architectures with other names use attend() with Linears of their own.
class LATHE_API Attention : public Module {
 public:
  /// Makes one without parameters.
  Attention() = default;
  /// Makes the parameters. Throws bad_argument where heads do not divide the size, or groups the heads.
  Attention(int64_t size, int64_t heads, const AttentionModuleOptions& o = {});
  void fields(Fields& f) override {
    f("q_proj", q_proj), f("k_proj", k_proj), f("v_proj", v_proj), f("out_proj", out_proj), f("rope", rope);
  }
  /// Returns the attention of x [batch, length, size].
  AttentionResult operator()(const TensorRef& x, const AttentionInputs& in = {}) const;
  Linear q_proj, k_proj, v_proj, out_proj;  // [out, in] weights, as Linear has them
  std::optional<Rope> rope;                 // nothing: no rotary embedding

 private:
  int64_t heads_ = 1, groups_ = 1;
  AttentionModuleOptions options_;
};

}  // namespace lathe::nn
