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

constexpr int64_t max_block = int64_t{1} << 20;

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

void add_usual_pairs(const Graph& g, const StatePair& pair, std::vector<StatePositions>& pairs) {
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const std::string& name = g.value(g.inputs()[i]).name;
    for (const auto& [from, to] : usual_names) {
      const size_t at = name.find(from);
      // Short names must be whole names, not parts of others.
      const bool is_part = from.size() < 4 && name != from && from[0] != '_' && from.back() != '_';
      if (at == std::string::npos || is_part) continue;
      const size_t o = find(g, g.outputs(), std::string(name).replace(at, from.size(), to));
      if (o == g.outputs().size() || !may_be_state(g, g.inputs()[i], g.outputs()[o])) continue;
      pairs.push_back({i, o, pair.type, pair.block});
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

/// Returns whether the node is an Attention that appends to this cache.
bool appends_to_cache(const Node& n, ValueId in, ValueId out) {
  return n.domain.empty() && n.op == "Attention" &&
         ((n.inputs[4] == in && n.outputs[1] == out) || (n.inputs[5] == in && n.outputs[2] == out));
}

/// Returns the node, other than this one, that reads elements of the value; null: none. Sizes may be read.
const Node* other_reader(const Graph& g, ValueId v, NodeId than) {
  for (const Use& use : g.uses_of(v))
    if (const Node& n = g.node(use.node); use.node != than && !(n.domain.empty() && n.op == "Shape"))
      return &n;
  return nullptr;
}

/// Lets those who read the sizes of a value see them as they were before its last axis got longer.
void hide_growth(Graph& g, ValueId v, int64_t by) {
  const auto rank = static_cast<int64_t>(g.value(v).type.shape->size());
  for (const Use& use : g.uses_of(v)) {
    Node& n = g.node(use.node);
    if (n.op != "Shape") continue;
    const auto bound = [&](const char* attribute, int64_t otherwise) {
      const int64_t given = n.attributes.get<int64_t>(attribute, otherwise);
      return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
    };
    const int64_t count = bound("end", rank) - bound("start", 0);
    if (bound("end", rank) < rank || count < 1) continue;
    Tensor change(DataType::int64, {count});
    std::ranges::fill(change.as<int64_t>(), 0);
    change.as<int64_t>().back() = -by;
    const ValueId sizes = n.outputs[0], longer = g.add_value(g.fresh_name(n.name + ".longer"));
    g.value(longer).type = g.value(sizes).type;
    n.outputs = {longer};
    Node add;
    add.op = "Add";
    add.name = n.name + ".shorter";
    add.origin = n.origin;
    add.inputs = {longer, g.add_constant(g.fresh_name("scale_bytes"), std::move(change))};
    add.outputs = {sizes};
    g.add_node(std::move(add));
  }
}

/// Changes the type in which the keys or values are kept that an Attention appends to its cache.
void keep_as(Graph& g, const StatePositions& p) {
  const ValueId in = g.inputs()[p.input], out = g.outputs()[p.output];
  const std::string& name = g.value(in).name;
  const DataType type = p.type;
  if (type != DataType::float32 && type != DataType::float16 && type != DataType::bfloat16 &&
      type != DataType::int8)
    refuse(name, "a state of float32, float16, bfloat16 or int8", std::string(name_of(type)));
  const NodeId id = g.value(out).producer;
  const bool scaled = type == DataType::int8;
  if (id == no_id || !appends_to_cache(g.node(id), in, out) ||
      g.value(g.node(id).inputs[1]).type.elem != DataType::float32)
    refuse(name, "keys or values of float32 that Attention appends to its cache",
           id == no_id ? "a value that no node makes" : "a state that " + g.node(id).op + " makes",
           "leave the type out for this state");
  for (ValueId v : {in, out})
    if (const Node* const other = other_reader(g, v, id))
      refuse(name, "keys or values that Attention alone reads",
             g.value(v).name + ", which " + other->name + " (" + other->op + ") reads",
             "leave the type out for this state");
  for (ValueId v : {in, out}) {
    ValueType& t = g.value(v).type;
    t.elem = type;
    if (!scaled) continue;
    t.shape->back() = t.shape->back() + Dim(4);
    hide_growth(g, v, 4);
  }
  if (scaled) g.node(id).attributes.set("scaled_cache", int64_t{1});
}
/// Keys and values of one node have one type.
void check_types(const Graph& g, const std::vector<StatePositions>& pairs) {
  for (const StatePositions& p : pairs) {
    const ValueId in = g.inputs()[p.input], out = g.outputs()[p.output];
    const NodeId id = g.value(out).producer;
    if (id == no_id || !appends_to_cache(g.node(id), in, out)) continue;
    const Node& n = g.node(id);
    if (g.value(n.inputs[4]).type.elem != g.value(n.inputs[5]).type.elem)
      refuse(g.value(in).name, "keys and values of one type",
             std::string(name_of(g.value(n.inputs[4]).type.elem)) + " and " +
                 std::string(name_of(g.value(n.inputs[5]).type.elem)));
  }
}

PlanState state_of(Graph& g, const StatePositions& p, int64_t capacity) {
  const auto [input, output, type, block] = p;
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
  } else if (appends_to_cache(n, in, out)) {
    grows(2);
    s.block = block;
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
    if (p.block < 0 || p.block > max_block)
      throw Error(Code::build_bad_option, "build", "blocks of 0 to " + std::to_string(max_block) + " indices",
                  std::to_string(p.block));
    const size_t before = pairs.size();
    const std::string text = "states " + p.input + (p.output.empty() ? "" : "=" + p.output);
    if (p.output.empty() && p.input == "auto") {
      add_usual_pairs(g, p, pairs);
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
        pairs.push_back({i, o, p.type, p.block});
      }
    }
    if (pairs.size() == before) refuse(text, "an input and an output of these names", "none");
  }
  std::set<size_t> inputs, outputs;
  for (const auto& [i, o, type, block] : pairs) {
    if (!inputs.insert(i).second) refuse(g.value(g.inputs()[i]).name, "one output for the input", "two");
    const auto same = std::ranges::count(g.outputs(), g.outputs()[o]);
    if (!outputs.insert(o).second || same > 1)
      refuse(g.value(g.outputs()[o]).name, "an output that is one state", "several");
  }
  return pairs;
}

std::vector<PlanState> use_states(Graph& g, const std::vector<StatePositions>& pairs, int64_t capacity) {
  std::vector<PlanState> states;
  for (const StatePositions& p : pairs)
    if (p.type != DataType::undefined && p.type != g.value(g.inputs()[p.input]).type.elem) keep_as(g, p);
  check_types(g, pairs);
  for (const StatePositions& p : pairs) states.push_back(state_of(g, p, capacity));
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
