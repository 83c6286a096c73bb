#include "cpu/nchw16c/blocked_conv_depthwise.h"

#include <algorithm>

#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/nchw16c/blocked_epilogue.h"
#include "cpu/nchw16c/blocked_strips.h"
#include "cpu/nchw16c/blocked_window.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// The most floats between both convolutions that a thread holds: with the input of a strip they stay in its
/// second-level cache.
constexpr double held_floats = 1 << 17;
/// A strip with fewer rows of output computes too many rows that the next one computes again.
constexpr int64_t min_rows = 8;

/// Divides the second one's rows into strips, each of which is computed for one panel of the first one's
/// filters.
struct ConvDepthwiseDivision {
  ConvDepthwiseDivision(Isa isa, const ConvDepthwiseShape& shape, bool writes_f16, int threads)
      : s(shape), tiles(blocked_tiles(isa)), first(tiles, s.first), rows(s.second.out[0]) {
    const BlockedShape& two = s.second;
    const double row = static_cast<double>(std::max<int64_t>(1, two.in[1]) * tiles.panel_filters());
    const double held =
        (held_floats / row - static_cast<double>(two.reach(0))) / static_cast<double>(two.stride[0]) + 1;
    const auto fit = static_cast<int64_t>(std::clamp(held, 1.0, static_cast<double>(rows)));
    strips = std::max<int64_t>(1, ceil_of(rows, fit));
    while (threads > 1 && tasks() < int64_t{4} * threads && rows >= 2 * min_rows * strips) strips *= 2;
    // All threads get equally many rows, as in other convolutions.
    if (const int64_t even = ceil_of(strips, threads) * threads; rows >= min_rows * even) strips = even;
    rows = ceil_of(rows, strips);
    // With a stride of many rows a strip may read more rows than there are.
    const double seen = static_cast<double>(rows - 1) * static_cast<double>(two.stride[0]) +
                        static_cast<double>(two.reach(0));
    held_rows = static_cast<int64_t>(std::min(seen, static_cast<double>(two.in[0])));
    // At least one pixel is assumed: without windows, sizes would be negative.
    first.hold(std::max<int64_t>(1, held_rows), std::max<int64_t>(1, two.in[1]));
    if (writes_f16) wide_size = rows * two.out[1] * channel_block;
  }

  /// The first row of a strip; all strips have nearly the same length.
  int64_t begin(int64_t strip) const { return strip * s.second.out[0] / strips; }
  int64_t tasks() const { return s.first.batch * strips * first.panels; }
  int64_t held_size() const { return whole_lines(held_rows * s.second.in[1] * tiles.panel_filters()); }
  /// The scratch of a task: a line with the number of a strip, the copy of that strip, which all panels of
  /// one thread share, the values between both convolutions, and the values to be narrowed.
  int64_t slot() const { return line + first.strip_size() + held_size() + wide_size; }
  static constexpr int64_t line = 16;

  const ConvDepthwiseShape& s;
  const BlockedTiles& tiles;
  TiledRows first;
  int64_t rows;           // of the second's output, in the longest strip
  int64_t strips = 1;     // of an image
  int64_t held_rows = 0;  // of the values between both
  int64_t wide_size = 0;  // floats of a block of a strip of the output, if it is narrowed
};

/// Applies the activation between both, as the epilogue of the first one.
class Between final : public Epilogue {
 public:
  Between(Isa isa, const ConvDepthwiseActivation& f, float* y) : f_(f), y_(y) {
    if (f.op) row_ = elementwise_kernels(isa).unary[static_cast<size_t>(*f.op)];
  }
  void apply(int64_t begin, int64_t n) override {
    if (row_) row_(y_ + begin, y_ + begin, n, f_.a, f_.b);
  }
  std::optional<Bounds> bounds() const override {
    return row_ ? bounds_of(*f_.op, f_.a, f_.b) : std::optional(Bounds{});
  }

 private:
  const ConvDepthwiseActivation& f_;
  float* y_;
  UnaryRow row_ = nullptr;
};

class ConvDepthwiseTask {
 public:
  ConvDepthwiseTask(const ConvDepthwiseDivision& d, Isa isa, const ConvDepthwiseImages& images,
                    const int64_t* steps, KernelContext& c)
      : d_(d),
        s_(d.s),
        isa_(isa),
        images_(images),
        steps_(steps),
        writes_f16_(images.y_type != DataType::float32),
        fused_(writes_f16_ ? nullptr : c.epilogue()),
        c_(c) {}

  void run(int64_t task, float* memory) const {
    const int64_t panel = task % d_.first.panels, strip = task / d_.first.panels % d_.strips,
                  image = task / d_.first.panels / d_.strips;
    auto* const copied = reinterpret_cast<int64_t*>(memory);
    memory += ConvDepthwiseDivision::line;
    const BlockedShape& two = s_.second;
    const int64_t row0 = d_.begin(strip), row1 = d_.begin(strip + 1);
    // The rows of the first one's output that the strip reads.
    const int64_t top = row0 * two.stride[0] - two.pad[0],
                  bottom = (row1 - 1) * two.stride[0] - two.pad[0] + two.reach(0);
    const int64_t begin = std::clamp<int64_t>(top, 0, two.in[0]),
                  end = std::clamp<int64_t>(bottom, begin, two.in[0]);
    float* const held = memory + d_.first.strip_size();
    const int64_t blocks = std::min(d_.tiles.panel_blocks, two.in_blocks() - panel * d_.tiles.panel_blocks);
    const Piece seen{.row0 = begin, .row1 = end, .tile0 = 0, .tile1 = d_.first.tiles.count()};
    if (end > begin && two.in[1] > 0) {
      const bool again = !d_.first.in_place && *copied == task / d_.first.panels;
      const float* const x = again ? memory : first_strip(image, seen, memory);
      *copied = task / d_.first.panels;
      compute_first(x, seen, panel, blocks, held);
    }

    BlockedShape part = two;
    part.in[0] = end - begin;
    part.out[0] = row1 - row0;
    part.pad[0] = begin - top;
    const int64_t out_plane = two.out_pixels() * channel_block;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t block = panel * d_.tiles.panel_blocks + i,
                    first = (image * two.in_blocks() + block) * out_plane + row0 * two.out[1] * channel_block;
      compute_second(part, block, held + i * part.in_pixels() * channel_block, held + d_.held_size(), first);
    }
  }

 private:
  const float* first_strip(int64_t image, const Piece& piece, float* copy) const {
    const TiledRows& d = d_.first;
    const float* const x = images_.x + image * d.steps.planes() * d.s.in_pixels() * d.steps.image_pixel();
    return begin_strip(isa_, d, x, {}, piece, copy);
  }
  void compute_first(const float* x, const Piece& piece, int64_t panel, int64_t blocks, float* held) const {
    const TiledRows& d = d_.first;
    Between between(isa_, s_.between, held);
    const FusedActivation fused(&between);
    const int64_t plane = (piece.row1 - piece.row0) * d.s.out[1];
    BlockedTile tile = d.tile(steps_, plane * channel_block, fused.bounds);
    tile.x = x;
    tile.y = held;
    PixelEpilogue pixel_epilogue(fused.epilogue, plane, 0, blocks, 0);
    compute_panel(isa_, d, piece, tile, panel, {.weights = images_.weights, .bias = images_.bias}, nullptr,
                  pixel_epilogue, c_);
  }
  /// Computes some rows at a time, to which the epilogue is applied while they are in the first-level cache.
  /// `first` is the element of the output that they begin with; rows that are narrowed are computed in
  /// `wide`.
  void compute_second(const BlockedShape& part, int64_t block, const float* x, float* wide,
                      int64_t first) const {
    float* const y = static_cast<float*>(images_.y);  // unless it is narrowed
    float* const strip = writes_f16_ ? wide : y + first;
    const int64_t row = part.out[1] * channel_block, rows = std::max<int64_t>(1, epilogue_floats / row);
    for (int64_t row0 = 0; row0 < part.out[0]; row0 += rows) {
      c_.poll();
      const int64_t row1 = std::min(row0 + rows, part.out[0]);
      const int64_t at = row0 * row, n = (row1 - row0) * row;
      if (s_.pools)
        maximum_rows(isa_, part, x, row0, row1, strip, fused_.bounds);
      else
        depthwise_rows(isa_, part, block, x, images_.depthwise_weights, images_.depthwise_bias, row0, row1,
                       strip, fused_.bounds);
      if (writes_f16_)
        bring(isa_, c_.epilogue(), strip + at, first + at, n, images_.y_type, images_.y);
      else if (fused_.epilogue)
        fused_.epilogue->apply(first + at, n);
      if (images_.row_means) row_means(isa_, part, first / row + row0, row1 - row0, y, images_.row_means);
    }
  }

  const ConvDepthwiseDivision& d_;
  const ConvDepthwiseShape& s_;
  const Isa isa_;
  const ConvDepthwiseImages& images_;
  const int64_t* steps_;
  const bool writes_f16_;
  const FusedActivation fused_;
  KernelContext& c_;
};

}  // namespace

bool pays_conv_depthwise(Isa isa, const ConvDepthwiseShape& s) {
  // Fewer floats stay in the second-level cache anyway.
  constexpr int64_t min_between = int64_t{1} << 18;
  constexpr double max_repeated = 1.15;
  const BlockedShape &one = s.first, &two = s.second;
  if (one.empty() || two.empty() || one.out_blocks() * channel_block * one.out_pixels() < min_between ||
      uses_bf16x3(isa, one) || fastest_winograd(isa, one).output != 0)
    return false;
  const ConvDepthwiseDivision d(isa, s, false, 1);
  const auto computed = static_cast<double>(d.strips * d.held_rows);
  return two.out[0] >= min_rows && static_cast<double>(d.held_size()) <= held_floats &&
         computed <= max_repeated * static_cast<double>(two.in[0]);
}

size_t conv_depthwise_workspace(Isa isa, const ConvDepthwiseShape& s, bool writes_f16, int threads) {
  if (s.second.empty()) return 0;
  const ConvDepthwiseDivision d(isa, s, writes_f16, threads);
  return static_cast<size_t>(d.first.steps_size() +
                             task_slots(d.tasks(), threads) * slot_stride(d.slot(), threads)) *
         sizeof(float);
}

void conv_depthwise(Isa isa, const ConvDepthwiseShape& s, const ConvDepthwiseImages& images, void* workspace,
                    KernelContext& c) {
  if (s.second.empty()) return means_of_nothing(s.second, images.row_means);
  const ConvDepthwiseDivision d(isa, s, images.y_type != DataType::float32, c.threads());
  const int64_t stride = slot_stride(d.slot(), c.threads());
  float* const slots = static_cast<float*>(workspace);
  auto* const steps = reinterpret_cast<int64_t*>(slots + task_slots(d.tasks(), c.threads()) * stride);
  d.first.steps.fill(steps, d.first.row_pixels, d.first.rows);
  for (int64_t i = 0; i < task_slots(d.tasks(), c.threads()); ++i)
    *reinterpret_cast<int64_t*>(slots + i * stride) = -1;
  const ConvDepthwiseTask work(d, isa, images, steps, c);
  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) { work.run(task, slots + slot * stride); });
}

}  // namespace lathe::cpu
