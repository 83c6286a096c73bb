// The driver of passes, with passes that are wrong: what it checks, and where it stops.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "compiler/search.h"
#include "lathe/values.h"
#include "passes/patterns.h"
#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

std::unique_ptr<Graph> imported(std::string_view text) {
  return import_model(model_of(text), SchemaCatalog::standard(), {});
}

Pass planted(std::string_view name, std::string_view anchor,
             std::optional<Patch> (*propose)(const View& view, NodeId id)) {
  return {.name = name,
          .description = "is planted",
          .level = OptimizationLevel::basic,
          .anchors = {anchor},
          .propose = propose};
}

/// Replaces the node by this operator.
Patch instead(const View& view, NodeId id, std::string op, std::vector<ValueId> inputs, Attributes a = {}) {
  Patch p("planted");
  p.replace_uses(view.node(id).outputs[0], p.add(std::move(op), std::move(inputs), std::move(a)));
  p.remove(id);
  return p;
}

void expect_refused(const PassList& passes, const std::string& text) {
  const auto g = imported(text);
  try {
    run_passes(*g, SchemaCatalog::standard(), {.passes = &passes});
    FAIL() << "a pass that is wrong goes unnoticed";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic().code, Code::internal);
    EXPECT_EQ(e.diagnostic().stage, "pass wrong");
    EXPECT_EQ(e.diagnostic().node, "guilty");
    EXPECT_NE(e.diagnostic().remedy.find("--passes=-wrong"), std::string::npos) << e.diagnostic().remedy;
  }
}

TEST(PassDriver, TypesMustStay) {
  const std::string text = "(float[2,3] x) => (float[2,3] y) { a = Exp(x) [guilty] b = Relu(a) y = Neg(b) }";
  // Another element type, another size, another number of axes.
  expect_refused({planted("wrong", "Relu",
                          [](const View& view, NodeId id) -> std::optional<Patch> {
                            Attributes to;
                            to.set("to", static_cast<int64_t>(DataType::float64));
                            return instead(view, id, "Cast", view.node(id).inputs, to);
                          })},
                 text);
  expect_refused({planted("wrong", "Relu",
                          [](const View& view, NodeId id) -> std::optional<Patch> {
                            return instead(view, id, "Transpose", view.node(id).inputs);
                          })},
                 text);
  expect_refused({planted("wrong", "Relu",
                          [](const View& view, NodeId id) -> std::optional<Patch> {
                            return instead(view, id, "Flatten", {view.graph().inputs()[0]}, {});
                          })},
                 "(float[2,3,4] x) => (float[2,3,4] y) { a = Exp(x) [guilty] b = Relu(a) y = Neg(b) }");
}

TEST(PassDriver, WhatIsAddedMustMakeSense) {
  const std::string text = "(float[2,3] x) => (float[2,3] y) { a = Exp(x) [guilty] b = Relu(a) y = Neg(b) }";
  expect_refused({planted("wrong", "Relu",
                          [](const View& view, NodeId id) -> std::optional<Patch> {
                            return instead(view, id, "NoSuchOperator", view.node(id).inputs);
                          })},
                 text);
  // Sizes that do not multiply.
  expect_refused({planted("wrong", "Relu",
                          [](const View& view, NodeId id) -> std::optional<Patch> {
                            const ValueId x = view.node(id).inputs[0];
                            return instead(view, id, "MatMul", {x, x});
                          })},
                 text);
}

/// Neg as a product with -1.
std::optional<Patch> there(const View& view, NodeId id) {
  Patch p("there");
  const ValueId by = p.add_constant("minus", Tensor::from<float>({}, std::vector<float>{-1}));
  p.replace_uses(view.node(id).outputs[0], p.add("Mul", {view.node(id).inputs[0], by}));
  p.remove(id);
  return p;
}
std::optional<Patch> back(const View& view, NodeId id) {
  const auto by = with_number(view, view.node(id));
  return by && by->number == -1 ? std::optional(instead(view, id, "Neg", {by->x})) : std::nullopt;
}

TEST(PassDriver, PassesThatUndoEachOtherAreStopped) {
  const PassList passes{planted("there", "Neg", there), planted("back", "Mul", back)};
  const auto g = imported("(float[3] x) => (float[3] y) { a = Neg(x) y = Exp(a) }");
  const Optimized done =
      optimize_graph(*g, SchemaCatalog::standard(), KernelCatalog::standard(), {}, {.passes = &passes});
  EXPECT_GT(done.patches.size(), 2u);
  EXPECT_LT(done.patches.size(), 1000u);
  g->check();
  EXPECT_EQ(g->live_nodes(), 2u);
  const Tensor x = Tensor::from<float>({3}, std::vector<float>{-1, 0, 2});
  const std::vector<Value> inputs{x}, y = evaluate(*g, inputs);
  EXPECT_NEAR(y[0].tensor().as<float>()[0], std::exp(1.0f), 1e-5);
  EXPECT_NEAR(y[0].tensor().as<float>()[2], std::exp(-2.0f), 1e-5);

  const auto again = imported("(float[3] x) => (float[3] y) { a = Neg(x) y = Exp(a) }");
  EXPECT_FALSE(run_passes(*again, SchemaCatalog::standard(), {.passes = &passes}).at_rest);
  const PassList one{passes[0]};
  const auto settled = imported("(float[3] x) => (float[3] y) { a = Neg(x) y = Exp(a) }");
  const Rewriting rewriting = run_passes(*settled, SchemaCatalog::standard(), {.passes = &one});
  EXPECT_TRUE(rewriting.at_rest);
  EXPECT_EQ(rewriting.patches.size(), 1u);
}

TEST(PassDriver, StopsAfterAsManyPatchesAsItIsTold) {
  const std::string text =
      "(float[2,3] x) => (float[2,3] y) { a = Identity(x) b = Neg(a) c = Neg(b) d = Identity(c)"
      "  e = Transpose(d) f = Transpose(e) y = Exp(f) }";
  const auto patched = [&](size_t most) {
    const auto g = imported(text);
    std::vector<AppliedPatch> patches =
        run_passes(*g, SchemaCatalog::standard(), {.level = OptimizationLevel::all, .stop_after = most})
            .patches;
    g->check();
    // The graph is right after any number of patches.
    const Tensor x = random_tensor(DataType::float32, {2, 3}, 5);
    const std::vector<Value> inputs{x}, y = evaluate(*g, inputs);
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(y[0].tensor().as<float>()[i], std::exp(x.as<float>()[i])) << most << " patches";
    return patches;
  };
  const std::vector<AppliedPatch> all = patched(SIZE_MAX);
  ASSERT_GE(all.size(), 3u);
  for (size_t most = 0; most <= all.size() + 1; ++most) {
    const std::vector<AppliedPatch> some = patched(most);
    ASSERT_EQ(some.size(), std::min(most, all.size()));
    for (size_t i = 0; i < some.size(); ++i) {
      EXPECT_EQ(some[i].pass, all[i].pass);
      EXPECT_EQ(some[i].node, all[i].node);
    }
  }
}

TEST(PassDriver, APassThatNeverHasEnoughIsStopped) {
  // The node stays, and so does the reason to propose something.
  const PassList passes{planted("more", "Exp", [](const View& view, NodeId id) -> std::optional<Patch> {
    if (view.is_output(view.node(id).outputs[0])) return std::nullopt;
    Patch p("more");
    const ValueId neg = view.node(view.uses(view.node(id).outputs[0])[0].node).outputs[0];
    p.replace_uses(neg, p.add("Neg", {view.node(id).outputs[0]}));
    return p;
  })};
  const auto g = imported("(float[3] x) => (float[3] z) { a = Exp(x) y = Neg(a) z = Exp(y) }");
  const Optimized done =
      optimize_graph(*g, SchemaCatalog::standard(), KernelCatalog::standard(), {}, {.passes = &passes});
  EXPECT_GT(done.patches.size(), 100u);
  g->check();
}

/// Returns the names between backticks in our column of the table of ONNX Runtime's rewrites.
std::set<std::string> named_in_the_table() {
  std::ifstream in(std::string(LATHE_SOURCE_DIR) + "/docs/reference/passes.md");
  std::set<std::string> names;
  for (std::string line; std::getline(in, line);) {
    const size_t ours = line.starts_with('|') ? line.find('|', 1) : std::string::npos;
    if (ours == std::string::npos) continue;
    for (size_t at = line.find('`', ours); at != std::string::npos;) {
      const size_t end = line.find('`', at + 1);
      if (end == std::string::npos) {
        ADD_FAILURE() << "a backtick without another one: " << line;
        break;
      }
      names.insert(line.substr(at + 1, end - at - 1));
      at = line.find('`', end + 1);
    }
  }
  return names;
}

TEST(PassTable, NamesPassesAndFilesThatThereAre) {
  std::set<std::string> passes;
  for (const Pass& p : all_passes()) passes.insert(std::string(p.name));
  const std::set<std::string> named = named_in_the_table();
  EXPECT_GT(named.size(), 40u);
  for (const std::string& name : named) {
    if (name.starts_with("--")) continue;
    const bool file = name.starts_with("src/");
    EXPECT_TRUE(file ? std::filesystem::exists(std::string(LATHE_SOURCE_DIR) + "/" + name)
                     : passes.contains(name))
        << name;
  }
  // Every new pass needs an entry in the table.
  for (const std::string& name : passes) EXPECT_TRUE(named.contains(name)) << name;
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
