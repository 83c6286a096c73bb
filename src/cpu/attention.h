// Attention for float32: softmax(scale Q K' + bias) V, head by head. Scores exist for a few queries and a
// block of keys at a time only: each block's are turned into weights relative to the greatest score so far,
// and what came before is scaled down when a greater one turns up.
//
// How queries and keys are cut into blocks follows from shapes and attributes alone, and so do the bits.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

/// Rows of one head somewhere in memory.
struct HeadRows {
  const float* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;  // from one to the next
  const float* at(int64_t b, int64_t h) const { return data + b * batch + h * head; }
};

/// What is added to the scores: by batch, head, query and key; a stride of 0 repeats.
struct ScoreBias {
  const float* numbers = nullptr;
  const bool* truths = nullptr;  // or: false is minus infinity
  int64_t batch = 0, head = 0, query = 0, key = 0;
  bool present() const { return numbers || truths; }
};

struct AttentionRun {
  int64_t batch = 0, q_heads = 0, kv_heads = 0, queries = 0, head = 0, v_head = 0;
  int64_t keys = 0;  // that queries may see: the first of `past` and `fresh` ones
  HeadRows q, k, v;  // of k and v the fresh rows
  /// Keys and values of earlier calls, which come first: [batch, kv_heads, past, size].
  const float *past_k = nullptr, *past_v = nullptr;
  int64_t past = 0, fresh = 0;
  /// Where all of them are wanted one after the other; null: nowhere. [batch, kv_heads, past + fresh, size]
  float *all_k = nullptr, *all_v = nullptr;
  float* y = nullptr;
  int64_t y_batch = 0, y_head = 0, y_row = 0;
  ScoreBias bias;
  float scale = 1, softcap = 0;  // softcap 0: none
  /// Query i sees keys [i + first - left, i + first + right], where left and right are not negative.
  int64_t first = 0;
  int64_t left = -1, right = -1;
};

size_t attention_workspace(Isa isa, const AttentionRun& r, int threads);
void attention(Isa isa, const AttentionRun& r, void* workspace, KernelContext& c);

/// A row of scores of one query.
struct ScoreRow {
  float* scores = nullptr;
  int64_t n = 0;
  float softcap = 0;
  const float* bias = nullptr;  // n of them; null: none
};
struct AttentionKernels {
  /// Caps the scores and adds the bias, minus infinity where that is; returns the greatest, minus infinity
  /// where there is none.
  float (*prepare)(const ScoreRow&) = nullptr;
  /// to = exp(score - greatest), in blocks of a_block numbers that are `block` apart, in place where that is
  /// a_block; returns the sum.
  float (*weigh)(const float* scores, int64_t n, float greatest, float* to, int64_t block) = nullptr;
  /// to = from * factor.
  void (*scale)(const float* from, float* to, int64_t n, float factor) = nullptr;
  /// scores[j] = scale * (q . k[j]), and y += sum of weights[j] v[j], where v[j] may be any number if its
  /// weight is 0: for a few queries.
  void (*products)(const float* q, const float* k, int64_t row, int64_t n, int64_t head, float scale,
                   float* scores) = nullptr;
  void (*combine)(const float* weights, const float* v, int64_t row, int64_t n, int64_t v_head,
                  float* y) = nullptr;
  bool (*finite)(const float* p, int64_t n) = nullptr;
  /// Copies past the caches: for what is read again only when they hold something else.
  void (*copy)(const float* from, float* to, int64_t n) = nullptr;
};
const AttentionKernels& attention_kernels(Isa isa);

}  // namespace lathe::cpu
