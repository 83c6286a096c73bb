// Runs every case of every operator in every test configuration: the reference against written expectations,
// saved at the lowest opset, each instruction set against the reference, one thread against two (the same
// bits), and a plan saved and loaded.
//   LATHE_CASE=substring   only the cases "Operator/name" that contain it
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/component.h"
#include "base/cpu.h"
#include "kernel/kernel.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "schema/schema.h"
#include "support/case_model.h"
#include "support/shared_data.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

onnx::Model as_model(const OpCase& c) {
  onnx::Model m;
  m.proto = model_of(c);
  return m;
}

std::vector<Value> run_with(const OpCase& c, const std::string& backend, const std::string& isa, int threads,
                            bool plan = false) {
  const onnx::Model m = as_model(c);
  BuildOptions options;
  options.backend = backend;
  options.isa = isa;
  options.threads = threads;
  Engine engine = Engine::build(m, options);
  if (plan) {
    const auto file =
        std::filesystem::path(LATHE_BINARY_DIR) / ("op_cases." + std::to_string(getpid()) + ".lathe");
    engine.save(file);
    engine = Engine::load(file, options);
    std::filesystem::remove(file);
  }
  return engine.create_context().run(inputs_of(c));
}

bool same_bits(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor()) return difference(a, b, 0, 0).empty();
  const Tensor &x = a.tensor(), &y = b.tensor();
  if (x.type() != y.type() || !(x.shape() == y.shape())) return false;
  if (x.type() == DataType::string) return difference(a, b, 0, 0).empty();
  return x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

class OpCases : public ::testing::Test {
 protected:
  template <class F>
  void each(F&& check) {
    static const CaseTable table = [] {
      CaseTable t;
      collect_all_cases(t);
      return t;
    }();
    const char* only = std::getenv("LATHE_CASE");
    size_t ran = 0;
    for (const OpCase& c : table.all()) {
      const std::string name = c.op + "/" + c.name;
      if (only && name.find(only) == std::string::npos) continue;
      if (const auto needed = KernelCatalog::standard().component_of(c.domain, c.op);
          !needed.empty() && !component(needed).table)
        continue;  // components_test tells what happens then
      ++ran;
      SCOPED_TRACE(name);
      try {
        check(c);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what();
      }
    }
    EXPECT_GT(ran, 0u);
  }
};

TEST_F(OpCases, ReferenceGivesWhatIsExpected) {
  each([&](const OpCase& c) {
    const auto got = run_with(c, "reference", "", 1);
    for (size_t i = 0; i < c.expected.size(); ++i) {
      const Tolerance t = tolerance_of(c, c.expected[i]);
      EXPECT_EQ(difference(got[i], c.expected[i], t.rtol, t.atol), "") << "output " << i;
    }
  });
}

// Every operator on its way to an older opset and back.
TEST_F(OpCases, SavedAtTheLowestOpsetTheyMeanTheSame) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  each([&](const OpCase& c) {
    if (is_random(c)) return;
    const onnx::Model lowest = export_model(*import_model(as_model(c), catalog), catalog);
    const BuildOptions options{.threads = 1, .backend = "reference"};
    const auto want = run_with(c, "reference", "", 1);
    const auto got = Engine::build(lowest, options).create_context().run(inputs_of(c));
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], want[i]))
          << "output " << i << ", opset " << *lowest.proto.opset_import.at(0).version;
  });
}

/// Returns whether the operator was decomposed because the opset lacks it, or lacks this use of it.
bool is_decomposed(const OpCase& c, const onnx::Model& older) {
  const auto& nodes = older.proto.graph->node;
  return nodes.size() != 1 || nodes[0].op_type != c.op;
}

// Nodes that the opset cannot express are decomposed, or refused with a code.
TEST_F(OpCases, AtOlderOpsetsTheyMeanTheSame) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  size_t decomposed = 0;
  each([&](const OpCase& c) {
    if (is_random(c)) return;
    // There are so many keys that their scores, which older operators have to store, exceed memory.
    if (c.name == "keys without elements may be any number") return;
    const auto graph = import_model(as_model(c), catalog);
    std::optional<std::vector<Value>> want;
    for (int opset : {11, 13, 17, 21}) {
      onnx::Model older;
      try {
        older = export_model(*graph, catalog, {.opset = opset});
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::node_cannot_convert) << e.what();
        continue;
      }
      if (!is_decomposed(c, older)) continue;
      ++decomposed;
      if (!want) want = run_with(c, "reference", "", 1);
      const BuildOptions options{.threads = 1, .backend = "reference"};
      const auto got = Engine::build(older, options).create_context().run(inputs_of(c));
      for (size_t i = 0; i < want->size(); ++i) {
        // Every node in between rounds to float32.
        const Tolerance t = tolerance_of(c, (*want)[i]);
        const double least = t.rtol == 0 ? 0 : 1e-5;
        EXPECT_EQ(difference(got[i], (*want)[i], 8 * t.rtol + least, 8 * t.atol + least), "")
            << "output " << i << ", opset " << opset;
      }
    }
  });
  if (!std::getenv("LATHE_CASE")) {
    EXPECT_GT(decomposed, 200u);
  }
}

TEST_F(OpCases, EveryInstructionSetAgreesWithTheReference) {
  std::vector<std::string> sets{"generic"};
  if (cpu_features().avx2) sets.push_back("avx2");
  if (cpu_features().avx512) sets.push_back("avx512");
  each([&](const OpCase& c) {
    if (is_random(c)) return;
    const auto want = run_with(c, "reference", "", 1);
    for (const std::string& isa : sets) {
      const auto got = run_with(c, "cpu", isa, 1);
      for (size_t i = 0; i < want.size(); ++i) {
        const Tolerance t = tolerance_of(c, want[i]);
        EXPECT_EQ(difference(got[i], want[i], t.rtol, t.atol), "") << isa << ", output " << i;
      }
    }
  });
}

TEST_F(OpCases, TwoThreadsGiveTheSameBits) {
  each([&](const OpCase& c) {
    if (is_random(c)) return;
    const auto one = run_with(c, "cpu", "", 1), two = run_with(c, "cpu", "", 2);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], two[i])) << "output " << i;
  });
}

TEST_F(OpCases, SavedAndLoadedPlansGiveTheSameBits) {
  each([&](const OpCase& c) {
    if (is_random(c)) return;
    const auto built = run_with(c, "cpu", "", 1), loaded = run_with(c, "cpu", "", 1, true);
    for (size_t i = 0; i < built.size(); ++i) EXPECT_TRUE(same_bits(built[i], loaded[i])) << "output " << i;
  });
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
