#include "runtime/branches.h"

#include <algorithm>
#include <numeric>

#include "runtime/memory_plan.h"

namespace lathe {
namespace {

/// Microseconds that it takes to share work among threads.
constexpr double sharing = 3;
/// Microseconds that the pieces of a shared loop take at least.
constexpr double piece = 4;
/// The efficiency of threads that share one step: they wait for one another, and for data in each other's
/// caches.
constexpr double use = 0.9;
/// Steps that take more microseconds are shared among the threads: an error in their cost would be too
/// costly.
constexpr double small = 60;
/// Branches must save at least so many microseconds, and this part of the time.
constexpr double min_gain = 4, min_share = 0.15;
/// The most steps that branches may have.
constexpr size_t max_branch_steps = 48;

/// Estimates the time on one thread.
double microseconds(const StepCost& cost) {
  constexpr double call = 0.2, flops_a_microsecond = 50e3, bytes_a_microsecond = 30e3;
  return call + std::max(cost.flops / flops_a_microsecond, cost.bytes / bytes_a_microsecond);
}

/// The steps that make values, and the times of those that may be in branches.
class Steps {
 public:
  Steps(const ProgramGraph& g, std::span<const Slot> slots) : g_(g), slots_(slots), maker_(slots.size(), -1) {
    for (size_t i = 0; i < g.steps.size(); ++i) {
      for (int32_t v : g.steps[i].plan->outputs)
        if (v >= 0) maker_[static_cast<size_t>(v)] = static_cast<int64_t>(i);
      time_.push_back(fits(g.steps[i]) ? time_of(g.steps[i]) : -1);
    }
  }
  size_t count() const { return time_.size(); }
  /// Microseconds of the step; negative if it may not be in branches.
  double time(size_t step) const { return time_[step]; }
  /// Calls f(step) for each that made something that this one reads.
  template <class F>
  void for_each_source(size_t step, F&& f) const {
    const auto source = [&](int32_t v) {
      if (v >= 0 && maker_[static_cast<size_t>(v)] >= 0)
        f(static_cast<size_t>(maker_[static_cast<size_t>(v)]));
    };
    const PlanStep& s = *g_.steps[step].plan;
    for (int32_t v : s.inputs) source(v);
    if (s.epilogue)
      for (int32_t v : s.epilogue->operands) source(v);
  }

 private:
  /// Returns whether everything that the step needs exists before it runs. Lanes then share only the pool.
  bool fits(const ProgramStep& s) const {
    if (!s.kernel || s.memory != host_memory || s.kernel->temporaries || !s.plan->bodies.empty())
      return false;
    const auto known = [&](int32_t v) { return v < 0 || slots_[static_cast<size_t>(v)].known; };
    const auto placed = [&](int32_t v) {
      if (v < 0) return true;
      const Slot::Place place = slots_[static_cast<size_t>(v)].place;
      if (place == Slot::Place::alias)
        return slots_[g_.root[static_cast<size_t>(v)]].known &&
               slots_[g_.root[static_cast<size_t>(v)]].place != Slot::Place::run;
      return place == Slot::Place::arena || place == Slot::Place::output;
    };
    // One beside it may still read the input that it overwrites.
    const auto apart = [&](int32_t v) { return !g_.may_overwrite(v); };
    return std::ranges::all_of(s.plan->outputs, apart) && std::ranges::all_of(s.plan->inputs, known) &&
           std::ranges::all_of(s.plan->outputs, known) && std::ranges::all_of(s.plan->outputs, placed) &&
           (!s.epilogue || std::ranges::all_of(s.plan->epilogue->operands, known));
  }

  double time_of(const ProgramStep& s) const {
    const double t = microseconds(cost_of(g_, s, [&](uint32_t v) -> CostOperand {
      return {slots_[v].type, slots_[v].known ? &slots_[v].shape : nullptr};
    }));
    return t <= small ? t : -1;
  }

  const ProgramGraph& g_;
  std::span<const Slot> slots_;
  std::vector<int64_t> maker_;  // by value
  std::vector<double> time_;    // by step
};

/// Steps that depend on one another, among those that follow on `first`.
class Components {
 public:
  explicit Components(size_t first) : first_(first) {}
  void add(const Steps& steps, size_t step) {
    of_.push_back(step - first_);
    time_.push_back(steps.time(step));
    longest_ = std::max(longest_, time_.back());
    steps.for_each_source(step, [&](size_t source) {
      if (source < first_) return;
      const size_t a = find(source - first_), b = find(step - first_);
      if (a == b) return;
      of_[b] = a;
      time_[a] += time_[b];
      longest_ = std::max(longest_, time_[a]);
    });
  }
  /// Microseconds of the one that takes longest.
  double longest() const { return longest_; }
  size_t find(size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  double time(size_t i) const { return time_[i]; }

 private:
  size_t first_;
  std::vector<size_t> of_;    // by step: another of the same, or itself
  std::vector<double> time_;  // of those that are their own: of all their steps
  double longest_ = 0;
};

/// How long a step takes that all threads share.
double shared_time(double time, int threads) {
  const double apart = std::min<double>(threads, time / piece);
  return apart < 2 ? time : std::min(time, time / (apart * use) + sharing);
}

/// Distributes components over lanes, the longest first, each to the lane that has least to do.
Branches make_branches(const Steps& steps, size_t first, size_t end, int threads) {
  Components components(first);
  for (size_t i = first; i < end; ++i) components.add(steps, i);
  std::vector<size_t> roots;
  for (size_t i = 0; i < end - first; ++i)
    if (components.find(i) == i) roots.push_back(i);
  std::ranges::stable_sort(roots, std::ranges::greater(), [&](size_t r) { return components.time(r); });
  std::vector<double> load(std::min(roots.size(), static_cast<size_t>(threads)));
  std::vector<size_t> lane_of(end - first);
  for (size_t r : roots) {
    const auto least = std::ranges::min_element(load);
    lane_of[r] = static_cast<size_t>(least - load.begin());
    *least += components.time(r);
  }
  Branches b{static_cast<uint32_t>(first), static_cast<uint32_t>(end), {}};
  b.lanes.resize(load.size());
  for (size_t i = first; i < end; ++i)
    b.lanes[lane_of[components.find(i - first)]].push_back(static_cast<uint32_t>(i));
  return b;
}

}  // namespace

// The shortest way through the steps: best[i] is what those from i on take, and next[i] where the first of
// them end that run side by side.
std::vector<Branches> find_branches(const ProgramGraph& graph, std::span<const Slot> slots, int threads) {
  const Steps steps(graph, slots);
  const size_t n = steps.count();
  std::vector<double> best(n + 1);
  std::vector<size_t> next(n);
  for (size_t i = n; i-- > 0;) {
    next[i] = i + 1;
    best[i] = best[i + 1];
    if (steps.time(i) < 0) continue;
    best[i] += shared_time(steps.time(i), threads);
    Components components(i);
    double total = 0, in_order = 0;
    for (size_t j = i; j < n && j < i + max_branch_steps && steps.time(j) >= 0; ++j) {
      components.add(steps, j);
      total += steps.time(j);
      in_order += shared_time(steps.time(j), threads);
      const double together = std::max(components.longest(), total / threads) + sharing;
      if (in_order - together < std::max(min_gain, min_share * in_order)) continue;
      if (together + best[j + 1] >= best[i]) continue;
      best[i] = together + best[j + 1];
      next[i] = j + 1;
    }
  }
  std::vector<Branches> found;
  for (size_t i = 0; i < n; i = next[i])
    if (next[i] > i + 1) found.push_back(make_branches(steps, i, next[i], threads));
  return found;
}

}  // namespace lathe
