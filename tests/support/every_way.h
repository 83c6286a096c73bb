// A model's answers as text, by both backends, at every level, with each instruction set, and after a plan
// was saved and loaded.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/lathe.h"
#include "support/temp_directory.h"
#include "support/text_model.h"
#include "tensor/element.h"

namespace lathe::testing {

/// "[2,1] 0.5 7", "{a; b}" of a sequence, "<[1] k: v>" of a map, "none".
inline std::string text_of(const Value& v) {
  if (v.is_tensor()) {
    const Tensor& t = v.tensor();
    std::string s = "[";
    for (int64_t d : t.shape()) s += (s.size() > 1 ? "," : "") + std::to_string(d);
    s += "]";
    for (int64_t i = 0; i < t.size(); ++i) {
      if (t.type() == DataType::string) {
        s += " " + t.as<std::string>()[static_cast<size_t>(i)];
        continue;
      }
      char number[32];
      std::snprintf(number, sizeof number, " %.6g", load_double(t, i));
      s += number;
    }
    return s;
  }
  if (v.is_sequence()) {
    std::string s;
    for (const Value& item : *v.sequence().items) s += (s.empty() ? "" : "; ") + text_of(item);
    return "{" + s + "}";
  }
  if (v.is_map()) return "<" + text_of(v.map().keys) + ": " + text_of(v.map().values) + ">";
  if (v.is_sparse())
    return "sparse(" + describe(v.sparse().shape) + ", " + text_of(v.sparse().indices) + ": " +
           text_of(v.sparse().values) + ")";
  return "none";
}

inline Value floats(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::from<float>({n}, v);
}
inline Value whole(int64_t v) { return Tensor::scalar(v); }
inline Value boolean(bool v) { return Tensor::scalar(v); }

struct Way {
  std::string name;
  BuildOptions options;
  bool through_plan = false;
};

inline std::vector<Way> every_way() {
  std::vector<Way> ways;
  const auto add = [&](std::string name, const char* backend, const char* isa, OptimizationLevel level,
                       bool plan = false) {
    Way& w = ways.emplace_back();
    w.name = std::move(name);
    w.options.backend = backend;
    w.options.isa = isa;
    w.options.level = level;
    w.through_plan = plan;
  };
  add("reference", "reference", "", OptimizationLevel::none);
  add("none", "cpu", "", OptimizationLevel::none);
  add("basic", "cpu", "", OptimizationLevel::basic);
  add("extended", "cpu", "", OptimizationLevel::extended);
  add("all", "cpu", "", OptimizationLevel::all);
  add("generic", "cpu", "generic", OptimizationLevel::all);
  add("plan", "cpu", "", OptimizationLevel::all, true);
  add("plan, as written", "cpu", "", OptimizationLevel::none, true);
  return ways;
}

/// Answers to each of these lists of inputs, one after the other in one context: "y; z" of the outputs, or
/// "E4105" of an error's code.
struct Asked {
  std::vector<Value> inputs;
  std::string want;
};
inline void expect_every_way(const onnx::Model& model, const std::vector<Asked>& asked) {
  for (const Way& way : every_way()) {
    SCOPED_TRACE(way.name);
    try {
      Engine engine = Engine::build(model, way.options);
      if (way.through_plan) {
        const TempDirectory folder;
        engine.save(folder / "m.lathe");
        engine = Engine::load(folder / "m.lathe", way.options);
      }
      Context context = engine.create_context();
      for (const Asked& a : asked) {
        std::string got;
        try {
          for (const Value& v : context.run(a.inputs)) got += (got.empty() ? "" : " | ") + text_of(v);
        } catch (const Error& e) {
          got = "E" + std::to_string(static_cast<int>(e.code()));
          if (got != a.want) got += std::string(" ") + e.what();
        }
        EXPECT_EQ(got, a.want);
      }
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

inline void expect_every_way(std::string_view graph, const std::vector<Asked>& asked) {
  expect_every_way(model_of(graph), asked);
}

}  // namespace lathe::testing
