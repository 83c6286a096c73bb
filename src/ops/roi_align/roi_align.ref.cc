#include "ops/roi_align/roi_align.h"

#include <cmath>

#include "ops/movement.h"
#include "ops/roi_align/roi_samples.h"

namespace lathe {
namespace {

template <class T>
void roi_align_channel(const RoiAlign& op, const T* map, const std::pmr::vector<RoiSample>& samples, T& out) {
  const auto term = [&](const RoiSample& s, size_t k) {
    return s.weight[k] * static_cast<double>(Element<T>::load(map[s.at[k]]));
  };
  double value = 0;
  bool first = true;
  for (const RoiSample& s : samples) {
    if (op.mode == "avg") {
      value += term(s, 0) + term(s, 1) + term(s, 2) + term(s, 3);
    } else {
      const double best = std::max({term(s, 0), term(s, 1), term(s, 2), term(s, 3)});
      value = first ? best : std::max(value, best);
      first = false;
    }
  }
  if (op.mode == "avg" && !samples.empty()) value /= static_cast<double>(samples.size());
  out = Element<T>::store(static_cast<Compute<T>>(value));
}

void roi_align(const RoiAlign& op, KernelContext& c) {
  const Tensor &map = c.in(0), &rois = c.in(1);
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  check_regions(c);
  const int64_t channels = map.dim(1), height = map.dim(2), width = map.dim(3),
                bins = op.output_height * op.output_width;
  for_type(map.type(), float_types, [&]<class T> {
    Poller poll(c);
    std::pmr::vector<RoiSample> samples(c.scratch());
    for (int64_t r = 0; r < rois.dim(0); ++r) {
      const auto corner = [&](int64_t k) { return load_double(rois, 4 * r + k); };
      const RoiSide h = roi_side(op, corner(1), corner(3), op.output_height, c);
      const RoiSide w = roi_side(op, corner(0), corner(2), op.output_width, c);
      const int64_t n = image_of(c, r);
      for (int64_t bin = 0; bin < bins; ++bin) {
        const double y = h.start + static_cast<double>(bin / op.output_width) * h.bin;
        const double x = w.start + static_cast<double>(bin % op.output_width) * w.bin;
        samples.clear();
        for (int64_t i = 0; i < h.samples; ++i)
          for (int64_t j = 0; j < w.samples; ++j) {
            poll.did(1);
            samples.push_back(roi_sample(
                y + (static_cast<double>(i) + 0.5) * h.bin / static_cast<double>(h.samples),
                x + (static_cast<double>(j) + 0.5) * w.bin / static_cast<double>(w.samples), height, width));
          }
        for (int64_t k = 0; k < channels; ++k) {
          poll.did(static_cast<int64_t>(samples.size()) + 1);
          roi_align_channel<T>(op, map.as<T>().data() + (n * channels + k) * height * width, samples,
                               out.as<T>()[static_cast<size_t>((r * channels + k) * bins + bin)]);
        }
      }
    }
  });
}

}  // namespace

void reference_roi_align(KernelCatalog& k) { k.reference<RoiAlign>("RoiAlign", roi_align); }

}  // namespace lathe
