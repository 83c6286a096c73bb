#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/blocked.h"
#include "cpu/blocked_finish.h"
#include "cpu/ceil_of.h"
#include "cpu/isa.h"
#include "cpu/tasks.h"

namespace lathe::cpu {

struct NormKernels {
  void (*add_squares)(const float* x, int64_t pixels, const float* mean, float* sums) = nullptr;
  void (*scale)(const BlockScaling& s) = nullptr;
};

}  // namespace lathe::cpu

#define LATHE_ISA_BODY "cpu/blocked_norm_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(NormKernels, norm_kernels)

namespace {

/// Pixels that are added up before what they come to is: so a long sum loses little.
constexpr int64_t pixels_together = 1024;
/// The same where they are widened before, and stay in the first-level cache in between.
constexpr int64_t pixels_widened = 256;
constexpr int64_t finished_pixels = finished_floats / channel_block;

/// Blocks that whole groups fill lie in one piece of work: all that one needs to know is in it.
struct NormPieces {
  explicit NormPieces(const BlockedNormalization& n)
      : group(n.channels / n.groups),
        blocks(channel_blocks(n.channels)),
        length(std::min(blocks, std::lcm(channel_block, group) / channel_block)),
        count(ceil_of(blocks, length)) {}
  /// Floats of scratch, with room for some pixels where they are widened.
  int64_t slot(bool halves) const {
    return (3 * length + (halves ? pixels_widened + finished_pixels : 0)) * channel_block;
  }

  int64_t group;  // channels
  int64_t blocks, length, count;
};

class NormPiece {
 public:
  NormPiece(Isa isa, const BlockedNormalization& n, const NormPieces& pieces, int64_t task, float* memory,
            KernelContext& c)
      : isa_(isa),
        kernels_(norm_kernels(isa)),
        n_(n),
        group_(pieces.group),
        first_(task % pieces.count * pieces.length),
        blocks_(std::min(pieces.length, pieces.blocks - first_)),
        channels_(std::min(blocks_ * channel_block, n.channels - first_ * channel_block)),
        block0_(task / pieces.count * pieces.blocks + first_),
        means_(memory),
        factors_(memory + blocks_ * channel_block),
        biases_(factors_ + blocks_ * channel_block),
        wide_(memory + 3 * pieces.length * channel_block),
        result_(wide_ + pixels_widened * channel_block),
        c_(c) {}

  void run() const {
    std::fill_n(means_, 3 * blocks_ * channel_block, 0.0f);
    for_pixels(pixels_together, [&](int64_t block, const float* x, int64_t, int64_t pixels) {
      blocked_sums(isa_, x, pixels, means_ + block * channel_block);
    });
    for_groups(means_, [&](float* lanes, int64_t, double sum) {
      std::fill_n(lanes, group_, static_cast<float>(sum / count()));
    });
    for_pixels(pixels_together, [&](int64_t block, const float* x, int64_t, int64_t pixels) {
      kernels_.add_squares(x, pixels, means_ + block * channel_block, factors_ + block * channel_block);
    });
    for_groups(factors_, [&](float* lanes, int64_t channel, double sum) {
      const auto inverse = static_cast<float>(1 / std::sqrt(sum / count() + n_.epsilon));
      for (int64_t i = 0; i < group_; ++i) lanes[i] = inverse * n_.scale[channel + i];
    });
    std::copy_n(n_.bias + first_ * channel_block, channels_, biases_);
    const Finish finish(c_.epilogue());
    for_pixels(finished_pixels, [&](int64_t block, const float* x, int64_t at, int64_t pixels) {
      const int64_t lane = block * channel_block;
      const bool in_place = n_.y_type == DataType::float32;
      float* const y = in_place ? static_cast<float*>(n_.y) + at : result_;
      kernels_.scale({.x = x,
                      .y = y,
                      .pixels = pixels,
                      .mean = means_ + lane,
                      .factor = factors_ + lane,
                      .bias = biases_ + lane,
                      .bounds = finish.bounds});
      if (!in_place)
        bring(isa_, c_.epilogue(), y, at, pixels * channel_block, n_.y_type, n_.y);
      else if (finish.epilogue)
        finish.epilogue->finish(at, pixels * channel_block);
    });
  }

 private:
  double count() const { return static_cast<double>(group_ * n_.pixels); }
  /// Calls f(block, x, place of its first element, pixels) for some pixels at a time.
  template <class F>
  void for_pixels(int64_t most, F&& f) const {
    if (is_half(n_.x_type)) most = std::min(most, pixels_widened);
    for (int64_t block = 0; block < blocks_; ++block)
      for (int64_t p = 0; p < n_.pixels; p += most) {
        c_.poll();
        const int64_t at = ((block0_ + block) * n_.pixels + p) * channel_block;
        const int64_t pixels = std::min(most, n_.pixels - p);
        f(block, widened(isa_, n_.x_type, n_.x, at, pixels * channel_block, wide_), at, pixels);
      }
  }
  /// Calls f(lanes of a group, its first channel, their sum).
  template <class F>
  void for_groups(float* lanes, F&& f) const {
    for (int64_t i = 0; i < channels_; i += group_)
      f(lanes + i, first_ * channel_block + i, std::accumulate(lanes + i, lanes + i + group_, 0.0));
  }

  Isa isa_;
  const NormKernels& kernels_;
  const BlockedNormalization& n_;
  int64_t group_, first_, blocks_, channels_, block0_;  // block0_: counted from the first image
  float *means_, *factors_, *biases_;                   // by lane
  float *wide_, *result_;                               // of some pixels; beyond the scratch without halves
  KernelContext& c_;
};

int64_t tasks(const BlockedNormalization& n) { return n.pixels == 0 ? 0 : n.batch * NormPieces(n).count; }
}  // namespace

void scale_pixels(Isa isa, const BlockScaling& s) { norm_kernels(isa).scale(s); }

size_t normalization_workspace(const BlockedNormalization& n, bool halves, int threads) {
  return static_cast<size_t>(task_slots(tasks(n), threads) * NormPieces(n).slot(halves)) * sizeof(float);
}

void blocked_normalization(Isa isa, const BlockedNormalization& n, void* workspace, KernelContext& c) {
  const NormPieces pieces(n);
  float* const memory = static_cast<float*>(workspace);
  const int64_t stride = pieces.slot(is_half(n.x_type) || is_half(n.y_type));
  for_each_task(c, tasks(n), [&](int64_t task, int64_t slot) {
    NormPiece(isa, n, pieces, task, memory + slot * stride, c).run();
  });
}

}  // namespace lathe::cpu
