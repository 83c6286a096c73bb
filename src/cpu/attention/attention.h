// Attention for float32: softmax(scale Q K' + bias) V, head by head. Scores only exist for a few queries and
// a block of keys at a time: each block's scores become weights relative to the greatest score so far, and
// earlier sums are scaled down when a greater one is found.
//
// Keys and values may be floats of 16 bits, or int8 with a scale for each row, which are widened as they are
// read.
//
// The division of queries and keys into blocks depends on shapes and attributes alone, and so do the bits.
// Where a run is strict, queries are computed one by one over fixed blocks of keys, wherever these lie.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cpu/gemm.h"

namespace lathe::cpu {

/// Rows of one head in memory.
struct HeadRows {
  const void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;  // elements from one to the next
  DataType type = DataType::float32;     // or, for keys and values, a float of 16 bits
  const void* at(int64_t b, int64_t h, int64_t i) const {
    return static_cast<const std::byte*>(data) + (b * batch + h * head + i * row) * bits_of(type) / 8;
  }
};

/// The bias of the scores by batch, head, query and key; a stride of 0 repeats.
struct ScoreBias {
  const float* numbers = nullptr;
  const bool* bools = nullptr;  // or: false is minus infinity
  int64_t batch = 0, head = 0, query = 0, key = 0;
  bool present() const { return numbers || bools; }
};

/// The scores that are an output: scaled products; also capped; also biased, with minus infinity for keys
/// that are not seen; or the weights. The first two include keys that are not seen.
enum class ShownScores : uint8_t { scaled, capped, biased, weights };

/// Keys or values of a KV cache, [batch, kv_heads, rows, size], of which the first rows of each head are
/// used; or blocks of such rows, which `data` then only names.
template <class Pointer>
struct CachedRows {
  Pointer data = nullptr;
  int64_t rows = 0;  // from one head to the next
  const StateBlocks* blocks = nullptr;

  /// Returns the address of a row of a head, counted over all batches, and how many rows of it follow there.
  std::pair<Pointer, int64_t> at(int64_t head, int64_t row, int64_t row_bytes) const {
    using Byte =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const std::byte, std::byte>;
    const int64_t all = blocks ? blocks->rows : rows, first = blocks ? row % all : row;
    Byte* const start = static_cast<Byte*>(blocks ? static_cast<Pointer>(blocks->data[row / all]) : data);
    return {start + (head * all + first) * row_bytes, all - first};
  }
};

struct AttentionRun {
  int64_t batch = 0, q_heads = 0, kv_heads = 0, queries = 0, head = 0, v_head = 0;
  int64_t keys = 0;  // that queries may see: the first of `past` and `fresh` ones
  /// The number of keys of each sample, whose last query is at the last of them; null: all. Only without
  /// `past`.
  const int64_t* lengths = nullptr;
  HeadRows q, k, v;  // k and v: the fresh rows
  /// The type of the next four: float32, a float of 16 bits, or int8, where a float32 behind the elements of
  /// each row is their scale.
  DataType cached = DataType::float32;
  /// The KV cache, keys and values of earlier calls, which come first.
  CachedRows<const void*> past_k, past_v;
  int64_t past = 0, fresh = 0;
  /// The updated KV cache, which receives all keys and values; null: not required. It may be
  /// the KV cache itself, with room behind the rows of each head.
  CachedRows<void*> present_k, present_v;
  float* y = nullptr;
  int64_t y_batch = 0, y_head = 0, y_row = 0;
  ScoreBias bias;
  float scale = 1, softcap = 0;  // softcap 0: none
  float* shown = nullptr;        // [batch, q_heads, queries, past + fresh], or null
  ShownScores shows = ShownScores::scaled;
  /// Query i sees keys [i + first - left, i + first + right], where left and right are not negative.
  int64_t first = 0;
  int64_t left = -1, right = -1;
  /// Returns the bytes of a cached row of so many elements.
  int64_t cached_row(int64_t size) const {
    return size * bits_of(cached) / 8 + (cached == DataType::int8 ? 4 : 0);
  }
  int64_t first_of(int64_t b) const {
    return lengths ? std::clamp<int64_t>(lengths[b], 0, past + fresh) - queries : first;
  }
  int64_t keys_of(int64_t b) const { return lengths ? std::clamp<int64_t>(lengths[b], 0, keys) : keys; }
  /// Returns whether scores of keys that no query sees are an output.
  bool shows_unseen() const { return shown && shows <= ShownScores::capped; }
  int64_t scored() const { return shows_unseen() ? past + fresh : keys; }
  int64_t scored_of(int64_t b) const { return shows_unseen() ? past + fresh : keys_of(b); }
};

/// `narrow`: keys and values may have less than 32 bits. `strict`: the bits of a query do not depend on the
/// number of queries, nor on which keys and values are in the KV cache already.
size_t attention_workspace(Isa isa, const AttentionRun& r, bool narrow, int threads);
void attention(Isa isa, const AttentionRun& r, bool narrow, bool strict, void* workspace, KernelContext& c);

/// A row of scores of one query.
struct ScoreRow {
  float* scores = nullptr;
  int64_t n = 0;
  float softcap = 0;
  const float* bias = nullptr;  // n of them; null: none
};
/// Kernels for a few queries, which read keys and values in place, `row` elements apart.
struct FewQueries {
  /// scores[j] = scale * (q . k[j]). A scale of int8 lies behind the `head` elements of its row.
  void (*products)(const float* q, const void* k, int64_t row, int64_t n, int64_t head, float scale,
                   float* scores) = nullptr;
  /// y += sum of weights[j] v[j]; v[j] is ignored if its weight is 0.
  void (*combine)(const float* weights, const void* v, int64_t row, int64_t n, int64_t v_head,
                  float* y) = nullptr;
};
struct AttentionKernels {
  /// Caps the scores and adds the bias; scores become minus infinity if their bias is. Returns the greatest
  /// score, minus infinity if there is none.
  float (*prepare)(const ScoreRow&) = nullptr;
  /// to = exp(score - greatest), in blocks of a_block numbers that are `block` apart, possibly in place if
  /// `block` is a_block; returns the sum.
  float (*weigh)(const float* scores, int64_t n, float greatest, float* to, int64_t block) = nullptr;
  /// to = from * factor.
  void (*scale)(const float* from, float* to, int64_t n, float factor) = nullptr;
  FewQueries floats, float16, bfloat16, int8;
  bool (*finite)(const float* p, int64_t n) = nullptr;
  /// Copies past the caches, for data that is only read again when they hold something else.
  void (*copy)(const void* from, void* to, size_t bytes) = nullptr;

  const FewQueries& few(DataType t) const {
    return t == DataType::float32   ? floats
           : t == DataType::float16 ? float16
           : t == DataType::int8    ? int8
                                    : bfloat16;
  }
};
const AttentionKernels& attention_kernels(Isa isa);

}  // namespace lathe::cpu
