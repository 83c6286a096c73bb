// Keeps the values of a plan: their memory, copies from one memory to another, dense copies of states.
#include <algorithm>

#include "compiler/graph_lowering.h"
#include "compiler/makers.h"

namespace lathe {
namespace {

PlanType plan_type(const ValueType& t) {
  using From = ValueType::Kind;
  using To = PlanType::Kind;
  PlanType p;
  switch (t.kind) {
    case From::none:
      p.kind = To::none;
      break;
    case From::tensor:
      p.kind = To::tensor;
      break;
    case From::sparse:
      p.kind = To::sparse;
      break;
    case From::sequence:
      p.kind = To::sequence;
      break;
    case From::map:
      p.kind = To::map;
      break;
    case From::optional:
      p.kind = To::optional;
      break;
  }
  const ValueType* inner = &t;
  while ((inner->kind == From::sequence || inner->kind == From::optional) && inner->inner)
    inner = inner->inner.get();
  p.elem = inner->elem;
  p.shape = t.shape;
  p.text = onnx_text(t);
  return p;
}

}  // namespace

void GraphLowering::make_dense(PlanStep& step) {
  for (int32_t& v : step.inputs)
    if (grows(v)) v = static_cast<int32_t>(dense(static_cast<uint32_t>(v)));
  for (int32_t& v : step.outputs) {
    if (!grows(v)) continue;
    const auto made = static_cast<uint32_t>(v);
    const PlanState& state = all_.plan.states[static_cast<size_t>(made_.values[made].state)];
    // Elements behind the old value could be appended, but rows written within it would be lost.
    if (state.update != PlanState::Update::append)
      throw Error(Code::build_no_kernel, "build", "a kernel that writes into " + made_.values[made].name,
                  "none that takes its state")
          .at("build", step.node, step.op);
    v = static_cast<int32_t>(add_dense_value(made, ".joined"));
    PlanStep s;
    s.op = "Append";
    s.domain = "lathe";
    s.node = made_.values[made].name;
    s.attributes.set("axis", static_cast<int64_t>(state.axis));
    s.attributes.set("joined", int64_t{1});
    s.inputs = {static_cast<int32_t>(made_.inputs[state.input]), v};
    s.outputs = {static_cast<int32_t>(made)};
    after_.push_back(std::move(s));
  }
}

/// The value itself, or a dense copy of a state that grows.
uint32_t GraphLowering::dense(uint32_t value) {
  if (!grows(static_cast<int32_t>(value))) return value;
  if (const auto at = dense_.find(value); at != dense_.end()) return at->second;
  const uint32_t copy = add_dense_value(value, ".dense");
  PlanStep s;
  s.op = "Contiguous";
  s.domain = "lathe";
  s.node = made_.values[value].name;
  s.attributes.set("axis", static_cast<int64_t>(all_.plan.grows_along(made_.values[value])));
  s.inputs = {static_cast<int32_t>(value)};
  s.outputs = {static_cast<int32_t>(copy)};
  choose_as_it_is(s, false);
  made_.steps.push_back(std::move(s));
  return dense_[value] = copy;
}

uint32_t GraphLowering::add_dense_value(uint32_t state, std::string_view suffix) {
  PlanValue v = made_.values[state];
  v.name += suffix;
  v.role = ValueRole::computed;
  v.state = -1;
  made_.values.push_back(std::move(v));
  return static_cast<uint32_t>(made_.values.size() - 1);
}

/// Returns which state a value of the main graph is, or -1.
int32_t GraphLowering::state_of(ValueId v, ValueRole role, MemorySpace space) const {
  if (graph_.parent() || space != host_memory) return -1;
  for (size_t i = 0; i < all_.plan.states.size(); ++i) {
    const PlanState& s = all_.plan.states[i];
    const bool is_old = role == ValueRole::input && graph_.inputs()[s.input] == v,
               is_new = role == ValueRole::computed && graph_.outputs()[s.output] == v;
    if (is_old || is_new) return static_cast<int32_t>(i);
  }
  return -1;
}

void GraphLowering::place_outputs(const std::vector<ValueId>& outputs, MemorySpace space,
                                  const PlanStep& step) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == no_id || space == host_memory) continue;
    const auto index = static_cast<uint32_t>(step.outputs[i]);
    made_.values[index].memory = space;
    made_.values[index].state = -1;
    index_.erase({outputs[i], host_memory});
    index_[{outputs[i], space}] = index;
  }
}

/// The output of a kernel that changes nothing has the memory of its input.
void GraphLowering::share_memory(const Node& n, const Kernel& kernel, const PlanStep& step) {
  const auto source = static_cast<size_t>(kernel.alias);
  if (kernel.alias >= 0 && source < step.inputs.size() && step.inputs[source] >= 0 && !n.outputs.empty() &&
      n.outputs[0] != no_id && !graph_.is_output(n.outputs[0]))
    made_.values[static_cast<size_t>(step.outputs[0])].alias_of = step.inputs[source];
}

uint32_t GraphLowering::add_value(ValueId v, ValueRole role, MemorySpace space) {
  const ValueInfo& info = graph_.value(v);
  PlanValue p;
  p.name = info.name;
  p.type = plan_type(info.type);
  p.role = role;
  p.memory = space;
  p.state = state_of(v, role, space);
  if (info.constant && role != ValueRole::captured)
    p.weight = static_cast<int32_t>(all_.weights.add(info.constant, info.name, source_of(graph_, v)));
  const auto index = static_cast<uint32_t>(made_.values.size());
  made_.values.push_back(std::move(p));
  index_[{v, space}] = index;
  return index;
}

uint32_t GraphLowering::value_anywhere(ValueId v) {
  for (size_t space = 0; space <= all_.plan.backends.size(); ++space)
    if (const auto at = index_.find({v, static_cast<MemorySpace>(space)}); at != index_.end())
      return at->second;
  if (is_constant(v)) return add_value(v, ValueRole::constant, host_memory);
  throw Error(Code::graph_undefined_value, "build", "a value that is made before it is read",
              graph_.value(v).name);
}

uint32_t GraphLowering::value_in(ValueId v, MemorySpace space) {
  if (const auto known = index_.find({v, space}); known != index_.end()) return known->second;
  if (is_constant(v)) return add_value(v, ValueRole::constant, space);
  uint32_t from = value_anywhere(v);
  // Devices cannot copy to one another, only through the host.
  if (space != host_memory && made_.values[from].memory != host_memory) from = value_in(v, host_memory);
  from = dense(from);
  const uint32_t to = add_value(v, ValueRole::computed, space);
  PlanStep copy;
  copy.op = "Copy";
  copy.node = graph_.value(v).name;
  copy.inputs = {static_cast<int32_t>(from)};
  copy.outputs = {static_cast<int32_t>(to)};
  made_.steps.push_back(std::move(copy));
  return to;
}

std::string onnx_text(const ValueType& t) {
  switch (t.kind) {
    case ValueType::Kind::none:
      return "unknown";
    case ValueType::Kind::tensor:
      return "tensor(" + std::string(onnx_name_of(t.elem)) + ")";
    case ValueType::Kind::sparse:
      return "sparse_tensor(" + std::string(onnx_name_of(t.elem)) + ")";
    case ValueType::Kind::sequence:
      return "seq(" + (t.inner ? onnx_text(*t.inner) : "unknown") + ")";
    case ValueType::Kind::optional:
      return "optional(" + (t.inner ? onnx_text(*t.inner) : "unknown") + ")";
    case ValueType::Kind::map:
      return "map(" + std::string(onnx_name_of(t.elem)) + "," + (t.inner ? onnx_text(*t.inner) : "unknown") +
             ")";
  }
  return "unknown";
}

}  // namespace lathe
