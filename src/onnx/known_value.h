// Values that constants and known sizes determine, computed by the reference kernels: shape arithmetic
// follows integers only, and conditions of If are computed from fractions, texts and sequences, too.
#pragma once

#include <map>
#include <optional>

#include "graph/graph.h"
#include "lathe/engine.h"
#include "schema/infer.h"

namespace lathe {

/// Computes values while a model is imported. A hostile model must not keep the importer busy, so its work is
/// bounded: operands and results of a node have at most 1 MiB (no weights are read), and all nodes together
/// some 16 million terms, of which each takes 4,096 or more. One thread.
class KnownValues {
 public:
  KnownValues(const SchemaCatalog& catalog, const InferState& state, RunControl* control)
      : catalog_(catalog), state_(state), control_(control) {}

  /// The value of `v` if it is the same in every run. Nothing if it depends on inputs, random numbers or
  /// bodies, if computing it fails, or if a bound is reached. Throws Error only if `control` stops the
  /// import.
  std::optional<Value> of(const Graph& g, ValueId v);

 private:
  using Key = std::pair<const Graph*, ValueId>;
  std::optional<Value> find(const Graph& g, ValueId v, int depth);
  std::optional<Value> computed(const Graph& g, ValueId v, int depth);

  const SchemaCatalog& catalog_;
  const InferState& state_;
  RunControl* control_;
  int64_t terms_left_ = int64_t{1} << 24;
  std::map<Key, std::optional<Value>> known_;  // of one call of of()
};

}  // namespace lathe
