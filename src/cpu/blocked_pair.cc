#include "cpu/blocked_pair.h"

#include <algorithm>

#include "cpu/blocked_finish.h"
#include "cpu/blocked_parts.h"
#include "cpu/blocked_strips.h"
#include "cpu/blocked_window.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// Floats between the two that a thread works on: with the input of a strip they stay in its second-level
/// cache.
constexpr double held_floats = 1 << 17;
/// Rows of output below which a strip computes too much of what the next one computes again.
constexpr int64_t fewest_rows = 8;

/// Strips of the second one's rows, each for one panel of the first one's filters.
struct PairDivision {
  PairDivision(Isa isa, const PairShape& shape, bool narrows, int threads)
      : s(shape), tiles(blocked_tiles(isa)), first(tiles, s.first), rows(s.second.out[0]) {
    const BlockedShape& two = s.second;
    const double row = static_cast<double>(std::max<int64_t>(1, two.in[1]) * tiles.panel_filters());
    const double held =
        (held_floats / row - static_cast<double>(two.reach(0))) / static_cast<double>(two.stride[0]) + 1;
    const auto fit = static_cast<int64_t>(std::clamp(held, 1.0, static_cast<double>(rows)));
    strips = std::max<int64_t>(1, ceil_of(rows, fit));
    while (threads > 1 && tasks() < int64_t{4} * threads && rows >= 2 * fewest_rows * strips) strips *= 2;
    // Every thread has as many rows, as of other convolutions.
    if (const int64_t even = ceil_of(strips, threads) * threads; rows >= fewest_rows * even) strips = even;
    rows = ceil_of(rows, strips);
    // Of a stride of many rows a strip sees more than there are.
    const double seen = static_cast<double>(rows - 1) * static_cast<double>(two.stride[0]) +
                        static_cast<double>(two.reach(0));
    held_rows = static_cast<int64_t>(std::min(seen, static_cast<double>(two.in[0])));
    // As if there were a pixel where there is none: no windows would be less than nothing.
    first.hold(std::max<int64_t>(1, held_rows), std::max<int64_t>(1, two.in[1]));
    if (narrows) wide_size = rows * two.out[1] * channel_block;
  }

  /// The first row of a strip: all are nearly of the same length.
  int64_t begin(int64_t strip) const { return strip * s.second.out[0] / strips; }
  int64_t tasks() const { return s.first.batch * strips * first.panels; }
  int64_t held_size() const { return whole_lines(held_rows * s.second.in[1] * tiles.panel_filters()); }
  /// What a task needs: the copy of a strip, which serves all panels that one thread computes, behind a line
  /// that says which strip it is; what lies between; and what is to be narrowed.
  int64_t slot() const { return line + first.strip_size() + held_size() + wide_size; }
  static constexpr int64_t line = 16;

  const PairShape& s;
  const BlockedTiles& tiles;
  TiledRows first;
  int64_t rows;           // of the second's output, in the longest strip
  int64_t strips = 1;     // of an image
  int64_t held_rows = 0;  // of what lies between
  int64_t wide_size = 0;  // of a block of a strip of the output, where it is to be narrowed
};

/// Applies what lies between, as epilogue of the first one.
class Between final : public Epilogue {
 public:
  Between(Isa isa, const PairActivation& f, float* y) : f_(f), y_(y) {
    if (f.op) row_ = elementwise_kernels(isa).unary[static_cast<size_t>(*f.op)];
  }
  void finish(int64_t begin, int64_t n) override {
    if (row_) row_(y_ + begin, y_ + begin, n, f_.a, f_.b);
  }
  std::optional<Bounds> bounds() const override {
    return row_ ? bounds_of(*f_.op, f_.a, f_.b) : std::optional(Bounds{});
  }

 private:
  const PairActivation& f_;
  float* y_;
  UnaryRow row_ = nullptr;
};

class PairTask {
 public:
  PairTask(const PairDivision& d, Isa isa, const PairImages& images, const int64_t* steps, KernelContext& c)
      : d_(d),
        s_(d.s),
        isa_(isa),
        images_(images),
        steps_(steps),
        narrows_(images.y_type != DataType::float32),
        finish_(narrows_ ? nullptr : c.epilogue()),
        c_(c) {}

  void run(int64_t task, float* memory) const {
    const int64_t panel = task % d_.first.panels, strip = task / d_.first.panels % d_.strips,
                  image = task / d_.first.panels / d_.strips;
    auto* const copied = reinterpret_cast<int64_t*>(memory);
    memory += PairDivision::line;
    const BlockedShape& two = s_.second;
    const int64_t row0 = d_.begin(strip), row1 = d_.begin(strip + 1);
    // What the strip sees of the first one's output.
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
    const Finish finish(&between);
    const int64_t plane = (piece.row1 - piece.row0) * d.s.out[1];
    BlockedTile tile = d.tile(steps_, plane * channel_block, finish.bounds);
    tile.x = x;
    tile.y = held;
    FinishedPixels finished(finish.epilogue, plane, 0, blocks, 0);
    compute_panel(isa_, d, piece, tile, panel, {.weights = images_.weights, .bias = images_.bias}, nullptr,
                  finished, c_);
  }
  /// Some rows at a time, which are finished while they are in the first-level cache. `first` is the element
  /// of the output that they begin with; what is to be narrowed is made in `wide`.
  void compute_second(const BlockedShape& part, int64_t block, const float* x, float* wide,
                      int64_t first) const {
    float* const y = static_cast<float*>(images_.y);  // unless it is narrowed
    float* const strip = narrows_ ? wide : y + first;
    const int64_t row = part.out[1] * channel_block, rows = std::max<int64_t>(1, finished_floats / row);
    for (int64_t row0 = 0; row0 < part.out[0]; row0 += rows) {
      c_.poll();
      const int64_t row1 = std::min(row0 + rows, part.out[0]);
      const int64_t at = row0 * row, n = (row1 - row0) * row;
      if (s_.pools)
        maximum_rows(isa_, part, x, row0, row1, strip, finish_.bounds);
      else
        depthwise_rows(isa_, part, block, x, images_.depthwise_weights, images_.depthwise_bias, row0, row1,
                       strip, finish_.bounds);
      if (narrows_)
        bring(isa_, c_.epilogue(), strip + at, first + at, n, images_.y_type, images_.y);
      else if (finish_.epilogue)
        finish_.epilogue->finish(first + at, n);
      if (images_.row_means) row_means(isa_, part, first / row + row0, row1 - row0, y, images_.row_means);
    }
  }

  const PairDivision& d_;
  const PairShape& s_;
  const Isa isa_;
  const PairImages& images_;
  const int64_t* steps_;
  const bool narrows_;
  const Finish finish_;
  KernelContext& c_;
};

}  // namespace

bool pays_as_pair(Isa isa, const PairShape& s) {
  // Fewer floats stay in the second-level cache anyway.
  constexpr int64_t least_between = int64_t{1} << 18;
  constexpr double most_repeated = 1.15;
  const BlockedShape &one = s.first, &two = s.second;
  if (one.empty() || two.empty() || one.out_blocks() * channel_block * one.out_pixels() < least_between ||
      uses_parts(isa, one) || fastest_winograd(isa, one).output != 0)
    return false;
  const PairDivision d(isa, s, false, 1);
  const auto computed = static_cast<double>(d.strips * d.held_rows);
  return two.out[0] >= fewest_rows && static_cast<double>(d.held_size()) <= held_floats &&
         computed <= most_repeated * static_cast<double>(two.in[0]);
}

size_t pair_workspace(Isa isa, const PairShape& s, bool narrows, int threads) {
  if (s.second.empty()) return 0;
  const PairDivision d(isa, s, narrows, threads);
  return static_cast<size_t>(d.first.steps_size() +
                             task_slots(d.tasks(), threads) * slot_stride(d.slot(), threads)) *
         sizeof(float);
}

void convolution_pair(Isa isa, const PairShape& s, const PairImages& images, void* workspace,
                      KernelContext& c) {
  if (s.second.empty()) return means_of_nothing(s.second, images.row_means);
  const PairDivision d(isa, s, images.y_type != DataType::float32, c.threads());
  const int64_t stride = slot_stride(d.slot(), c.threads());
  float* const slots = static_cast<float*>(workspace);
  auto* const steps = reinterpret_cast<int64_t*>(slots + task_slots(d.tasks(), c.threads()) * stride);
  d.first.steps.fill(steps, d.first.row_pixels, d.first.rows);
  for (int64_t i = 0; i < task_slots(d.tasks(), c.threads()); ++i)
    *reinterpret_cast<int64_t*>(slots + i * stride) = -1;
  const PairTask work(d, isa, images, steps, c);
  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) { work.run(task, slots + slot * stride); });
}

}  // namespace lathe::cpu
