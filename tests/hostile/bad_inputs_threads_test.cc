// Loads the same hostile file from many threads at once: each gets the same error as a single one.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include "io/file.h"
#include "lathe/lathe.h"
#include "support/error_code.h"
#include "support/hostile_limits.h"
#include "support/temp_directory.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;

/// Returns the inputs that fuzzing kept, and a model, whole and truncated.
std::vector<std::string> files() {
  std::vector<std::string> list;
  for (const char* target : {"import", "wire"})
    for (const auto& entry :
         fs::directory_iterator(fs::path(LATHE_SOURCE_DIR) / "tests" / "fuzz" / "corpus" / target))
      list.push_back(read_file(entry.path()));
  onnx::ModelProto good = onnx::from_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"\": 18]> g (float[n,300] x) => (float[n,7] y) <float[300,7] w = {}> "
      "{ y = "
      "MatMul(x, w) }");
  good.graph->initializer[0].float_data.assign(2100, 0.5f);
  const std::string whole = onnx::serialize(good);
  for (size_t cut : {whole.size(), whole.size() - 1, whole.size() / 2, size_t{3}})
    list.push_back(whole.substr(0, cut));
  return list;
}

TEST(BadInputs, N60_ManyThreadsAtOnce) {
  constexpr int threads = 16;
  const TempDirectory folder;
  size_t refused = 0;
  for (const std::string& bytes : files()) {
    const fs::path path = folder.write("m.onnx", bytes);
    const auto load = [&] {
      return code_of([&] {
        BuildOptions options;
        options.threads = 1;
        options.memory_limit = options.fold_limit = uint64_t{16} << 20;
        Engine::build(onnx::Model::load(path), options);
      });
    };
    const Code alone = load();
    refused += alone != Code::none;
    std::latch start(threads);
    std::vector<Code> codes(threads);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        start.arrive_and_wait();
        codes[static_cast<size_t>(t)] = load();
      });
    for (std::thread& t : all) t.join();
    for (Code c : codes) EXPECT_EQ(c, alone);
  }
  EXPECT_GT(refused, 10u);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
