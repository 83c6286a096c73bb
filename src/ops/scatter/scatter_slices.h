// The sizes of ScatterND in a run, for its kernels.
#pragma once

#include "ops/movement.h"
#include "ops/scatter/scatter.h"

namespace lathe {

/// Tuples of indices, each of which names a slice of the data.
struct ScatterSlices {
  int64_t tuple, tuples, slice = 1;  // numbers in a tuple; tuples; elements of a slice
  ScatterSlices(const KernelContext& c, const Shape& data, const Shape& indices, const Shape& updates)
      : tuple(indices.back()) {
    const auto named = static_cast<size_t>(tuple);
    if (named > data.size())
      c.fail(Code::run_bad_shape, "index tuples of at most " + std::to_string(data.size()) + " numbers",
             std::to_string(tuple));
    Shape expected(indices.begin(), indices.end() - 1);
    tuples = count_of(expected);
    for (size_t a = named; a < data.size(); ++a) {
      expected.push_back(data[a]);
      slice *= data[a];
    }
    if (!(updates == expected))
      c.fail(Code::run_bad_shape, "updates of shape " + describe(expected), describe(updates));
  }
};

}  // namespace lathe
