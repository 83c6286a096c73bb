#include "runtime/memory_estimate.h"

#include <algorithm>
#include <variant>

#include "kernel/facts.h"
#include "runtime/body_memory_plans.h"
#include "runtime/frame.h"
#include "runtime/memory.h"
#include "tensor/contents_fit.h"

namespace lathe {
namespace {

using Facts = std::vector<Fact<int64_t>>;

/// Upper bounds for the shapes of one graph where its memory plan has none: what inference said, else the
/// shape rules on upper bounds.
class Bounds {
 public:
  Bounds(const ProgramGraph& graph, const MemoryPlan& memory_plan, const SymbolSizes& sizes)
      : graph_(graph), facts_(graph.plan->values.size()), loose_(facts_.size()) {
    for (uint32_t v = 0; v < facts_.size(); ++v) enter(v, memory_plan.slots[v], sizes);
    for (const ProgramStep& s : graph.steps) infer(s);
  }
  /// Returns an upper bound of the shape; nothing if none is known.
  std::optional<Shape> of(uint32_t v) const {
    const Fact<int64_t>& f = facts_[v];
    return f.ranked ? std::optional(Shape(f.shape.begin(), f.shape.end())) : std::nullopt;
  }

 private:
  void enter(uint32_t v, const Slot& slot, const SymbolSizes& sizes) {
    const PlanValue& value = graph_.plan->values[v];
    Fact<int64_t>& f = facts_[v];
    if (graph_.constants[v]) return describe_value(*graph_.constants[v], f, value.memory == host_memory);
    f.present = true;
    f.type = value.type.own_elem();
    const auto shape = slot.known ? slot.shape : declared_shape(value.type, sizes);
    loose_[v] = !slot.known;
    if (!shape) return;
    f.ranked = true;
    f.shape.assign(shape->begin(), shape->end());
  }

  void infer(const ProgramStep& s) {
    const std::vector<int32_t>&in = s.plan->inputs, &out = s.plan->outputs;
    if (!s.kernel) return take(out[0], facts_[static_cast<size_t>(in[0])]);
    Facts inputs(in.size()), outputs(out.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] < 0) continue;
      const auto v = static_cast<size_t>(in[i]);
      inputs[i] = facts_[v];
      if (!inputs[i].ranked && graph_.plan->values[v].type.is_tensor()) return;
    }
    bool bounding = false;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] < 0) continue;
      outputs[i].present = true;
      outputs[i].type = facts_[static_cast<size_t>(out[i])].type;
      bounding |= loose_[static_cast<size_t>(out[i])];
    }
    try {
      ShapeContext<int64_t> c(inputs, outputs, bounding);
      s.codec->shape(s.op.get(), c);
    } catch (const Error&) {  // bounds that contradict each other, as the sizes of a run will not
      return;
    }
    for (size_t i = 0; i < out.size(); ++i)
      if (out[i] >= 0) take(out[i], outputs[i]);
  }
  /// Shapes where there is none yet; contents where the shape is exact.
  void take(int32_t to, const Fact<int64_t>& made) {
    Fact<int64_t>& f = facts_[static_cast<size_t>(to)];
    if (!loose_[static_cast<size_t>(to)]) {
      f.valued = made.valued && (!f.ranked || contents_fit(f.shape, made.values.size()));
      f.values = made.values;
    } else if (!f.ranked) {
      f.ranked = made.ranked;
      f.shape = made.shape;
    }
  }

  const ProgramGraph& graph_;
  Facts facts_;
  std::vector<bool> loose_;  // not known exactly
};

/// Bytes of the elements of lists and tensors. Of strings only the objects are counted, not their characters.
size_t bytes_of(const Attributes& attributes) {
  size_t bytes = 0;
  for (const auto& [name, value] : attributes)
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, Tensor>)
            bytes += static_cast<size_t>(v.size()) * sizeof(double);
          else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>)
            bytes += v.size() * std::max(sizeof(double), sizeof(typename T::value_type));
        },
        value);
  return bytes;
}

class Estimator {
 public:
  Estimator(const Program& program, const MemoryPlan& main)
      : program_(program), sizes_(symbol_sizes(program, main)) {}

  MemoryEstimate run(const MemoryPlan& main) {
    const Bounds bounds = graph(0, main);
    const PlanGraph& plan = *program_.graph(0).plan;
    for (uint32_t v : plan.outputs) {
      const Slot& slot = main.slots[v];
      if (slot.place == Slot::Place::state) continue;  // the caller's
      const bool counted = is_counted(plan.values[v]);
      if (counted && (slot.known || slot.place == Slot::Place::output))
        all_.outputs += bytes(plan.values[v], slot.shape);
      // What lies in a buffer by a bound is returned as a copy.
      if (!counted || !slot.known) count_unplanned(plan.values[v], bounds.of(v));
    }
    return std::move(all_);
  }

 private:
  /// Counts the memory of a frame of this graph, and of those of its bodies.
  Bounds graph(size_t index, const MemoryPlan& memory_plan) {
    const ProgramGraph& g = program_.graph(index);
    all_.records += Frame::records(g) + memory_plan.records();
    for (size_t b : memory_plan.arena) all_.arena += b;
    all_.workspace += memory_plan.workspace + memory_plan.scratch;
    for (size_t b : memory_plan.lanes) all_.workspace += b;
    for (size_t b : memory_plan.device_workspace) all_.workspace += b;
    const size_t output_buffers = g.output_buffers();
    if (g.is_body) all_.arena += memory_plan.output_bytes * output_buffers;
    Bounds bounds(g, memory_plan, sizes_);
    for (uint32_t v = 0; v < memory_plan.slots.size(); ++v)
      if (memory_plan.slots[v].place == Slot::Place::run)
        for (size_t n = g.output[v] >= 0 ? output_buffers : 1; n > 0; --n)
          count_unplanned(g.plan->values[v], bounds.of(v));
    size_t workspace = memory_plan.workspace, scratch = 0;
    for (const ProgramStep& step : g.steps) {
      // Of a device the workspaces of steps whose shapes the data decide are counted one by one, which bounds
      // them.
      if (step.memory != host_memory)
        all_.data_dependent += workspace_of(step, memory_plan, bounds);
      else
        workspace = std::max(workspace, workspace_of(step, memory_plan, bounds));
      scratch = std::max(scratch, scratch_of(step, memory_plan, bounds));
      for (const PlanBody& b : step.plan->bodies) body(b, bounds);
    }
    all_.data_dependent += workspace - memory_plan.workspace + scratch;
    return bounds;
  }

  /// Bounds the scratch memory of kernels that do not declare it: references calculate in double, with copies
  /// of their inputs, outputs and attributes. Two and a half times that, for memory of each thread besides,
  /// is more than any takes.
  static size_t scratch_of(const ProgramStep& step, const MemoryPlan& memory_plan, const Bounds& bounds) {
    if (!step.kernel || !step.kernel->temporaries || !step.plan->bodies.empty()) return 0;
    const bool planned = step.kernel->scratch && memory_plan.knows_operands(step);
    std::vector<Shape> shapes;                                  // of inputs and outputs
    size_t bytes = 4096 + 2 * bytes_of(step.plan->attributes);  // small tables
    bool known = true;
    for (const std::vector<int32_t>* operands : {&step.plan->inputs, &step.plan->outputs})
      for (int32_t v : *operands) {
        const auto shape = v < 0 ? Shape() : bounds.of(static_cast<uint32_t>(v));
        known &= shape.has_value();
        shapes.push_back(shape.value_or(Shape()));
        if (v >= 0 && shape)
          bytes += aligned_size(5 * static_cast<size_t>(count_of(*shape)) * sizeof(double) / 2);
      }
    if (!known || !step.kernel->scratch) return bytes;
    const std::span<const Shape> all(shapes);
    const size_t inputs = step.plan->inputs.size();
    const auto planned_scratch =
        step.kernel->scratch(step.kernel_op.get(), all.first(inputs), all.subspan(inputs));
    return planned && planned_scratch ? 0 : planned_scratch.value_or(bytes);
  }

  /// The workspace of a step whose input shapes the memory plan does not know; 0 if they have no bounds,
  /// since the estimate then names such values as uncounted.
  size_t workspace_of(const ProgramStep& step, const MemoryPlan& memory_plan, const Bounds& bounds) const {
    if (!step.kernel || !step.kernel->workspace) return 0;
    std::vector<Shape> shapes;
    bool planned = true;
    for (int32_t v : step.plan->inputs) {
      const auto shape = v < 0 ? Shape() : bounds.of(static_cast<uint32_t>(v));
      if (!shape) return 0;
      planned = planned && (v < 0 || memory_plan.slots[static_cast<size_t>(v)].known);
      shapes.push_back(*shape);
    }
    if (planned) return 0;
    return aligned_size(step.kernel->workspace(step.kernel_op.get(), shapes, program_.pool().threads()));
  }

  void body(const PlanBody& b, const Bounds& outer) {
    ShapeKey key;
    if (key_of(b, outer, key)) {
      try {
        graph(b.graph, plan_memory(program_, b.graph, key));
        return;
      } catch (const Error&) {  // upper bounds that do not fit together
      }
    }
    leave_out(b.graph);
  }
  /// False where a tensor that enters has no bound.
  bool key_of(const PlanBody& b, const Bounds& outer, ShapeKey& key) const {
    const ProgramGraph& inner = program_.graph(b.graph);
    const auto enter = [&](uint32_t v, const std::optional<Shape>& shape) {
      if (!inner.plan->values[v].type.is_tensor())
        key.push_back(-1);
      else if (shape)
        append_to_key(key, *shape);
      else
        return false;
      return true;
    };
    for (uint32_t v : inner.plan->inputs)
      if (!enter(v, declared_shape(inner.plan->values[v].type, sizes_))) return false;
    for (uint32_t v : inner.captured)
      for (auto [from, to] : b.captures)
        if (to == v && !enter(v, outer.of(from))) return false;
    return true;
  }
  void leave_out(size_t index) {
    const PlanGraph& plan = *program_.graph(index).plan;
    for (const PlanValue& v : plan.values)
      if (v.role == ValueRole::computed) leave_out(v.name);
    for (const PlanStep& s : plan.steps)
      for (const PlanBody& b : s.bodies) leave_out(b.graph);
  }
  void leave_out(const std::string& name) {
    if (std::ranges::find(all_.uncounted, name) == all_.uncounted.end()) all_.uncounted.push_back(name);
  }

  void count_unplanned(const PlanValue& v, const std::optional<Shape>& most) {
    if (most && is_counted(v))
      all_.data_dependent += std::max<uint64_t>(bytes(v, *most), memory_alignment);  // as blocks are
    else
      leave_out(v.name);
  }
  static bool is_counted(const PlanValue& v) { return v.type.is_tensor() && bits_of(v.type.elem) > 0; }
  static uint64_t bytes(const PlanValue& v, const Shape& shape) {
    const int64_t count = checked_count(shape, v.type.elem, v.name);
    return aligned_size(bytes_for(v.type.elem, static_cast<size_t>(count)));
  }

  const Program& program_;
  SymbolSizes sizes_;
  MemoryEstimate all_;
};

}  // namespace

MemoryEstimate estimate_memory(const Program& program, const MemoryPlan& memory_plan) {
  return Estimator(program, memory_plan).run(memory_plan);
}

}  // namespace lathe
