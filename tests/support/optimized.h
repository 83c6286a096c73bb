// Optimizes graphs in ONNX text, and checks that they still compute the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/optimize.h"
#include "eval/eval.h"
#include "kernel/kernel.h"
#include "lathe/engine.h"
#include "lathe/optimize.h"
#include "onnx/importer.h"
#include "passes/driver.h"
#include "tensor/element.h"

namespace lathe {

inline onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto =
      onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 24]> g " + std::string(text));
  return m;
}

/// Numbers of all signs for floats; 0, 1, 2, 0, … for integers, which may be indices.
inline Tensor sample(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.size(); ++i)
    store_double(t, i,
                 is_integer(type) ? static_cast<double>(i % 3) : 0.25 * static_cast<double>(i % 13) - 1);
  return t;
}

/// `least`: what numbers may differ by at least, of those that are rounded after every operator.
inline void expect_near(const Tensor& want, const Tensor& got, std::string_view text, double least = 0) {
  ASSERT_EQ(want.shape(), got.shape());
  const double allowed = std::max(least, want.type() == DataType::float16 ? 2e-3 : 1e-5);
  for (int64_t i = 0; i < want.size(); ++i) {
    const double w = load_double(want, i), g = load_double(got, i);
    if (std::isinf(w)) {
      EXPECT_EQ(w, g) << text;
    } else {
      EXPECT_NEAR(w, g, allowed * (1 + std::abs(w))) << text;
    }
  }
}

/// Writes to the folder that LATHE_KEEP_OPTIMIZED names, if any: the model as it is, and as the optimizer
/// writes it, for comparison in other runtimes.
inline void keep_for_others(const onnx::Model& m, const BuildOptions& options) {
  static int number = 0;
  const char* folder = std::getenv("LATHE_KEEP_OPTIMIZED");
  if (!folder) return;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path base =
      std::filesystem::path(folder) /
      (std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(number++));
  onnx::save(m, base.string() + ".onnx");
  onnx::save(optimize(m, options).model, base.string() + ".optimized.onnx");
}

/// The graph that the optimizer makes of the text. Symbolic sizes are 3 for the comparison.
inline std::unique_ptr<Graph> optimized_graph(std::string_view text, const BuildOptions& options = {},
                                              double least = 0) {
  const onnx::Model m = model_of(text);
  const SchemaCatalog& schemas = SchemaCatalog::standard();
  const auto before = import_model(m, schemas, {});
  auto after = import_model(m, schemas, {});
  const Optimized done = optimize_graph(*after, schemas, KernelCatalog::standard(), options);
  for (const Diagnostic& d : done.declined) ADD_FAILURE() << d.message() << "\n" << text;
  after->check();
  keep_for_others(m, options);

  std::vector<Value> inputs;
  for (ValueId v : before->inputs()) {
    Shape shape;
    for (const Dim& d : *before->value(v).type.shape) shape.push_back(d.is_constant() ? d.constant() : 3);
    inputs.push_back(sample(before->value(v).type.elem, shape));
  }
  const std::vector<Value> want = evaluate(*before, inputs), got = evaluate(*after, inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(before->value(before->outputs()[i]).name, after->value(after->outputs()[i]).name);
    expect_near(want[i].tensor(), got[i].tensor(), text, least);
  }
  return after;
}

inline std::string operators(const Graph& g) {
  std::string ops;
  for (NodeId id : g.order()) ops += (ops.empty() ? "" : " ") + g.node(id).op;
  return ops;
}

/// Returns the operators of the model that the optimizer writes.
inline std::string written(std::string_view text) {
  std::string ops;
  const OptimizedModel m = optimize(model_of(text), {});
  for (const auto& n : m.model.proto.graph->node) ops += (ops.empty() ? "" : " ") + std::string(*n.op_type);
  return ops;
}

/// Its operators, in order.
inline std::string optimized(std::string_view text, const BuildOptions& options) {
  return operators(*optimized_graph(text, options));
}
inline std::string optimized(std::string_view text, OptimizationLevel level = OptimizationLevel::all,
                             std::vector<std::string> switches = {}) {
  BuildOptions options;
  options.level = level;
  options.passes = std::move(switches);
  return optimized(text, options);
}

}  // namespace lathe
