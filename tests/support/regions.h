// Returns the steps that elementwise operators become, and compares them with the operators one by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "lathe/lathe.h"

namespace lathe::testing::regions {

inline onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto =
      onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 24]> g " + std::string(text));
  return m;
}

/// Some numbers for every input; free dimensions are 3.
inline std::vector<Value> inputs_of(const Engine& e) {
  std::vector<Value> list;
  for (const IoInfo& io : e.inputs()) {
    Shape shape;
    for (const Dim& d : *io.shape) shape.push_back(d.value().value_or(3));
    list.push_back(random_tensor(io.element_type, shape, 7 + list.size()));
  }
  return list;
}

inline bool same_bits(const Value& a, const Value& b) {
  return a.tensor().shape() == b.tensor().shape() &&
         std::memcmp(a.tensor().data(), b.tensor().data(), a.tensor().bytes()) == 0;
}

/// The steps, "Conv+Add+Relu", after checking that fusing changes no bit for any number of threads.
inline std::string steps_of(const onnx::Model& m, BuildOptions o = {}) {
  BuildOptions plain = o;
  plain.level = OptimizationLevel::none;
  o.passes = {};
  for (const PassInfo& p : passes())
    if (!p.lowering) o.passes.push_back("-" + p.name);
  const Engine unfused = Engine::build(m, plain);
  const std::vector<Value> want = unfused.create_context().run(inputs_of(unfused));
  std::string text;
  for (int threads : {1, 3}) {
    o.threads = threads;
    const Engine e = Engine::build(m, o);
    Context c = e.create_context();
    for (int again = 0; again < 2; ++again) {
      const std::vector<Value> got = c.run(inputs_of(e));
      for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << threads;
    }
    text.clear();
    for (const StepInfo& s : e.steps()) {
      text += (text.empty() ? "" : " ") + s.op;
      for (const std::string& op : s.fused) text += "+" + op;
    }
  }
  return text;
}
inline std::string steps_of(std::string_view text) { return steps_of(model_of(text)); }

/// The same for every instruction set, which must all fuse alike.
inline std::string steps_everywhere(std::string_view text) {
  std::string all;
  for (const char* isa : {"generic", "avx2", "avx512"}) {
    if (isa == std::string_view("avx2") && !cpu_features().avx2) break;
    if (isa == std::string_view("avx512") && !cpu_features().avx512) break;
    SCOPED_TRACE(isa);
    const std::string steps = steps_of(model_of(text), {.isa = isa});
    if (all.empty()) all = steps;
    EXPECT_EQ(steps, all);
  }
  return all;
}

/// Why steps end where they do.
inline std::vector<std::string> reasons_of(const Engine& e) {
  std::vector<std::string> reasons;
  for (const StepInfo& s : e.steps()) reasons.insert(reasons.end(), s.unfused.begin(), s.unfused.end());
  return reasons;
}

}  // namespace lathe::testing::regions
