// Windows over single channels of bytes: depthwise convolution, mean and maximum.
#include <cstring>
#include <utility>

#include "cpu/quantized/int8_conv.h"
#include "cpu/quantized/int8_padding.h"

namespace lathe::cpu {
namespace {

/// The least multiplications that are worth waking another thread, and those between two polls.
constexpr int64_t min_parallel_work = int64_t{1} << 15, polled_work = int64_t{1} << 18;

}  // namespace

namespace {

/// The quads of the taps of a kernel's row: neighbors, or one tap in each if they are dilated.
struct TapQuads {
  explicit TapQuads(const BlockedShape& s)
      : taps(s.dilation[1] == 1 ? quad : 1),
        in_row(ceil_div(s.kernel[1], taps)),
        count(s.kernel[0] * in_row) {}
  int64_t taps, in_row, count;
};

int64_t window_steps_bytes(const BlockedShape& s) {
  return whole_lines(TapQuads(s).count * static_cast<int64_t>(sizeof(int64_t)));
}
/// The bytes of a padded block, with the pixels after it that the last quads read.
int64_t window_plane(const BlockedShape& s) {
  return whole_lines(padded(s, 0) * padded(s, 1) * channel_block + 3 * channel_block);
}

/// The output rows that are computed between two polls.
int64_t polled_window_rows(const BlockedShape& s) {
  return 1 + polled_work / (s.out[1] * s.taps() * channel_block + 1);
}

}  // namespace

int64_t int8_depthwise_weights_size(const BlockedShape& s) {
  return s.in_blocks() * TapQuads(s).count * channel_block * quad +
         panels(s.channels) * panel_filters * static_cast<int64_t>(sizeof(int32_t));
}

void pack_int8_depthwise(const BlockedShape& s, const void* weights, bool is_signed, int8_t* to) {
  const TapQuads q(s);
  std::memset(to, 0, static_cast<size_t>(int8_depthwise_weights_size(s)));
  auto* const sums = reinterpret_cast<int32_t*>(to + s.in_blocks() * q.count * channel_block * quad);
  const auto* const bytes = static_cast<const uint8_t*>(weights);
  for (int64_t c = 0; c < s.channels; ++c)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j) {
        const auto w =
            static_cast<int8_t>(bytes[(c * s.kernel[0] + i) * s.kernel[1] + j] ^ (is_signed ? 0 : 128));
        const int64_t step = c / channel_block * q.count + i * q.in_row + j / q.taps;
        to[(step * channel_block + c % channel_block) * quad + j % q.taps] = w;
        sums[c] += w;
      }
}

const int32_t* int8_depthwise_sums(const BlockedShape& s, const int8_t* packed) {
  return reinterpret_cast<const int32_t*>(packed + s.in_blocks() * TapQuads(s).count * channel_block * quad);
}

size_t int8_depthwise_workspace(const BlockedShape& s) {
  return s.empty() ? 0 : static_cast<size_t>(window_steps_bytes(s) + s.in_blocks() * window_plane(s));
}

void int8_depthwise(Isa isa, const BlockedShape& s, const Int8Images& images, void* workspace,
                    KernelContext& c) {
  if (s.empty()) return;
  const Int8RowKernels& k = int8_row_kernels(isa);
  const TapQuads q(s);
  const int64_t plane = window_plane(s), in_plane = s.in_pixels() * channel_block,
                out_plane = s.out_pixels() * channel_block;
  BlockedShape reached = s;
  for (int a : {0, 1}) reached.in[a] = padded(s, a);
  auto* const steps = static_cast<int64_t*>(workspace);
  for (int64_t i = 0; i < q.count; ++i)
    steps[i] = (i / q.in_row * s.dilation[0] * reached.in[1] + i % q.in_row * q.taps * s.dilation[1]) *
               channel_block;
  uint8_t* const copies = static_cast<uint8_t*>(workspace) + window_steps_bytes(s);
  const int64_t grain = std::max<int64_t>(1, min_parallel_work / (s.out_pixels() * s.taps() * channel_block));
  for (int64_t n = 0; n < s.batch; ++n)
    c.parallel(s.in_blocks(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t channel = i * channel_block, block = n * s.in_blocks() + i;
        uint8_t* const copy = copies + i * plane;
        c.poll();
        pad_rows(s, {}, images.x + block * in_plane, images.x_zero, 0, padded(s, 0), copy);
        RequantParams requant = images.requant;
        requant.factor += channel;
        requant.shift += channel;
        for (int64_t row = 0; row < s.out[0]; row += polled_window_rows(s)) {
          c.poll();
          k.weighted({.shape = &reached,
                      .x = copy,
                      .steps = steps,
                      .count = q.count,
                      .weights = images.weights + i * q.count * channel_block * quad,
                      .start = images.start + channel,
                      .requant = &requant,
                      .row0 = row,
                      .row1 = std::min(row + polled_window_rows(s), s.out[0]),
                      .other = images.other ? images.other + block * out_plane : nullptr,
                      .y = images.y + block * out_plane});
        }
      }
    });
}

namespace {

typedef uint8_t Pixel __attribute__((vector_size(16)));

Pixel load_pixel(const uint8_t* p) {
  Pixel x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// Computes the maxima of one output row of a block.
void maximum_row(const BlockedShape& s, const uint8_t* x, int64_t oy, uint8_t* y) {
  const auto inside = [&](int axis, int64_t o) {
    const int64_t start = o * s.stride[axis] - s.pad[axis], step = s.dilation[axis];
    const int64_t end = s.in[axis] - start;
    return std::pair(start >= 0 ? 0 : std::min(s.kernel[axis], ceil_div(-start, step)),
                     end <= 0 ? 0 : std::min(s.kernel[axis], ceil_div(end, step)));
  };
  const auto [i0, i1] = inside(0, oy);
  for (int64_t ox = 0; ox < s.out[1]; ++ox, y += channel_block) {
    const auto [j0, j1] = inside(1, ox);
    Pixel most = {};
    for (int64_t i = i0; i < i1; ++i) {
      const uint8_t* from = x + ((oy * s.stride[0] - s.pad[0] + i * s.dilation[0]) * s.in[1] +
                                 ox * s.stride[1] - s.pad[1] + j0 * s.dilation[1]) *
                                    channel_block;
      for (int64_t j = j0; j < j1; ++j, from += s.dilation[1] * channel_block) {
        const Pixel one = load_pixel(from);
        most = most > one ? most : one;
      }
    }
    std::memcpy(y, &most, sizeof most);
  }
}

/// The pixels of a window along one axis: taps [first, end) are in the image, `counted` pixels count.
struct Reached {
  int64_t start, first, end, counted;
};
Reached reached(const BlockedShape& s, const Int8Mean& how, int axis, int64_t o) {
  const int64_t start = o * s.stride[axis] - s.pad[axis], step = s.dilation[axis];
  const auto before = [&](int64_t limit) {
    return limit <= start ? 0 : std::min(s.kernel[axis], ceil_div(limit - start, step));
  };
  const int64_t first = start >= 0 ? 0 : std::min(s.kernel[axis], ceil_div(-start, step)),
                end = before(s.in[axis]);
  return {start, first, end,
          how.counts_padding ? before(s.in[axis] + how.pad_end[axis]) : std::max<int64_t>(0, end - first)};
}

/// Computes the means of one output row of a block.
void average_row(const Int8RowKernels& k, const BlockedShape& s, const Int8Mean& how, const uint8_t* x,
                 int64_t oy, uint8_t* y) {
  const Reached down = reached(s, how, 0, oy);
  for (int64_t ox = 0; ox < s.out[1]; ++ox, y += channel_block) {
    const Reached along = reached(s, how, 1, ox);
    int32_t sums[panel_filters] = {};
    int64_t pixels = 0;
    for (int64_t i = down.first; i < down.end; ++i) {
      const int64_t row = (down.start + i * s.dilation[0]) * s.in[1] + along.start;
      if (s.dilation[1] == 1) {
        if (along.end > along.first)
          k.add_up(x + (row + along.first) * channel_block, along.end - along.first, sums);
      } else {
        for (int64_t j = along.first; j < along.end; ++j)
          k.add_up(x + (row + j * s.dilation[1]) * channel_block, 1, sums);
      }
      pixels += std::max<int64_t>(0, along.end - along.first);
    }
    const int64_t counted = down.counted * along.counted;
    float scale[channel_block];
    std::fill_n(scale, channel_block, counted > 0 ? how.scale / static_cast<float>(counted) : 0.0f);
    for (int64_t lane = 0; lane < channel_block; ++lane)
      sums[lane] -= static_cast<int32_t>(pixels) * how.x_zero;
    k.bytes({.sums = sums, .rows = 1, .columns = channel_block, .scale = scale, .zero = how.y_zero}, y,
            channel_block);
  }
}

}  // namespace

namespace {
/// Calls f(block, output row) for all rows of all blocks; goes by rows in large images, as neighboring
/// convolutions do.
template <class F>
void for_each_row(const BlockedShape& s, KernelContext& c, F&& f) {
  const int64_t blocks = s.batch * s.out_blocks();
  const bool by_rows = goes_by_rows(s);
  const int64_t grain = std::max<int64_t>(1, 16384 / (s.out[1] * s.taps() * channel_block));
  c.parallel(blocks * s.out[0], grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      f(by_rows ? i % blocks : i / s.out[0], by_rows ? i / blocks : i % s.out[0]);
    }
  });
}
}  // namespace

void int8_average(Isa isa, const BlockedShape& s, const Int8Mean& how, const uint8_t* x, uint8_t* y,
                  KernelContext& c) {
  if (s.empty()) return;
  const Int8RowKernels& k = int8_row_kernels(isa);
  for_each_row(s, c, [&](int64_t block, int64_t row) {
    average_row(k, s, how, x + block * s.in_pixels() * channel_block, row,
                y + (block * s.out[0] + row) * s.out[1] * channel_block);
  });
}

void int8_maximum(const BlockedShape& s, const uint8_t* x, uint8_t* y, KernelContext& c) {
  if (s.empty()) return;
  for_each_row(s, c, [&](int64_t block, int64_t row) {
    maximum_row(s, x + block * s.in_pixels() * channel_block, row,
                y + (block * s.out[0] + row) * s.out[1] * channel_block);
  });
}

}  // namespace lathe::cpu
