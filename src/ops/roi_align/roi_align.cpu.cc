// RoiAlign of float32: where a region is sampled is worked out once for all channels, and regions are shared
// out.
#include "ops/roi_align/roi_align.h"

#include <algorithm>
#include <vector>

#include "cpu/ask.h"
#include "ops/movement.h"
#include "ops/roi_align/roi_samples.h"

namespace lathe {
namespace {

/// Samples that are kept for all channels: within the cache, but for bins that have more.
constexpr int64_t kept_samples = 4096;

struct RoiTap {
  std::array<int64_t, 4> at;
  std::array<float, 4> weight;
};

Verdict ask_regions(const RoiAlign&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r, 2)) return *refusal;
  return Verdict::yes();
}

/// One region: taps of some of its bins at a time, and the channels by them.
class Region {
 public:
  Region(const RoiAlign& op, KernelContext& c, int64_t roi)
      : op_(op), map_(c.in(0)), poll_(c), taps_(c.scratch()) {
    const float* const corners = cpu::floats(c.in(1)) + 4 * roi;
    const auto corner = [&](int k) { return static_cast<double>(corners[k]); };
    h_ = roi_side(op, corner(1), corner(3), op.output_height, c);
    w_ = roi_side(op, corner(0), corner(2), op.output_width, c);
    image_ = index_at(c.in(2), roi);
    if (image_ < 0 || image_ >= map_.dim(0))
      c.fail(Code::run_bad_index, "a batch index in [0, " + std::to_string(map_.dim(0)) + ")",
             std::to_string(image_));
  }

  /// `to`: [channels, bins].
  void pool(float* to) {
    const int64_t channels = map_.dim(1), bins = op_.output_height * op_.output_width;
    const int64_t samples = h_.samples * w_.samples;
    const int64_t together = std::max<int64_t>(1, kept_samples / std::max<int64_t>(1, samples));
    const bool average = op_.mode == "avg";
    for (int64_t bin = 0; bin < bins; bin += together) {
      const int64_t n = std::min(together, bins - bin);
      sample(bin, n);
      for (int64_t k = 0; k < channels; ++k) {
        const float* const plane = cpu::floats(map_) + (image_ * channels + k) * map_.dim(2) * map_.dim(3);
        for (int64_t i = 0; i < n; ++i) {
          poll_.did(2 * samples + 1);
          const RoiTap* const taps = taps_.data() + i * samples;
          to[k * bins + bin + i] = average ? mean(plane, taps, samples) : greatest(plane, taps, samples);
        }
      }
    }
  }

 private:
  void sample(int64_t bin, int64_t n) {
    taps_.clear();
    for (int64_t b = bin; b < bin + n; ++b) {
      const double y = h_.start + static_cast<double>(b / op_.output_width) * h_.bin;
      const double x = w_.start + static_cast<double>(b % op_.output_width) * w_.bin;
      for (int64_t i = 0; i < h_.samples; ++i)
        for (int64_t j = 0; j < w_.samples; ++j) {
          poll_.did(8);
          const RoiSample s =
              roi_sample(y + (static_cast<double>(i) + 0.5) * h_.bin / static_cast<double>(h_.samples),
                         x + (static_cast<double>(j) + 0.5) * w_.bin / static_cast<double>(w_.samples),
                         map_.dim(2), map_.dim(3));
          RoiTap& tap = taps_.emplace_back();
          tap.at = s.at;
          for (size_t k = 0; k < 4; ++k) tap.weight[k] = static_cast<float>(s.weight[k]);
        }
    }
  }
  static float mean(const float* plane, const RoiTap* taps, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const RoiTap& t = taps[i];
      sum += static_cast<double>(t.weight[0] * plane[t.at[0]] + t.weight[1] * plane[t.at[1]] +
                                 t.weight[2] * plane[t.at[2]] + t.weight[3] * plane[t.at[3]]);
    }
    return n == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(n));
  }
  /// Of each sample the greatest weighted pixel counts.
  static float greatest(const float* plane, const RoiTap* taps, int64_t n) {
    float best = 0;
    for (int64_t i = 0; i < n; ++i) {
      const RoiTap& t = taps[i];
      const float here = std::max({t.weight[0] * plane[t.at[0]], t.weight[1] * plane[t.at[1]],
                                   t.weight[2] * plane[t.at[2]], t.weight[3] * plane[t.at[3]]});
      best = i == 0 ? here : std::max(best, here);
    }
    return best;
  }

  const RoiAlign& op_;
  const Tensor& map_;
  RoiSide h_{}, w_{};
  int64_t image_ = 0;
  Poller poll_;
  std::pmr::vector<RoiTap> taps_;
};

void align_regions(const RoiAlign& op, KernelContext& c) {
  const Tensor &map = c.in(0), &rois = c.in(1), &batch_indices = c.in(2);
  if (rois.dim(1) != 4 || rois.dim(0) != batch_indices.size())
    c.fail(Code::run_bad_shape, "four numbers and a batch index for each roi",
           describe(rois) + " and " + describe(batch_indices));
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  if (map.dim(2) == 0 || map.dim(3) == 0)
    c.fail(Code::run_bad_value, "a feature map with pixels", describe(map));
  const int64_t region = out.size() / rois.dim(0);
  c.parallel(rois.dim(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      c.poll();
      Region(op, c, r).pool(cpu::floats(out) + r * region);
    }
  });
}

}  // namespace

void cpu_roi_align(KernelCatalog& k) {
  k.add<RoiAlign>(
      {.op = "RoiAlign", .name = cpu::kernel_name("roi_align", Isa::generic), .temporaries = true},
      {.run = align_regions, .ask = ask_regions});
}

}  // namespace lathe
