// Records what Context::profile returns: a ring of the latest executions and a sum for each step. Recording
// allocates nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ticks.h"
#include "lathe/profile.h"
#include "runtime/step_cost.h"

namespace lathe {

/// The profiler of one context; used by one thread.
class Profiler {
 public:
  explicit Profiler(const Program& program);

  /// Forgets everything and makes the ring hold so many executions.
  void start(size_t events);
  /// How many executions the ring holds.
  size_t capacity() const { return ring_.size(); }
  /// Returns whether the next run is to be recorded. The first runs all are. After that, if timing takes long
  /// compared with the steps, so many are skipped that recording stays below 1 % of the time.
  bool takes_run() {
    if (passing_ == 0) return true;
    --passing_;
    ++passed_over_;
    return false;
  }
  void begin_run(uint64_t now) {
    run_start_ = now;
    depth_ = 0;
    recorded_before_ = recorded_;
  }
  void end_run(uint64_t now);

  /// While the steps of a graph run.
  class Inside {
   public:
    explicit Inside(Profiler* p) : profiler_(p) {
      if (p) ++p->depth_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
      if (profiler_) --profiler_->depth_;
    }

   private:
    Profiler* profiler_;
  };
  /// A step that took from `start` to `end`; `in_bodies` of it in the steps of its bodies.
  void record(size_t graph, size_t step, uint64_t start, uint64_t end, uint64_t in_bodies,
              const StepCost& cost);

  ShapeTexts& texts() { return texts_; }
  Profile report() const;

 private:
  struct Event {
    uint64_t start = 0, whole = 0, self = 0;
    double flops = 0, bytes = 0;
    uint32_t step = 0, depth = 0, shapes = 0;
  };
  static constexpr uint32_t whole_run = UINT32_MAX;  // in place of a step
  struct Sum {
    uint64_t count = 0, ticks = 0, least = UINT64_MAX;
    double flops = 0, bytes = 0;
    uint32_t shapes = 0;
  };
  void keep(const Event& e) {
    ring_[next_] = e;
    next_ = next_ + 1 == ring_.size() ? 0 : next_ + 1;
    ++recorded_;
  }
  uint64_t runs_to_pass(uint64_t ticks, uint64_t now) const;
  std::vector<StepProfile> steps() const;
  void add_event(const Event& e, Profile& p) const;

  const Program& program_;
  const TickClock& clock_;
  std::vector<uint32_t> first_;  // by graph: the number of its first step
  std::vector<Event> ring_;
  size_t next_ = 0;
  uint64_t recorded_ = 0;
  std::vector<Sum> sums_;  // by step
  ShapeTexts texts_;       // outlives a restart: memory plans keep indices
  uint64_t began_ = 0, run_start_ = 0, runs_ = 0, run_ticks_ = 0;
  uint32_t depth_ = 0;
  uint64_t event_ticks_ = 0;  // that recording one takes
  uint64_t recorded_before_ = 0, passing_ = 0, passed_over_ = 0;
};

}  // namespace lathe
