// Attention's kernels over shapes chosen for the paths inside them: variants, what they take of memory, keys
// that are masked.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lathe/lathe.h"
#include "ops/cases.h"
#include "support/case_model.h"
#include "support/kernel_check.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

constexpr auto f32 = DataType::float32;

TEST(CpuAttention, Attentions) {
  struct Sizes {
    int64_t batch, q_heads, kv_heads, queries, keys, head, v_head, past;
  };
  const Sizes all[] = {{2, 3, 3, 70, 70, 40, 40, 0},   {1, 4, 2, 9, 530, 32, 32, 0},
                       {1, 6, 2, 1, 40, 64, 64, 900},  {2, 2, 1, 3, 5, 7, 9, 2},
                       {1, 2, 2, 20, 1100, 16, 33, 0}, {1, 1, 1, 130, 5, 64, 32, 60}};
  CaseTable t;
  for (const Sizes& s : all)
    for (int variant = 0; variant < 7; ++variant) {
      const int64_t total = s.past + s.keys;
      OpCase& k = t.add("Attention", std::to_string(s.keys) + " keys, variant " + std::to_string(variant));
      const bool flat = variant == 1;
      const auto rows = [&](int64_t heads, int64_t n, int64_t size) {
        k.random(f32, flat ? Shape{s.batch, n, heads * size} : Shape{s.batch, heads, n, size}, -2, 2);
      };
      rows(s.q_heads, s.queries, s.head);
      rows(s.kv_heads, s.keys, s.head);
      rows(s.kv_heads, s.keys, s.v_head);
      if (flat) k.attribute("q_num_heads", s.q_heads).attribute("kv_num_heads", s.kv_heads);
      if (variant == 2)
        k.random(f32, {s.batch, 1, s.queries, total}, -3, 3);
      else if (variant == 3)
        k.random(DataType::boolean, {s.queries, total}, 0, 2);
      else if (variant == 4)
        k.random(f32, {1, s.q_heads, 1, std::max<int64_t>(1, total - 2)}, -3, 3);
      else
        k.absent();
      if (s.past > 0)
        k.random(f32, {s.batch, s.kv_heads, s.past, s.head})
            .random(f32, {s.batch, s.kv_heads, s.past, s.v_head});
      if (variant == 3 || variant == 5) k.attribute("is_causal", int64_t{1});
      if (variant == 5) k.attribute("left_window_size", int64_t{10}).attribute("scale", 0.3f);
      if (variant == 6) k.attribute("softcap", 2.0f).attribute("right_window_size", int64_t{3});
      if (s.past > 0 && variant != 6) k.outputs_wanted(3);
    }
  for (const OpCase& k : t.all()) must(k);
}

/// Scores exist for some queries and a block of keys at a time. So the memory of a run does not grow with the
/// queries, and with the keys by no more than copies of keys and values: in one piece, and packed. (`must`
/// checks that runs take the declared memory.)
TEST(CpuAttention, KeepsNoScores) {
  constexpr int64_t q_heads = 4, kv_heads = 2, head = 64, n = 16384;
  const auto op = KernelCatalog::standard().codec_of("", "Attention")->decode({});
  std::set<Isa> seen;
  for (const auto& kernel : KernelCatalog::standard().all()) {
    if (kernel->op != "Attention" || kernel->backend != "cpu" || !usable(*kernel)) continue;
    seen.insert(kernel->isa);
    EXPECT_FALSE(kernel->temporaries || kernel->scratch) << kernel->name << " takes other memory, too";
    ASSERT_TRUE(kernel->workspace) << kernel->name;
    for (const bool masked : {false, true})
      for (const int64_t past : {0, 256})
        for (const int threads : {1, 2}) {
          SCOPED_TRACE(kernel->name + (masked ? ", a mask, " : ", ") + std::to_string(past) + " past, " +
                       std::to_string(threads) + " threads");
          const auto taken = [&](int64_t queries, int64_t keys) -> uint64_t {
            const Shape fresh{1, kv_heads, keys, head}, earlier{1, kv_heads, past, head};
            const Shape mask{queries, past + keys}, none;
            const std::vector<Shape> shapes{
                {1, q_heads, queries, head}, fresh, fresh, masked ? mask : none, past ? earlier : none,
                past ? earlier : none};
            return kernel->workspace(op.get(), shapes, threads);
          };
          const auto floats = [](int64_t count) { return static_cast<uint64_t>(count) * sizeof(float); };
          const auto rows = [&](int64_t keys) { return floats(kv_heads * keys * 2 * head); };
          EXPECT_EQ(taken(2 * n, n), taken(n, n));
          EXPECT_LE(taken(n, 2 * n), taken(n, n) + 2 * rows(n));
          // The memory of each thread is below a megabyte.
          EXPECT_LE(taken(n, n), 2 * rows(past + n) + (static_cast<uint64_t>(threads) << 20));
          EXPECT_LT(taken(n, n) * 100, floats(q_heads * n * (past + n)));
          // A few queries read keys and values in place.
          EXPECT_EQ(taken(1, 2 * n), taken(1, n));
        }
  }
  EXPECT_EQ(seen.size(), usable_isas().size());
}

/// Entries of a cache that were not written yet may be NaN or infinite.
TEST(CpuAttention, MaskedKeysMayHoldAnything) {
  constexpr int64_t keys = 90, head = 24, hidden = 37;
  for (int64_t queries : {1, 5, 70})
    for (float odd : {NAN, INFINITY, -INFINITY})
      for (int kind = 0; kind < 3; ++kind) {
        CaseTable t;
        OpCase& k = t.add("Attention", std::to_string(queries) + " queries, mask " + std::to_string(kind));
        for (int64_t n : {queries, keys, keys}) k.random(f32, {1, 2, n, head}, -2, 2);
        for (size_t i : {1, 2})
          for (int64_t h : {0, 1})
            for (int64_t e : {0, 23})
              k.inputs[i]
                  .tensor()
                  .as<float>()[static_cast<size_t>((h * keys + (kind == 2 ? 80 : hidden)) * head + e)] = odd;
        if (kind == 0) {
          std::vector<float> mask(keys, 0.5f);
          mask[hidden] = -INFINITY;
          k.input<float>({1, keys}, mask);
        } else if (kind == 1) {
          Tensor mask = random_tensor(DataType::boolean, {queries, keys}, 3);
          for (int64_t q = 0; q < queries; ++q)
            mask.as<bool>()[static_cast<size_t>(q * keys + hidden)] = false;
          k.inputs.push_back(mask);
          k.constant.push_back(false);
        } else {
          k.attribute("is_causal", int64_t{1});  // no query sees key 80
        }
        must(k);
        onnx::Model m;
        m.proto = testing::model_of(k);
        BuildOptions options;
        options.backend = "reference";
        const auto y = Engine::build(m, options).create_context().run(testing::inputs_of(k));
        for (float v : y[0].tensor().as<float>()) ASSERT_TRUE(std::isfinite(v)) << k.name;
      }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
