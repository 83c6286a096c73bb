// The backend cases of the onnx package and the shared models, through the engine in several dresses:
// reference kernels, levels of the optimizer, each instruction set, one and two threads, a plan saved and
// loaded.
//   LATHE_CASE=substring   only the cases whose names contain it, each with its verdict
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/cpu.h"
#include "io/file.h"
#include "schema/schema.h"
#include "support/shared_data.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;

struct Configuration {
  std::string name;
  BuildOptions options;
  bool through_plan = false;
};

/// LATHE_CONFIGURATION picks one by name.
std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  auto add = [&](std::string name, std::string backend, std::string isa, int threads, bool plan = false,
                 OptimizationLevel level = OptimizationLevel::all) {
    Configuration d;
    d.options.level = level;
    d.name = std::move(name);
    d.options.backend = std::move(backend);
    d.options.isa = std::move(isa);
    d.options.threads = threads;
    d.through_plan = plan;
    const char* wanted = std::getenv("LATHE_CONFIGURATION");
    if (!wanted || d.name == wanted) all.push_back(std::move(d));
  };
  // The judge runs the model as it is written.
  add("reference", "reference", "", 1, false, OptimizationLevel::none);
  add("as written", "cpu", "", 1, false, OptimizationLevel::none);
  add("basic", "cpu", "", 1, false, OptimizationLevel::basic);
  add("extended", "cpu", "", 1, false, OptimizationLevel::extended);
  add("cpu", "cpu", "", 1);
  // The others leave few operators to the kernels that run a model as it is written.
  for (const char* isa : {"generic", "avx2"}) {
    if (std::string(isa) == "avx2" && !cpu_features().avx512) continue;
    add(isa, "cpu", isa, 1);
    add(std::string(isa) + " as written", "cpu", isa, 1, false, OptimizationLevel::none);
  }
  add("two threads", "cpu", "", 2);
  add("plan", "cpu", "", 1, true);
  return all;
}

std::vector<Value> through_plan(Engine& e, const std::vector<Value>& inputs, const BuildOptions& options) {
  const fs::path file = fs::path(LATHE_BINARY_DIR) / ("conformance." + std::to_string(getpid()) + ".lathe");
  e.save(file);
  Engine loaded = Engine::load(file, options);
  fs::remove(file);
  return loaded.create_context().run(inputs);
}

/// Cases that do not pass, and how many do.
struct Outcomes {
  std::set<std::string> failed;
  size_t passed = 0;
};

/// Runs all cases but those excused in one configuration; prints failures.
Outcomes run_configuration(const std::vector<ConformanceCase>& cases, const Configuration& configuration,
                           const std::map<std::string, std::string>& excused, std::string& failures) {
  const char* only = std::getenv("LATHE_CASE");
  Outcomes v;
  std::map<std::string, int> reasons;
  for (const ConformanceCase& c : cases) {
    if (only && c.name.find(only) == std::string::npos) continue;
    if (excused.contains(c.name)) continue;
    const Runner runner = configuration.through_plan ? Runner([&](Engine& e, const std::vector<Value>& in) {
      return through_plan(e, in, configuration.options);
    })
                                                     : Runner();
    const CaseResult r = run_case(c, configuration.options, runner);
    if (r.passed) {
      ++v.passed;
    } else if (r.code == Code::component_absent) {
      std::printf("left out of this build: %s\n",
                  c.name.c_str());  // components_test tells whether it should be
    } else {
      v.failed.insert(c.name);
      if (v.failed.size() <= 400) failures += "  " + c.name + ": " + r.message + "\n";
      ++reasons[(r.code ? code_name(*r.code) : "mismatch") + (r.op.empty() ? "" : " " + r.op)];
    }
    if (only) std::printf("%s %s %s\n", r.passed ? "ok  " : "FAIL", c.name.c_str(), r.message.c_str());
  }
  std::printf("%-18s %zu of %zu pass\n", configuration.name.c_str(), v.passed, v.passed + v.failed.size());
  for (const auto& [reason, n] : reasons) std::printf("    %4d  %s\n", n, reason.c_str());
  return v;
}

/// All must pass, in every configuration, but for those excused: the list says why.
void run_all(const std::vector<ConformanceCase>& cases,
             const std::map<std::string, std::string>& excused = {}) {
  for (const Configuration& configuration : configurations()) {
    std::string failures;
    const Outcomes v = run_configuration(cases, configuration, excused, failures);
    EXPECT_TRUE(v.failed.empty()) << configuration.name << "\n" << failures;
    EXPECT_GT(v.passed, std::getenv("LATHE_CASE") ? 0u : 5u);
  }
}

/// A list of names with reasons, which the runner in Python has too.
std::map<std::string, std::string> listed_in(const char* file) {
  return nlohmann::json::parse(read_file(fs::path(LATHE_SOURCE_DIR) / "tests" / file))
      .get<std::map<std::string, std::string>>();
}

/// Cases of the suite that no implementation can meet: run by neither runner.
std::map<std::string, std::string> exclusions() { return listed_in("exclusions.json"); }

/// Expects that the document's row for these cases ends with their counts.
void expect_row(const std::string& document, const std::string& title,
                const std::vector<ConformanceCase>& cases, const std::set<std::string>& listed,
                const std::function<bool(const std::string&)>& belongs) {
  size_t of = 0, passed = 0;
  const auto excused = exclusions();
  for (const ConformanceCase& c : cases)
    if (belongs(c.name) && !excused.contains(c.name)) ++of, passed += !listed.contains(c.name);
  const size_t at = document.find("\n| " + title + " | ");
  ASSERT_NE(at, std::string::npos) << title;
  const std::string row = document.substr(at + 1, document.find('\n', at + 1) - at - 1);
  EXPECT_TRUE(row.ends_with("| " + std::to_string(passed) + " of " + std::to_string(of) + " |")) << row;
}

/// In every configuration the cases pass that docs/reference/scoreboard.md lists, and no other case.
void run_suite(const fs::path& shared, const std::string& category) {
  const std::string document = read_file(fs::path(LATHE_SOURCE_DIR) / "docs" / "reference" / "scoreboard.md");
  const char* only = std::getenv("LATHE_CASE");
  const std::vector<ConformanceCase> cases = backend_cases(shared, category);
  std::set<std::string> listed;
  for (const ConformanceCase& c : cases)
    if ((!only || c.name.find(only) != std::string::npos) &&
        document.find("\n- `" + c.name + "`\n") != std::string::npos)
      listed.insert(c.name);
  for (const Configuration& configuration : configurations()) {
    std::string failures;
    const Outcomes v = run_configuration(cases, configuration, exclusions(), failures);
    EXPECT_EQ(v.failed, listed) << configuration.name << ": docs/reference/scoreboard.md says otherwise\n"
                                << failures;
    EXPECT_GT(v.passed, only ? 0u : 5u);
  }
  if (only) return;
  const auto expanded = [](const std::string& name) { return name.find("_expanded") != std::string::npos; };
  const bool node = category == "node";
  expect_row(document, category, cases, listed,
             [&](const std::string& name) { return !node || !expanded(name); });
  if (node) expect_row(document, "node, expanded bodies", cases, listed, expanded);
}

TEST(Conformance, Simple) {
  LATHE_NEEDS_SHARED(shared);
  run_suite(shared, "simple");
}

TEST(Conformance, PytorchConverted) {
  LATHE_NEEDS_SHARED(shared);
  run_suite(shared, "pytorch-converted");
}

TEST(Conformance, PytorchOperator) {
  LATHE_NEEDS_SHARED(shared);
  run_suite(shared, "pytorch-operator");
}

TEST(Conformance, Real) {
  LATHE_NEEDS_SHARED(shared);
  run_suite(shared, "real");
}

TEST(Conformance, Node) {
  LATHE_NEEDS_SHARED(shared);
  run_suite(shared, "node");
}

/// Returns models with unknown operators.
std::map<std::string, std::string> waiting(const std::vector<ConformanceCase>& cases) {
  std::map<std::string, std::string> list;
  for (const ConformanceCase& c : cases) {
    const onnx::Model m = onnx::Model::load(c.model);
    std::function<void(const onnx::GraphProto&)> look = [&](const onnx::GraphProto& g) {
      for (const auto& n : g.node) {
        const std::string domain = n.domain.value_or("");
        bool local = false;
        for (const auto& f : m.proto.functions)
          local |= f.domain.value_or("") == domain && f.name == n.op_type;
        const bool known = SchemaCatalog::standard().find(domain, n.op_type.value_or(""));
        if (!domain.empty() && domain != "ai.onnx" && !local && !known)
          list[c.name] = domain + "." + n.op_type.value_or("");
        for (const auto& a : n.attribute) {
          if (a.g) look(*a.g);
          for (const auto& sub : a.graphs) look(sub);
        }
      }
    };
    if (m.proto.graph) look(*m.proto.graph);
  }
  return list;
}

/// Experts and loops that generate, by the operator that is missing. All else is known.
void run_models(bool micro) {
  LATHE_NEEDS_SHARED(shared);
  const auto cases = model_cases(shared, micro);
  auto listed = listed_in("waiting_models.json");
  for (const ConformanceCase& other : model_cases(shared, !micro)) listed.erase(other.name);
  EXPECT_EQ(waiting(cases), listed);
  run_all(cases, listed);
}
/// Whole models, not only operators: the same bits for any number of threads, those that share nothing evenly
/// included.
TEST(Conformance, ModelsGiveTheSameBitsForAnyNumberOfThreads) {
  LATHE_NEEDS_SHARED(shared);
  const char* only = std::getenv("LATHE_CASE");
  const auto waiting_for = listed_in("waiting_models.json");
  // Drops by chance, anew in every run.
  constexpr std::string_view by_chance = "bias_dropout_residual_";
  size_t compared = 0;
  const auto expect_same = [&](const Value& got, const Value& want, const std::string& where) {
    if (!want.is_tensor() || want.tensor().type() == DataType::string) {
      EXPECT_EQ(difference(got, want, 0, 0), "") << where;
      return;
    }
    const Tensor &a = got.tensor(), &b = want.tensor();
    ASSERT_EQ(a.shape(), b.shape()) << where;
    if (b.bytes()) {
      EXPECT_EQ(std::memcmp(a.data(), b.data(), b.bytes()), 0) << where;
    }
    ++compared;
  };
  for (const bool micro : {false, true})
    for (const ConformanceCase& c : model_cases(shared, micro)) {
      if (waiting_for.contains(c.name) || c.name.find(by_chance) != std::string::npos) continue;
      if (only && c.name.find(only) == std::string::npos) continue;
      std::vector<std::vector<Value>> of_one;  // by data set
      for (const int threads : {1, 2, 3, 8}) {
        size_t set = 0;
        BuildOptions o;
        o.threads = threads;
        run_case(c, o, [&](Engine& e, const std::vector<Value>& inputs) {
          std::vector<Value> outputs = e.create_context().run(inputs);
          if (threads == 1) {
            of_one.push_back(outputs);
          } else if (set < of_one.size() && of_one[set].size() == outputs.size()) {
            for (size_t i = 0; i < outputs.size(); ++i)
              expect_same(outputs[i], of_one[set][i],
                          c.name + ", " + std::to_string(threads) + " threads, output " + std::to_string(i));
          } else {
            ADD_FAILURE() << c.name << ": other outputs with " << threads << " threads";
          }
          ++set;
          return outputs;
        });
        EXPECT_EQ(set, of_one.size()) << c.name;
      }
    }
  std::printf("%zu outputs compared\n", compared);
  EXPECT_GT(compared, only ? 0u : 1000u);
}

TEST(Conformance, Models) { run_models(false); }
TEST(Conformance, MicroModels) { run_models(true); }

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
