#include "ops/blocked_space/blocked_space.h"

#include <cstring>

#include "cpu/support.h"
#include "ops/poller.h"

namespace lathe {
namespace {

/// Elements that a piece of work moves at least.
constexpr int64_t min_moved = 1 << 14;

template <class T>
void depth_to_space(const BlockedDepthToSpace& op, const T* from, T* to, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.out(0);
  if (y.size() == 0) return;
  const int64_t size = op.blocksize, blocks = y.dim(1), height = x.dim(2), width = x.dim(3);
  const int64_t row = width * block_lanes, plane = height * row;
  const size_t pixel = static_cast<size_t>(block_lanes) * sizeof(T);
  // A row of Y: of one block of channels, taken from `size` planes of X, a pixel of each in turn.
  const int64_t rows = y.dim(0) * blocks * height * size;
  c.parallel(rows, std::max<int64_t>(1, min_moved / (row * size)), [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t i = r % size, h = r / size % height, block = r / size / height % blocks,
                    n = r / size / height / blocks;
      for (int64_t j = 0; j < size; ++j) {
        const T* p = from + ((n * size + i) * size + j) * blocks * plane + block * plane + h * row;
        T* q = to + (r * width * size + j) * block_lanes;
        poll.pieces(width, block_lanes, [&](int64_t w0, int64_t w1) {
          for (int64_t w = w0; w < w1; ++w)
            std::memcpy(q + w * size * block_lanes, p + w * block_lanes, pixel);
        });
      }
    }
  });
}

void depth_to_space(const BlockedDepthToSpace& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.type() == DataType::float32) return depth_to_space(op, cpu::floats(x), cpu::floats(c.out(0)), c);
  if (x.type() == DataType::uint8)
    return depth_to_space(op, x.as<uint8_t>().data(), c.out(0).as<uint8_t>().data(), c);
  depth_to_space(op, static_cast<const uint16_t*>(x.data()), static_cast<uint16_t*>(c.out(0).data()), c);
}

Support supports(const BlockedDepthToSpace&, const KernelQuery& r) {
  const DataType t = r.inputs[0].type;
  if (t != r.outputs[0].type || (t != DataType::float32 && t != DataType::uint8 && !cpu::is_f16(t)))
    return Support::no("only floats of 32 or 16 bits, and uint8");
  return Support::yes();
}

}  // namespace

void cpu_blocked_space(KernelCatalog& k) {
  k.replaces("BlockedDepthToSpace", {"ConvTranspose", "DepthToSpace"});
  k.add<BlockedDepthToSpace>({.op = "BlockedDepthToSpace",
                              .domain = "lathe",
                              .name = cpu::kernel_name("blocked_depth_to_space", Isa::generic)},
                             {.run = depth_to_space, .supports = supports});
}

}  // namespace lathe
