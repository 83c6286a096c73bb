#include "runtime/frame.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernel/expected.h"
#include "kernel/facts.h"
#include "runtime/body_frame.h"
#include "runtime/state_impl.h"

namespace lathe {
namespace {

const Value absent;

/// Calls f, and turns its exceptions into Errors that name the step.
template <class F>
void with_error_context(const ProgramStep& s, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    throw e.at("run", s.plan->node, s.plan->op);
  } catch (const std::bad_alloc&) {
    throw Error(Code::run_out_of_memory, "run", "memory for the outputs", "none left")
        .at("run", s.plan->node, s.plan->op);
  } catch (const std::length_error&) {
    throw Error(Code::run_out_of_memory, "run", "memory for what is computed", "more than there can be")
        .at("run", s.plan->node, s.plan->op);
  } catch (const std::exception& e) {
    throw Error(Code::internal, "run", "a kernel that ends well", e.what())
        .at("run", s.plan->node, s.plan->op);
  } catch (...) {  // what a plug-in may throw
    throw Error(Code::internal, "run", "a kernel that ends well", "an exception of no known type")
        .at("run", s.plan->node, s.plan->op);
  }
}

}  // namespace

/// One execution of a step as its kernel sees it.
class StepContext final : public KernelContext {
 public:
  /// `alone`: one thread runs it, beside others.
  StepContext(Frame& frame, size_t step, Lane& lane, bool alone)
      : frame_(frame),
        index_(step),
        lane_(lane),
        alone_(alone),
        step_(frame.graph_.steps[step]),
        plan_(*step_.plan) {}

  size_t inputs() const override { return plan_.inputs.size(); }
  size_t outputs() const override { return plan_.outputs.size(); }
  bool has(size_t i) const override { return i < plan_.inputs.size() && !value(i).empty(); }
  const Value& value(size_t i) const override {
    if (i >= plan_.inputs.size() || plan_.inputs[i] < 0) return absent;
    if (packed(i)) return step_.shells[i];
    return frame_.value(static_cast<uint32_t>(plan_.inputs[i]));
  }
  int64_t capacity(size_t i) const override {
    if (i >= plan_.inputs.size() || plan_.inputs[i] < 0 || frame_.state_.states.empty()) return 0;
    const PlanValue& v = frame_.graph_.plan->values[static_cast<size_t>(plan_.inputs[i])];
    return v.state < 0 ? 0 : frame_.state_.states[static_cast<size_t>(v.state)].memory().capacity;
  }
  const StateBlocks* blocks(size_t i) const override {
    if (i >= plan_.inputs.size() || plan_.inputs[i] < 0 || frame_.state_.states.empty()) return nullptr;
    const PlanValue& v = frame_.graph_.plan->values[static_cast<size_t>(plan_.inputs[i])];
    return v.state < 0 ? nullptr : frame_.state_.states[static_cast<size_t>(v.state)].memory().blocks;
  }
  const Tensor* packed(size_t i) const override { return step_.packed.empty() ? nullptr : step_.packed[i]; }
  bool wants(size_t i) const override { return i < plan_.outputs.size() && plan_.outputs[i] >= 0; }

  Tensor& out(size_t i) override {
    if (!wants(i) || !lane_.ready[i])
      fail(Code::internal, "a shape for output " + std::to_string(i), "none declared by the shape rule");
    return frame_.values_[id(i)].tensor();
  }
  Tensor& out(size_t i, DataType type, const Shape& shape) override {
    require_wanted(i);
    if (lane_.ready[i]) {
      Tensor& t = frame_.values_[id(i)].tensor();
      if (!(t.shape() == shape) || t.type() != type)
        fail(Code::internal, "output " + std::to_string(i) + " to be " + lathe::describe(t),
             lathe::describe(shape));
      return t;
    }
    const PlanType& declared = frame_.graph_.plan->values[id(i)].type;
    if (declared.is_tensor() && declared.elem != DataType::undefined && declared.elem != type)
      fail(Code::internal, "output " + std::to_string(i) + " of " + std::string(name_of(declared.elem)),
           std::string(name_of(type)));
    checked_count(shape, type, frame_.graph_.plan->values[id(i)].name);
    if (i == 0 && plan_.epilogue && step_.memory != host_memory) frame_.check_epilogue(step_, shape);
    return frame_.bind(id(i), type, shape);
  }
  void set(size_t i, Value v) override {
    require_wanted(i);
    frame_.values_[id(i)] = owned(v);
    frame_.memory_plan_->stays_bound[index_] = false;  // its own memory is where the next run is not to write
    lane_.ready[i] = frame_.values_[id(i)].is_tensor();
  }

  Expected expected(size_t i) const override {
    Expected e;
    if (!wants(i)) return e;
    const PlanType& t = frame_.graph_.plan->values[id(i)].type;
    e.type = t.elem;
    if (!t.shape) return e;
    e.shape = expected_sizes(
        *t.shape, inputs(),
        [&](size_t in) -> const SymShape* {
          if (plan_.inputs[in] < 0) return nullptr;
          const auto& shape = frame_.graph_.plan->values[static_cast<uint32_t>(plan_.inputs[in])].type.shape;
          return shape ? &*shape : nullptr;
        },
        [&](size_t in) { return has(in) && value(in).is_tensor() ? &value(in).tensor() : nullptr; });
    return e;
  }

  const void* prepared() const override { return step_.prepared ? step_.prepared->object.get() : nullptr; }
  const Tensor& epilogue_operand(size_t i) const override {
    if (!plan_.epilogue || i == 0 || i > plan_.epilogue->operands.size())
      fail(Code::internal, "an operand of the step's epilogue", "number " + std::to_string(i));
    return frame_.value(static_cast<uint32_t>(plan_.epilogue->operands[i - 1])).tensor();
  }

  void* workspace(size_t bytes) override {
    if (step_.memory != host_memory) return frame_.device_workspace(step_.memory, bytes);
    lane_.workspace.ensure(aligned_size(bytes));
    return lane_.workspace.data();
  }
  std::pmr::memory_resource* scratch() override { return &lane_.scratch; }
  void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) override {
    parallel_steps(1, n, grain, [&](int64_t, int64_t begin, int64_t end) { f(begin, end); });
  }
  void parallel_steps(int64_t steps, int64_t n, int64_t grain,
                      FunctionRef<void(int64_t, int64_t, int64_t)> f) override {
    const Program& p = frame_.state_.program;
    const auto polled = [&](int64_t step, int64_t begin, int64_t end) {
      frame_.state_.poll();
      f(step, begin, end);
    };
    if (alone_) return ThreadPool::run_alone(steps, n, grain, polled);
    p.pool().run_steps(steps, n, grain, p.options().flush_denormals, polled);
  }
  int threads() const override { return alone_ ? 1 : frame_.state_.program.pool().threads(); }
  void poll() override {
    ThreadPool::wake_if_late();
    frame_.state_.poll();
  }
  KernelBody& body(size_t i) override { return frame_.body(index_, i); }
  Epilogue* epilogue() override { return epilogue_; }
  bool strict() const override { return frame_.state_.program.plan().strict; }
  void set_epilogue(Epilogue* e) { epilogue_ = e; }
  Queue* queue() override { return frame_.state_.queues[step_.memory].get(); }

 private:
  uint32_t id(size_t i) const { return static_cast<uint32_t>(plan_.outputs[i]); }
  /// Plans come from files too: a kernel may find fewer outputs than it knows.
  void require_wanted(size_t i) const {
    if (!wants(i)) fail(Code::internal, "an output that is wanted", "output " + std::to_string(i));
  }

  Frame& frame_;
  size_t index_;
  Lane& lane_;
  bool alone_;
  const ProgramStep& step_;
  const PlanStep& plan_;
  Epilogue* epilogue_ = nullptr;
};

Frame::Frame(RunState& state, size_t graph, const PlanBody* body, Frame* parent)
    : state_(state),
      index_(graph),
      graph_(state.program.graph(graph)),
      parent_(parent),
      main_(state.account) {
  const PlanGraph& plan = *graph_.plan;
  for (uint32_t v : graph_.captured)
    for (auto [outer, inner] : body->captures)
      if (inner == v) captured_from_.push_back(outer);
  values_.resize(plan.values.size());
  blocks_.resize(plan.values.size());
  for (size_t s = 0; s < state.program.spaces(); ++s)
    arenas_.emplace_back(state.program.device(static_cast<MemorySpace>(s)), state.account);
  for (size_t g = 0; g < graph_.output_buffers(); ++g) {
    output_buffers_.emplace_back(host_backend(), state.account);
    kept_.emplace_back(plan.outputs.size());
    results_.emplace_back(plan.outputs.size());
  }
  output_memory_.resize(plan.outputs.size());
  written_directly_.resize(plan.outputs.size());
  bodies_.resize(plan.steps.size());
  epilogues_.resize(plan.steps.size());
  size_t max_inputs = 0, max_outputs = 0;
  for (const PlanStep& s : plan.steps) {
    max_inputs = std::max(max_inputs, s.inputs.size());
    max_outputs = std::max(max_outputs, s.outputs.size());
  }
  in_facts_.resize(max_inputs);
  out_facts_.resize(max_outputs);
  main_.ready.resize(max_outputs);
  for (const Plan::Tap& t : state.program.plan().taps) {
    if (t.graph != graph) continue;
    taps_.resize(plan.values.size());
    taps_[t.value].push_back(t.name);
  }
}

size_t Frame::records(const ProgramGraph& graph) {
  const PlanGraph& plan = *graph.plan;
  size_t epilogues = 0;
  for (const ProgramStep& s : graph.steps) epilogues += s.epilogue ? s.epilogue->bytes() : 0;
  return sizeof(Frame) + plan.values.size() * (sizeof(Value) + sizeof(Block)) +
         plan.steps.size() * (sizeof(epilogues_[0]) + sizeof(bodies_[0])) + epilogues +
         graph.output_buffers() * plan.outputs.size() * (sizeof(Value) + sizeof(Block));
}

Frame::~Frame() {
  release_blocks();
  for (auto& buffers : kept_)
    for (Block& b : buffers) release(b, host_memory);
}

void Frame::run(std::span<const Value> inputs, std::span<const Tensor> bound, MemoryPlan* found) {
  const PlanGraph& plan = *graph_.plan;
  if (inputs.size() != plan.inputs.size())
    throw Error(Code::run_missing_input, "run", std::to_string(plan.inputs.size()) + " inputs",
                std::to_string(inputs.size()));
  release_blocks();
  buffer_index_ = (buffer_index_ + 1) % results_.size();
  for (Block& b : kept_[buffer_index_]) release(b, host_memory);
  for (size_t i = 0; i < inputs.size(); ++i) values_[plan.inputs[i]] = inputs[i];
  for (size_t i = 0; i < captured_from_.size(); ++i)
    values_[graph_.captured[i]] = parent_->value(captured_from_[i]);
  memory_plan_ = found ? found : &memory_plan_for(inputs);
  if (!parent_ && state_.account.is_limited()) ensure_memory(inputs);
  prepare_memory(inputs, bound);
  rebinding_ = std::exchange(bound_, nullptr) != memory_plan_;
  if (tapped())
    for (uint32_t v = 0; v < taps_.size(); ++v)
      if (plan.values[v].role != ValueRole::computed) report_tap(v);
  if (state_.timed())
    execute_timed();
  else
    execute();
  bound_ = memory_plan_;
  finish(bound);
}

void Frame::execute() {
  auto branches = memory_plan_->branches.begin();
  for (size_t i = 0; i < graph_.steps.size();) {
    if (branches != memory_plan_->branches.end() && branches->first == i) {
      execute(*branches);
      i = (branches++)->end;
    } else {
      execute(i++);
    }
  }
}

void Frame::execute(size_t step) {
  const ProgramStep& s = graph_.steps[step];
  with_error_context(s, [&] {
    compute(step, main_, false);
    report_taps(s);
    if (state_.recording && !memory_plan_->costs[step].known) count_cost_of_run(step);
  });
  end_step(s);
}

// Each lane goes on until it ends or fails, so that the error is that of the first step that fails, whichever
// thread comes first.
void Frame::execute(const Branches& branches) {
  for (auto& lane : lanes_) lane->error = nullptr;
  const Program& p = state_.program;
  p.pool().run(static_cast<int64_t>(branches.lanes.size()), 1, p.options().flush_denormals,
               [&](int64_t begin, int64_t end) {
                 for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
                   run_lane(branches.lanes[i], *lanes_[i]);
               });
  Lane* failed = nullptr;
  for (size_t i = 0; i < branches.lanes.size(); ++i)
    if (lanes_[i]->error && (!failed || lanes_[i]->failed < failed->failed)) failed = lanes_[i].get();
  if (failed) std::rethrow_exception(failed->error);
  for (size_t i = branches.first; i < branches.end; ++i) {
    const ProgramStep& s = graph_.steps[i];
    with_error_context(s, [&] { report_taps(s); });
    end_step(s);
  }
}

void Frame::run_lane(const std::vector<uint32_t>& steps, Lane& lane) {
  uint64_t start = state_.timed() ? state_.clock->now() : 0;
  for (uint32_t step : steps) {
    try {
      with_error_context(graph_.steps[step], [&] { compute(step, lane, true); });
    } catch (const Error&) {
      lane.error = std::current_exception();
      lane.failed = step;
      return;
    }
    if (!state_.timed()) continue;
    const uint64_t end = state_.clock->now();
    times_[step] = {std::exchange(start, end), end};
  }
}

void Frame::compute(size_t step, Lane& lane, bool alone) {
  state_.poll();
  if (!rebinding_ && memory_plan_->done[step]) return;
  if (graph_.steps[step].kernel)
    run_kernel(step, lane, alone);
  else
    copy_between_spaces(graph_.steps[step]);
}

void Frame::report_taps(const ProgramStep& s) {
  if (!tapped()) return;
  for (int32_t v : s.plan->outputs)
    if (v >= 0) report_tap(static_cast<uint32_t>(v));
}

// A step begins where the one before it ended: one reading of the clock each.
void Frame::execute_timed() {
  const Profiler::Inside inside(state_.profiler.get());
  if (state_.recording) count_costs();
  uint64_t start = state_.clock->now();
  auto branches = memory_plan_->branches.begin();
  for (size_t i = 0; i < graph_.steps.size();) {
    const uint64_t before = std::exchange(state_.in_bodies, 0);
    const bool apart = branches != memory_plan_->branches.end() && branches->first == i;
    const size_t end_of_part = apart ? branches->end : i + 1;
    if (apart)
      execute(*branches++);
    else
      execute(i);
    const uint64_t end = state_.clock->now();
    for (; i < end_of_part; ++i)
      record_time(i, apart ? times_[i].first : start, apart ? times_[i].second : end);
    state_.in_bodies = before + TickClock::between(start, end);
    start = state_.step_listener ? state_.clock->now() : end;
  }
}

void Frame::record_time(size_t step, uint64_t start, uint64_t end) {
  if (state_.recording) {
    const StepCost& known = memory_plan_->costs[step];
    state_.profiler->record(index_, step, start, end, state_.in_bodies, known.known ? known : cost_of_run_);
  }
  if (!state_.step_listener) return;
  const PlanStep& s = *graph_.steps[step].plan;
  const uint64_t own = TickClock::between(state_.in_bodies, TickClock::between(start, end));
  state_.step_listener({s.node, s.op, s.kernel, state_.clock->seconds(own)});
}

/// Counts costs that follow from the shapes once for each memory plan.
void Frame::count_costs() {
  if (!memory_plan_->costs.empty()) return;
  for (size_t i = 0; i < graph_.steps.size(); ++i)
    memory_plan_->costs.push_back(cost_of(
        graph_, graph_.steps[i],
        [&](uint32_t v) -> CostOperand {
          const Slot& slot = memory_plan_->slots[v];
          return {slot.type, slot.known ? &slot.shape : nullptr};
        },
        state_.profiler->texts(), memory_plan_->in_place[i]));
}

void Frame::count_cost_of_run(size_t step) {
  cost_of_run_ = cost_of(
      graph_, graph_.steps[step],
      [&](uint32_t v) -> CostOperand {
        const Value& x = value(v);
        if (!x.is_tensor() || !x.tensor().defined()) return {};
        return {x.tensor().type(), &x.tensor().shape()};
      },
      state_.profiler->texts());
}

void Frame::run_kernel(size_t step, Lane& lane, bool alone) {
  const ProgramStep& s = graph_.steps[step];
  const bool bound = !rebinding_ && memory_plan_->stays_bound[step];
  if (bound)
    std::transform(s.plan->outputs.begin(), s.plan->outputs.end(), lane.ready.begin(),
                   [](int32_t v) { return v >= 0; });
  else if (!bind_outputs(s, lane.ready))
    infer(s, lane.ready);
  StepContext context(*this, step, lane, alone);
  const bool fuses = s.epilogue && s.kernel->fuses_epilogue && lane.ready[0];
  if (s.plan->epilogue && s.memory != host_memory && lane.ready[0])
    check_epilogue(s, values_[static_cast<size_t>(s.plan->outputs[0])].tensor().shape());
  if (fuses) context.set_epilogue(bound ? epilogues_[step].get() : &bind_epilogue(step));
  lane.scratch.begin();
  s.kernel->run(s.kernel_op.get(), context);
  lane.scratch.end();
  if (s.epilogue && !fuses) s.epilogue->run(bind_epilogue(step), context.out(0).size(), context);
}

bool Frame::bind_outputs(const ProgramStep& s, std::vector<bool>& ready) {
  const std::vector<int32_t>& out = s.plan->outputs;
  bool all_known = true;
  for (size_t i = 0; i < out.size(); ++i) {
    ready[i] = false;
    if (out[i] < 0) continue;
    const auto v = static_cast<uint32_t>(out[i]);
    const Slot& slot = memory_plan_->slots[v];
    if (slot.follows) {
      bind(v, slot.type, shape_now(v));
      ready[i] = true;
      continue;
    }
    if (!slot.known) {
      values_[v] = Value();
      all_known = false;
      continue;
    }
    // A tensor that a kernel set in the last run owns its memory and is bound again.
    const bool there =
        slot.stable_address && !rebinding_ && values_[v].is_tensor() && !values_[v].tensor().owns();
    if (!there) bind(v, slot.type, slot.shape);
    ready[i] = true;
  }
  return all_known;
}

/// The shape of a value that follows from the sizes of this run.
Shape Frame::shape_now(uint32_t v) const {
  const PlanValue& value = graph_.plan->values[v];
  Shape shape;
  for (const Dim& d : *value.type.shape)
    shape.push_back(state_.program.growth().evaluate(d, sizes_.now).value_or(-1));
  checked_count(shape, value.type.elem, value.name);
  return shape;
}

void Frame::check_epilogue(const ProgramStep& s, const Shape& output) const {
  for (int32_t v : s.plan->epilogue->operands) {
    const Shape& shape = value(static_cast<uint32_t>(v)).tensor().shape();
    bool fits = shape.size() <= output.size();
    for (size_t back = 1; fits && back <= shape.size(); ++back)
      fits = shape[shape.size() - back] == 1 || shape[shape.size() - back] == output[output.size() - back];
    if (!fits)
      throw Error(Code::run_bad_shape, "run", "a shape that can be broadcast to " + lathe::describe(output),
                  lathe::describe(shape) + " of '" + graph_.plan->values[static_cast<size_t>(v)].name + "'");
  }
}

StepEpilogue& Frame::bind_epilogue(size_t step) {
  const ProgramStep& s = graph_.steps[step];
  Tensor& out = values_[static_cast<size_t>(s.plan->outputs[0])].tensor();
  std::array<const Tensor*, Pointwise::max_operands> operands{&out};
  size_t n = 1;
  bool known = memory_plan_->slots[static_cast<size_t>(s.plan->outputs[0])].known;
  for (int32_t v : s.plan->epilogue->operands) {
    operands[n++] = &value(static_cast<uint32_t>(v)).tensor();
    known &= memory_plan_->slots[static_cast<size_t>(v)].known;
  }
  std::unique_ptr<StepEpilogue>& run = epilogues_[step];
  const std::span<const Tensor* const> all(operands.data(), n);
  // The shapes are those of the run before.
  if (known && !rebinding_)
    run->move_to(all, out);
  else if (run)
    run->bind(all, out);
  else
    run = s.epilogue->bind(all, out);
  return *run;
}

/// The shape rule with the values as they are now; gives memory to the outputs that it declares.
void Frame::infer(const ProgramStep& s, std::vector<bool>& ready) {
  const std::vector<int32_t>&in = s.plan->inputs, &out = s.plan->outputs;
  for (size_t i = 0; i < in.size(); ++i) {
    const auto v = static_cast<uint32_t>(in[i]);
    const bool readable = in[i] >= 0 && graph_.plan->values[v].memory == host_memory;
    describe_value(in[i] < 0 ? absent : value(v), in_facts_[i], readable);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    Fact<int64_t>& f = out_facts_[i];
    f.present = out[i] >= 0;
    f.type =
        f.present ? graph_.plan->values[static_cast<size_t>(out[i])].type.own_elem() : DataType::undefined;
    f.ranked = f.valued = false;
  }
  ShapeContext<int64_t> c({in_facts_.data(), in.size()}, {out_facts_.data(), out.size()});
  s.codec->shape(s.op.get(), c);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] < 0 || ready[i]) continue;
    const PlanValue& v = graph_.plan->values[static_cast<size_t>(out[i])];
    const Fact<int64_t>& f = out_facts_[i];
    if (!f.ranked || !v.type.is_tensor()) continue;
    checked_count(f.shape, v.type.elem, v.name);
    bind(static_cast<uint32_t>(out[i]), v.type.elem, Shape(f.shape.begin(), f.shape.end()));
    ready[i] = true;
  }
}

void Frame::copy_between_spaces(const ProgramStep& s) {
  const auto from = static_cast<uint32_t>(s.plan->inputs[0]), to = static_cast<uint32_t>(s.plan->outputs[0]);
  const Tensor& source = value(from).tensor();
  Tensor& target = bind(to, source.type(), source.shape());
  const MemorySpace a = graph_.plan->values[from].memory, b = graph_.plan->values[to].memory;
  if (b != host_memory) {
    state_.program.device(b).copy_in(*state_.queues[b], target.data(), source.data(), source.bytes());
  } else if (a != host_memory) {
    state_.program.device(a).copy_out(*state_.queues[a], target.data(), source.data(), source.bytes());
    state_.queues[a]->wait();
  } else {
    copy_elements(source, target);
  }
}

void Frame::end_step(const ProgramStep& s) {
  if (live_blocks_ == 0 && !memory_plan_->decided_by_runs) return;
  for (uint32_t v : s.ends) {
    release(blocks_[v], graph_.plan->values[v].memory);
    if (memory_plan_->slots[v].place == Slot::Place::run) values_[v] = Value();
  }
}

KernelBody& Frame::body(size_t step, size_t i) {
  auto& list = bodies_[step];
  const std::vector<PlanBody>& plan = graph_.steps[step].plan->bodies;
  if (i >= plan.size())
    throw Error(Code::internal, "run", "a body with index " + std::to_string(i),
                std::to_string(plan.size()) + " bodies");
  list.resize(plan.size());
  if (!list[i]) list[i] = std::make_unique<BodyFrame>(state_, plan[i], this);
  return *list[i];
}

void Frame::report_tap(uint32_t v) {
  if (taps_[v].empty() || value(v).empty()) return;
  Value seen = value(v);
  if (const int32_t axis = state_.program.plan().grows_along(graph_.plan->values[v]); axis >= 0) {
    const Tensor& t = seen.tensor();
    seen = dense_copy(t.type(), t.shape(), axis,
                      state_.states[static_cast<size_t>(graph_.plan->values[v].state)].memory());
  }
  if (const MemorySpace space = graph_.plan->values[v].memory; space != host_memory) {
    Tensor host(seen.tensor().type(), seen.tensor().shape());
    state_.program.device(space).copy_out(*state_.queues[space], host.data(), seen.tensor().data(),
                                          host.bytes());
    state_.queues[space]->wait();
    seen = host;
  }
  for (std::string_view name : taps_[v]) state_.tap(name, seen);
}

}  // namespace lathe
