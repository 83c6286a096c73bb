// Compares the memory that a generator reports before it answers with what that takes of the heap.
#include <gtest/gtest.h>

#include "generate/answers.h"
#include "support/heap_count.h"
#include "support/shared_data.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Returns the most bytes that a prompt and its answer take of the heap.
size_t taken_by_answer(const Generator& g, int64_t prompt, const GenerationConfig& config) {
  const Ids ids = some_tokens(g, prompt);
  const size_t before = test::heap_live;
  test::reset_heap_peak();
  auto all = g.generate(g.sequence(ids), {.config = config, .logprobs = true, .ignore_eos = true});
  all.text();
  return test::heap_peak - before;
}

TEST(GeneratorMemory, IsKnownBefore) {
  if (!test::counts_heap) GTEST_SKIP() << "sanitizers have a heap of their own";
  LATHE_NEEDS_SHARED(shared);
  for (const auto& path :
       {shared / "models" / decoders[0], std::filesystem::path(LATHE_SOURCE_DIR) / "tests/data/decoder"})
    for (const DataType type : {DataType::float32, DataType::int8})
      for (const int64_t piece : {16, 64})
        for (const int64_t length : {50, 200}) {
          const auto g = Generator::open(path, options(1, piece, 256, type));
          {  // what the first generator of a process makes once
            const auto other = Generator::open(path, options(1, piece, 256, type));
            taken_by_answer(other, 4, config(4));
          }
          const GeneratorMemory m = g.memory(1, length);
          const size_t taken = taken_by_answer(g, length - 20, config(20));
          std::printf("%s %s %jd %jd: told %ju + %ju, taken %zu\n", path.filename().c_str(),
                      std::string(name_of(type)).c_str(), intmax_t{piece}, intmax_t{length},
                      uintmax_t{m.context}, uintmax_t{m.sequences}, taken);
          EXPECT_LE(taken, m.context + m.sequences);
          EXPECT_LE(m.context + m.sequences, 4 * taken);
        }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
