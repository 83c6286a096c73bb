// RoiAlign of float32: the samples of a region are computed once for all channels, and threads share the
// regions.
#include "ops/roi_align/roi_align.h"

#include <algorithm>

#include "cpu/movement.h"
#include "cpu/support.h"
#include "cpu/tasks.h"
#include "ops/movement.h"
#include "ops/roi_align/roi_samples.h"

namespace lathe {
namespace {

/// Samples that are kept for all channels: within the cache.
constexpr int64_t kept_samples = 4096;

struct RoiTap {
  std::array<int64_t, 4> at;
  std::array<float, 4> weight;
};

Support supports_regions(const RoiAlign&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r, 2)) return *refusal;
  return Support::yes();
}

/// The memory for pooling a region: the most taps at a time, and for bins that have more, the results so far
/// in each channel.
struct RegionScratch {
  int64_t taps = kept_samples, channels = 0;
  RegionScratch(const RoiAlign& op, int64_t channels_of_map) {
    const int64_t side = std::min(op.sampling_ratio, kept_samples), samples = side * side;
    if (samples == 0 || samples > kept_samples)
      channels = channels_of_map;
    else
      taps = std::min(kept_samples / samples, op.output_height * op.output_width) * samples;
  }
  size_t bytes() const {
    return cpu::whole_lines(static_cast<size_t>(taps) * sizeof(RoiTap) +
                            static_cast<size_t>(channels) * sizeof(double));
  }
};

/// One region: computes taps of some of its bins at a time, then the channels.
class Region {
 public:
  /// `scratch` has the size of RegionScratch.
  Region(const RoiAlign& op, KernelContext& c, int64_t roi, std::byte* scratch)
      : op_(op),
        map_(c.in(0)),
        poll_(c),
        taps_(reinterpret_cast<RoiTap*>(scratch)),
        so_far_(reinterpret_cast<double*>(taps_ + RegionScratch(op, 0).taps)) {
    const float* const corners = cpu::floats(c.in(1)) + 4 * roi;
    const auto corner = [&](int k) { return static_cast<double>(corners[k]); };
    h_ = roi_side(op, corner(1), corner(3), op.output_height, c);
    w_ = roi_side(op, corner(0), corner(2), op.output_width, c);
    image_ = image_of(c, roi);
  }

  /// `to`: [channels, bins].
  void pool(float* to) {
    const int64_t samples = h_.samples * w_.samples;
    const int64_t together = std::max<int64_t>(1, kept_samples / std::max<int64_t>(1, samples));
    for (int64_t bin = 0; bin < bins(); bin += together)
      samples > kept_samples ? pool_in_pieces(bin, to + bin)
                             : pool_together(bin, std::min(together, bins() - bin), to + bin);
  }

 private:
  int64_t bins() const { return op_.output_height * op_.output_width; }
  const float* plane(int64_t channel) const {
    return cpu::floats(map_) + (image_ * map_.dim(1) + channel) * map_.dim(2) * map_.dim(3);
  }

  /// `n` bins whose samples are all kept.
  void pool_together(int64_t bin, int64_t n, float* to) {
    const int64_t samples = h_.samples * w_.samples;
    for (int64_t i = 0; i < n; ++i) sample(bin + i, 0, samples, taps_ + i * samples);
    for (int64_t k = 0; k < map_.dim(1); ++k)
      for (int64_t i = 0; i < n; ++i) {
        poll_.did(2 * samples + 1);
        to[k * bins() + i] = finished(pooled(0, plane(k), taps_ + i * samples, samples, true));
      }
  }
  /// A bin of more samples than are kept.
  void pool_in_pieces(int64_t bin, float* to) {
    const int64_t samples = h_.samples * w_.samples, channels = map_.dim(1);
    std::fill_n(so_far_, channels, 0.0);
    for (int64_t first = 0; first < samples; first += kept_samples) {
      const int64_t n = std::min(kept_samples, samples - first);
      sample(bin, first, n, taps_);
      for (int64_t k = 0; k < channels; ++k) {
        poll_.did(2 * n);
        so_far_[k] = pooled(so_far_[k], plane(k), taps_, n, first == 0);
      }
    }
    for (int64_t k = 0; k < channels; ++k) to[k * bins()] = finished(so_far_[k]);
  }

  /// Taps of samples [first, first + n) of a bin.
  void sample(int64_t bin, int64_t first, int64_t n, RoiTap* to) {
    const double y = h_.start + static_cast<double>(bin / op_.output_width) * h_.bin;
    const double x = w_.start + static_cast<double>(bin % op_.output_width) * w_.bin;
    for (int64_t i = first; i < first + n; ++i) {
      poll_.did(8);
      const auto row = static_cast<double>(i / w_.samples), column = static_cast<double>(i % w_.samples);
      const RoiSample s =
          roi_sample(y + (row + 0.5) * h_.bin / static_cast<double>(h_.samples),
                     x + (column + 0.5) * w_.bin / static_cast<double>(w_.samples), map_.dim(2), map_.dim(3));
      RoiTap& tap = *to++;
      tap.at = s.at;
      for (size_t k = 0; k < 4; ++k) tap.weight[k] = static_cast<float>(s.weight[k]);
    }
  }

  /// The sum of samples, or the greatest, with what came before; of each sample the greatest weighted pixel
  /// counts.
  double pooled(double so_far, const float* plane, const RoiTap* taps, int64_t n, bool first) const {
    if (op_.mode == "avg") {
      for (const RoiTap* t = taps; t < taps + n; ++t)
        so_far += static_cast<double>(t->weight[0] * plane[t->at[0]] + t->weight[1] * plane[t->at[1]] +
                                      t->weight[2] * plane[t->at[2]] + t->weight[3] * plane[t->at[3]]);
      return so_far;
    }
    auto best = static_cast<float>(so_far);
    for (const RoiTap* t = taps; t < taps + n; ++t) {
      const float here = std::max({t->weight[0] * plane[t->at[0]], t->weight[1] * plane[t->at[1]],
                                   t->weight[2] * plane[t->at[2]], t->weight[3] * plane[t->at[3]]});
      best = first && t == taps ? here : std::max(best, here);
    }
    return best;
  }
  float finished(double v) const {
    const int64_t samples = h_.samples * w_.samples;
    if (op_.mode != "avg") return static_cast<float>(v);
    return samples == 0 ? 0.0f : static_cast<float>(v / static_cast<double>(samples));
  }

  const RoiAlign& op_;
  const Tensor& map_;
  RoiSide h_{}, w_{};
  int64_t image_ = 0;
  Poller poll_;
  RoiTap* taps_;
  double* so_far_;  // of each channel
};

void align_regions(const RoiAlign& op, KernelContext& c) {
  Tensor& out = c.out(0);
  const int64_t regions = c.in(1).dim(0);
  if (out.size() == 0) return;
  check_regions(c);
  const int64_t region = out.size() / regions;
  const size_t scratch = RegionScratch(op, c.in(0).dim(1)).bytes();
  auto* const all_scratch = static_cast<std::byte*>(
      c.workspace(static_cast<size_t>(cpu::task_slots(regions, c.threads())) * scratch));
  cpu::for_each_task(c, regions, [&](int64_t r, int64_t slot) {
    Region(op, c, r, all_scratch + static_cast<size_t>(slot) * scratch).pool(cpu::floats(out) + r * region);
  });
}

size_t workspace(const RoiAlign& op, std::span<const Shape> inputs, int threads) {
  if (inputs[0].size() != 4 || inputs[1].size() != 2) return 0;  // the shape rule says what is wrong
  if (inputs[0][1] == 0) return 0;
  return static_cast<size_t>(cpu::task_slots(inputs[1][0], threads)) *
         RegionScratch(op, inputs[0][1]).bytes();
}

}  // namespace

void cpu_roi_align(KernelCatalog& k) {
  k.add<RoiAlign>({.op = "RoiAlign", .name = cpu::kernel_name("roi_align", Isa::generic)},
                  {.run = align_regions, .supports = supports_regions, .workspace = workspace});
}

}  // namespace lathe
