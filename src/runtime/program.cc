#include "runtime/program.h"

#include <new>
#include <set>

#include "kernel/select.h"
#include "plan/verify.h"
#include "runtime/memory.h"
#include "runtime/plugin_kernel.h"

namespace lathe {

StepQuery::StepQuery(const Plan& plan, const PlanGraph& graph, const PlanStep& step) {
  const auto operand = [&](int32_t v) {
    KernelQuery::Operand o;
    if (v < 0) return o;
    const PlanValue& value = graph.values[static_cast<size_t>(v)];
    o.grows_along = plan.grows_along(value);
    o.in_blocks = plan.in_blocks(value);
    o.present = true;
    o.type = value.type.kind == PlanType::Kind::tensor ? value.type.elem : DataType::undefined;
    o.shape = value.type.shape;
    if (value.role == ValueRole::constant) {
      o.constant = &plan.weights[static_cast<size_t>(value.weight)].value.tensor();
      o.shape = SymShape(o.constant->shape().begin(), o.constant->shape().end());
    }
    return o;
  };
  for (int32_t v : step.inputs) inputs_.push_back(operand(v));
  for (int32_t v : step.outputs) outputs_.push_back(operand(v));
  if (step.epilogue)
    for (int32_t v : step.epilogue->operands) epilogue_operands_.push_back(operand(v));
  query_ = {inputs_,
            outputs_,
            plan.target.isa,
            &plan.likely,
            plan.strict,
            step.epilogue ? &step.epilogue->program : nullptr,
            epilogue_operands_,
            plan.refit};
}

Program::Program(Plan plan, std::shared_ptr<const Extensions> extensions, const ProgramOptions& options)
    : plan_(std::move(plan)), extensions_(std::move(extensions)), options_(options) {
  prepare();
  pool_ = std::make_shared<ThreadPool>(options_.threads, options_.executor);
  prepare_devices(nullptr);
}

Program::Program(const Program& before, Plan plan)
    : plan_(std::move(plan)),
      extensions_(before.extensions_),
      options_(before.options_),
      pool_(before.pool_) {
  prepare();
  prepare_devices(&before);
}

void Program::prepare() {
  verify(plan_);
  devices_.push_back(&host_backend());
  for (const std::string& name : plan_.backends) {
    extensions_->require_backend(name);
    devices_.push_back(extensions_->device(name));
    if (!devices_.back())
      throw Error(Code::plan_malformed, "load", "devices with memory of their own", name,
                  "build the plan again");
  }
  for (const Weight& w : plan_.weights)
    if (w.value.is_tensor() && w.stored) weight_bytes_ += w.value.tensor().bytes();
  graphs_.resize(plan_.graphs.size());
  for (size_t i = 0; i < graphs_.size(); ++i) {
    graphs_[i].plan = &plan_.graphs[i];
    graphs_[i].is_body = i > 0;
    prepare(graphs_[i]);
  }
  for (size_t i = 0; i < plan_.states.size(); ++i) {
    std::vector<int32_t>& state = graphs_[0].state;
    state.resize(plan_.graphs[0].values.size(), -1);
    if (plan_.states[i].update != PlanState::Update::copy)
      state[plan_.graphs[0].outputs[plan_.states[i].output]] = static_cast<int32_t>(i);
  }
  find_overwritten(graphs_[0]);
  growth_ = Growth(plan_);
}

/// A caller that keeps a KV cache in one buffer binds it as an input and as an output.
void Program::find_overwritten(ProgramGraph& g) const {
  const PlanGraph& main = *g.plan;
  // Parts of an input may be views of it that are read much later.
  std::vector<bool> is_split(main.values.size());
  for (const ProgramStep& s : g.steps)
    if (s.kernel && s.kernel->subviews_of == SubviewsOf::input && !s.plan->inputs.empty() &&
        s.plan->inputs[0] >= 0)
      is_split[g.root[static_cast<size_t>(s.plan->inputs[0])]] = true;
  std::vector<int32_t> overwritten(main.outputs.size(), -1);
  for (const ProgramStep& s : g.steps) {
    const std::vector<int32_t>&in = s.plan->inputs, &out = s.plan->outputs;
    if (!s.kernel || !s.kernel->overwrites || s.kernel->alias >= 0 ||
        s.kernel->subviews_of != SubviewsOf::none || in.empty() || in[0] < 0 || out[0] < 0)
      continue;
    const int32_t o = g.output[static_cast<size_t>(out[0])];
    const auto i = std::ranges::find(main.inputs, static_cast<uint32_t>(in[0])) - main.inputs.begin();
    const bool is_state = main.values[static_cast<size_t>(out[0])].state >= 0 ||
                          main.values[static_cast<size_t>(in[0])].state >= 0;
    if (o < 0 || is_state || i == std::ssize(main.inputs) || is_split[static_cast<size_t>(in[0])] ||
        std::ranges::count(main.outputs, main.inputs[static_cast<size_t>(i)]) > 0)
      continue;
    const PlanState written{.input = static_cast<uint32_t>(i),
                            .output = static_cast<uint32_t>(o),
                            .update = PlanState::Update::write};
    if (!late_reader(plan_, written)) overwritten[static_cast<size_t>(o)] = static_cast<int32_t>(i);
  }
  if (std::ranges::any_of(overwritten, [](int32_t i) { return i >= 0; }))
    g.overwritten = std::move(overwritten);
}

Program::~Program() = default;

void Program::prepare(ProgramGraph& g) {
  const PlanGraph& plan = *g.plan;
  const auto n = static_cast<uint32_t>(plan.values.size());
  g.root.resize(n);
  g.constants.assign(n, nullptr);
  g.output.assign(n, -1);
  for (uint32_t v = 0; v < n; ++v) {
    if (plan.values[v].role == ValueRole::captured) g.captured.push_back(v);
    if (plan.values[v].role == ValueRole::constant)
      g.constants[v] = &plan_.weights[static_cast<size_t>(plan.values[v].weight)].value;
    g.root[v] = v;
  }
  for (size_t i = plan.outputs.size(); i-- > 0;) g.output[plan.outputs[i]] = static_cast<int32_t>(i);
  for (const PlanStep& s : plan.steps) {
    try {
      g.steps.push_back(prepare(plan, s));
    } catch (const Error& e) {
      throw e.at("load", s.node, s.op);
    }
    // In order of the steps, so that aliases of aliases end at the first. Outputs of the graph have memory of
    // their own.
    for (int32_t v : s.outputs)
      if (v >= 0 && plan.values[static_cast<size_t>(v)].alias_of >= 0 && g.output[static_cast<size_t>(v)] < 0)
        g.root[static_cast<size_t>(v)] =
            g.root[static_cast<size_t>(plan.values[static_cast<size_t>(v)].alias_of)];
  }
  find_ends(g);
}

ProgramStep Program::prepare(const PlanGraph& g, const PlanStep& s) const {
  ProgramStep step;
  step.plan = &s;
  if (s.kernel.empty()) return step;
  step.kernel = extensions_->kernels().by_name(s.kernel);
  step.codec = extensions_->kernels().codec_of(s.domain, s.op);
  if (!step.kernel || !step.codec)
    throw Error(Code::plan_missing_kernel, "load", "the kernel " + s.kernel, "none of that name",
                "name the plug-in that brings it, or build the plan again");
  if (step.kernel->isa > plan_.target.isa)
    throw Error(Code::plan_target, "load", "kernels for " + std::string(name_of(plan_.target.isa)), s.kernel);
  extensions_->kernels().require_component_of(s.domain, s.op);
  step.op = step.codec->decode(s.attributes);
  step.kernel_op = step.kernel->decode ? step.kernel->decode(s.attributes) : step.op;
  check_tunables(g, step);
  if (!s.tunables.empty()) step.kernel_op = step.kernel->tuned(step.kernel_op.get(), s.tunables);
  if (step.kernel->memory != host_memory)
    for (size_t k = 1; k < devices_.size(); ++k)
      if (plan_.backends[k - 1] == step.kernel->backend) step.memory = static_cast<MemorySpace>(k);
  check_fit(g, step);
  if (s.epilogue && step.memory == host_memory) {
    const auto compile = extensions_->kernels().epilogue_compiler();
    if (!compile) throw Error(Code::plan_missing_kernel, "load", "kernels for elementwise programs", "none");
    step.epilogue = compile(plan_.target.isa, s.epilogue->program);
  }
  check_packing(g, step);
  if (s.packed.empty()) return step;
  step.packed.resize(s.inputs.size());
  step.shells.resize(s.inputs.size());
  for (size_t i = 0; i < s.packed.size(); ++i) {
    if (s.packed[i] < 0) continue;
    step.packed[i] = &plan_.weights[static_cast<size_t>(s.packed[i])].value.tensor();
    const PlanValue& source = g.values[static_cast<size_t>(s.inputs[i])];
    const Tensor& t = plan_.weights[static_cast<size_t>(source.weight)].value.tensor();
    step.shells[i] = Tensor::view(t.type(), t.shape(), nullptr);
  }
  return step;
}

/// Checks that the tunables are ones that the kernel offers.
void Program::check_tunables(const PlanGraph& g, const ProgramStep& step) const {
  const PlanStep& s = *step.plan;
  if (s.tunables.empty()) return;
  const StepQuery query(plan_, g, s);
  const void* op = step.kernel_op.get();
  // Tactics are only defined for nodes that the kernel supports, so that is checked first.
  if (step.kernel->supports && !step.kernel->supports(op, query.kernel_query()).accepted)
    return check_fit(g, step);
  if (!knows(*step.kernel, op, query.kernel_query(), s.tunables))
    throw Error(Code::plan_target, "load", "a tactic of " + s.kernel, tactic_text(s.kernel, s.tunables),
                "build the plan again");
}

/// Checks that the kernel supports the step, since plans may come from files.
void Program::check_fit(const PlanGraph& g, const ProgramStep& step) const {
  const PlanStep& s = *step.plan;
  const Kernel& k = *step.kernel;
  const auto refuse = [&](std::string why) {
    throw Error(Code::plan_target, "load", "operands that " + k.name + " can run", std::move(why),
                "build the plan again");
  };
  if (s.epilogue && k.memory != host_memory && !k.fuses_epilogue)
    refuse("an epilogue that it does not compute");
  if (s.epilogue && !k.writes_f16 &&
      g.values[static_cast<size_t>(s.outputs[0])].type.elem != DataType::float32)
    refuse("an epilogue of other than float32");
  if (k.memory != host_memory && step.memory == host_memory) refuse("no memory of its device");
  for (const std::vector<int32_t>* operands : {&s.inputs, &s.outputs})
    for (int32_t v : *operands)
      if (v >= 0 && g.values[static_cast<size_t>(v)].memory != step.memory)
        refuse("operands in other memory");
  if (s.epilogue && k.memory != host_memory && !s.epilogue->program.is_of_floats())
    refuse("an epilogue of other than float32");
  if (s.epilogue)
    for (int32_t v : s.epilogue->operands)
      if (g.values[static_cast<size_t>(v)].memory != step.memory)
        refuse("an epilogue's operands in other memory");
  const StepQuery query(plan_, g, s);
  if (Support v = supports_states(k, query.kernel_query()); !v.accepted) refuse(std::move(v.reason));
  if (!appends_to_its_states(g, step)) refuse("another state than it appends to");
  if (k.supports)
    if (Support v = k.supports(step.kernel_op.get(), query.kernel_query()); !v.accepted)
      refuse(std::move(v.reason));
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    if (s.outputs[i] < 0) continue;
    const int32_t alias = g.values[static_cast<size_t>(s.outputs[i])].alias_of;
    if (alias < 0) continue;
    const auto source = static_cast<size_t>(k.alias);
    if (i != 0 || k.alias < 0 || source >= s.inputs.size() || s.inputs[source] != alias)
      refuse("an alias it does not make");
  }
}

/// Kernels append to the state that they find at the input which their declaration says.
bool Program::appends_to_its_states(const PlanGraph& g, const ProgramStep& step) const {
  const PlanStep& s = *step.plan;
  const auto state_of = [&](const std::vector<int32_t>& operands, size_t i) {
    return i < operands.size() && operands[i] >= 0 ? g.values[static_cast<size_t>(operands[i])].state : -1;
  };
  for (size_t o = 0; o < s.outputs.size(); ++o) {
    const int32_t state = state_of(s.outputs, o);
    if (state < 0 || plan_.states[static_cast<size_t>(state)].axis < 0) continue;
    const auto same = [&](const Kernel::Appended& a) {
      return a.output == o && state_of(s.inputs, a.input) == state;
    };
    if (std::ranges::none_of(step.kernel->appends, same)) return false;
  }
  return true;
}

/// Kernels read packed arrays without looking.
void Program::check_packing(const PlanGraph& g, const ProgramStep& step) const {
  const PlanStep& s = *step.plan;
  const Kernel& k = *step.kernel;
  const StepQuery query(plan_, g, s);
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const bool packable = k.packed_form && query.kernel_query().inputs[i].constant;
    const auto form = packable ? k.packed_form(step.kernel_op.get(), query.kernel_query(), i) : std::nullopt;
    const int32_t w = s.packed.empty() ? -1 : s.packed[i];
    const auto wrong = [&](std::string got) {
      throw Error(Code::plan_malformed, "load",
                  form ? k.name + " to find input " + std::to_string(i) + " packed as " +
                             std::string(name_of(form->type)) + describe(form->shape)
                       : "input " + std::to_string(i) + " as it is",
                  std::move(got), "build the plan again");
    };
    if (form.has_value() != (w >= 0)) wrong(form ? "nothing packed" : "a packed form");
    if (!form) continue;
    const Tensor& packed = plan_.weights[static_cast<size_t>(w)].value.tensor();
    const auto is = [&](const PackedForm& f) { return packed.type() == f.type && packed.shape() == f.shape; };
    if (is(*form)) continue;
    const auto compact =
        k.compact_form ? k.compact_form(step.kernel_op.get(), query.kernel_query(), i) : std::nullopt;
    if (!compact || !is(*compact)) wrong(describe(packed));
  }
}

// Memory is needed from the step that makes it to the last one that reads it or an alias of it; outputs to
// the end of the run.
void Program::find_ends(ProgramGraph& g) const {
  constexpr size_t never = SIZE_MAX;
  std::vector<size_t> last(g.root.size(), never);
  const auto touch = [&](size_t v, size_t step) { last[g.root[v]] = step; };
  for (size_t i = 0; i < g.steps.size(); ++i) {
    const PlanStep& s = *g.steps[i].plan;
    for (int32_t v : s.inputs)
      if (v >= 0) touch(static_cast<size_t>(v), i);
    for (int32_t v : s.outputs)
      if (v >= 0) touch(static_cast<size_t>(v), i);
    if (s.epilogue)
      for (int32_t v : s.epilogue->operands) touch(static_cast<size_t>(v), i);
    for (const PlanBody& b : s.bodies)
      for (auto [outer, inner] : b.captures) touch(outer, i);
  }
  for (uint32_t v : g.plan->outputs) last[g.root[v]] = never;
  for (uint32_t v = 0; v < last.size(); ++v)
    if (last[v] != never && g.plan->values[v].role == ValueRole::computed) g.steps[last[v]].ends.push_back(v);
}

void Program::prepare_devices(const Program* before) {
  for (size_t i = 0; i < graphs_.size(); ++i) prepare_kernels(i, before);
  require_device_memory();
  for (ProgramGraph& g : graphs_) upload(g, before);
}

namespace {
bool same_array(const Plan& a, const Plan& b, int32_t weight) {
  const Tensor &then = a.weights[static_cast<size_t>(weight)].value.tensor(),
               &now = b.weights[static_cast<size_t>(weight)].value.tensor();
  return then.data() == now.data() && then.type() == now.type() && then.shape() == now.shape();
}
}  // namespace

/// What was prepared for an engine with other weights stays where none of the step's own has changed.
void Program::prepare_kernels(size_t graph, const Program* before) {
  ProgramGraph& g = graphs_[graph];
  for (size_t i = 0; i < g.steps.size(); ++i) {
    ProgramStep& s = g.steps[i];
    if (!s.kernel || !s.kernel->prepare) continue;
    const auto unchanged = [&](int32_t v) {
      if (v < 0 || !g.constants[static_cast<size_t>(v)]) return true;
      return same_array(before->plan_, plan_, g.plan->values[static_cast<size_t>(v)].weight);
    };
    const ProgramStep* const then = before ? &before->graphs_[graph].steps[i] : nullptr;
    if (then && then->kernel == s.kernel && std::ranges::all_of(s.plan->inputs, unchanged)) {
      s.prepared = then->prepared;
    } else {
      try {
        const StepQuery query(plan_, *g.plan, *s.plan);
        s.prepared = prepare_step(*s.kernel, s.kernel_op.get(), query.kernel_query(), device(s.memory),
                                  *pool_, options_.flush_denormals);
      } catch (const Error& e) {
        throw e.at("load", s.plan->node, s.plan->op);
      } catch (const std::bad_alloc&) {
        throw Error(Code::run_out_of_memory, "load", "memory to prepare a kernel", "none left")
            .at("load", s.plan->node, s.plan->op);
      }
    }
    weight_bytes_ += s.prepared->bytes;
  }
}

/// Returns the constants on devices that no run reads, because kernels read what they prepared of them.
std::vector<bool> Program::replaced_constants(const ProgramGraph& g) const {
  std::vector<bool> replaced(g.constants.size()), read(g.constants.size());
  for (const ProgramStep& s : g.steps) {
    for (size_t i = 0; i < s.plan->inputs.size(); ++i)
      if (const int32_t v = s.plan->inputs[i]; v >= 0)
        (s.prepared && s.prepared->replaced[i] ? replaced : read)[static_cast<size_t>(v)] = true;
    if (s.plan->epilogue)
      for (int32_t v : s.plan->epilogue->operands) read[static_cast<size_t>(v)] = true;
  }
  for (size_t v = 0; v < replaced.size(); ++v) replaced[v] = replaced[v] && !read[v];
  return replaced;
}

/// Refuses constants that exceed a device before any of them is copied.
void Program::require_device_memory() const {
  for (size_t space = 1; space < devices_.size(); ++space) {
    const uint64_t total = guarded("memory()", [&] { return devices_[space]->memory().total; });
    if (total == 0) continue;
    std::set<int32_t> weights;
    uint64_t bytes = 0;
    for (const ProgramGraph& g : graphs_) {
      const std::vector<bool> replaced = replaced_constants(g);
      for (size_t v = 0; v < g.constants.size(); ++v)
        if (g.constants[v] && g.plan->values[v].memory == space && !replaced[v] &&
            weights.insert(g.plan->values[v].weight).second)
          bytes += g.constants[v]->tensor().bytes();
      for (const ProgramStep& s : g.steps)
        if (s.prepared && s.memory == space) bytes += s.prepared->bytes;
    }
    if (bytes > total)
      throw Error(Code::run_out_of_memory, "load", std::to_string(bytes) + " bytes for constants",
                  std::string(devices_[space]->name()) + " has " + std::to_string(total) + " in all",
                  "quantize the model, or name another device");
  }
}

void Program::upload(ProgramGraph& g, const Program* before) {
  const std::vector<bool> replaced = replaced_constants(g);
  for (size_t v = 0; v < g.constants.size(); ++v) {
    const MemorySpace space = g.plan->values[v].memory;
    if (!g.constants[v] || space == host_memory) continue;
    const int32_t w = g.plan->values[v].weight;
    if (replaced[v]) {
      const Tensor& t = g.constants[v]->tensor();
      g.constants[v] =
          &without_data_.try_emplace(w, Tensor::view(t.type(), t.shape(), nullptr)).first->second;
      continue;
    }
    std::shared_ptr<const Value>& here = uploaded_[{w, space}];
    if (!here) {
      const bool there =
          before && before->uploaded_.contains({w, space}) && same_array(before->plan_, plan_, w);
      here = there ? before->uploaded_.at({w, space}) : upload(g.constants[v]->tensor(), space);
      weight_bytes_ += aligned_size(std::max<size_t>(here->tensor().bytes(), 1));
    }
    g.constants[v] = here.get();
  }
}

std::shared_ptr<const Value> Program::upload(const Tensor& t, MemorySpace space) const {
  Backend& d = device(space);
  const std::shared_ptr<void> to = allocate_for_engine(d, t.bytes());
  const std::unique_ptr<Queue> queue = queue_of(d);
  guarded("copy_in()", [&] {
    d.copy_in(*queue, to.get(), t.data(), t.bytes());
    queue->wait();
  });
  return std::make_shared<const Value>(Tensor::view(t.type(), t.shape(), to.get(), to));
}

}  // namespace lathe
