#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/blocked.h"
#include "cpu/nchw16c/blocked_epilogue.h"
#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

namespace lathe::cpu {

struct NormKernels {
  void (*add_squares)(const float* x, int64_t pixels, const float* mean, float* sums) = nullptr;
  void (*scale)(const BlockScaling& s) = nullptr;
};

}  // namespace lathe::cpu

#define LATHE_ISA_BODY "cpu/nchw16c/blocked_norm_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(NormKernels, norm_kernels)

namespace {

/// Pixels that are summed before their sum is added to the total: so a long sum loses little.
constexpr int64_t pixels_together = 1024;
/// The same if they are widened first, and stay in the first-level cache in between.
constexpr int64_t pixels_widened = 256;
constexpr int64_t epilogue_pixels = epilogue_floats / channel_block;

/// A piece of work has blocks that whole groups fill, so that it has all values of their statistics.
struct NormPieces {
  explicit NormPieces(const BlockedNormalization& n)
      : group(n.channels / n.groups),
        blocks(channel_blocks(n.channels)),
        length(std::min(blocks, std::lcm(channel_block, group) / channel_block)),
        count(ceil_of(blocks, length)) {}
  /// The floats of scratch, including buffers for pixels that are widened or narrowed.
  int64_t slot(bool f16) const {
    return (3 * length + (f16 ? pixels_widened + epilogue_pixels : 0)) * channel_block;
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
    const FusedActivation fused(c_.epilogue());
    for_pixels(epilogue_pixels, [&](int64_t block, const float* x, int64_t at, int64_t pixels) {
      const int64_t lane = block * channel_block;
      const bool in_place = n_.y_type == DataType::float32;
      float* const y = in_place ? static_cast<float*>(n_.y) + at : result_;
      kernels_.scale({.x = x,
                      .y = y,
                      .pixels = pixels,
                      .mean = means_ + lane,
                      .factor = factors_ + lane,
                      .bias = biases_ + lane,
                      .bounds = fused.bounds});
      if (!in_place)
        bring(isa_, c_.epilogue(), y, at, pixels * channel_block, n_.y_type, n_.y);
      else if (fused.epilogue)
        fused.epilogue->apply(at, pixels * channel_block);
    });
  }

 private:
  double count() const { return static_cast<double>(group_ * n_.pixels); }
  /// Calls f(block, x, index of its first element, pixels) for some pixels at a time.
  template <class F>
  void for_pixels(int64_t most, F&& f) const {
    if (is_f16(n_.x_type)) most = std::min(most, pixels_widened);
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
  float *wide_, *result_;  // of some pixels; outside the scratch if nothing has 16 bits
  KernelContext& c_;
};

int64_t tasks(const BlockedNormalization& n) { return n.pixels == 0 ? 0 : n.batch * NormPieces(n).count; }
}  // namespace

void scale_pixels(Isa isa, const BlockScaling& s) { norm_kernels(isa).scale(s); }

size_t normalization_workspace(const BlockedNormalization& n, bool f16, int threads) {
  return static_cast<size_t>(task_slots(tasks(n), threads) * NormPieces(n).slot(f16)) * sizeof(float);
}

void blocked_normalization(Isa isa, const BlockedNormalization& n, void* workspace, KernelContext& c) {
  const NormPieces pieces(n);
  float* const memory = static_cast<float*>(workspace);
  const int64_t stride = pieces.slot(is_f16(n.x_type) || is_f16(n.y_type));
  for_each_task(c, tasks(n), [&](int64_t task, int64_t slot) {
    NormPiece(isa, n, pieces, task, memory + slot * stride, c).run();
  });
}

}  // namespace lathe::cpu
