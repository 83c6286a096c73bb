#include "compiler/states.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "compiler/cache_updates.h"
#include "compiler/lower.h"
#include "compiler/makers.h"
#include "plan/verify.h"

namespace lathe {
namespace {

using Update = PlanState::Update;

[[noreturn]] void refuse(const std::string& about, std::string expected, std::string got,
                         std::string remedy = {}) {
  throw Error(Code::build_bad_state, "build", std::move(expected), std::move(got), std::move(remedy))
      .at("build", about, "");
}

// Names.

/// Returns the texts that the asterisks of a pattern match, the first ones as short as possible; nothing if
/// it does not fit.
std::optional<std::vector<std::string_view>> captured(std::string_view pattern, std::string_view text) {
  std::vector<std::string_view> parts;  // between the asterisks
  for (size_t at = 0;;) {
    const size_t end = std::min(pattern.find('*', at), pattern.size());
    parts.push_back(pattern.substr(at, end - at));
    if (end == pattern.size()) break;
    at = end + 1;
  }
  if (!text.starts_with(parts.front())) return std::nullopt;
  text.remove_prefix(parts.front().size());
  std::vector<std::string_view> found;
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const size_t at = !last                      ? text.find(parts[i])
                      : text.ends_with(parts[i]) ? text.size() - parts[i].size()
                                                 : std::string_view::npos;
    if (at == std::string_view::npos) return std::nullopt;
    found.push_back(text.substr(0, at));
    text.remove_prefix(at + parts[i].size());
  }
  return text.empty() ? std::optional(found) : std::nullopt;
}
/// Returns the pattern with texts in place of its asterisks; nothing if there are not as many.
std::optional<std::string> filled(std::string_view pattern, const std::vector<std::string_view>& texts) {
  std::string made;
  size_t next = 0;
  for (char c : pattern) {
    if (c != '*') {
      made += c;
      continue;
    }
    if (next == texts.size()) return std::nullopt;
    made += texts[next++];
  }
  return next == texts.size() ? std::optional(made) : std::nullopt;
}

/// Exporters name an input, and the output that is its next value, in these ways.
constexpr std::pair<std::string_view, std::string_view> usual_names[] = {
    {"past_key_values", "present"},
    {"past_key_values", "present_key_values"},
    {"past", "present"},
    {"cache_in", "cache_out"},
    {"_in", "_out"},
    {"in_", "out_"},
    {"state", "stateN"},
    {"state", "new_state"},
    {"state", "next_state"},
    {"state", "state_out"},
    {"h", "hn"},
    {"c", "cn"},
    {"h0", "hn"},
    {"c0", "cn"},
    {"h_0", "h_n"},
    {"c_0", "c_n"},
};

size_t find(const Graph& g, const std::vector<ValueId>& list, std::string_view name) {
  return static_cast<size_t>(
      std::ranges::find(list, name, [&](ValueId v) -> const std::string& { return g.value(v).name; }) -
      list.begin());
}

/// Returns whether the types allow it: tensors of one element type and rank, whose sizes agree, where they
/// are known, but along one axis.
bool may_be_state(const Graph& g, ValueId in, ValueId out) {
  const ValueType &a = g.value(in).type, &b = g.value(out).type;
  if (a.kind != ValueType::Kind::tensor || b.kind != ValueType::Kind::tensor || a.elem != b.elem ||
      !a.shape || !b.shape || a.shape->size() != b.shape->size() || g.value(in).constant)
    return false;
  size_t differ = 0;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const Dim &from = (*a.shape)[i], &to = (*b.shape)[i];
    differ += from == to || to.has_unknown() ? 0 : 1;
  }
  return differ <= 1;
}

void add_usual_pairs(const Graph& g, std::vector<StatePositions>& pairs) {
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const std::string& name = g.value(g.inputs()[i]).name;
    for (const auto& [from, to] : usual_names) {
      const size_t at = name.find(from);
      // Short names must be whole names, not parts of others.
      const bool is_part = from.size() < 4 && name != from && from[0] != '_' && from.back() != '_';
      if (at == std::string::npos || is_part) continue;
      const size_t o = find(g, g.outputs(), std::string(name).replace(at, from.size(), to));
      if (o == g.outputs().size() || !may_be_state(g, g.inputs()[i], g.outputs()[o])) continue;
      pairs.emplace_back(i, o);
      break;
    }
  }
}

// Nodes.

/// Turns a Concat of more than two into one of two, the first of which is the state.
void join_rest(Graph& g, NodeId id) {
  if (g.node(id).inputs.size() == 2) return;
  Node rest = g.node(id);
  const ValueId joined = g.add_value(g.fresh_name(rest.name + ".appended"));
  rest.inputs.erase(0);
  rest.outputs = {joined};
  ValueType type = g.value(rest.inputs[0]).type;
  if (type.shape) {
    const auto rank = static_cast<int64_t>(type.shape->size());
    const int64_t axis = rest.attributes.get<int64_t>("axis", 0);
    Dim& along = (*type.shape)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    for (size_t i = 1; i < rest.inputs.size(); ++i) {
      const auto& other = g.value(rest.inputs[i]).type.shape;
      along = other ? along + (*other)[static_cast<size_t>(axis < 0 ? axis + rank : axis)] : Dim::unknown();
    }
  }
  g.value(joined).type = std::move(type);
  g.node(id).inputs = {g.node(id).inputs[0], joined};
  g.add_node(std::move(rest));
}

PlanState state_of(Graph& g, size_t input, size_t output, int64_t capacity) {
  const ValueId in = g.inputs()[input], out = g.outputs()[output];
  const auto& shape = g.value(in).type.shape;
  const NodeId id = g.value(out).producer;
  PlanState s{.input = static_cast<uint32_t>(input), .output = static_cast<uint32_t>(output)};
  if (id == no_id)
    refuse(g.value(out).name, "a node that makes it of " + g.value(in).name,
           in == out ? "the input itself" : "none", "leave it out of the states");
  join_cache_update(g, id);
  Node& n = g.node(id);
  const auto rank = static_cast<int64_t>(shape->size());
  const auto grows = [&](int64_t axis) {
    s.update = Update::append;
    s.axis = static_cast<int32_t>(axis < 0 ? axis + rank : axis);
    s.capacity = capacity;
  };
  if (n.domain.empty() && n.op == "Concat" && n.inputs[0] == in && std::ranges::count(n.inputs, in) == 1) {
    grows(n.attributes.get<int64_t>("axis", 0));
    join_rest(g, id);
    n.domain = "lathe";
    n.op = "Append";
    n.attributes.set("axis", static_cast<int64_t>(s.axis));
  } else if (n.domain.empty() && n.op == "Attention" &&
             ((n.inputs[4] == in && n.outputs[1] == out) || (n.inputs[5] == in && n.outputs[2] == out))) {
    grows(2);
  } else if (n.domain == "lathe" && n.op == "UpdateCache" && n.inputs[0] == in) {
    grows(n.attributes.get<int64_t>("axis", 0));
    s.update = Update::write;
  } else if (n.domain.empty() && n.op == "TensorScatter" && n.inputs[0] == in) {
    s.update = Update::write;
  } else if (g.value(out).type.shape && *g.value(out).type.shape == *shape) {
    s.update = Update::replace;  // or a copy, if the old value is read too late
  } else {
    const auto& made = g.value(out).type.shape;
    throw Error(
        Code::build_bad_state, "build",
        g.value(out).name + " to be " + g.value(in).name + " with elements appended, written or replaced",
        (made ? describe(*made) : "an unknown shape") + " instead of " + describe(*shape),
        "leave the pair out of the states")
        .at("build", n.name, n.op);
  }
  return s;
}

}  // namespace

std::vector<StatePositions> state_positions(const Graph& g, const BuildOptions& options) {
  std::vector<StatePositions> pairs;
  if (!options.states.empty() && options.state_capacity < 1)
    throw Error(Code::build_bad_option, "build", "a state_capacity of 1 or more",
                std::to_string(options.state_capacity));
  for (const StatePair& p : options.states) {
    const size_t before = pairs.size();
    const std::string text = "states " + p.input + (p.output.empty() ? "" : "=" + p.output);
    if (p.output.empty() && p.input == "auto") {
      add_usual_pairs(g, pairs);
    } else {
      for (size_t i = 0; i < g.inputs().size(); ++i) {
        const auto texts = captured(p.input, g.value(g.inputs()[i]).name);
        const auto name = texts ? filled(p.output, *texts) : std::nullopt;
        if (!name) continue;
        const size_t o = find(g, g.outputs(), *name);
        if (o == g.outputs().size())
          refuse(g.value(g.inputs()[i]).name, "an output '" + *name + "'", "none",
                 "the output's pattern needs an asterisk for each of the input's");
        if (!may_be_state(g, g.inputs()[i], g.outputs()[o]))
          refuse(g.value(g.inputs()[i]).name,
                 "a tensor, with the type of '" + *name + "' and its sizes but for one",
                 onnx_text(g.value(g.outputs()[o]).type) +
                     describe(g.value(g.outputs()[o]).type.shape.value_or(SymShape())));
        pairs.emplace_back(i, o);
      }
    }
    if (pairs.size() == before) refuse(text, "an input and an output of these names", "none");
  }
  std::set<size_t> inputs, outputs;
  for (const auto& [i, o] : pairs) {
    if (!inputs.insert(i).second) refuse(g.value(g.inputs()[i]).name, "one output for the input", "two");
    const auto same = std::ranges::count(g.outputs(), g.outputs()[o]);
    if (!outputs.insert(o).second || same > 1)
      refuse(g.value(g.outputs()[o]).name, "an output that is one state", "several");
  }
  return pairs;
}

std::vector<PlanState> use_states(Graph& g, const std::vector<StatePositions>& pairs, int64_t capacity) {
  std::vector<PlanState> states;
  for (const auto& [i, o] : pairs) states.push_back(state_of(g, i, o, capacity));
  return states;
}

void settle_states(Plan& plan) {
  const PlanGraph& main = plan.graphs[0];
  for (PlanState& s : plan.states) {
    if (s.update == PlanState::Update::append || s.update == PlanState::Update::copy) continue;
    const PlanStep* const late = late_reader(plan, s);
    const bool is_output = std::ranges::find(main.outputs, main.inputs[s.input]) != main.outputs.end();
    if (!late && !is_output) continue;
    const std::string& name = main.values[main.inputs[s.input]].name;
    if (s.update == PlanState::Update::write)
      throw Error(Code::build_bad_state, "build",
                  name + " to be read before " + main.values[main.outputs[s.output]].name +
                      " is written in its place",
                  late ? "a node that reads it afterwards" : "an output of the graph that it is",
                  "leave it out of the states")
          .at("build", late ? late->node : name, late ? late->op : "");
    s.update = PlanState::Update::copy;
  }
}

}  // namespace lathe
