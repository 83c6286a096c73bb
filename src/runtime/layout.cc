#include "runtime/layout.h"

#include "kernel/facts.h"
#include "runtime/arena.h"
#include "runtime/memory.h"

namespace lathe {
namespace {

class LayoutMaker {
 public:
  LayoutMaker(const Program& program, size_t graph, const ShapeKey& key)
      : program_(program), graph_(program.graph(graph)), arenas_(program.spaces()) {
    made_.key = key;
    made_.slots.resize(graph_.plan->values.size());
    facts_.resize(graph_.plan->values.size());
  }

  Layout run() {
    enter();
    for (const ProgramStep& s : graph_.steps) {
      try {
        infer(s);
        place(s);
      } catch (const Error& e) {
        throw e.at("run", s.plan->node, s.plan->op);
      }
    }
    place_outputs();
    for (const ArenaPlanner& a : arenas_) made_.arena.push_back(a.size());
    return std::move(made_);
  }

 private:
  /// What comes from outside: shapes as the key says, contents for constants only.
  void enter() {
    size_t at = 0;
    const auto read = [&](uint32_t v) {
      Fact<int64_t>& f = facts_[v];
      const PlanType& type = graph_.plan->values[v].type;
      const int64_t rank = made_.key[at++];
      f.present = true;
      if (rank < 0) return;
      if (type.kind != PlanType::Kind::tensor) {  // an optional that happens to hold a tensor
        at += static_cast<size_t>(rank);
        return;
      }
      f.type = type.elem;
      f.ranked = true;
      f.shape.assign(made_.key.begin() + static_cast<ptrdiff_t>(at),
                     made_.key.begin() + static_cast<ptrdiff_t>(at) + rank);
      at += static_cast<size_t>(rank);
      Slot& slot = made_.slots[v];
      slot.known = true;
      slot.type = type.elem;
      slot.shape = Shape(f.shape.begin(), f.shape.end());
    };
    for (uint32_t v : graph_.plan->inputs) read(v);
    for (uint32_t v : graph_.captured) read(v);
    for (uint32_t v = 0; v < facts_.size(); ++v) {
      if (!graph_.constants[v]) continue;
      describe_value(*graph_.constants[v], facts_[v], graph_.plan->values[v].memory == host_memory);
      const Tensor& t = graph_.constants[v]->tensor();
      made_.slots[v].known = true;
      made_.slots[v].type = t.type();
      made_.slots[v].shape = t.shape();
    }
  }

  void infer(const ProgramStep& s) {
    const std::vector<int32_t>&in = s.plan->inputs, &out = s.plan->outputs;
    if (!s.kernel) {
      facts_[static_cast<size_t>(out[0])] = facts_[static_cast<size_t>(in[0])];
      return;
    }
    std::vector<Fact<int64_t>> inputs(in.size()), outputs(out.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] < 0) continue;
      inputs[i] = facts_[static_cast<size_t>(in[i])];
      if (!inputs[i].ranked && is_tensor(in[i])) return;  // only the run knows
    }
    for (size_t i = 0; i < out.size(); ++i) {
      outputs[i].present = out[i] >= 0;
      if (out[i] >= 0) outputs[i].type = graph_.plan->values[static_cast<size_t>(out[i])].type.own_elem();
    }
    ShapeContext<int64_t> c(inputs, outputs);
    s.codec->shape(s.op.get(), c);
    for (size_t i = 0; i < out.size(); ++i)
      if (out[i] >= 0) facts_[static_cast<size_t>(out[i])] = std::move(outputs[i]);
  }

  void place(const ProgramStep& s) {
    for (int32_t v : s.plan->outputs)
      if (v >= 0) place(static_cast<uint32_t>(v));
    if (s.kernel && s.kernel->workspace) measure(s);
    for (uint32_t v : s.ends)
      if (made_.slots[v].place == Slot::Place::arena)
        arenas_[graph_.plan->values[v].memory].give(made_.slots[v].offset,
                                                    aligned_size(made_.slots[v].bytes()));
  }

  void place(uint32_t v) {
    const PlanValue& value = graph_.plan->values[v];
    const Fact<int64_t>& f = facts_[v];
    Slot& slot = made_.slots[v];
    slot.type = value.type.elem;
    slot.place = graph_.root[v] != v ? Slot::Place::alias : Slot::Place::run;
    if (!f.ranked || !is_tensor(static_cast<int32_t>(v)) || bits_of(slot.type) == 0) return;
    checked_count(f.shape, slot.type, value.name);
    slot.known = true;
    slot.shape = Shape(f.shape.begin(), f.shape.end());
    if (slot.place == Slot::Place::alias) return;
    if (graph_.output[v] >= 0) {
      slot.place = Slot::Place::output;
      return;
    }
    slot.place = Slot::Place::arena;
    slot.offset = arenas_[value.memory].take(aligned_size(slot.bytes()));
  }

  void measure(const ProgramStep& s) {
    std::vector<Shape> shapes(s.plan->inputs.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const int32_t v = s.plan->inputs[i];
      if (v < 0) continue;
      if (!facts_[static_cast<size_t>(v)].ranked) return;
      shapes[i] =
          Shape(facts_[static_cast<size_t>(v)].shape.begin(), facts_[static_cast<size_t>(v)].shape.end());
    }
    made_.workspace =
        std::max(made_.workspace,
                 aligned_size(s.kernel->workspace(s.kernel_op.get(), shapes, program_.pool().threads())));
  }

  // Outputs lie one after the other. A body's inputs that pass through are copied too: its caller reads them
  // when the input is gone.
  void place_outputs() {
    const std::vector<uint32_t>& outputs = graph_.plan->outputs;
    made_.outputs.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Slot& slot = made_.slots[outputs[i]];
      const ValueRole role = graph_.plan->values[outputs[i]].role;
      const bool first = graph_.output[outputs[i]] == static_cast<int32_t>(i);
      const bool made_here = slot.place == Slot::Place::output && first;
      const bool passes =
          graph_.is_body && first && role == ValueRole::input && slot.known && bits_of(slot.type) > 0;
      if (!made_here && !passes) continue;
      made_.outputs[i] = {made_.output_bytes, aligned_size(slot.bytes())};
      if (made_here) slot.offset = made_.output_bytes;
      made_.output_bytes += made_.outputs[i].bytes;
    }
  }

  bool is_tensor(int32_t v) const { return graph_.plan->values[static_cast<size_t>(v)].type.is_tensor(); }

  const Program& program_;
  const ProgramGraph& graph_;
  Layout made_;
  std::vector<Fact<int64_t>> facts_;
  std::vector<ArenaPlanner> arenas_;
};

}  // namespace

bool Layout::place_as(const Layout& greater) {
  const auto fits = [&](size_t v) {
    const Slot &mine = slots[v], &its = greater.slots[v];
    return mine.place != Slot::Place::arena ||
           (its.place == Slot::Place::arena && mine.bytes() <= its.bytes());
  };
  for (size_t v = 0; v < slots.size(); ++v)
    if (!fits(v)) return false;
  for (size_t v = 0; v < slots.size(); ++v)
    if (slots[v].place == Slot::Place::arena) slots[v].offset = greater.slots[v].offset;
  arena = greater.arena;
  return true;
}

void append_to_key(ShapeKey& key, const Shape& s) {
  key.push_back(static_cast<int64_t>(s.size()));
  key.insert(key.end(), s.begin(), s.end());
}

void append_to_key(ShapeKey& key, const Value& v) {
  if (v.is_tensor() && v.tensor().defined())
    append_to_key(key, v.tensor().shape());
  else
    key.push_back(-1);
}

Layout make_layout(const Program& program, size_t graph, const ShapeKey& key) {
  return LayoutMaker(program, graph, key).run();
}

}  // namespace lathe
