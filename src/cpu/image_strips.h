// Convolution and pooling of images whose elements are floats of 16 bits in memory, or are to be: a strip at
// a time is widened, the algorithm for float32 takes it from scratch memory and leaves its output there, and
// the epilogue brings what comes of that to where it belongs. So memory holds half as much, and none of the
// algorithms knows.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// An image cut along its rows; one of a single row, along that. How, follows from the shape alone: results
/// are the same for any number of threads.
class ImageStrips {
 public:
  explicit ImageStrips(const BlockedShape& whole);

  int64_t count() const { return count_; }
  /// Strip `i` of one image as a convolution of its own, of the rows that its windows are in.
  BlockedShape of(int64_t i) const;
  /// Bytes of scratch for the floats of a strip and of its output, and what `needs` of any strip.
  size_t workspace(FunctionRef<size_t(const BlockedShape&)> needs) const;
  /// Calls run(shape, image, x, y, scratch, context) for each strip of each image in turn, and brings what it
  /// computes to output 0 of `c`, with the epilogue of `c`. `scratch` is what workspace() asked for.
  using Run = FunctionRef<void(const BlockedShape&, int64_t, const float*, float*, void*, KernelContext&)>;
  void run(Isa isa, const Tensor& x, void* scratch, KernelContext& c, Run run) const;

 private:
  int64_t first(int64_t i) const { return i * step_; }
  /// Where the windows of a strip begin, which may be before the image.
  int64_t first_in(int64_t i) const { return first(i) * whole_.stride[axis_] - whole_.pad[axis_]; }
  void load(Isa isa, const Tensor& x, int64_t image, int64_t strip, float* to, KernelContext& c) const;
  int64_t x_floats(const BlockedShape& strip) const { return planes_ * strip.in[axis_] * x_unit_; }

  BlockedShape whole_;
  int axis_ = 0;
  int64_t planes_ = 0;               // of x
  int64_t x_unit_ = 0, y_unit_ = 0;  // floats of a plane for each step along the axis
  int64_t step_ = 1, count_ = 1;     // of the output
  int64_t most_x_ = 0, most_y_ = 0;  // floats of a strip
};

}  // namespace lathe::cpu
