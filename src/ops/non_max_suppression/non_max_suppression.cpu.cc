// NonMaxSuppression: scores below the threshold are passed over in blocks, the best candidates come from a
// heap one by one until there are enough, and each is held against many kept boxes at a time. The arithmetic
// is the reference's, bit for bit: what is selected must be equal.
#include "ops/non_max_suppression/non_max_suppression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu/ask.h"
#include "ops/non_max_suppression/box.h"
#include "ops/poller.h"

namespace lathe {
namespace {

struct Candidate {
  float score;
  int64_t box;
};

/// The boxes kept so far, coordinate by coordinate.
class KeptBoxes {
 public:
  explicit KeptBoxes(std::pmr::memory_resource* m) : x_min_(m), y_min_(m), x_max_(m), y_max_(m), area_(m) {}
  int64_t size() const { return static_cast<int64_t>(area_.size()); }
  void clear() {
    for (auto* v : {&x_min_, &y_min_, &x_max_, &y_max_, &area_}) v->clear();
  }
  void add(const Box& b) {
    x_min_.push_back(b.x_min);
    y_min_.push_back(b.y_min);
    x_max_.push_back(b.x_max);
    y_max_.push_back(b.y_max);
    area_.push_back(b.area());
  }
  /// Does one of them overlap this box by more than that?
  bool suppress(const Box& b, float threshold, Poller& poll) const {
    const float area = b.area();
    if (!(area > 0)) return false;
    for (size_t first = 0; first < area_.size(); first += block) {
      poll.did(block);
      if (any_over(b, area, threshold, first, std::min(first + block, area_.size()))) return true;
    }
    return false;
  }

 private:
  static constexpr size_t block = 32;

  /// Without branches inside, so that it becomes vector code; see overlap().
  bool any_over(const Box& b, float area, float threshold, size_t first, size_t end) const {
    int any = 0;
    for (size_t i = first; i < end; ++i) {
      const float width = std::min(b.x_max, x_max_[i]) - std::max(b.x_min, x_min_[i]);
      const float height = std::min(b.y_max, y_max_[i]) - std::max(b.y_min, y_min_[i]);
      const float common = width * height, all = area + area_[i] - common;
      any |= static_cast<int>(width > 0) & static_cast<int>(height > 0) & static_cast<int>(area_[i] > 0) &
             static_cast<int>(all > 0) & static_cast<int>(common / all > threshold);
    }
    return any != 0;
  }

  std::pmr::vector<float> x_min_, y_min_, x_max_, y_max_, area_;
};

/// Calls f(i) for every score above the threshold, in order; NaN is above nothing.
template <class F>
void each_above(const float* score, int64_t count, float threshold, Poller& poll, F f) {
  constexpr int64_t block = 64;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t end = std::min(first + block, count);
    int any = 0;
    for (int64_t i = first; i < end; ++i) any |= static_cast<int>(score[i] > threshold);
    poll.did(end - first);
    if (!any) continue;
    for (int64_t i = first; i < end; ++i)
      if (score[i] > threshold) f(i);
  }
}

const Tensor* number_input(KernelContext& c, size_t i) {
  return c.has(i) && c.in(i).size() == 1 ? &c.in(i) : nullptr;
}

class Suppression {
 public:
  Suppression(const NonMaxSuppression& op, KernelContext& c)
      : op_(op), c_(c), poll_(c), candidates_(c.scratch()), kept_(c.scratch()), selected_(c.scratch()) {
    const Tensor *most = number_input(c, 2), *iou = number_input(c, 3), *least = number_input(c, 4);
    limit_ = most ? std::max<int64_t>(0, most->as<int64_t>()[0]) : 0;
    iou_threshold_ = iou ? iou->as<float>()[0] : 0;
    if (least) least_score_ = least->as<float>()[0];
    any_score_ = !least;
    if (!(iou_threshold_ >= 0 && iou_threshold_ <= 1))
      c.fail(Code::run_bad_value, "iou_threshold in [0, 1]", std::to_string(iou_threshold_));
  }

  void run() {
    const Tensor& scores = c_.in(1);
    const int64_t classes = scores.dim(1), count = scores.size() == 0 ? 0 : scores.dim(2);
    const int64_t batches = limit_ == 0 || count == 0 ? 0 : c_.in(0).dim(0);
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t kind = 0; kind < classes; ++kind) {
        find_candidates(scores.as<float>().data() + (batch * classes + kind) * count, count);
        select(batch, kind, c_.in(0).as<float>().data() + batch * count * 4);
      }
    write();
  }

 private:
  /// Of equal scores the first box is better.
  auto worse() {
    return [this](const Candidate& a, const Candidate& b) {
      poll_.did(1);
      return a.score < b.score || (a.score == b.score && a.box > b.box);
    };
  }

  void find_candidates(const float* score, int64_t count) {
    candidates_.clear();
    const auto take = [&](int64_t i) { candidates_.push_back({score[i], i}); };
    if (any_score_)
      for (int64_t i = 0; i < count; ++i) {
        poll_.did(1);
        if (!std::isnan(score[i])) take(i);
      }
    else
      each_above(score, count, least_score_, poll_, take);
    std::make_heap(candidates_.begin(), candidates_.end(), worse());
  }

  void select(int64_t batch, int64_t kind, const float* boxes) {
    kept_.clear();
    for (auto end = candidates_.end(); end != candidates_.begin() && kept_.size() < limit_; --end) {
      std::pop_heap(candidates_.begin(), end, worse());
      const int64_t best = std::prev(end)->box;
      const Box box(boxes + best * 4, op_.center_point_box);
      if (kept_.suppress(box, iou_threshold_, poll_)) continue;
      kept_.add(box);
      selected_.push_back({batch, kind, best});
    }
  }

  void write() {
    const auto n = static_cast<int64_t>(selected_.size());
    int64_t* const to = c_.out(0, DataType::int64, {n, 3}).as<int64_t>().data();
    poll_.pieces(n, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(selected_[static_cast<size_t>(i)].begin(), 3, to + 3 * i);
    });
  }

  const NonMaxSuppression& op_;
  KernelContext& c_;
  Poller poll_;
  int64_t limit_ = 0;
  float iou_threshold_ = 0, least_score_ = 0;
  bool any_score_ = true;
  std::pmr::vector<Candidate> candidates_;
  KeptBoxes kept_;
  std::pmr::vector<std::array<int64_t, 3>> selected_;
};

void non_max_suppression(const NonMaxSuppression& op, KernelContext& c) { Suppression(op, c).run(); }

}  // namespace

void cpu_non_max_suppression(KernelCatalog& k) {
  k.add<NonMaxSuppression>({.op = "NonMaxSuppression",
                            .name = cpu::kernel_name("non_max_suppression", Isa::generic),
                            .temporaries = true},
                           {.run = non_max_suppression});
}

}  // namespace lathe
