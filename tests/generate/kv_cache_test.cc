// The memory of keys and values: known before, shared by forks, and of narrow types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "generate/answers.h"
#include "support/error_code.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Types in which keys and values can be kept, besides the model's own.
constexpr DataType kv_types[] = {DataType::float16, DataType::bfloat16, DataType::int8};

TEST(KvCache, MemoryIsKnownBefore) {
  LATHE_NEEDS_SHARED(shared);
  uint64_t before = UINT64_MAX;
  for (const DataType type : {DataType::float32, DataType::float16, DataType::int8}) {
    const auto g = Generator::open(shared / "models" / decoders[0], options(1, 64, 256, type));
    for (int64_t length : {int64_t{1}, int64_t{64}, int64_t{100}, int64_t{256}}) {
      TokenSequence s = g.sequence(some_tokens(g, length));
      g.compute(s);
      const GeneratorMemory m = g.memory(1, length);
      EXPECT_EQ(m.sequences, s.memory().own) << name_of(type) << " " << length;
      EXPECT_EQ(g.memory(3, length).sequences, 3 * m.sequences);
      EXPECT_GT(m.context, 0u);
      EXPECT_GT(m.weights, 0u);
      EXPECT_EQ(m.total(), m.weights + m.context + m.sequences);
    }
    EXPECT_LT(g.memory(1, 100).sequences, before);
    before = g.memory(1, 100).sequences;
  }
}

TEST(KvCache, ForksShareTheBlocksOfWhatBothHave) {
  LATHE_NEEDS_SHARED(shared);
  const auto g = Generator::open(shared / "models" / decoders[0], options());
  TokenSequence prompt = g.sequence(some_tokens(g, 150));
  g.compute(prompt);
  const uint64_t block = g.memory(1, 1).sequences;
  EXPECT_EQ(prompt.memory().own, 3 * block);
  std::vector<TokenSequence> answers(4, prompt);
  for (size_t i = 0; i < answers.size(); ++i) {
    answers[i].append(Ids{static_cast<int32_t>(i)});
    g.compute(answers[i]);
  }
  // Each has the last block, which it has written to, for itself.
  for (const TokenSequence& s : answers) {
    EXPECT_EQ(s.memory().own, block);
    EXPECT_EQ(s.memory().shared, 2 * block);
  }
  prompt = TokenSequence();
  answers.resize(1);
  EXPECT_EQ(answers[0].memory().own, 3 * block);
  answers[0].rewind(64);
  g.compute(answers[0]);
  answers[0].append(Ids{1});
  g.compute(answers[0]);
  EXPECT_EQ(answers[0].memory().own, 2 * block);
}

TEST(KvCache, NarrowKeysAndValuesGiveTheSameBitsToo) {
  LATHE_NEEDS_SHARED(shared);
  const TempDirectory folder;
  for (const DataType type : kv_types) {
    std::vector<Answer> answers;
    for (const auto& [threads, piece] : {std::pair{1, 256}, {2, 7}, {1, 1}}) {
      const auto g = Generator::open(shared / "models" / decoders[0], options(threads, piece, 256, type));
      answers.push_back(answer(g, g.sequence(some_tokens(g, 150))));
      EXPECT_EQ(answers.back(), answers.front()) << name_of(type) << " in pieces of " << piece;
    }
    const auto g = Generator::open(shared / "models" / decoders[0], options(1, 64, 256, type));
    TokenSequence s = g.sequence(some_tokens(g, 150));
    g.compute(s);
    s.save(folder / "s.kv");
    EXPECT_EQ(answer(g, g.load_sequence(folder / "s.kv")), answers.front());
    s.rewind(70);
    const Ids ids = some_tokens(g, 150);
    s.append(std::span(ids).subspan(70));
    EXPECT_EQ(answer(g, s), answers.front());
    // Other types are other numbers, and near.
    const auto exact = Generator::open(shared / "models" / decoders[0], options());
    const std::vector<float> a = exact.score(some_tokens(g, 150)), b = g.score(some_tokens(g, 150));
    double sum = 0, most = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double off = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      sum += off;
      most = std::max(most, off);
    }
    EXPECT_GT(most, 0) << name_of(type);
    EXPECT_LT(sum / static_cast<double>(a.size()), type == DataType::float16 ? 0.005 : 0.1) << name_of(type);
    EXPECT_EQ(code_of([&] { exact.load_sequence(folder / "s.kv"); }), Code::bad_argument);
    // A plan keeps the type of its build.
    g.save(folder / "m.lathe");
    const auto loaded = Generator::load(folder / "m.lathe");
    EXPECT_EQ(answer(loaded, loaded.sequence(some_tokens(g, 150))), answers.front());
    GeneratorOptions other;
    other.kv_type = DataType::float32;
    EXPECT_EQ(code_of([&] { Generator::load(folder / "m.lathe", other); }), Code::bad_argument);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
