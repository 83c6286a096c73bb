// The sizes of ScatterND and TensorScatter in a run, for their kernels.
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

/// New rows of a KV cache: [outer, capacity, inner], of which `length` are written for each outer index.
struct CacheRows {
  int64_t capacity, length, inner = 1, outer = 1;
  bool circular;
  CacheRows(const TensorScatter& op, const KernelContext& c, const Shape& cache, const Shape& update)
      : circular(op.mode == "circular"), batch_(cache[0]) {
    const size_t axis = axis_of(op.axis, cache.size());
    capacity = cache[axis];
    Shape expected = cache;
    length = expected[axis] = std::min(update[axis], capacity);
    if (!(update == expected))
      c.fail(Code::run_bad_shape, "an update of shape " + describe(expected), describe(update));
    for (size_t a = 0; a < cache.size(); ++a)
      if (a != axis) (a < axis ? outer : inner) *= cache[a];
    if (!c.has(2)) return;
    starts_ = &c.in(2);
    if (starts_->size() != batch_)
      c.fail(Code::run_bad_shape, std::to_string(batch_) + " write_indices", std::to_string(starts_->size()));
    if (count_of(update) == 0) return;
    for (int64_t i = 0; i < batch_; ++i)
      if (const int64_t start = index_at(*starts_, i); start < 0 || (!circular && start > capacity - length))
        c.fail(Code::run_bad_index, "a write index in [0, " + std::to_string(capacity - length) + "]",
               std::to_string(start));
  }
  /// The first row that the update of this outer index is written to; the update is not empty.
  int64_t first(int64_t o) const {
    const int64_t start = starts_ ? index_at(*starts_, o / (outer / batch_)) : 0;
    return circular ? start % capacity : start;
  }

 private:
  int64_t batch_;
  const Tensor* starts_ = nullptr;  // null: all begin with the first row
};

}  // namespace lathe
