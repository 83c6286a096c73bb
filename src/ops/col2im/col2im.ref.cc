#include "ops/col2im/blocks.h"

namespace lathe {
namespace {

/// Every pixel gathers from the blocks that cover it.
void col2im(const Col2Im& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const BlockGrid g(op, c);
  const size_t axes = g.image.size();
  Tensor& out = c.out(0, in.type(), g.output);
  if (out.size() == 0) return;
  const Shape grid_strides = row_major(g.grid);
  for_type(in.type(), summable_types, [&]<class T> {
    Poller poll(c);
    T* to = out.as<T>().data();
    for (int64_t plane = 0; plane < in.dim(0) * g.channels; ++plane) {
      const T* from = in.as<T>().data() + plane * g.area * g.blocks;
      Odometer pixel(g.image, Shape(axes, 0));
      do {
        BlockSum<T> sum{};
        Odometer at(g.block, Shape(axes, 0));
        int64_t row = 0;
        do {
          poll.did(1);
          int64_t column = 0;
          for (size_t a = 0; a < axes && column >= 0; ++a) {
            const int64_t start = pixel.index()[a] + op.pad_begin(a) - at.index()[a] * op.dilation(a);
            const int64_t n = start / op.stride(a);
            const bool covers = start >= 0 && start % op.stride(a) == 0 && n < g.grid[a];
            column = covers ? column + n * grid_strides[a] : -1;
          }
          if (column >= 0) sum += static_cast<BlockSum<T>>(Element<T>::load(from[row * g.blocks + column]));
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
