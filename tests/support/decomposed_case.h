// A case of one operator, written at older opsets, where other operators express it.
#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "support/case_model.h"
#include "support/shared_data.h"

namespace lathe::testing {

inline const SchemaCatalog& catalog() { return SchemaCatalog::standard(); }

inline onnx::Model written(const onnx::Model& m, int opset) {
  onnx::Model w = export_model(*import_model(m, catalog()), catalog(), {.opset = opset});
  EXPECT_EQ(w.proto.opset_import.at(0).version, opset);
  return w;
}

inline std::vector<Value> answers(const onnx::Model& m, std::vector<Value> inputs) {
  return Engine::build(m, {.threads = 1, .backend = "reference"}).create_context().run(std::move(inputs));
}

/// The case's operator is not in what is written at these opsets, and the answers are the same. `rtol`: what
/// the roundings in between may come to.
inline void same_at(const OpCase& c, std::initializer_list<int> opsets, double rtol = 1e-5,
                    double atol = 2e-6) {
  SCOPED_TRACE(c.op);
  onnx::Model m;
  m.proto = model_of(c);
  const auto want = answers(m, inputs_of(c));
  for (int opset : opsets) {
    SCOPED_TRACE(opset);
    try {
      const onnx::Model older = written(m, opset);
      const auto got = answers(older, inputs_of(c));
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(difference(got[i], want[i], rtol, atol), "") << i;
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

inline OpCase of(std::string op) {
  OpCase c;
  c.op = std::move(op);
  c.name = "spelled";
  return c;
}

inline OpCase ints(OpCase c, const std::vector<int64_t>& v) {
  return c.input<int64_t>({static_cast<int64_t>(v.size())}, v);
}

inline constexpr auto f32 = DataType::float32;
inline constexpr auto f16 = DataType::float16;
inline const float inf = std::numeric_limits<float>::infinity(),
                   nan = std::numeric_limits<float>::quiet_NaN();

/// Expects that the case gives its expected results at these opsets. The tolerance is smaller than the
/// distance of any two values that might be confused.
inline void gives_at(const OpCase& c, std::initializer_list<int> opsets, double atol = 2e-6) {
  SCOPED_TRACE(c.op);
  onnx::Model m;
  m.proto = model_of(c);
  for (int opset : opsets) {
    SCOPED_TRACE(opset);
    try {
      const auto got = answers(written(m, opset), inputs_of(c));
      ASSERT_EQ(got.size(), c.expected.size());
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(difference(got[i], c.expected[i], 0, atol), "") << i;
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace lathe::testing
