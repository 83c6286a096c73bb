// Convolution and pooling of images with 16-bit floats in memory, as input or as output: one strip at a time
// is widened, the algorithm for float32 reads it from scratch memory and writes its output there, and the
// epilogue writes the results to the output. So memory holds half as much, and the algorithms need no
// changes.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// An image divided along its rows, or along its single row. The division follows from the shape alone:
/// results are the same for any number of threads.
class ImageStrips {
 public:
  explicit ImageStrips(const BlockedShape& whole);

  int64_t count() const { return count_; }
  /// Strip `i` of one image as a convolution of its own, with the rows that its windows read.
  BlockedShape of(int64_t i) const;
  /// The bytes of scratch for the floats of a strip and of its output, plus the most that `needs` returns.
  size_t workspace(FunctionRef<size_t(const BlockedShape&)> needs) const;
  /// Calls run(shape, image, x, y, scratch, context) for each strip of each image in turn, and writes the
  /// results to output 0 of `c`, with the epilogue of `c`. `scratch` has the size that workspace() returns.
  using Run = FunctionRef<void(const BlockedShape&, int64_t, const float*, float*, void*, KernelContext&)>;
  void run(Isa isa, const Tensor& x, void* scratch, KernelContext& c, Run run) const;

 private:
  int64_t first(int64_t i) const { return i * step_; }
  /// The first row that the windows of a strip read, which may be before the image.
  int64_t first_in(int64_t i) const { return first(i) * whole_.stride[axis_] - whole_.pad[axis_]; }
  void load(Isa isa, const Tensor& x, int64_t image, int64_t strip, float* to, KernelContext& c) const;
  int64_t x_floats(const BlockedShape& strip) const { return planes_ * strip.in[axis_] * x_unit_; }

  BlockedShape whole_;
  int axis_ = 0;
  int64_t planes_ = 0;                           // of x
  int64_t x_unit_ = 0, y_unit_ = 0;              // floats of a plane for each step along the axis
  int64_t step_ = 1, count_ = 1;                 // of the output
  int64_t max_x_floats_ = 0, max_y_floats_ = 0;  // floats of a strip
};

}  // namespace lathe::cpu
