#include <algorithm>

#include "base/cpu.h"
#include "base/file.h"
#include "base/memory_allowed.h"
#include "kernel/select.h"
#include "plan/plan_file.h"
#include "runtime/engine_impl.h"
#include "runtime/memory_estimate.h"
#include "runtime/profile_reserve.h"
#include "runtime/retarget.h"
#include "runtime/weight_program.h"

namespace lathe {
namespace {

/// `sums`: the declared expressions for sizes of an input.
IoInfo info_of(const PlanValue& v, const DeclaredSums& sums = {}) {
  std::optional<SymShape> shape = v.type.shape;
  if (shape)
    for (Dim& d : *shape) d = d.substitute(sums);
  return {v.name,
          v.type.text,
          v.type.kind == PlanType::Kind::tensor ? v.type.elem : DataType::undefined,
          std::move(shape),
          v.role == ValueRole::input && v.weight >= 0,
          {}};
}

size_t find(const std::vector<IoInfo>& list, std::string_view name, const char* what) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return i;
  std::string names;
  for (const IoInfo& i : list) names += (names.empty() ? "" : ", ") + i.name;
  throw Error(Code::run_bad_input, "run", std::string(what) + " among " + names,
              "'" + std::string(name) + "'");
}

/// A larger number is a mistake: no loop is cut into as many pieces.
constexpr int max_threads = 1024;

/// Returns the plan to save. A portable one includes the sources of packed arrays, for other processors.
Plan saved_plan(const Engine::Impl& engine) {
  const Plan& plan = engine.program.plan();
  return plan.portable ? with_folded(plan, engine.program.extensions().kernels()) : plan;
}

}  // namespace

ProgramOptions program_options(const BuildOptions& o) {
  if (o.threads < 0 || o.threads > max_threads)
    throw Error(Code::build_bad_option, "build", "0 to " + std::to_string(max_threads) + " threads",
                std::to_string(o.threads), "0 takes as many as this process may use");
  return {o.threads > 0 ? o.threads : cpu_limits().threads, o.executor, o.flush_denormals,
          memory_allowed(o.memory_limit)};
}

EngineSignature::EngineSignature(const Plan& plan, const TuningReport& tuned) : tuning(tuned) {
  const PlanGraph& g = plan.graphs[0];
  const DeclaredSums sums = sums_of(plan);
  for (uint32_t v : g.inputs) inputs.push_back(info_of(g.values[v], sums));
  for (uint32_t v : g.outputs) outputs.push_back(info_of(g.values[v]));
  for (const PlanState& s : plan.states) {
    inputs[s.input].state = outputs[s.output].name;
    outputs[s.output].state = inputs[s.input].name;
  }
  for (const PlanProfile& p : plan.profiles) {
    ShapeProfile& made = profiles.emplace_back();
    made.name = p.name;
    for (const PlanProfile::Input& r : p.inputs) made.inputs[inputs[r.input].name] = {r.min, r.opt, r.max};
  }
}

Engine::Impl::Impl(Plan plan, std::shared_ptr<const Extensions> extensions, const ProgramOptions& options,
                   const TuningReport& tuned)
    : program(std::move(plan), std::move(extensions), options),
      signature(std::make_shared<const EngineSignature>(program.plan(), tuned)),
      inputs(signature->inputs),
      outputs(signature->outputs),
      validator(program.plan()) {}

Engine::Impl::Impl(const Impl& before, Plan plan)
    : program(before.program, std::move(plan)),
      signature(before.signature),
      inputs(signature->inputs),
      outputs(signature->outputs),
      validator(program.plan()) {}

size_t Engine::Impl::input_index(std::string_view name) const { return find(inputs, name, "an input"); }
size_t Engine::Impl::output_index(std::string_view name) const { return find(outputs, name, "an output"); }

const Value* Engine::Impl::default_of(size_t input) const {
  const PlanGraph& g = program.plan().graphs[0];
  const int32_t w = g.values[g.inputs[input]].weight;
  return w < 0 ? nullptr : &program.plan().weights[static_cast<size_t>(w)].value;
}

ShapeKey Engine::Impl::key_for(const NamedShapes& shapes) const {
  InputValidator::Sizes sizes = validator.no_sizes();
  for (const auto& [name, shape] : shapes) validator.check_shape(input_index(name), shape, sizes);
  ShapeKey key;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto given = shapes.find(inputs[i].name);
    if (inputs[i].element_type == DataType::undefined)
      key.push_back(-1);
    else if (given != shapes.end())
      append_to_key(key, given->second);
    else if (const Value* v = default_of(i))
      append_to_key(key, *v);
    else
      append_to_key(key, validator.shape_from(i, sizes));
  }
  return key;
}

const PlanProfile& Engine::Impl::profile(std::string_view name) const {
  std::string names;
  for (const PlanProfile& p : program.plan().profiles) {
    if (p.name == name) return p;
    names += (names.empty() ? "" : ", ") + p.name;
  }
  throw Error(Code::bad_argument, "run", "a profile among " + (names.empty() ? "none" : names),
              "'" + std::string(name) + "'", "profiles are given when an engine is built");
}

std::optional<MemoryPlan> Engine::Impl::fixed_memory_plan() const {
  const bool fixed = std::ranges::all_of(inputs, [](const IoInfo& io) {
    return io.shape && std::ranges::all_of(*io.shape, [](const Dim& d) { return d.is_constant(); });
  });
  if (!fixed) return std::nullopt;
  try {
    return memory_plan_for({});
  } catch (const Error&) {  // shapes that do not fit together: the run says so
    return std::nullopt;
  }
}

namespace {

/// A plan made ready to run here; `origin` names it in errors.
template <class Read>
Engine open(const BuildOptions& options, const std::filesystem::path& origin, Read&& read) {
  auto extensions = Extensions::load(options.plugins);
  const ProgramOptions run = program_options(options);
  Plan plan = read();
  if (options.verify_weights)
    if (const auto damaged = damaged_arrays(plan, origin, options.control); !damaged.empty())
      throw Error(damaged[0]);
  retarget(plan, extensions->kernels(), choose_isa(options.isa), run.threads, run.executor, options.control);
  return EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(plan), std::move(extensions), run));
}

}  // namespace

Engine Engine::load(const std::filesystem::path& path, const BuildOptions& options) {
  return open(options, path, [&] { return load_plan(path, options.load.untrusted); });
}

Engine Engine::deserialize(std::span<const std::byte> plan, const BuildOptions& options) {
  return open(options, "bytes", [&] { return plan_from_bytes(plan); });
}

void Engine::save(const std::filesystem::path& path) const { save_plan(saved_plan(*impl()), path); }
std::vector<std::byte> Engine::serialize() const { return bytes_of(saved_plan(*impl())); }

std::shared_ptr<const Engine::Impl> Engine::impl() const { return state_->current(); }
uint64_t Engine::refits() const { return state_->version(); }

// References stay valid: every engine that takes the place of another one has its signature.
const std::vector<IoInfo>& Engine::inputs() const { return impl()->signature->inputs; }
const std::vector<IoInfo>& Engine::outputs() const { return impl()->signature->outputs; }
const TuningReport& Engine::tuning() const { return impl()->signature->tuning; }
const std::vector<ShapeProfile>& Engine::profiles() const { return impl()->signature->profiles; }
int Engine::threads() const { return impl()->program.pool().threads(); }
bool Engine::is_refittable() const { return impl()->program.plan().refit; }
Numerics Engine::numerics() const {
  return impl()->program.plan().strict ? Numerics::strict : Numerics::normal;
}

TargetInfo Engine::target() const {
  const auto now = impl();
  const Plan& p = now->program.plan();
  return {std::string(name_of(p.target.isa)), std::string(name_of(p.built_for)),
          p.target.isa < p.built_for ? "portable" : "native", p.target.device};
}

void Engine::trim() const {
  const auto now = impl();
  for (const Weight& w : now->program.plan().weights)
    if (w.value.is_tensor()) drop_mapped_pages(w.value.tensor().data(), w.value.tensor().bytes());
}

std::vector<std::string> Engine::symbols() const {
  const auto now = impl();
  const DeclaredSums sums = sums_of(now->program.plan());
  std::vector<std::string> names;
  for (const Plan::Symbol& s : now->program.plan().symbols)
    if (!s.name.starts_with('?') && !sums.contains(s.name)) names.push_back(s.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> Engine::metadata() const {
  return impl()->program.plan().metadata;
}

std::vector<StepInfo> Engine::steps() const {
  const auto now = impl();
  std::vector<StepInfo> list;
  const ProgramGraph& main = now->program.graph(0);
  std::optional<MemoryPlan> memory_plan;
  try {
    memory_plan = now->fixed_memory_plan();
  } catch (const Error&) {
    // An engine that no run can succeed on has steps too.
  }
  for (const PlanGraph& g : now->program.plan().graphs)
    for (const PlanStep& s : g.steps) {
      const Kernel* k = s.kernel.empty() ? nullptr : now->program.extensions().kernels().by_name(s.kernel);
      StepInfo info{s.node,     s.op,       s.kernel, k ? k->backend : "copy",
                    s.origin,   s.refusals, s.fused,  s.unfused,
                    s.tunables, {},         {},       {}};
      if (k && now->program.plan().strict) info.strict = k->strict;
      for (const PlanTiming& t : s.timings) info.timings.push_back({t.tactic, t.microseconds});
      // The steps of the main graph come first.
      if (memory_plan && list.size() < main.steps.size())
        info.memory = describe_memory(main, list.size(), *memory_plan);
      list.push_back(std::move(info));
    }
  return list;
}

namespace {

/// The bytes of the states after a run with inputs of these shapes.
uint64_t bytes_of_states(const Program& program, const ShapeKey& key) {
  const Plan& plan = program.plan();
  Growth::Sizes sizes;
  program.growth().read(key, sizes);
  uint64_t bytes = 0;
  for (const PlanState& s : plan.states) {
    const PlanType& type = plan.graphs[0].values[plan.graphs[0].outputs[s.output]].type;
    Shape shape;
    for (size_t a = 0; a < type.shape->size(); ++a)
      shape.push_back(
          program.growth().evaluate((*type.shape)[a], sizes.now).value_or(key[sizes.first[s.input] + a]));
    if (s.block > 0) {
      int64_t& length = shape[static_cast<size_t>(s.axis)];
      length = (length + s.block - 1) / s.block * s.block;
    }
    bytes += bytes_for(type.elem, static_cast<size_t>(checked_count(shape, type.elem, "a state")));
  }
  return bytes;
}

/// `key`: the shapes of the inputs, before lengths are rounded up.
MemoryInfo memory_of(const Program& program, const MemoryPlan& memory_plan, const ShapeKey& key) {
  MemoryEstimate e = estimate_memory(program, memory_plan);
  return {program.weight_bytes(),
          e.arena,
          e.workspace,
          e.outputs,
          e.data_dependent,
          std::move(e.uncounted),
          e.records,
          bytes_of_states(program, key)};
}

}  // namespace

MemoryInfo Engine::memory(const NamedShapes& shapes) const {
  const auto now = impl();
  const ShapeKey exact = now->key_for(shapes);
  ShapeKey key = exact;
  Growth::Sizes sizes;
  round_key(now->program, key, sizes);
  return memory_of(now->program, plan_run(now->program, 0, key, exact), exact);
}

MemoryInfo Engine::profile_memory(std::string_view name) const {
  const auto now = impl();
  const ProfileReserve reserve = reserve_of(*now, now->profile(name));
  return memory_of(now->program, reserve.peak, reserve.greatest);
}

NamedShapes Engine::output_shapes(const NamedShapes& shapes) const {
  const auto now = impl();
  const MemoryPlan l = now->memory_plan_for(shapes);
  NamedShapes result;
  for (size_t i = 0; i < now->outputs.size(); ++i)
    if (const Slot& s = l.slots[now->program.plan().graphs[0].outputs[i]]; s.known)
      result.emplace(now->outputs[i].name, s.shape);
  return result;
}

}  // namespace lathe
