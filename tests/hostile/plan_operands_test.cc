// Plans of drawn graphs whose steps have lost operands, as a damaged or hostile file may: they run, or are
// refused, but nothing is read outside of memory.
//   LATHE_DRAWN=3000      how many graphs are drawn
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "lathe/lathe.h"
#include "plan/plan_file.h"
#include "support/drawn_graph.h"
#include "support/error_code.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Lists copies of a step, each without some of its operands.
std::vector<PlanStep> without_operands(const PlanStep& step) {
  std::vector<PlanStep> all;
  const auto add = [&](auto&& change) {
    PlanStep s = step;
    change(s);
    s.packed.resize(std::min(s.packed.size(), s.inputs.size()));
    all.push_back(std::move(s));
  };
  for (size_t n = 0; n < step.inputs.size(); ++n) {
    add([&](PlanStep& s) { s.inputs.resize(n); });
    add([&](PlanStep& s) {
      s.inputs[n] = -1;
      if (n < s.packed.size()) s.packed[n] = -1;
    });
  }
  for (size_t n = 0; n < step.outputs.size(); ++n) {
    add([&](PlanStep& s) { s.outputs.resize(n); });
    add([&](PlanStep& s) { s.outputs[n] = -1; });
  }
  if (step.epilogue && !step.epilogue->operands.empty())
    add([](PlanStep& s) { s.epilogue->operands.pop_back(); });
  return all;
}

TEST(HostilePlans, StepsMayLackAnyOperand) {
  const char* given = std::getenv("LATHE_DRAWN");
  const int drawn = given ? std::atoi(given) : 60;
  const auto file =
      std::filesystem::path(LATHE_BINARY_DIR) / ("operands." + std::to_string(getpid()) + ".lathe");
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(1024);
  int loaded = 0, refused = 0;
  for (int i = 0; i < drawn; ++i) {
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    const DrawnGraph graph = draw_graph(bytes);
    for (const char* backend : {"cpu", "reference"}) {
      BuildOptions options;
      options.threads = 1;
      options.memory_limit = uint64_t{16} << 20;
      options.backend = backend;
      if (code_of([&] { Engine::build(graph.model, options).save(file); }) != Code::none) continue;
      Plan plan = load_plan(file);
      for (PlanGraph& g : plan.graphs)
        for (PlanStep& step : g.steps) {
          const PlanStep whole = step;
          for (PlanStep& changed : without_operands(whole)) {
            step = std::move(changed);
            if (code_of([&] { save_plan(plan, file); }) != Code::none) continue;
            const Code code =
                code_of([&] { Engine::load(file, options).create_context().run(graph.inputs); });
            ++(code == Code::none ? loaded : refused);
          }
          step = whole;
        }
    }
  }
  std::filesystem::remove(file);
  std::printf("%d changed plans run, %d are refused\n", loaded, refused);
  EXPECT_GT(refused, 10 * drawn);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
