// The outcome of a drawn model.
#pragma once

#include <algorithm>
#include <optional>

#include "fuzz/targets.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"
#include "schema/schema.h"

namespace lathe::fuzz {

struct Outcome {
  Code build = Code::none, run = Code::none;
  NamedValues values;
};

inline Outcome outcome_of(const onnx::Model& m, const NamedValues& inputs, const char* backend) {
  BuildOptions options;
  options.threads = 1;
  options.backend = backend;
  options.memory_limit = options.fold_limit = uint64_t{16} << 20;
  Outcome o;
  std::optional<Engine> engine;
  o.build = code_of([&] { engine = Engine::build(m, options); });
  if (engine) o.run = code_of([&] { o.values = engine->create_context().run(inputs); });
  return o;
}

/// Returns whether no node has random numbers, on which shapes may depend. Dropout has some when it trains.
inline bool says_the_same_again(const onnx::Model& m) {
  return std::ranges::all_of(m.proto.graph->node, [](const onnx::NodeProto& n) {
    return *n.op_type != "Dropout" &&
           SchemaCatalog::standard().find(n.domain.value_or(""), *n.op_type)->deterministic();
  });
}

/// Returns whether type and shape are the same.
inline bool same_form(const Value& a, const Value& b) {
  if (a.is_tensor() != b.is_tensor()) return false;
  return !a.is_tensor() ||
         (a.tensor().type() == b.tensor().type() && a.tensor().shape() == b.tensor().shape());
}

}  // namespace lathe::fuzz
