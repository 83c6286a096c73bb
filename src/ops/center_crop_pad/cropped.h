// The sizes of a CenterCropPad in a run, for its kernels.
#pragma once

#include "ops/center_crop_pad/center_crop_pad.h"
#include "ops/compute.h"

namespace lathe {

/// The output's shape, and the index in the input of its first element along each axis: negative if the
/// output begins with zeros. An odd element is cut or added at the end.
struct Cropped {
  Shape shape, first;

  Cropped(const CenterCropPad& op, KernelContext& c) : shape(c.in(0).shape()) {
    const Tensor& x = c.in(0);
    const std::pmr::vector<int64_t> sizes = integers_of(c.in(1), c);
    const auto rank = static_cast<int64_t>(x.rank());
    if (sizes.size() != (op.axes ? op.axes->size() : x.rank()))
      c.fail(Code::run_bad_shape, "a size for each axis", std::to_string(sizes.size()));
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t axis = op.axes ? (*op.axes)[i] : static_cast<int64_t>(i);
      if (axis < -rank || axis >= rank)
        c.fail(Code::node_bad_attribute, "axes of the input", std::to_string(axis));
      if (sizes[i] < 0) c.fail(Code::run_bad_value, "sizes from 0", std::to_string(sizes[i]));
      shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = sizes[i];
    }
    for (size_t a = 0; a < shape.size(); ++a)
      first.push_back(x.dim(a) >= shape[a] ? (x.dim(a) - shape[a]) / 2 : -((shape[a] - x.dim(a)) / 2));
  }
};

}  // namespace lathe
