#include "ops/affine_grid/affine_grid.h"

#include "ops/compute.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Coordinate of pixel `i` of `n`.
double grid_coordinate(int64_t i, int64_t n, bool align_corners) {
  const double at = static_cast<double>(i), size = static_cast<double>(n);
  if (!align_corners) return (2 * at + 1) / size - 1;
  return n == 1 ? -1 : 2 * at / (size - 1) - 1;
}

void affine_grid(const AffineGrid& op, KernelContext& c) {
  const Tensor theta = in_double(c.in(0), c);
  const std::pmr::vector<int64_t> size = integers_of(c.in(1), c);
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  Shape shape{theta.dim(0)};
  for (size_t i = 2; i < size.size(); ++i) shape.push_back(size[i]);
  shape.push_back(axes);
  for (int64_t d : shape)
    if (d < 0) c.fail(Code::run_bad_value, "sizes of 0 or more", describe(shape));
  Tensor& grid = c.out(0, c.in(0).type(), shape);
  if (grid.size() == 0) return;
  float* const floats = grid.type() == DataType::float32 ? grid.as<float>().data() : nullptr;
  const int64_t width = shape[shape.size() - 2], lines = count_between(shape, 1, shape.size() - 2);
  c.parallel(shape[0] * lines, std::max<int64_t>(1, 4096 / width), [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t line = begin; line < end; ++line) {
      const double* map = theta.as<double>().data() + line / lines * axes * (axes + 1);
      double point[3];  // x, y, z: the last axis of the image first
      int64_t rest = line % lines;
      for (int64_t k = 1; k < axes; ++k) {
        const int64_t n = shape[static_cast<size_t>(axes - k)];
        point[k] = grid_coordinate(rest % n, n, op.align_corners);
        rest /= n;
      }
      for (int64_t x = 0; x < width; ++x) {
        poll.did(8);
        point[0] = grid_coordinate(x, width, op.align_corners);
        for (int64_t row = 0; row < axes; ++row) {
          double sum = map[row * (axes + 1) + axes];
          for (int64_t k = 0; k < axes; ++k) sum += map[row * (axes + 1) + k] * point[k];
          const int64_t at = (line * width + x) * axes + row;
          if (floats)
            floats[at] = static_cast<float>(sum);
          else
            store_double(grid, at, sum);
        }
      }
    }
  });
}

}  // namespace

void reference_affine_grid(KernelCatalog& k) { k.reference<AffineGrid>("AffineGrid", affine_grid); }

}  // namespace lathe
