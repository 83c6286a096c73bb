// NonMaxSuppression: classes side by side; blocks of scores below the threshold are skipped, the best
// candidates come from a heap one by one until there are enough, and each is compared with many kept boxes at
// a time. The arithmetic is the reference's, bit for bit: the selection must be equal. Boxes and scores may
// be floats of 16 bits, which no operator allows: the builder leaves them so.
#include "ops/non_max_suppression/non_max_suppression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu/simd/f16.h"
#include "cpu/support.h"
#include "cpu/tasks.h"
#include "ops/non_max_suppression/box.h"
#include "ops/poller.h"

namespace lathe {
namespace {

struct Candidate {
  float score;
  int64_t box;
};

/// The memory for selecting a class's boxes, enough for all of them.
class ClassScratch {
 public:
  static constexpr size_t lines = 5;
  static size_t bytes(int64_t boxes) {
    return static_cast<size_t>(boxes) * (sizeof(Candidate) + sizeof(int64_t) + lines * sizeof(float));
  }
  ClassScratch(void* memory, int64_t boxes)
      : candidates(static_cast<Candidate*>(memory)),
        kept(reinterpret_cast<int64_t*>(candidates + boxes)),
        line_(reinterpret_cast<float*>(kept + boxes)),
        boxes_(boxes) {}
  float* line(size_t i) const { return line_ + static_cast<int64_t>(i) * boxes_; }

  Candidate* const candidates;
  int64_t* const kept;  // numbers of boxes, best first

 private:
  float* line_;
  int64_t boxes_;
};

/// The boxes kept so far, coordinate by coordinate.
class KeptBoxes {
 public:
  explicit KeptBoxes(const ClassScratch& scratch)
      : number_(scratch.kept),
        x_min_(scratch.line(0)),
        y_min_(scratch.line(1)),
        x_max_(scratch.line(2)),
        y_max_(scratch.line(3)),
        area_(scratch.line(4)) {}
  int64_t size() const { return size_; }
  void add(const Box& b, int64_t number) {
    number_[size_] = number;
    x_min_[size_] = b.x_min;
    y_min_[size_] = b.y_min;
    x_max_[size_] = b.x_max;
    y_max_[size_] = b.y_max;
    area_[size_++] = b.area();
  }
  /// Returns whether a kept box overlaps `b` by more than `threshold`.
  bool suppress(const Box& b, float threshold, Poller& poll) const {
    const float area = b.area();
    if (!(area > 0)) return false;
    for (int64_t first = 0; first < size_; first += block) {
      poll.did(block);
      if (any_over(b, area, threshold, first, std::min(first + block, size_))) return true;
    }
    return false;
  }

 private:
  static constexpr int64_t block = 32;

  /// Branches are avoided inside, so that it is vectorized; see overlap().
  bool any_over(const Box& b, float area, float threshold, int64_t first, int64_t end) const {
    int any = 0;
    for (int64_t i = first; i < end; ++i) {
      const float width = std::min(b.x_max, x_max_[i]) - std::max(b.x_min, x_min_[i]);
      const float height = std::min(b.y_max, y_max_[i]) - std::max(b.y_min, y_min_[i]);
      const float common = width * height, all = area + area_[i] - common;
      any |= static_cast<int>(width > 0) & static_cast<int>(height > 0) & static_cast<int>(area_[i] > 0) &
             static_cast<int>(all > 0) & static_cast<int>(common / all > threshold);
    }
    return any != 0;
  }

  int64_t* number_;
  float *x_min_, *y_min_, *x_max_, *y_max_, *area_;
  int64_t size_ = 0;
};

/// Orders candidates; of equal scores the first box is better.
bool is_worse(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.box > b.box);
}

const Tensor* number_input(KernelContext& c, size_t i) {
  return c.has(i) && c.in(i).size() == 1 ? &c.in(i) : nullptr;
}

template <Isa isa>
class Suppression {
 public:
  Suppression(const NonMaxSuppression& op, KernelContext& c)
      : op_(op), c_(c), boxes_(c.in(0)), scores_(c.in(1)) {
    const Tensor *most = number_input(c, 2), *iou = number_input(c, 3), *least = number_input(c, 4);
    limit_ = most ? std::max<int64_t>(0, most->as<int64_t>()[0]) : 0;
    iou_threshold_ = iou ? iou->as<float>()[0] : 0;
    if (least) min_score_ = least->as<float>()[0];
    any_score_ = !least;
    if (!(iou_threshold_ >= 0 && iou_threshold_ <= 1))
      c.fail(Code::run_bad_value, "iou_threshold in [0, 1]", std::to_string(iou_threshold_));
  }

  static size_t workspace(int64_t tasks, int64_t boxes, int threads) {
    return static_cast<size_t>(cpu::task_slots(tasks, threads) * slot(boxes));
  }

  void run() {
    const int64_t classes = scores_.dim(1), boxes = scores_.dim(2), all = scores_.dim(0) * classes;
    auto* const scratch = static_cast<std::byte*>(c_.workspace(workspace(all, boxes, c_.threads())));
    const int64_t tasks = limit_ == 0 || boxes == 0 ? 0 : all;
    // The indices of the selected boxes, for each class of each image.
    std::pmr::vector<std::pmr::vector<int64_t>> selected(static_cast<size_t>(tasks), c_.scratch());
    cpu::for_each_task(c_, tasks, [&](int64_t task, int64_t at) {
      const ClassScratch own(scratch + at * slot(boxes), boxes);
      const int64_t kept = select(own, task, task / classes * boxes, boxes);
      selected[static_cast<size_t>(task)].assign(own.kept, own.kept + kept);
    });
    write(selected, classes);
  }

 private:
  static int64_t slot(int64_t boxes) {
    return static_cast<int64_t>((ClassScratch::bytes(boxes) + 63) / 64 * 64);
  }

  /// Selects boxes of a class into `scratch` and returns their number. `first`: of the image's boxes.
  int64_t select(const ClassScratch& scratch, int64_t task, int64_t first, int64_t boxes) {
    Poller poll(c_);
    const auto worse = [&](const Candidate& a, const Candidate& b) {
      poll.did(1);
      return is_worse(a, b);
    };
    Candidate* end = find_candidates(scratch.candidates, task * boxes, boxes, poll);
    std::make_heap(scratch.candidates, end, worse);
    KeptBoxes kept(scratch);
    for (; end != scratch.candidates && kept.size() < limit_; --end) {
      std::pop_heap(scratch.candidates, end, worse);
      const int64_t best = std::prev(end)->box;
      std::array<float, 4> corners;
      const Box box(elements(boxes_, (first + best) * 4, 4, corners.data()), op_.center_point_box);
      if (!kept.suppress(box, iou_threshold_, poll)) kept.add(box, best);
    }
    return kept.size();
  }

  /// The end of them.
  Candidate* find_candidates(Candidate* to, int64_t first, int64_t count, Poller& poll) {
    constexpr int64_t block = 64, widened = 8 * block;
    std::array<float, widened> buffer;
    const float* all = nullptr;
    for (int64_t i = 0; i < count; i += block) {
      const int64_t in = i % widened, n = std::min(block, count - i);
      if (in == 0) all = elements(scores_, first + i, std::min(widened, count - i), buffer.data());
      const float* const score = all + in;
      poll.did(n);
      int any = 0;  // NaN is above nothing
      for (int64_t j = 0; j < n; ++j) any |= static_cast<int>(score[j] > min_score_);
      if (!any && !any_score_) continue;
      for (int64_t j = 0; j < n; ++j)
        if (any_score_ ? !std::isnan(score[j]) : score[j] > min_score_) *to++ = {score[j], i + j};
    }
    return to;
  }

  /// Elements of an input as float32.
  static const float* elements(const Tensor& t, int64_t first, int64_t n, float* buffer) {
    return cpu::widened(isa, t.type(), t.data(), first, n, buffer);
  }

  void write(const std::pmr::vector<std::pmr::vector<int64_t>>& selected, int64_t classes) {
    size_t n = 0;
    for (const auto& boxes : selected) n += boxes.size();
    int64_t* to = c_.out(0, DataType::int64, {static_cast<int64_t>(n), 3}).template as<int64_t>().data();
    Poller poll(c_);
    for (size_t task = 0; task < selected.size(); ++task)
      for (const int64_t box : selected[task]) {
        poll.did(3);
        *to++ = static_cast<int64_t>(task) / classes;
        *to++ = static_cast<int64_t>(task) % classes;
        *to++ = box;
      }
  }

  const NonMaxSuppression& op_;
  KernelContext& c_;
  const Tensor &boxes_, &scores_;
  int64_t limit_ = 0;
  float iou_threshold_ = 0, min_score_ = 0;
  bool any_score_ = true;
};

Support supports(const NonMaxSuppression&, const KernelQuery& r) {
  for (size_t i : {0, 1})
    if (r.inputs[i].type != DataType::float32 && !cpu::is_f16(r.inputs[i].type))
      return Support::no("only floats of up to 32 bits");
  return Support::yes();
}

template <Isa isa>
size_t workspace(const NonMaxSuppression&, std::span<const Shape> inputs, int threads) {
  const Shape& scores = inputs[1];
  if (scores.size() != 3) return 0;  // the shape rule says what is wrong
  return Suppression<isa>::workspace(scores[0] * scores[1], scores[2], threads);
}

/// The memory of the lists of selected boxes, one for each class of each image.
std::optional<size_t> scratch(const NonMaxSuppression&, std::span<const Shape> inputs,
                              std::span<const Shape> outputs) {
  constexpr size_t alignment = 64;
  if (inputs[1].size() != 3 || outputs[0].size() != 2) return std::nullopt;
  if (count_of(inputs[1]) == 0) return 0;
  const auto lists = static_cast<size_t>(inputs[1][0] * inputs[1][1]);
  return lists * (sizeof(std::pmr::vector<int64_t>) + alignment) + alignment +
         static_cast<size_t>(outputs[0][0]) * sizeof(int64_t);
}

template <Isa isa>
void run(const NonMaxSuppression& op, KernelContext& c) {
  Suppression<isa>(op, c).run();
}

}  // namespace

void cpu_non_max_suppression(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<NonMaxSuppression>(
        {.op = "NonMaxSuppression",
         .name = cpu::kernel_name("non_max_suppression", isa),
         .isa = isa,
         .temporaries = true},
        {.run = run<isa>, .supports = supports, .workspace = workspace<isa>, .scratch = scratch});
  });
}

}  // namespace lathe
