#include "cpu/conv/conv_transpose.h"

#include <algorithm>

#include "cpu/ceil_of.h"
#include "cpu/simd/isa.h"
#include "cpu/tasks.h"
#include "tensor/dim_math.h"

#define LATHE_ISA_BODY "cpu/conv/conv_transpose_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(TransposedKernels, transposed_kernels)

namespace {

/// The rows of the product (the taps of filters) that are computed at once: enough to be worth reading a
/// panel of the image.
constexpr int64_t product_rows = 128;
/// The floats of shares that stay in the second-level cache until they are gathered.
constexpr int64_t share_floats = 65536;

int64_t whole_lines(int64_t floats) { return ceil_of(floats, 16) * 16; }

/// The filters of a group in chunks of nearly equal size, which depend on the weights alone.
struct Chunks {
  explicit Chunks(const TransposedShape& s)
      : taps(s.taps()),
        filters(s.in_channels / s.groups),
        depth(s.out_channels / s.groups),
        count(ceil_of(filters, std::max<int64_t>(1, product_rows / std::max<int64_t>(1, taps)))) {}
  int64_t begin(int64_t chunk) const { return count > 0 ? chunk * filters / count : 0; }
  int64_t rows(int64_t chunk) const { return (begin(chunk + 1) - begin(chunk)) * taps; }
  int64_t max_chunk_rows() const { return count > 0 ? ceil_of(filters, count) * taps : 0; }
  /// The offset of a chunk's packed weights in those of its group.
  int64_t packed(int64_t chunk) const { return packed_a_size(begin(chunk) * taps, depth); }

  int64_t taps, filters, depth, count;
};

/// A range of places along one axis of Y or X.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
/// The pixels of X that reach places [y.begin, y.end) of Y along an axis.
Range reaching(const TransposedShape& s, int axis, Range y) {
  const int64_t first = y.begin + s.pad[axis] - (s.kernel[axis] - 1) * s.dilation[axis];
  const int64_t begin = first <= 0 ? 0 : ceil_of(first, s.stride[axis]);
  const int64_t end = (y.end - 1 + s.pad[axis]) / s.stride[axis] + 1;
  return {std::min(begin, s.out[axis]), std::clamp(end, std::min(begin, s.out[axis]), s.out[axis])};
}

/// The strips of Y along its outermost axis, each of whole steps of the stride, and the pixels of X that each
/// reads.
struct Strips {
  Strips(const GemmKernels& g, const TransposedShape& shape, const Chunks& c, int threads) : s(shape) {
    while (axis < 2 && s.in[axis] == 1 && s.out[axis] == 1) ++axis;
    for (int a = axis + 1; a < 3; ++a) x_inner *= s.out[a], y_inner *= s.in[a];
    const int64_t halo = std::min((s.kernel[axis] - 1) * s.dilation[axis] / s.stride[axis], s.out[axis]);
    const int64_t fit =
        share_floats / std::max<int64_t>(1, c.max_chunk_rows()) / std::max<int64_t>(1, x_inner);
    // Shares in the halo are computed for each strip, so strips must be long compared to it.
    const int64_t least = std::max<int64_t>(1, 4 * halo);
    length = std::max(fit - halo, least);
    const int64_t wanted = threads > 1 ? 2 * threads : 1, others = s.groups * c.count;
    if (others < wanted) length = std::clamp(ceil_of(steps() * others, wanted), least, length);
    length = ceil_of(steps(), ceil_of(steps(), length));  // all nearly the same
    count = ceil_of(steps(), length);
    columns = g.NR * (2 + ceil_of(std::min(length + halo + 1, s.out[axis]) * x_inner, g.NR));
  }
  int64_t steps() const { return std::max<int64_t>(1, ceil_of(s.in[axis], s.stride[axis])); }
  /// The places of Y that a strip computes along an axis, and the pixels of X that it reads.
  Range y(int64_t strip, int a) const {
    if (a != axis) return {0, s.in[a]};
    const int64_t begin = strip * length * s.stride[a];
    return {begin, std::min(begin + length * s.stride[a], s.in[a])};
  }
  Range x(int64_t strip, int a) const { return reaching(s, a, y(strip, a)); }
  /// A stride longer than the row leaves as many phases as there are columns.
  int64_t phases() const { return std::min(s.stride[2], y(0, 2).size()); }

  const TransposedShape& s;
  int axis = 0;
  int64_t x_inner = 1, y_inner = 1;  // pixels of one place along `axis`
  int64_t length, count;
  int64_t columns;  // of the shares that a strip needs at most
};

template <class T>
int64_t floats_of(int64_t n) {
  return whole_lines(times(n, sizeof(T) / sizeof(float)));
}

/// The layout of scratch, in floats: the packed image, and a slot for each thread.
struct Scratch {
  Scratch(const GemmKernels& g, const TransposedShape& s, const Chunks& c, const Strips& strips, bool f16,
          int threads)
      : group(whole_lines(packed_b_size(g, c.depth, s.out_pixels()))),
        shares(whole_lines(times(c.max_chunk_rows(), strips.columns))),
        taps(floats_of<TapColumns>(s.kernel[2])),
        phases(floats_of<TapPhase>(strips.phases())),
        lines(floats_of<int64_t>(s.kernel[0] * s.kernel[1])),
        weights(f16 ? packed_a_size(c.max_chunk_rows(), c.depth) : 0),
        tasks(s.groups * c.count * strips.count),
        slot(slot_stride(shares + taps + phases + lines + weights, threads)),
        size(s.groups * group + task_slots(tasks, threads) * slot) {}

  int64_t group, shares, taps, phases, lines, weights;
  int64_t tasks, slot, size;
};

/// Returns whether there is a product: not without a channel or a pixel, however large its other sizes are.
bool has_product(const TransposedShape& s) {
  return s.batch > 0 && s.in_channels > 0 && s.in_pixels() > 0 && s.out_channels > 0 && s.out_pixels() > 0;
}

/// Sets the columns that the taps along the last axis reach in the rows of a strip, phase by phase. Pixels of
/// X are counted from `from`, and the shares of a tap follow those of the one before after `row` floats.
void fill_phases(const Strips& strips, int64_t strip, int64_t from, int64_t row, TapColumns* taps,
                 TapPhase* phases) {
  const TransposedShape& s = strips.s;
  const Range x = strips.x(strip, 2), y = strips.y(strip, 2);
  const int64_t stride = s.stride[2], count = strips.phases();
  for (int64_t p = 0; p < count; ++p) {
    const int64_t columns = p < y.size() ? (y.size() - 1 - p) / stride + 1 : 0;
    phases[p] = {.taps = taps, .all = columns, .end = columns};
  }
  // Calls f(tap, its phase, steps) if the phase exists; pixel i contributes to its column i + steps.
  const auto for_each_tap = [&](auto&& f) {
    for (int64_t t = 0; t < s.kernel[2]; ++t) {
      const int64_t shift = t * s.dilation[2] - s.pad[2] - y.begin;
      const int64_t steps = shift >= 0 ? shift / stride : -ceil_of(-shift, stride),
                    p = shift - steps * stride;
      if (p < count) f(t, phases[p], steps);
    }
  };
  for_each_tap([](int64_t, TapPhase& phase, int64_t) { ++phase.count; });
  for (int64_t p = 0; p < count; ++p) {
    phases[p].taps = taps;
    taps += phases[p].count;
    phases[p].count = 0;
  }
  for_each_tap([&](int64_t t, TapPhase& phase, int64_t steps) {
    const int64_t columns = phase.all;
    const TapColumns tap{t * row - steps - from, std::max<int64_t>(0, x.begin + steps),
                         std::min(x.end + steps, columns)};
    if (tap.end <= tap.begin) return;
    phase.begin = std::max(phase.begin, tap.begin);
    phase.end = std::min(phase.end, tap.end);
    phase.taps[phase.count++] = tap;
  });
}

/// The pixel of X along an axis whose tap reaches a place of Y; negative if there is none.
int64_t pixel_of(const TransposedShape& s, int axis, int64_t place, int64_t tap) {
  const int64_t at = place + s.pad[axis] - tap * s.dilation[axis];
  if (at < 0 || at % s.stride[axis] != 0 || at / s.stride[axis] >= s.out[axis]) return -1;
  return at / s.stride[axis];
}

/// Gathers the rows of a strip from shares (col2im).
struct Gathering {
  const TransposedKernels& kernels;
  const Strips& strips;
  int64_t strip;
  const float* shares;  // [filters][taps][row]
  int64_t row, first;   // floats of one tap's shares, and their first pixel
  const TapPhase* phases;
  int64_t* lines;     // a buffer for the lines of a row of Y
  const float* bias;  // of the first filter; or null

  /// Computes the strip in the planes of `filters` filters.
  void make(int64_t filters, float* planes, Workers& workers) const {
    const Range slices = strips.y(strip, 0), rows = strips.y(strip, 1), columns = strips.y(strip, 2);
    const TransposedShape& s = strips.s;
    for (int64_t z = slices.begin; z < slices.end; ++z)
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        const int64_t count = find_lines(z, y), at = (z * s.in[1] + y) * s.in[2] + columns.begin;
        for (int64_t f = 0; f < filters; ++f) {
          workers.poll();
          kernels.row({.shares = shares + f * s.taps() * row,
                       .lines = lines,
                       .line_count = count,
                       .phases = phases,
                       .phase_count = strips.phases(),
                       .start = bias ? bias[f] : 0,
                       .y = planes + f * s.in_pixels() + at,
                       .columns = columns.size()});
        }
      }
  }

 private:
  /// Finds the shares of the rows of X that reach a row of Y. Returns their number.
  int64_t find_lines(int64_t z, int64_t y) const {
    const TransposedShape& s = strips.s;
    int64_t count = 0;
    for (int64_t i = 0; i < s.kernel[0]; ++i) {
      const int64_t slice = pixel_of(s, 0, z, i);
      if (slice < 0) continue;
      for (int64_t j = 0; j < s.kernel[1]; ++j) {
        const int64_t line = pixel_of(s, 1, y, j);
        if (line < 0) continue;
        lines[count++] = (i * s.kernel[1] + j) * s.kernel[2] * row +
                         (strips.axis == 2 ? 0 : (slice * s.out[1] + line) * s.out[2] - first);
      }
    }
    return count;
  }
};

/// One strip of a chunk of filters, from the packed image of their group.
struct Piece {
  int64_t group, chunk, strip;
};

class Transposition {
 public:
  Transposition(Isa isa, const TransposedShape& s, const ConvWeights& weights, const float* bias,
                float* scratch, KernelContext& c)
      : isa_(isa),
        s_(s),
        weights_(weights),
        bias_(bias),
        scratch_(scratch),
        c_(c),
        chunks_(s),
        strips_(g_, s, chunks_, c.threads()),
        sizes_(g_, s, chunks_, strips_, weights.f16(), c.threads()) {}

  void image(const float* x, float* y, int64_t first_element) {
    const int64_t pixels = s_.out_pixels();
    for (int64_t group = 0; group < s_.groups; ++group)
      pack_whole_b(g_, scratch_ + group * sizes_.group, {x + group * chunks_.depth * pixels, pixels, 1},
                   chunks_.depth, pixels, c_);
    for_each_task(c_, sizes_.tasks, [&](int64_t task, int64_t slot) {
      // Neighboring tasks share the image.
      const Piece p{task / chunks_.count / strips_.count, task % chunks_.count,
                    task / chunks_.count % strips_.count};
      piece(p, scratch_ + s_.groups * sizes_.group + slot * sizes_.slot, y, first_element);
    });
  }

 private:
  void piece(const Piece& p, float* shares, float* y, int64_t first_element) {
    auto* const taps = reinterpret_cast<TapColumns*>(shares + sizes_.shares);
    auto* const phases = reinterpret_cast<TapPhase*>(shares + sizes_.shares + sizes_.taps);
    float* const lines = shares + sizes_.shares + sizes_.taps + sizes_.phases;
    const int64_t first = strips_.x(p.strip, strips_.axis).begin * strips_.x_inner;
    const int64_t panel = first / g_.NR, from = panel * g_.NR;
    const int64_t channel = p.group * chunks_.filters + chunks_.begin(p.chunk);
    multiply(p, panel, shares, lines + sizes_.lines);
    fill_phases(strips_, p.strip, strips_.axis == 2 ? from : 0, strips_.columns, taps, phases);
    const Gathering gathering{.kernels = transposed_kernels(isa_),
                              .strips = strips_,
                              .strip = p.strip,
                              .shares = shares,
                              .row = strips_.columns,
                              .first = from,
                              .phases = phases,
                              .lines = reinterpret_cast<int64_t*>(lines),
                              .bias = bias_ ? bias_ + channel : nullptr};
    const int64_t filters = chunks_.begin(p.chunk + 1) - chunks_.begin(p.chunk), plane = s_.in_pixels();
    gathering.make(filters, y + channel * plane, c_);
    if (Epilogue* e = c_.epilogue()) {
      const Range places = strips_.y(p.strip, strips_.axis);
      e->apply_rows(first_element + channel * plane + places.begin * strips_.y_inner,
                    places.size() * strips_.y_inner, filters, plane);
    }
  }

  /// Computes the shares of the pixels that the strip reads, from the first pixel of a panel on. `wide` is a
  /// buffer for widened weights of 16 bits.
  void multiply(const Piece& p, int64_t first_panel, float* shares, float* wide) {
    const int64_t width = g_.NR, depth = chunks_.depth;
    const int64_t end = strips_.x(p.strip, strips_.axis).end * strips_.x_inner;
    const RowTiles tiles(chunks_.rows(p.chunk), g_.MR);
    const int64_t at = p.group * chunks_.packed(chunks_.count) + chunks_.packed(p.chunk);
    const float* const weights =
        widened(isa_, weights_.type, weights_.data, at, packed_a_size(chunks_.rows(p.chunk), depth), wide);
    const float* const image = scratch_ + p.group * sizes_.group;
    for (int64_t k0 = 0; k0 < depth; k0 += KC)
      for (int64_t panel = first_panel; panel * width < end; ++panel) {
        c_.poll();
        const int64_t column = (panel - first_panel) * width;
        Tile tile{.b = image + (panel * depth + k0) * width,
                  .b_row = width,
                  .c_row = strips_.columns,
                  .k = std::min(KC, depth - k0),
                  .columns = std::min(width, s_.out_pixels() - panel * width)};
        for (int64_t t = 0; t < tiles.count(); ++t) {
          tile.rows = tiles.rows(t);
          tile.a = weights + tiles.begin(t) * blocked(depth) + k0 * tile.rows;
          tile.c = shares + tiles.begin(t) * strips_.columns + column;
          if (k0 > 0) tile.start = {tile.c, strips_.columns, 1, 1};
          // The next tile's weights are prefetched while the first panel is multiplied.
          tile.next = tile.a + blocked(depth) * tile.rows;
          tile.next_step = panel == first_panel && t + 1 < tiles.count() ? tile.rows : 0;
          g_.run(tile.rows, tile);
        }
      }
  }

  const Isa isa_;
  const GemmKernels& g_ = gemm_kernels(isa_);
  const TransposedShape& s_;
  const ConvWeights weights_;
  const float* const bias_;
  float* const scratch_;
  KernelContext& c_;
  const Chunks chunks_;
  const Strips strips_;
  const Scratch sizes_;
};

/// Fills an output without products with its bias.
void fill_planes(const TransposedShape& s, const float* bias, float* y, KernelContext& c) {
  constexpr int64_t polled = 1 << 16;
  const int64_t pixels = s.in_pixels();
  for (int64_t plane = 0; plane < s.batch * s.in_channels; ++plane)
    for (int64_t i = 0; i < pixels; i += polled) {
      c.poll();
      const int64_t begin = plane * pixels + i, n = std::min(polled, pixels - i);
      std::fill_n(y + begin, n, bias ? bias[plane % s.in_channels] : 0);
      if (Epilogue* e = c.epilogue()) e->apply(begin, n);
    }
}

}  // namespace

int64_t packed_transposed_weights_size(const GemmKernels&, const TransposedShape& s) {
  const Chunks c(s);
  return s.groups * c.packed(c.count);
}

void pack_transposed_weights(const GemmKernels& g, const TransposedShape& s, const float* weights, float* to,
                             Workers& workers) {
  const Chunks c(s);
  const int64_t channel = c.filters * c.taps;
  for (int64_t group = 0; group < s.groups; ++group)
    for (int64_t i = 0; i < c.count; ++i)
      pack_whole_a(g, to + group * c.packed(c.count) + c.packed(i),
                   {weights + group * c.depth * channel + c.begin(i) * c.taps, 1, channel}, c.rows(i),
                   c.depth, workers);
}

size_t transposed_workspace(const GemmKernels& g, const TransposedShape& s, bool f16, int threads) {
  if (!has_product(s)) return 0;
  const Chunks c(s);
  return static_cast<size_t>(Scratch(g, s, c, Strips(g, s, c, threads), f16, threads).size) * sizeof(float);
}

void conv_transpose(Isa isa, const TransposedShape& s, const float* x, const ConvWeights& weights,
                    const float* bias, float* y, void* workspace, KernelContext& c) {
  if (!has_product(s)) return fill_planes(s, bias, y, c);
  Transposition t(isa, s, weights, bias, static_cast<float*>(workspace), c);
  const int64_t of_image = s.in_channels * s.in_pixels();
  for (int64_t i = 0; i < s.batch; ++i)
    t.image(x + i * s.out_channels * s.out_pixels(), y + i * of_image, i * of_image);
}

}  // namespace lathe::cpu
