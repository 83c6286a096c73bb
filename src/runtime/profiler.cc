#include "runtime/profiler.h"

#include <algorithm>

namespace lathe {
namespace {

/// Runs from a start on that are all recorded.
constexpr uint64_t first_runs = 1000;
/// One in so many ticks may go into recording.
constexpr uint64_t share = 100;

/// Measures how long recording an execution takes: about twice as long as reading the clock.
uint64_t ticks_of_recording(const TickClock& clock) {
  constexpr uint64_t readings = 32;  // a processor has several under way
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const uint64_t start = clock.now();
    uint64_t end = start;
    for (uint64_t k = 0; k < readings; ++k) end = clock.now();
    least = std::min(least, TickClock::between(start, end));
  }
  return std::max<uint64_t>(1, 2 * least / readings);
}

}  // namespace

Profiler::Profiler(const Program& program) : program_(program), clock_(TickClock::get()) {
  uint32_t steps = 0;
  for (size_t g = 0; g < program.plan().graphs.size(); ++g) {
    first_.push_back(steps);
    steps += static_cast<uint32_t>(program.graph(g).steps.size());
  }
  sums_.resize(steps);
}

void Profiler::start(size_t events) {
  ring_.assign(events, {});
  std::fill(sums_.begin(), sums_.end(), Sum());
  next_ = 0;
  recorded_ = runs_ = run_ticks_ = passing_ = passed_over_ = 0;
  event_ticks_ = ticks_of_recording(clock_);
  began_ = clock_.now();
}

void Profiler::end_run(uint64_t now) {
  const uint64_t ticks = TickClock::between(run_start_, now);
  ++runs_;
  run_ticks_ += ticks;
  keep({.start = run_start_, .whole = ticks, .self = ticks, .step = whole_run});
  if (runs_ >= first_runs) passing_ = runs_to_pass(ticks, now);
}

/// How many runs to skip after one that took so long. The number varies with the last digits of the time, so
/// that periodic calls are all recorded now and then.
uint64_t Profiler::runs_to_pass(uint64_t ticks, uint64_t now) const {
  const uint64_t mean = (recorded_ - recorded_before_) * event_ticks_ * share / std::max<uint64_t>(1, ticks);
  return now % (2 * mean + 1);
}

void Profiler::record(size_t graph, size_t step, uint64_t start, uint64_t end, uint64_t in_bodies,
                      const StepCost& cost) {
  const uint32_t number = first_[graph] + static_cast<uint32_t>(step);
  const uint64_t whole = TickClock::between(start, end), self = TickClock::between(in_bodies, whole);
  Sum& sum = sums_[number];
  ++sum.count;
  sum.ticks += self;
  sum.least = std::min(sum.least, self);
  sum.flops += cost.flops;
  sum.bytes += cost.bytes;
  sum.shapes = cost.shapes;
  keep({start, whole, self, cost.flops, cost.bytes, number, depth_ - 1, cost.shapes});
}

std::vector<StepProfile> Profiler::steps() const {
  std::vector<StepProfile> list;
  for (size_t g = 0; g < first_.size(); ++g)
    for (const ProgramStep& s : program_.graph(g).steps) {
      const Sum& sum = sums_[list.size()];
      list.push_back({s.plan->node, s.plan->op, s.plan->kernel, s.plan->origin, s.plan->fused,
                      static_cast<uint32_t>(g), sum.count, clock_.seconds(sum.ticks),
                      sum.count ? clock_.seconds(sum.least) : 0, sum.flops, sum.bytes, sum.shapes});
    }
  return list;
}

void Profiler::add_event(const Event& e, Profile& p) const {
  const double start = clock_.seconds(TickClock::between(began_, e.start));
  if (e.step == whole_run)
    p.run_events.push_back({start, clock_.seconds(e.whole)});
  else
    p.events.push_back({e.step, e.depth, start, clock_.seconds(e.whole), clock_.seconds(e.self), e.flops,
                        e.bytes, e.shapes});
}

Profile Profiler::report() const {
  Profile p;
  p.steps = steps();
  const size_t kept = static_cast<size_t>(std::min<uint64_t>(recorded_, ring_.size()));
  for (size_t i = 0, at = (next_ + ring_.size() - kept) % std::max<size_t>(ring_.size(), 1); i < kept; ++i) {
    add_event(ring_[at], p);
    at = at + 1 == ring_.size() ? 0 : at + 1;
  }
  p.shapes = texts_.all();
  p.events_lost = recorded_ - kept;
  p.runs = runs_;
  p.runs_passed_over = passed_over_;
  p.run_seconds = clock_.seconds(run_ticks_);
  p.threads = program_.pool().threads();
  p.isa = name_of(program_.plan().target.isa);
  return p;
}

}  // namespace lathe
