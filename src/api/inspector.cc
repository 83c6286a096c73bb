#include "lathe/inspector.h"

#include "api/json_writer.h"
#include "kernel/select.h"
#include "runtime/body_memory_plans.h"
#include "runtime/engine_impl.h"

namespace lathe {
namespace {

/// A shape for every input: as it is given, else as declared.
NamedShapes complete(const Engine::Impl& engine, const NamedShapes& given) {
  const Plan& plan = engine.program.plan();
  std::map<std::string, int64_t, std::less<>> sizes;
  const auto learn = [&](const SymShape& declared, const Shape& shape) {
    for (size_t axis = 0; axis < declared.size() && axis < shape.size(); ++axis)
      if (const auto name = declared[axis].symbol_name()) sizes.try_emplace(std::string(*name), shape[axis]);
  };
  InputValidator::Sizes seen = engine.validator.no_sizes();
  for (const auto& [name, shape] : given) {
    const size_t i = engine.input_index(name);
    engine.validator.check_shape(i, shape, seen);
    if (engine.inputs[i].shape) learn(*engine.inputs[i].shape, shape);
  }
  for (const auto& [symbol, size] : plan.likely) sizes.try_emplace(symbol, size);
  NamedShapes all = given;
  for (const IoInfo& io : engine.inputs) {
    if (all.contains(io.name) || !io.shape || io.element_type == DataType::undefined) continue;
    Shape shape;
    for (const Dim& d : *io.shape) shape.push_back(d.evaluate(sizes).value_or(1));
    all.emplace(io.name, std::move(shape));
  }
  return all;
}

/// Returns nothing if shapes that were not given do not fit together.
std::optional<MemoryPlan> memory_plan_of(const Engine::Impl& engine, const NamedShapes& all, bool given) {
  try {
    return engine.memory_plan_for(all);
  } catch (const Error&) {
    if (given) throw;
    return std::nullopt;
  }
}

std::string joined(const std::vector<std::string>& list, const char* between) {
  std::string s;
  for (const std::string& x : list) s += (s.empty() ? "" : between) + x;
  return s;
}

std::string count(double x) { return std::to_string(static_cast<int64_t>(x)); }

void write_list(JsonWriter& w, const char* name, const std::vector<std::string>& list) {
  w.member(name).array();
  for (const std::string& s : list) w.text(s);
  w.end();
}

void write(JsonWriter& w, const LayerInformation& l) {
  w.object();
  w.member("node").text(l.node).member("op").text(l.op).member("kernel").text(l.kernel);
  w.member("tactic").text(l.tactic).member("backend").text(l.backend);
  w.member("graph").number(l.graph);
  write_list(w, "origin", l.origin);
  write_list(w, "fused", l.fused);
  write_list(w, "not_fused", l.unfused);
  write_list(w, "refusals", l.refusals);
  w.member("timings").object();
  for (const StepInfo::Timing& t : l.timings) w.member(t.tactic).number(t.microseconds);
  w.end();
  if (!l.strict.empty()) w.member("strict").text(l.strict);
  if (l.known)
    w.member("shapes").text(l.shapes).member("bytes").number(l.bytes).member("flops").number(l.flops);
  w.end();
}

}  // namespace

EngineInspector Engine::inspect(const NamedShapes& input_shapes) const {
  return EngineInspector(*this, input_shapes);
}

EngineInspector::EngineInspector(const Engine& engine, const NamedShapes& input_shapes)
    : target_(engine.target()), numerics_(engine.numerics()), refittable_(engine.is_refittable()) {
  const std::shared_ptr<const Engine::Impl> impl = engine.impl();
  const Program& program = impl->program;
  weights_ = program.weight_bytes();
  shapes_ = complete(*impl, input_shapes);
  std::vector<std::optional<MemoryPlan>> memory_plans(program.plan().graphs.size());
  if (std::optional<MemoryPlan> main = memory_plan_of(*impl, shapes_, !input_shapes.empty()))
    memory_plans = memory_plans_of_all(program, std::move(*main));
  ShapeTexts texts;
  std::vector<StepInfo> steps = engine.steps();
  size_t at = 0;
  for (uint32_t g = 0; g < program.plan().graphs.size(); ++g)
    for (size_t i = 0; i < program.graph(g).steps.size(); ++i) {
      LayerInformation l{std::move(steps.at(at++)), {}, g, false, 0, 0, {}};
      l.tactic = tactic_text(l.kernel, l.tunables);
      if (const std::optional<MemoryPlan>& memory_plan = memory_plans[g]) {
        const auto look = [&](uint32_t v) -> CostOperand {
          const Slot& slot = memory_plan->slots[v];
          return {slot.type, slot.known ? &slot.shape : nullptr};
        };
        const StepCost cost =
            cost_of(program.graph(g), program.graph(g).steps[i], look, texts, memory_plan->in_place[i]);
        l.known = cost.known;
        l.bytes = cost.bytes;
        l.flops = cost.flops;
        l.shapes = texts.all()[cost.shapes];
      }
      layers_.push_back(std::move(l));
    }
}

std::string EngineInspector::get_layer_information(size_t i, LayerInformationFormat format) const {
  if (i >= layers_.size())
    throw Error(Code::bad_argument, "inspect", "a layer below " + std::to_string(layers_.size()),
                std::to_string(i));
  const LayerInformation& l = layers_[i];
  if (format == LayerInformationFormat::json) {
    JsonWriter w;
    write(w, l);
    return w.take();
  }
  std::vector<std::string> operators = l.fused;
  if (l.op != "Pointwise") operators.insert(operators.begin(), l.op);
  std::string s = joined(operators, " + ") + " by " + (l.tactic.empty() ? "copy" : l.tactic);
  if (!l.origin.empty()) s += "; of " + joined(l.origin, ", ");
  if (l.known) s += "; " + count(l.bytes) + " bytes, " + count(l.flops) + " FLOPs; " + l.shapes;
  if (!l.unfused.empty()) s += "; not fused: " + joined(l.unfused, ", ");
  return s;
}

std::string EngineInspector::get_engine_information(LayerInformationFormat format) const {
  if (format == LayerInformationFormat::oneline) {
    std::string s;
    for (size_t i = 0; i < layers_.size(); ++i) s += get_layer_information(i) + "\n";
    return s;
  }
  JsonWriter w;
  w.object().member("isa").text(target_.isa).member("built_for").text(target_.built_for);
  w.member("device").text(target_.device);
  w.member("numerics").text(name_of(numerics_)).member("refittable").boolean(refittable_);
  w.member("weight_bytes").number(static_cast<double>(weights_)).member("input_shapes").object();
  for (const auto& [name, shape] : shapes_) {
    w.member(name).array();
    for (int64_t d : shape) w.number(static_cast<double>(d));
    w.end();
  }
  w.end().member("layers").array();
  for (const LayerInformation& l : layers_) write(w, l);
  w.end().end();
  return w.take();
}

}  // namespace lathe
