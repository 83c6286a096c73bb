#include "ops/blocked_space/blocked_space.h"

#include <cstring>

#include "cpu/ask.h"
#include "ops/poller.h"

namespace lathe {
namespace {

/// Elements that a piece of work moves at least.
constexpr int64_t least_moved = 1 << 14;

void depth_to_space(const BlockedDepthToSpace& op, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.out(0);
  if (y.size() == 0) return;
  const int64_t size = op.blocksize, blocks = y.dim(1), height = x.dim(2), width = x.dim(3);
  const int64_t row = width * block_lanes, plane = height * row;
  const float* const from = cpu::floats(x);
  float* const to = cpu::floats(c.out(0));
  // A row of Y: of one block of channels, taken from `size` planes of X, a pixel of each in turn.
  const int64_t rows = y.dim(0) * blocks * height * size;
  c.parallel(rows, std::max<int64_t>(1, least_moved / (row * size)), [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t i = r % size, h = r / size % height, block = r / size / height % blocks,
                    n = r / size / height / blocks;
      for (int64_t j = 0; j < size; ++j) {
        const float* p = from + ((n * size + i) * size + j) * blocks * plane + block * plane + h * row;
        float* q = to + (r * width * size + j) * block_lanes;
        poll.pieces(width, block_lanes, [&](int64_t w0, int64_t w1) {
          for (int64_t w = w0; w < w1; ++w)
            std::memcpy(q + w * size * block_lanes, p + w * block_lanes, sizeof(float) * block_lanes);
        });
      }
    }
  });
}

}  // namespace

void cpu_blocked_space(KernelCatalog& k) {
  k.add<BlockedDepthToSpace>({.op = "BlockedDepthToSpace",
                              .domain = "lathe",
                              .name = cpu::kernel_name("blocked_depth_to_space", Isa::generic)},
                             {.run = depth_to_space, .ask = cpu::ask_float32<BlockedDepthToSpace>});
}

}  // namespace lathe
