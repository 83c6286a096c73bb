// The index tuples and sizes of a GatherND in a run, for its kernels.
#pragma once

#include "ops/gather/gather.h"
#include "ops/movement.h"

namespace lathe {

/// Tuples of indices, each of which names a slice of the data, those of a batch within its part of the data.
struct GatherTuples {
  int64_t tuple, tuples = 0, slice = 1;  // numbers in a tuple; tuples; elements of a slice
  Shape output;

  GatherTuples(const GatherND& op, const KernelContext& c, const Shape& data, const Shape& indices)
      : tuple(indices.back()),
        output(indices.begin(), indices.end() - 1),
        data_(data),
        strides_(row_major(data)),
        batch_dims_(static_cast<size_t>(op.batch_dims)) {
    const size_t named = batch_dims_ + static_cast<size_t>(tuple);
    if (named > data.size())
      c.fail(Code::run_bad_shape,
             "index tuples of at most " + std::to_string(data.size() - batch_dims_) + " numbers",
             std::to_string(tuple));
    int64_t batches = 1;
    for (size_t a = 0; a < batch_dims_; ++a) {
      if (data[a] != indices[a])
        c.fail(Code::run_bad_shape, "batch axes that agree", describe(data) + " and " + describe(indices));
      batches *= data[a];
    }
    if (tuple > 0) tuples = count_of(indices) / tuple;
    if (batches > 0) per_batch_ = tuples / batches;
    for (size_t a = named; a < data.size(); ++a) {
      output.push_back(data[a]);
      slice *= data[a];
    }
  }
  /// The offset in the data of the slice that tuple `i`, which has these numbers, selects.
  int64_t offset(const KernelContext& c, int64_t i, const int64_t* numbers) const {
    int64_t at = batch_dims_ ? i / per_batch_ * strides_[batch_dims_ - 1] : 0;
    for (int64_t k = 0; k < tuple; ++k) {
      const size_t axis = batch_dims_ + static_cast<size_t>(k);
      at += strides_[axis] * checked_index(c, numbers[k], data_[axis]);
    }
    return at;
  }

 private:
  Shape data_, strides_;
  size_t batch_dims_;
  int64_t per_batch_ = 0;
};

}  // namespace lathe
