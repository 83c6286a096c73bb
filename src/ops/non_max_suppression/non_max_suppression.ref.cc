#include "ops/non_max_suppression/non_max_suppression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernel/kernel.h"
#include "ops/movement.h"
#include "ops/non_max_suppression/box.h"

namespace lathe {
namespace {

/// An optional input of one number.
const Tensor* number_input(KernelContext& c, size_t i) {
  return c.has(i) && c.in(i).size() == 1 ? &c.in(i) : nullptr;
}

void non_max_suppression(const NonMaxSuppression& op, KernelContext& c) {
  const Tensor &boxes = c.in(0), &scores = c.in(1);
  const Tensor *most = number_input(c, 2), *iou = number_input(c, 3), *min_score = number_input(c, 4);
  const int64_t limit = most ? std::max<int64_t>(0, most->as<int64_t>()[0]) : 0;
  const float iou_threshold = iou ? iou->as<float>()[0] : 0;
  if (!(iou_threshold >= 0 && iou_threshold <= 1))
    c.fail(Code::run_bad_value, "iou_threshold in [0, 1]", std::to_string(iou_threshold));
  const int64_t classes = scores.dim(1), count = scores.size() == 0 ? 0 : scores.dim(2);

  Poller poll(c);
  std::pmr::vector<int64_t> candidates(c.scratch());
  std::pmr::vector<Box> kept(c.scratch());
  std::pmr::vector<std::array<int64_t, 3>> selected(c.scratch());
  const int64_t batches = limit == 0 || count == 0 ? 0 : boxes.dim(0);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t kind = 0; kind < classes; ++kind) {
      const float* score = scores.as<float>().data() + (batch * classes + kind) * count;
      candidates.clear();
      kept.clear();
      for (int64_t i = 0; i < count; ++i) {
        poll.did(1);
        if (!std::isnan(score[i]) && (!min_score || score[i] > min_score->as<float>()[0]))
          candidates.push_back(i);
      }
      std::sort(candidates.begin(), candidates.end(), [&](int64_t a, int64_t b) {
        poll.did(1);
        return score[a] > score[b] || (score[a] == score[b] && a < b);
      });
      for (int64_t i : candidates) {
        if (static_cast<int64_t>(kept.size()) == limit) break;
        poll.did(1);
        const Box box(boxes.as<float>().data() + (batch * count + i) * 4, op.center_point_box);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
              poll.did(1);
              return overlap(box, better) > iou_threshold;
            }))
          continue;
        kept.push_back(box);
        selected.push_back({batch, kind, i});
      }
    }
  const auto to = c.out(0, DataType::int64, {static_cast<int64_t>(selected.size()), 3}).as<int64_t>();
  for (size_t i = 0; i < selected.size(); ++i) {
    poll.did(3);
    std::copy(selected[i].begin(), selected[i].end(), to.begin() + static_cast<std::ptrdiff_t>(3 * i));
  }
}

}  // namespace

void reference_non_max_suppression(KernelCatalog& k) {
  k.reference<NonMaxSuppression>("NonMaxSuppression", non_max_suppression);
}

}  // namespace lathe
