#include "cpu/sampling/grid.h"

#include "cpu/ceil_of.h"
#include "cpu/movement.h"

#define LATHE_ISA_BODY "cpu/sampling/grid_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(GridKernels, grid_kernels)

namespace {

/// Pixels that are transposed at once.
constexpr int64_t nchw16c_pixels = 1024;
constexpr int64_t max_nchw16c_floats = int64_t{1} << 22;

}  // namespace

Nchw16cImage::Nchw16cImage(int64_t of_channels, int64_t area)
    : channels(of_channels), blocks(ceil_of(channels, grid_lanes)), pixels(area + 1) {}

bool Nchw16cImage::fits() const { return blocks > 0 && pixels <= max_nchw16c_floats / grid_lanes / blocks; }

void to_nchw16c(Isa isa, const Nchw16cImage& t, const float* image, float* to, KernelContext& c) {
  const int64_t area = t.pixels - 1, cuts = ceil_of(area, nchw16c_pixels);
  const int64_t grain = std::max<int64_t>(1, nchw16c_pixels / area);
  c.parallel(t.blocks * cuts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t block = i / cuts, first = i % cuts * nchw16c_pixels;
      float* const nchw16c = to + block * t.pixels * grid_lanes;
      if (first == 0) std::fill_n(nchw16c + area * grid_lanes, grid_lanes, 0.0f);
      transpose_kernels(isa).transpose(image + block * grid_lanes * area + first, area,
                                       nchw16c + first * grid_lanes, grid_lanes, t.lanes(block),
                                       std::min(nchw16c_pixels, area - first));
    }
  });
}

}  // namespace lathe::cpu
