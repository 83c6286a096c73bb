#include "plan/verify.h"

#include <algorithm>

#include "plan/weight_use.h"

namespace lathe {
namespace {

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  void run() {
    require(!plan_.graphs.empty(), "a main graph", "none");
    for (size_t i = 0; i < plan_.weights.size(); ++i) recipe(plan_.weights[i].recipe, i);
    for (size_t i = 0; i < plan_.states.size(); ++i) state(i);
    for (graph_ = 0; graph_ < plan_.graphs.size(); ++graph_) graph(plan_.graphs[graph_]);
    const PlanGraph& main = plan_.graphs[0];
    for (const auto& s : plan_.symbols) require(s.input < main.inputs.size(), "symbols of inputs", s.name);
    for (const Plan::Tap& t : plan_.taps)
      require(t.graph < plan_.graphs.size() && t.value < plan_.graphs[t.graph].values.size(),
              "taps of values", t.name);
    for (const PlanProfile& p : plan_.profiles) profile(p);
    require(plan_.profiles.size() <= max_profiles, "at most " + std::to_string(max_profiles) + " profiles",
            std::to_string(plan_.profiles.size()));
    for (const PlanValue& v : main.values)
      require(v.role != ValueRole::captured, "a main graph that captures nothing", v.name);
    each_read(plan_, [&](const PlanStep*, size_t, uint32_t w) {
      require(plan_.weights[w].stored, "stored arrays where runs read them", plan_.weights[w].name);
    });
  }

 private:
  void recipe(const WeightRecipe& r, size_t weight) const {
    for (uint32_t from : r.from)
      require(from < weight || from == WeightRecipe::absent, "weights made of earlier ones",
              "weight " + std::to_string(from));
    if (r.kind == WeightRecipe::Kind::fold)
      require(r.output < r.outputs.size() && r.outputs[r.output] != DataType::undefined,
              "a wanted output of a fold", std::to_string(r.output));
  }
  /// Checks a state, of which no other has input or output, and that the values name it.
  void state(size_t i) const {
    const PlanState& s = plan_.states[i];
    const PlanGraph& main = plan_.graphs[0];
    const std::string which = "state " + std::to_string(i);
    const auto names_it = [&](const std::vector<uint32_t>& list, uint32_t at) {
      return at < list.size() && list[at] < main.values.size() &&
             main.values[list[at]].state == static_cast<int32_t>(i);
    };
    require(names_it(main.inputs, s.input) && names_it(main.outputs, s.output),
            "an input and an output that are a state", which);
    const PlanValue &before = main.values[main.inputs[s.input]], &after = main.values[main.outputs[s.output]];
    require(before.role == ValueRole::input && after.role == ValueRole::computed && before.alias_of < 0 &&
                before.weight < 0,
            "a state that is computed", which);
    require(std::ranges::count(main.outputs, main.outputs[s.output]) == 1 &&
                std::ranges::count(main.outputs, main.inputs[s.input]) == 0,
            "a state that is no other output", which);
    const auto is_state = [&](const PlanValue& v) {
      return v.type.is_tensor() && v.type.shape && bits_of(v.type.elem) >= 8 && v.memory == host_memory;
    };
    require(is_state(before) && is_state(after) && before.type.elem == after.type.elem &&
                before.type.shape->size() == after.type.shape->size(),
            "a state of tensors of one type and rank", which);
    const bool appends = s.update == PlanState::Update::append;
    const bool grows = appends || (s.update == PlanState::Update::write && s.axis != -1);
    require(grows ? s.axis >= 0 && static_cast<size_t>(s.axis) < before.type.shape->size() && s.capacity > 0
                  : s.axis == -1,
            "the axis and the capacity of a state", which);
    require(s.block >= 0 && (s.block == 0 || appends), "blocks of a state that is appended to", which);
    const bool written = s.update == PlanState::Update::write || s.update == PlanState::Update::replace;
    require(!written || !late_reader(plan_, s), "a state that is read before it is written", which);
  }
  void profile(const PlanProfile& p) const {
    const PlanGraph& main = plan_.graphs[0];
    for (const PlanProfile::Input& r : p.inputs) {
      require(r.input < main.inputs.size(), "profiles of inputs", p.name);
      bool ordered = r.min.size() == r.opt.size() && r.opt.size() == r.max.size();
      for (size_t i = 0; ordered && i < r.min.size(); ++i)
        ordered = 0 <= r.min[i] && r.min[i] <= r.opt[i] && r.opt[i] <= r.max[i];
      require(ordered, "profiles with min <= opt <= max", p.name);
    }
  }
  void graph(const PlanGraph& g) {
    made_.assign(g.values.size(), false);
    for (size_t i = 0; i < g.values.size(); ++i) value(g, i);
    const auto on_host = [&](uint32_t v) { return g.values[v].memory == host_memory; };
    for (uint32_t v : g.inputs) {
      require(v < g.values.size() && g.values[v].role == ValueRole::input && !made_[v],
              "inputs that are values, each once", std::to_string(v));
      require(on_host(v), "inputs in host memory", g.values[v].name);
      made_[v] = true;
    }
    for (const PlanStep& s : g.steps) step(g, s);
    for (uint32_t v : g.outputs) {
      require(v < g.values.size() && made_[v], "outputs that are made", std::to_string(v));
      require(on_host(v), "outputs in host memory", g.values[v].name);
    }
  }

  void value(const PlanGraph& g, size_t i) {
    const PlanValue& v = g.values[i];
    require(v.memory <= plan_.backends.size(), "memory of a known device", v.name);
    require(v.state >= -1 && v.state < static_cast<int64_t>(plan_.states.size()) &&
                (v.state < 0 || is_of_state(g, i)),
            "a state's values in its input and its output", v.name);
    require(v.role == ValueRole::computed || v.alias_of < 0, "aliases among computed values", v.name);
    require(v.weight < static_cast<int64_t>(plan_.weights.size()), "a weight", v.name);
    if (v.role == ValueRole::constant) {
      require(v.weight >= 0, "a weight for a constant", v.name);
      require(plan_.weights[static_cast<size_t>(v.weight)].recipe.kind != WeightRecipe::Kind::pack,
              "constants that are not packed", v.name);
      const Value& w = plan_.weights[static_cast<size_t>(v.weight)].value;
      require(w.is_tensor() && w.tensor().type() == v.type.elem, "a weight of the constant's type", v.name);
      require(!v.type.shape || is(*v.type.shape, w.tensor().shape()), "a weight of the constant's shape",
              v.name);
    }
    made_[i] = v.role == ValueRole::constant || v.role == ValueRole::captured;
  }

  bool is_of_state(const PlanGraph& g, size_t i) const {
    const PlanState& s = plan_.states[static_cast<size_t>(g.values[i].state)];
    return graph_ == 0 && (g.inputs[s.input] == i || g.outputs[s.output] == i);
  }

  void step(const PlanGraph& g, const PlanStep& s) {
    node_ = s.node;
    for (int32_t v : s.inputs)
      require(v == -1 || (in_range(g, v) && made_[static_cast<size_t>(v)]), "inputs made by earlier steps",
              std::to_string(v));
    for (const PlanBody& b : s.bodies) body(g, b);
    require(s.packed.empty() || s.packed.size() == s.inputs.size(), "one packed weight per input",
            std::to_string(s.packed.size()));
    for (size_t i = 0; i < s.packed.size(); ++i) {
      const int32_t p = s.packed[i];
      require(p == -1 || (p >= 0 && static_cast<size_t>(p) < plan_.weights.size() &&
                          plan_.weights[static_cast<size_t>(p)].value.is_tensor() && s.inputs[i] >= 0 &&
                          g.values[static_cast<size_t>(s.inputs[i])].role == ValueRole::constant),
              "packed forms of constants", std::to_string(p));
    }
    for (int32_t v : s.outputs) {
      if (v == -1) continue;
      require(in_range(g, v), "outputs that are values", std::to_string(v));
      const PlanValue& out = g.values[static_cast<size_t>(v)];
      require(out.role == ValueRole::computed && !made_[static_cast<size_t>(v)], "outputs made once",
              out.name);
      made_[static_cast<size_t>(v)] = true;
      if (out.alias_of == -1) continue;
      bool of_input = false;
      for (int32_t in : s.inputs) of_input |= in == out.alias_of;
      require(of_input && g.values[static_cast<size_t>(out.alias_of)].memory == out.memory,
              "an alias of an input of its step", out.name);
    }
    if (s.epilogue) epilogue(g, s);
    if (s.kernel.empty())
      require(s.inputs.size() == 1 && s.outputs.size() == 1 && s.inputs[0] >= 0 && s.outputs[0] >= 0 &&
                  plan_.grows_along(g.values[static_cast<size_t>(s.inputs[0])]) < 0 &&
                  plan_.grows_along(g.values[static_cast<size_t>(s.outputs[0])]) < 0,
              "a copy of one value", "another step");
    node_.clear();
  }

  void epilogue(const PlanGraph& g, const PlanStep& s) {
    const PlanEpilogue& e = *s.epilogue;
    const MemorySpace memory = s.outputs.empty() || s.outputs[0] < 0
                                   ? host_memory
                                   : g.values[static_cast<size_t>(s.outputs[0])].memory;
    require(!s.kernel.empty() && !s.outputs.empty() && s.outputs[0] >= 0 &&
                is_numbers(g.values[static_cast<size_t>(s.outputs[0])], memory) &&
                g.values[static_cast<size_t>(s.outputs[0])].type.elem != DataType::boolean &&
                g.values[static_cast<size_t>(s.outputs[0])].alias_of == -1,
            "an epilogue of an output of floats", "another step");
    require(e.program.operands == e.operands.size() + 1, "an operand for each that its program has",
            std::to_string(e.operands.size()));
    for (int32_t v : e.operands)
      require(in_range(g, v) && made_[static_cast<size_t>(v)] && v != s.outputs[0] &&
                  is_numbers(g.values[static_cast<size_t>(v)], memory),
              "operands made by earlier steps", std::to_string(v));
  }
  bool is_numbers(const PlanValue& v, MemorySpace memory) const {
    return v.type.is_tensor() && is_number(v.type.elem) && v.memory == memory && plan_.grows_along(v) < 0;
  }

  void body(const PlanGraph& g, const PlanBody& b) {
    require(b.graph > graph_ && b.graph < plan_.graphs.size(), "bodies after the graph they are in",
            std::to_string(b.graph));
    const PlanGraph& inner = plan_.graphs[b.graph];
    size_t captured = 0;
    for (const PlanValue& v : inner.values) captured += v.role == ValueRole::captured;
    require(b.captures.size() == captured, "all captures bound", std::to_string(b.captures.size()));
    for (auto [outer, in] : b.captures)
      require(outer < g.values.size() && made_[outer] && in < inner.values.size() &&
                  inner.values[in].role == ValueRole::captured && g.values[outer].memory == host_memory &&
                  plan_.grows_along(g.values[outer]) < 0 && inner.values[in].memory == host_memory,
              "captures of values that are made, in host memory", std::to_string(outer));
  }

  static bool is(const SymShape& declared, const Shape& shape) {
    return std::ranges::equal(declared, shape, [](const Dim& d, int64_t n) { return d == Dim(n); });
  }
  static bool in_range(const PlanGraph& g, int32_t v) {
    return v >= 0 && static_cast<size_t>(v) < g.values.size();
  }
  void require(bool ok, std::string expected, std::string got) const {
    if (ok) return;
    throw Error(Code::plan_malformed, "load", std::move(expected), std::move(got),
                "build the plan again from its model")
        .at("load", node_.empty() ? "graph " + std::to_string(graph_) : node_, "");
  }

  const Plan& plan_;
  size_t graph_ = 0;
  std::string node_;
  std::vector<bool> made_;
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

const PlanStep* late_reader(const Plan& plan, const PlanState& state) {
  const PlanGraph& g = plan.graphs[0];
  const uint32_t before = g.inputs[state.input], after = g.outputs[state.output];
  std::vector<bool> is_old(g.values.size());
  is_old[before] = true;
  const auto old = [&](int32_t v) {
    return v >= 0 && static_cast<size_t>(v) < is_old.size() && is_old[static_cast<size_t>(v)];
  };
  bool written = false;
  for (const PlanStep& s : g.steps) {
    const bool writes = std::ranges::find(s.outputs, static_cast<int32_t>(after)) != s.outputs.end();
    const bool some = writes && state.update == PlanState::Update::write && !s.inputs.empty() &&
                      s.inputs[0] == static_cast<int32_t>(before);
    size_t reads = static_cast<size_t>(std::ranges::count_if(s.inputs, old)) - (some ? 1 : 0);
    if (s.epilogue) reads += static_cast<size_t>(std::ranges::count_if(s.epilogue->operands, old));
    for (const PlanBody& b : s.bodies)
      reads += static_cast<size_t>(std::ranges::count_if(
          b.captures, [&](auto c) { return c.first < is_old.size() && is_old[c.first]; }));
    if (reads > 0 && (written || writes)) return &s;
    written |= writes;
    for (int32_t v : s.outputs)
      if (v >= 0 && static_cast<size_t>(v) < is_old.size() && v != static_cast<int32_t>(after)) {
        const int32_t alias = g.values[static_cast<size_t>(v)].alias_of;
        if (old(alias)) is_old[static_cast<size_t>(v)] = true;
      }
  }
  return nullptr;
}

}  // namespace lathe
