#include "runtime/engine_impl.h"
#include "runtime/float_state.h"
#include "runtime/profile_reserve.h"
#include "runtime/state_impl.h"

namespace lathe {
namespace {

/// Returns whether inputs of other sizes than declared may be the reason for an error.
bool is_about_sizes(Code c) {
  return c == Code::run_bad_shape || c == Code::node_bad_shape || c == Code::tensor_bad_shape ||
         c == Code::run_bad_value || c == Code::node_bad_value;
}

/// A copy that shares nothing with the engine, the context or the inputs.
Value detached(const Value& v, MemoryCharge& charge) {
  if (!v.is_tensor()) return owned(v);
  charge.take(aligned_size(v.tensor().bytes()));
  return v.tensor().clone();
}

[[noreturn]] void refuse_state(const std::string& output) {
  throw Error(Code::bad_argument, "run", "an output that is no state", "'" + output + "'",
              "the state that is bound to its input has it: State::tensor");
}

}  // namespace

struct Context::Impl {
  explicit Impl(std::shared_ptr<const Engine::State> s)
      : serving(std::move(s)),
        version(serving->version()),
        engine(serving->current()),
        work(std::make_unique<Work>(engine->program)),
        inputs(engine->inputs.size()),
        bound(engine->outputs.size()),
        states(engine->program.plan().states.size()),
        sizes(engine->validator.no_sizes()) {
    prepare();
  }

  /// The state and the main frame for runs of one program.
  struct Work {
    explicit Work(const Program& p) : state(p), frame(state, 0, nullptr, nullptr) {}
    RunState state;
    Frame frame;
  };
  RunState& state() { return work->state; }
  Frame& frame() { return work->frame; }

  /// If every input has only one shape, plans and allocates memory before the first run.
  void prepare() {
    const bool fixed = std::ranges::all_of(engine->inputs, [](const IoInfo& in) {
      return in.element_type != DataType::undefined && !in.optional && in.shape &&
             std::ranges::all_of(*in.shape, [](const Dim& d) { return d.is_constant(); });
    });
    if (!fixed || state().account.is_limited()) return;
    try {
      frame().prepare(engine->key_for({}));
    } catch (const Error&) {  // the run will say what is wrong
    }
  }

  /// Called before a run: changes over to the engine's current weights and repeats reservations.
  void take_weights() {
    const uint64_t newest = serving->version();
    if (newest == version) return;
    std::shared_ptr<const Engine::Impl> now = serving->current();
    auto fresh = std::make_unique<Work>(now->program);
    RunState &before = work->state, &after = fresh->state;
    after.tap = std::move(before.tap);
    after.step_listener = std::move(before.step_listener);
    after.clock = before.clock;
    if (before.profiling) {
      after.profiler = std::make_unique<Profiler>(now->program);
      after.profiler->start(before.profiler->capacity());
      after.profiling = true;
    } else if (before.profiler) {
      recorded = before.profiler->report();
    }
    peak_before = std::max(peak_before, before.account.peak());
    work = std::move(fresh);  // what the old one held is free before the new one takes anything
    engine = std::move(now);
    version = newest;
    if (!reserved.empty())
      frame().reserve(reserve_of(*engine, engine->profile(reserved)));
    else
      prepare();
  }

  /// One run at a time: a second one, of another thread or of a tap, is an error instead of a race.
  class Turn {
   public:
    explicit Turn(Impl& i) : busy_(i.busy) {
      if (busy_.exchange(true, std::memory_order_acquire))
        throw Error(Code::bad_argument, "run", "a context that is not running", "one in the midst of a run",
                    "make a context for each thread");
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { busy_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& busy_;
  };

  /// The states of one run: theirs to change until it ends.
  class StateTurn {
   public:
    explicit StateTurn(Impl& i) : impl_(i) {
      const Plan& plan = i.engine->program.plan();
      for (; taken_ < i.states.size(); ++taken_) {
        const std::string& name = i.engine->inputs[plan.states[taken_].input].name;
        const auto refuse = [&](Code code, std::string expected, std::string got, std::string remedy) {
          give_back();
          throw Error(code, "run", std::move(expected), std::move(got), std::move(remedy))
              .at("run", name, "");
        };
        State::Impl* const s = i.states[taken_].get();
        if (!s) refuse(Code::run_missing_input, "a state", "none", "bind one: Context::bind_state");
        if (s->in_use.exchange(true, std::memory_order_acquire))
          refuse(Code::bad_argument, "a state that no run uses",
                 "one that another run uses, or another input", "make a state for each");
        if (s->changed_by_failed_run) {
          s->in_use.store(false, std::memory_order_release);
          refuse(Code::bad_argument, "a state as a run has left it", "one that a failed run may have changed",
                 "assign or clear it");
        }
      }
      std::vector<StateMemory>& run = i.state().states;
      run.resize(taken_);
      for (size_t k = 0; k < taken_; ++k) {
        run[k].state = i.states[k].get();
        run[k].shape = run[k].state->shape;
      }
    }
    StateTurn(const StateTurn&) = delete;
    StateTurn& operator=(const StateTurn&) = delete;
    ~StateTurn() {
      const Plan& plan = impl_.engine->program.plan();
      for (size_t k = 0; k < taken_; ++k) {
        State::Impl& s = *impl_.states[k];
        if (done_)
          s.shape = impl_.state().states[k].shape;
        else if (begun_ && plan.states[k].update != PlanState::Update::append)
          s.changed_by_failed_run = true;
      }
      give_back();
    }
    /// Puts the states where the other inputs are.
    void enter(std::span<Value> in) const {
      const Plan& plan = impl_.engine->program.plan();
      for (size_t k = 0; k < taken_; ++k) {
        Value& v = in[plan.states[k].input];
        if (!v.empty())
          throw Error(Code::run_bad_input, "run", "no value, since it is a state", "one",
                      "bind_state, or State::assign for its elements")
              .at("run", impl_.engine->inputs[plan.states[k].input].name, "");
        v = impl_.states[k]->view();
      }
    }
    void begin() { begun_ = true; }
    void done() { done_ = true; }

   private:
    void give_back() {
      while (taken_ > 0) impl_.states[--taken_]->in_use.store(false, std::memory_order_release);
    }
    Impl& impl_;
    size_t taken_ = 0;
    bool begun_ = false, done_ = false;
  };

  /// Fills in defaults and checks everything before anything runs.
  void accept(std::span<Value> in) {
    sizes.forget();
    const PlanGraph& plan = engine->program.plan().graphs[0];
    for (size_t i = 0; i < in.size(); ++i) {
      const Value* fallback = in[i].empty() ? engine->default_of(i) : nullptr;
      if (fallback) in[i] = *fallback;
      if (in[i].empty() && plan.values[plan.inputs[i]].type.kind != PlanType::Kind::optional)
        throw Error(Code::run_missing_input, "run", "a value of type " + engine->inputs[i].type, "none")
            .at("run", engine->inputs[i].name, "");
      engine->validator.check(i, in[i], sizes);
    }
  }

  void execute(std::span<const Value> in, std::span<const Tensor> out, RunControl* control,
               MemoryPlan* found = nullptr) {
    const FloatState floats(engine->program.options().flush_denormals);
    struct Release {
      RunState& s;
      ~Release() { s.control = nullptr; }
    } release{state()};
    RunState& s = state();
    s.control = control;
    s.in_bodies = 0;
    s.poll();
    try {
      s.recording = s.profiling && s.profiler->takes_run();
      if (s.recording) s.profiler->begin_run(s.clock->now());
      frame().run(in, out, found);
      if (s.recording) s.profiler->end_run(s.clock->now());
    } catch (...) {
      s.drain();
      throw;
    }
  }

  /// Declared sums of a model are not checked. If they do not hold and `f` fails, the error says so, since
  /// that is the likely cause.
  template <class F>
  auto with_contradictions(F&& f) const {
    try {
      return f();
    } catch (const Error& e) {
      const std::string found = is_about_sizes(e.code()) ? engine->validator.contradictions(sizes) : "";
      if (found.empty()) throw;
      Diagnostic d = e.diagnostic();
      d.remedy += (d.remedy.empty() ? "" : "; ") + ("the model declares other sizes: input " + found);
      throw Error(std::move(d));
    }
  }

  /// Bytes of the outputs whose shapes are known.
  uint64_t bytes_of_outputs(const MemoryPlan& l) const {
    uint64_t bytes = 0;
    const std::vector<uint32_t>& outputs = engine->program.plan().graphs[0].outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (is_returned(i, l.slots[outputs[i]])) bytes += aligned_size(l.slots[outputs[i]].bytes());
    return bytes;
  }
  /// Returns whether an output is a tensor that a run can make where it is returned.
  bool is_returned(size_t output, const Slot& s) const {
    return s.known && s.place == Slot::Place::output && engine->outputs[output].state.empty();
  }

  /// Runs into new memory, which the outputs own. It counts as the context's until it is returned.
  std::vector<Value> run_detached(std::vector<Value> in, RunControl* control) {
    const Turn turn(*this);
    take_weights();
    StateTurn states(*this);
    states.enter(in);
    accept(in);
    states.begin();
    auto results = with_contradictions([&] { return run_accepted(in, control); });
    states.done();
    return results;
  }
  std::vector<Value> run_accepted(std::span<const Value> in, RunControl* control) {
    MemoryCharge charge(state().account);
    std::vector<Tensor> fresh(bound.size());
    MemoryPlan& l = frame().memory_plan_for(in);
    try {
      charge.take(bytes_of_outputs(l));
    } catch (const Error&) {
      frame().release_idle(in);
      charge.take(bytes_of_outputs(l));
    }
    for (size_t i = 0; i < fresh.size(); ++i) {
      const Slot& s = l.slots[engine->program.plan().graphs[0].outputs[i]];
      if (is_returned(i, s)) fresh[i] = Tensor(s.type, s.shape);
    }
    execute(in, fresh, control, &l);
    std::vector<Value> results;
    for (size_t i = 0; i < fresh.size(); ++i)
      results.push_back(fresh[i].defined() ? Value(fresh[i]) : detached(frame().output(i), charge));
    return results;
  }

  const std::shared_ptr<const Engine::State> serving;
  uint64_t version;  // of `engine`, or older: then the next look takes it again
  std::shared_ptr<const Engine::Impl> engine;
  std::unique_ptr<Work> work;
  std::string reserved;      // the profile; empty: none
  Profile recorded;          // with other weights, by a profiler that had been stopped
  uint64_t peak_before = 0;  // bytes that were held at most with other weights
  std::vector<Value> inputs;
  std::vector<Tensor> bound;
  std::vector<std::shared_ptr<State::Impl>> states;  // by state of the plan; null: not bound
  InputValidator::Sizes sizes;
  std::atomic<bool> busy{false};
  std::vector<Value> given;  // the bound inputs, with defaults filled in, of the run that is going on
};

Context Engine::create_context() const { return Context(std::make_unique<Context::Impl>(state_)); }

Context::Context(std::unique_ptr<Impl> i) : impl_(std::move(i)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

NamedValues Context::run(const NamedValues& inputs, RunControl* control) {
  std::vector<Value> in(impl_->inputs.size());
  for (const auto& [name, v] : inputs) in[impl_->engine->input_index(name)] = v;
  std::vector<Value> out = impl_->run_detached(std::move(in), control);
  NamedValues named;
  for (size_t i = 0; i < out.size(); ++i)
    if (impl_->engine->outputs[i].state.empty())
      named.insert_or_assign(impl_->engine->outputs[i].name, std::move(out[i]));
  return named;
}

std::vector<Value> Context::run(std::span<const Value> inputs, RunControl* control) {
  std::vector<Value> in(inputs.begin(), inputs.end());
  if (in.size() > impl_->inputs.size())
    throw Error(Code::run_bad_input, "run", "at most " + std::to_string(impl_->inputs.size()) + " inputs",
                std::to_string(in.size()));
  in.resize(impl_->inputs.size());
  return impl_->run_detached(std::move(in), control);
}

void Context::bind_input(std::string_view name, Value v) {
  impl_->inputs[impl_->engine->input_index(name)] = std::move(v);
}

void Context::bind_output(std::string_view name, Tensor t) {
  const size_t i = impl_->engine->output_index(name);
  const IoInfo& info = impl_->engine->outputs[i];
  if (!info.state.empty()) refuse_state(info.name);
  if (t.defined() && t.type() != info.element_type)
    throw Error(Code::run_bad_input, "run", "memory for " + info.type, describe(t)).at("run", info.name, "");
  impl_->bound[i] = std::move(t);
}

void Context::run(RunControl* control) {
  const Impl::Turn turn(*impl_);
  impl_->take_weights();
  impl_->given.assign(impl_->inputs.begin(), impl_->inputs.end());
  Impl::StateTurn states(*impl_);
  states.enter(impl_->given);
  impl_->accept(impl_->given);
  states.begin();
  impl_->with_contradictions([&] { impl_->execute(impl_->given, impl_->bound, control); });
  states.done();
}

void Context::bind_state(std::string_view input, const State& state) {
  const Plan& plan = impl_->engine->program.plan();
  const size_t index = impl_->engine->input_index(input);
  const auto at = std::ranges::find(plan.states, index, &PlanState::input);
  if (at == plan.states.end())
    throw Error(Code::bad_argument, "run", "an input that is a state", "'" + std::string(input) + "'",
                "name it in the states of the build");
  const std::shared_ptr<State::Impl>& s = StateAccess::impl(state);
  if (s && s->blocks.rows != at->block)
    throw Error(Code::run_bad_input, "run",
                at->block > 0 ? "a state in blocks of " + std::to_string(at->block) : "a state in one piece",
                s->in_blocks() ? "one in blocks of " + std::to_string(s->blocks.rows) : "one in one piece",
                "make it with State::create")
        .at("run", std::string(input), "");
  if (!s || s->axis != at->axis)
    throw Error(Code::run_bad_input, "run",
                at->axis < 0 ? "a state that keeps its shape"
                             : "a state that grows along axis " + std::to_string(at->axis),
                !s            ? "an undefined one"
                : s->axis < 0 ? "one that keeps its shape"
                              : "one that grows along axis " + std::to_string(s->axis))
        .at("run", std::string(input), "");
  InputValidator::Sizes sizes = impl_->engine->validator.no_sizes();
  impl_->engine->validator.check(index, s->view(), sizes);
  impl_->states[static_cast<size_t>(at - plan.states.begin())] = s;
}

void Context::bind_states(const NamedStates& states) {
  for (const auto& [input, state] : states) bind_state(input, state);
}

const Value& Context::output(std::string_view name) const {
  return output(impl_->engine->output_index(name));
}

const Value& Context::output(size_t i) const {
  if (i >= impl_->engine->outputs.size())
    throw Error(Code::bad_argument, "run", "an output below " + std::to_string(impl_->engine->outputs.size()),
                std::to_string(i));
  if (!impl_->engine->outputs[i].state.empty()) refuse_state(impl_->engine->outputs[i].name);
  return impl_->frame().output(i);
}

void Context::on_tap(std::function<void(std::string_view, const Value&)> listener) {
  impl_->state().tap = std::move(listener);
}
void Context::on_step(std::function<void(const StepRun&)> listener) {
  impl_->state().clock = &TickClock::get();
  impl_->state().step_listener = std::move(listener);
}

void Context::start_profile(size_t events) {
  const Impl::Turn turn(*impl_);
  constexpr size_t most = size_t{1} << 26;
  if (events < 1 || events > most)
    throw Error(Code::bad_argument, "profile", "room for 1 to " + std::to_string(most) + " events",
                std::to_string(events));
  impl_->take_weights();
  RunState& s = impl_->state();
  s.profiling = false;
  if (!s.profiler) s.profiler = std::make_unique<Profiler>(s.program);
  s.clock = &TickClock::get();
  try {
    s.profiler->start(events);
  } catch (const std::bad_alloc&) {
    throw Error(Code::run_out_of_memory, "profile", "memory for " + std::to_string(events) + " events",
                "none left");
  }
  s.profiling = true;
}

void Context::stop_profile() {
  const Impl::Turn turn(*impl_);
  impl_->state().profiling = false;
}

Profile Context::profile() const {
  const Impl::Turn turn(*impl_);
  const RunState& s = impl_->state();
  return s.profiler ? s.profiler->report() : impl_->recorded;
}
uint64_t Context::memory_in_use() const { return impl_->state().account.used(); }
uint64_t Context::memory_peak() const { return std::max(impl_->peak_before, impl_->state().account.peak()); }

void Context::reserve(std::string_view profile) {
  const Impl::Turn turn(*impl_);
  impl_->take_weights();
  impl_->frame().reserve(reserve_of(*impl_->engine, impl_->engine->profile(profile)));
  impl_->reserved = profile;
}

void Context::trim() {
  const Impl::Turn turn(*impl_);
  impl_->frame().trim();
  impl_->reserved.clear();
}

}  // namespace lathe
