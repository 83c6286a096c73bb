#include "cpu/grid.h"

#include "cpu/ceil_of.h"
#include "cpu/transpose.h"

#define LATHE_ISA_BODY "cpu/grid_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(GridKernels, grid_kernels)

namespace {

/// Pixels that are turned at once.
constexpr int64_t turned_pixels = 1024;
constexpr int64_t most_turned = int64_t{1} << 22;

}  // namespace

TurnedImage::TurnedImage(int64_t of_channels, int64_t area)
    : channels(of_channels), blocks(ceil_of(channels, grid_lanes)), pixels(area + 1) {}

bool TurnedImage::fits() const { return blocks > 0 && pixels <= most_turned / grid_lanes / blocks; }

void turn_image(Isa isa, const TurnedImage& t, const float* image, float* to, KernelContext& c) {
  const int64_t area = t.pixels - 1, cuts = ceil_of(area, turned_pixels);
  const int64_t grain = std::max<int64_t>(1, turned_pixels / area);
  c.parallel(t.blocks * cuts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t block = i / cuts, first = i % cuts * turned_pixels;
      float* const turned = to + block * t.pixels * grid_lanes;
      if (first == 0) std::fill_n(turned + area * grid_lanes, grid_lanes, 0.0f);
      turn_kernels(isa).turn(image + block * grid_lanes * area + first, area, turned + first * grid_lanes,
                             grid_lanes, t.lanes(block), std::min(turned_pixels, area - first));
    }
  });
}

}  // namespace lathe::cpu
