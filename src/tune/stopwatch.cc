#include "tune/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "lathe/values.h"
#include "runtime/frame.h"
#include "runtime/packing.h"
#include "tensor/alignment.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int max_rounds = 100;
/// Rounds after which a tactic may be left behind, and by how much.
constexpr int fair_rounds = 3;
constexpr double hopeless = 1.5;

/// The problem as a plan of one step.
Plan plan_of(const Problem& p, const Tactic& t) {
  Plan plan;
  plan.target.isa = p.isa;
  PlanGraph& g = plan.graphs.emplace_back();
  PlanStep step;
  step.op = p.op;
  step.domain = p.domain;
  step.kernel = t.kernel->name;
  step.attributes = p.attributes;
  step.tunables = t.tunables;
  const auto add = [&](const Problem::Operand& o, ValueRole role) -> int32_t {
    if (!o.present) return -1;
    PlanValue v;
    v.name = "v" + std::to_string(g.values.size());
    v.role = role;
    v.type.elem = o.type;
    if (o.shape) v.type.shape = SymShape(o.shape->begin(), o.shape->end());
    const auto index = static_cast<uint32_t>(g.values.size());
    if (o.constant) {
      v.weight = static_cast<int32_t>(plan.weights.size());
      plan.weights.push_back({v.name, {}, Value(aligned(*o.constant))});
    } else {
      (role == ValueRole::input ? g.inputs : g.outputs).push_back(index);
    }
    g.values.push_back(std::move(v));
    return static_cast<int32_t>(index);
  };
  for (const auto& o : p.inputs)
    step.inputs.push_back(add(o, o.constant ? ValueRole::constant : ValueRole::input));
  for (const auto& o : p.outputs) step.outputs.push_back(add(o, ValueRole::computed));
  g.steps.push_back(std::move(step));
  return plan;
}

/// Evicts the tensor from all caches.
void forget(const Tensor& t) {
#if defined(__x86_64__)
  const char* const data = static_cast<const char*>(t.data());
  for (size_t i = 0; data && i < t.bytes(); i += 64) _mm_clflush(data + i);
  _mm_mfence();
#else
  static_cast<void>(t);
#endif
}

/// A tactic that is ready to run.
class Runner {
 public:
  Runner(const Problem& p, const Tactic& t, const Extensions& extensions, const StopwatchOptions& o)
      : streamed_(p.streamed),
        program_(packed_plan(p, t, extensions, o), borrowed(extensions), {1, {}, false, o.memory_limit}),
        state_(program_),
        frame_(state_, 0, nullptr, nullptr) {
    state_.control = o.control;
  }

  /// Microseconds.
  double run(std::span<const Value> inputs) {
    if (streamed_)
      for (const Weight& w : program_.plan().weights) forget(w.value.tensor());
    const auto start = Clock::now();
    frame_.run(inputs, {});
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

 private:
  static Plan packed_plan(const Problem& p, const Tactic& t, const Extensions& extensions,
                          const StopwatchOptions& o) {
    Plan plan = plan_of(p, t);
    const OpCodec& codec = *extensions.kernels().codec_of(p.domain, p.op);
    Packing packing;
    packing.add(plan, plan.graphs[0], plan.graphs[0].steps[0], *t.kernel,
                decode_for(*t.kernel, codec, p.attributes, t.tunables));
    packing.run(plan, 1, {}, o.control);
    return plan;
  }
  /// Returns a pointer that does not own: the program is destroyed before the extensions.
  static std::shared_ptr<const Extensions> borrowed(const Extensions& e) {
    return {std::shared_ptr<const Extensions>(), &e};
  }

  bool streamed_;
  Program program_;
  RunState state_;
  Frame frame_;
};

/// Returns false if `f` fails, so that the tactic is no longer timed. Cancellation and deadlines are
/// rethrown.
template <class F>
bool works(F&& f) {
  try {
    f();
    return true;
  } catch (const Error& e) {
    if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

class Race {
 public:
  Race(const Problem& p, std::span<const Tactic> tactics, const Extensions& extensions,
       const StopwatchOptions& options)
      : options_(options) {
    for (const auto& o : p.inputs)
      if (o.present && !o.constant) inputs_.emplace_back(random_tensor(o.type, *o.shape, inputs_.size() + 1));
    for (const Tactic& t : tactics) {
      Entrant& e = entrants_.emplace_back();
      e.running = goes_on() && works([&] {
                    e.runner = std::make_unique<Runner>(p, t, extensions, options_);
                    e.runner->run(inputs_);  // the first run takes its memory
                  });
      if (!e.running) e.runner.reset();
    }
  }

  std::vector<std::optional<double>> run() {
    const auto start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    for (int i = 0; i < max_rounds && (i < options_.rounds || seconds() < options_.seconds); ++i) {
      if (!round()) break;
      if (i + 1 >= fair_rounds) leave_behind();
    }
    std::vector<std::optional<double>> times;
    for (const Entrant& e : entrants_) times.push_back(e.best);
    return times;
  }

 private:
  struct Entrant {
    std::unique_ptr<Runner> runner;
    std::optional<double> best;
    bool running = false;
  };

  bool goes_on() const {
    if (options_.control) options_.control->check();
    return !options_.go_on || options_.go_on();
  }
  /// Times every entrant once. Returns false if it was stopped before.
  bool round() {
    for (Entrant& e : entrants_) {
      if (!e.running) continue;
      if (!goes_on()) return false;
      e.running = works([&] {
        const double took = e.runner->run(inputs_);
        e.best = std::min(took, e.best.value_or(took));
      });
      if (!e.running) e.best.reset();
    }
    return true;
  }
  void leave_behind() {
    double best = INFINITY;
    for (const Entrant& e : entrants_) best = std::min(best, e.best.value_or(INFINITY));
    for (Entrant& e : entrants_)
      if (e.running && *e.best > hopeless * best) {
        e.running = false;
        e.runner.reset();
      }
  }

  const StopwatchOptions& options_;
  std::vector<Value> inputs_;
  std::vector<Entrant> entrants_;
};

}  // namespace

std::vector<std::optional<double>> time_tactics(const Problem& problem, std::span<const Tactic> tactics,
                                                const Extensions& extensions,
                                                const StopwatchOptions& options) {
  std::vector<std::optional<double>> times(tactics.size());
  works([&] { times = Race(problem, tactics, extensions, options).run(); });
  return times;
}

}  // namespace lathe
