// The types and sizes that kernels of Col2Im share.
#pragma once

#include "ops/col2im/col2im.h"
#include "ops/movement.h"

namespace lathe {

inline constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>>
    summable_types;

/// Sums of narrow floats in double; of integers modulo 2^64, which for bools counts how many are true.
template <class T>
using BlockSum =
    std::conditional_t<std::is_integral_v<T>, uint64_t,
                       std::conditional_t<std::is_same_v<Compute<T>, float>, double, Compute<T>>>;

template <class T>
T store_sum(BlockSum<T> v) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(v);
  else
    return Element<T>::store(static_cast<Compute<T>>(v));
}

/// The sizes of one run; throws run_bad_shape or run_bad_value if they do not fit together.
struct BlockGrid {
  Shape image, block, grid;  // along each axis: pixels, those of a block, blocks
  int64_t area = 1, blocks = 1, channels = 0;
  Shape output;  // [N, C, image…]

  BlockGrid(const Col2Im& op, KernelContext& c) {
    if (!c.has(2)) c.fail(Code::internal, "three inputs", std::to_string(c.inputs()));
    const Tensor& in = c.in(0);
    for (int64_t n : integers_of(c.in(1), c)) image.push_back(n);
    for (int64_t n : integers_of(c.in(2), c)) block.push_back(n);
    if (block.size() != image.size())
      c.fail(Code::run_bad_shape, std::to_string(image.size()) + " sizes of blocks",
             std::to_string(block.size()));
    op.check(image.size());
    for (size_t a = 0; a < image.size(); ++a) {
      if (block[a] < 1 || image[a] < 0)
        c.fail(Code::run_bad_value, "sizes of blocks from 1, of images from 0", describe(block));
      grid.push_back(op.blocks(a, image[a], block[a]));
      area = times(area, block[a]);
      blocks = times(blocks, grid[a]);
    }
    if (in.dim(1) % area != 0 || in.dim(2) != blocks)
      c.fail(Code::run_bad_shape,
             "columns of " + std::to_string(area) + " elements a channel and " + std::to_string(blocks) +
                 " blocks",
             describe(in));
    channels = in.dim(1) / area;
    output = {in.dim(0), channels};
    for (int64_t n : image) output.push_back(n);
  }
};

}  // namespace lathe
