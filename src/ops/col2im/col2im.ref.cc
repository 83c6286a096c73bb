#include "ops/col2im/col2im.h"

#include "ops/movement.h"

namespace lathe {
namespace {

constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
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

/// Every pixel gathers from the blocks that cover it.
void col2im(const Col2Im& op, KernelContext& c) {
  if (!c.has(2)) c.fail(Code::internal, "three inputs", std::to_string(c.inputs()));
  const Tensor& in = c.in(0);
  const std::pmr::vector<int64_t> image = integers_of(c.in(1), c), block = integers_of(c.in(2), c);
  const size_t axes = image.size();
  if (block.size() != axes)
    c.fail(Code::run_bad_shape, std::to_string(axes) + " sizes of blocks", std::to_string(block.size()));
  op.check(axes);
  Shape grid, kernel(block.begin(), block.end());
  int64_t area = 1, blocks = 1;
  for (size_t a = 0; a < axes; ++a) {
    if (block[a] < 1 || image[a] < 0)
      c.fail(Code::run_bad_value, "sizes of blocks from 1, of images from 0", describe(kernel));
    grid.push_back(op.blocks(a, image[a], block[a]));
    area = times(area, block[a]);
    blocks = times(blocks, grid[a]);
  }
  if (in.dim(1) % area != 0 || in.dim(2) != blocks)
    c.fail(Code::run_bad_shape,
           "columns of " + std::to_string(area) + " elements a channel and " + std::to_string(blocks) +
               " blocks",
           describe(in));
  const int64_t channels = in.dim(1) / area;
  Shape shape{in.dim(0), channels}, pixels(image.begin(), image.end());
  for (int64_t n : image) shape.push_back(n);
  Tensor& out = c.out(0, in.type(), shape);
  if (out.size() == 0) return;
  const Shape grid_strides = row_major(grid);
  for_type(in.type(), summable_types, [&]<class T> {
    Poller poll(c);
    T* to = out.as<T>().data();
    for (int64_t plane = 0; plane < in.dim(0) * channels; ++plane) {
      const T* from = in.as<T>().data() + plane * area * blocks;
      Odometer pixel(pixels, Shape(axes, 0));
      do {
        BlockSum<T> sum{};
        Odometer at(kernel, Shape(axes, 0));
        int64_t row = 0;
        do {
          poll.did(1);
          int64_t column = 0;
          for (size_t a = 0; a < axes && column >= 0; ++a) {
            const int64_t start = pixel.index()[a] + op.pad_begin(a) - at.index()[a] * op.dilation(a);
            const int64_t n = start / op.stride(a);
            const bool covers = start >= 0 && start % op.stride(a) == 0 && n < grid[a];
            column = covers ? column + n * grid_strides[a] : -1;
          }
          if (column >= 0) sum += static_cast<BlockSum<T>>(Element<T>::load(from[row * blocks + column]));
          ++row;
        } while (at.next());
        *to++ = store_sum<T>(sum);
      } while (pixel.next());
    }
  });
}

}  // namespace

void reference_col2im(KernelCatalog& k) { k.reference<Col2Im>("Col2Im", col2im); }

}  // namespace lathe
