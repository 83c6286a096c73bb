#include "ops/cases.h"

namespace lathe {

void cases_attention(CaseTable& t) {
  // One query that sees one key gets its value; equal keys share the weight.
  t.add("Attention", "one key")
      .input<float>({1, 1, 1, 2}, {1, 2})
      .input<float>({1, 1, 1, 2}, {3, 4})
      .input<float>({1, 1, 1, 2}, {5, 6})
      .expect<float>({1, 1, 1, 2}, {5, 6});
  t.add("Attention", "causal")
      .input<float>({1, 1, 2, 1}, {0, 0})
      .input<float>({1, 1, 2, 1}, {1, 1})
      .input<float>({1, 1, 2, 1}, {2, 4})
      .attribute("is_causal", int64_t{1})
      .expect<float>({1, 1, 2, 1}, {2, 3});
  t.add("Attention", "masked rows are zero")
      .input<float>({1, 1, 2, 1}, {1, 1})
      .input<float>({1, 1, 2, 1}, {1, 1})
      .input<float>({1, 1, 2, 1}, {2, 4})
      .input<bool>({2, 2}, {false, false, true, true})
      .expect<float>({1, 1, 2, 1}, {0, 3});
  t.add("Attention", "grouped heads, rank 3")
      .random(DataType::float32, {2, 5, 24})
      .random(DataType::float32, {2, 7, 12})
      .random(DataType::float32, {2, 7, 12})
      .attribute("q_num_heads", int64_t{4})
      .attribute("kv_num_heads", int64_t{2});
  t.add("RotaryEmbedding", "a quarter turn")
      .input<float>({1, 1, 1, 2}, {1, 0})
      .input<float>({1, 1, 1}, {0})
      .input<float>({1, 1, 1}, {1})
      .expect<float>({1, 1, 1, 2}, {0, 1});
  t.add("RotaryEmbedding", "interleaved, by position")
      .input<float>({1, 1, 1, 4}, {1, 2, 3, 4})
      .input<float>({2, 2}, {9, 9, 1, 0})
      .input<float>({2, 2}, {9, 9, 0, 1})
      .input<int64_t>({1, 1}, {1})
      .attribute("interleaved", int64_t{1})
      .expect<float>({1, 1, 1, 4}, {1, 2, -4, 3});
}

}  // namespace lathe
