// A network as C++ source that makes it again: in the words of its layers where a call made them, else
// operator by operator.
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "lathe/safetensors.h"
#include "network/call.h"
#include "network/cpp_text.h"
#include "network/state.h"

namespace lathe {
namespace {

using cpp_text::literal;

/// A part of the program that is written at once: an input, a constant, a layer, or one operator.
struct Part {
  enum class Kind { input, constant, call, node };
  Kind kind;
  ValueId key;  // its first value: parts are written in the order in which they were made
  ValueId value = no_id;
  std::vector<NodeId> nodes = {};
  const LayerCall* call = nullptr;
};

/// Returns the parts so that those they read come first, else by key; not all of them if layers wait for each
/// other.
std::vector<const Part*> in_order(const Graph& g, const std::vector<Part>& parts, bool inputs_in_order) {
  std::unordered_map<ValueId, size_t> maker;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& p = parts[i];
    if (p.value != no_id) maker[p.value] = i;
    if (p.call)
      for (ValueId v : p.call->constants) maker[v] = i;
    for (NodeId id : p.nodes)
      for (ValueId v : g.node(id).outputs)
        if (v != no_id) maker[v] = i;
  }
  std::vector<std::vector<size_t>> readers(parts.size());
  std::vector<size_t> waiting(parts.size());
  std::set<std::pair<size_t, size_t>> seen;
  auto depend = [&](size_t reader, ValueId v) {
    const auto at = v == no_id ? maker.end() : maker.find(v);
    if (at == maker.end() || at->second == reader || !seen.emplace(at->second, reader).second) return;
    readers[at->second].push_back(reader);
    ++waiting[reader];
  };
  for (size_t i = 0; i < parts.size(); ++i)
    for (NodeId id : parts[i].nodes) {
      for (ValueId v : g.node(id).inputs) depend(i, v);
      for (const Body& b : g.node(id).bodies)
        for (ValueId c : b.graph->captures()) depend(i, b.graph->value(c).captured);
    }
  for (size_t i = 1; inputs_in_order && i < g.inputs().size(); ++i)
    depend(maker.at(g.inputs()[i]), g.inputs()[i - 1]);

  using Entry = std::pair<ValueId, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!waiting[i]) ready.emplace(parts[i].key, i);
  std::vector<const Part*> order;
  while (!ready.empty()) {
    const size_t i = ready.top().second;
    ready.pop();
    order.push_back(&parts[i]);
    for (size_t r : readers[i])
      if (--waiting[r] == 0) ready.emplace(parts[r].key, r);
  }
  return order;
}

/// Maps the values that a layer's nodes read when they were made to those they read now; nothing if the call
/// would append other nodes now.
std::optional<std::map<ValueId, ValueId>> read_now(const Graph& g, const std::vector<NodeId>& nodes,
                                                   const LayerCall& call) {
  std::map<ValueId, ValueId> now;
  for (const LayerCall::Piece& p : call.pieces)
    if (p.tensor != no_id) now.emplace(p.tensor, no_id);
  if (nodes.size() != call.inputs.size()) return std::nullopt;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<ValueId>& inputs = g.node(nodes[i]).inputs;
    if (inputs.size() != call.inputs[i].size()) return std::nullopt;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto given = now.find(call.inputs[i][k]);
      if (given == now.end() ? inputs[k] != call.inputs[i][k]
                             : given->second != no_id && given->second != inputs[k])
        return std::nullopt;
      if (given != now.end()) given->second = inputs[k];
    }
  }
  for (auto& [before, value] : now)
    if (value == no_id) value = before;
  return now;
}

class CppWriter {
 public:
  CppWriter(const CppOptions& o, const NetworkState& s) : options_(o), state_(s) {}

  std::string run(const std::shared_ptr<const Graph>& root) {
    const Graph& g = *root;
    std::string body;
    network(root, "n", "  ", nullptr, "", body);
    for (ValueId v : g.outputs()) {
      const auto late = late_names_.find(v);
      body += "  n.mark_output(" + variable(g, v);
      body += (late == late_names_.end() ? "" : ", " + literal(late->second)) + ");\n";
    }
    for (const auto& [scope, v] : state_.debug)
      if (scope == 0) body += "  n.mark_debug(" + variable(g, v) + ");\n";
    const bool files = !options_.weights.empty();
    if (files) save_safetensors(options_.weights, stored_);
    std::string text =
        "#include <lathe/checkpoint.h>\n#include <lathe/lathe.h>\n#include <lathe/network.h>\n\n";
    text += "#include <bit>\n#include <cstring>\n\n";
    text += "lathe::Network " + options_.function + "(" +
            (files ? "const std::filesystem::path& weights" : "") + ") {\n";
    if (files) text += "  const lathe::Checkpoint checkpoint = lathe::Checkpoint::open(weights);\n";
    if (uses_bytes_) text += cpp_text::helper;
    text += "  lathe::Network n(" + literal(g.name) + ");\n" + body + "  return n;\n}\n";
    return text;
  }

 private:
  // ── Names
  // ─────────────────────────────────────────────────────────────────────────────────────────────────

  /// Returns the variable of a value. A captured value has the variable of the value around the body.
  std::string variable(const Graph& g, ValueId v) {
    const Graph* at = &g;
    while (at->value(v).captured != no_id) v = at->value(v).captured, at = at->parent();
    const auto known = names_.find({at, v});
    if (known != names_.end()) return known->second;
    // A value inside a layer that others read has no variable and is found by its name.
    return "*" + networks_.at(at) + ".find_tensor(" + literal(at->value(v).name) + ")";
  }
  std::string declare(const Graph& g, ValueId v) { return names_[{&g, v}] = identifier(g.value(v).name); }
  /// Returns an unused identifier in lower case, so that it is no macro's name.
  std::string identifier(std::string_view name) {
    std::string s;
    for (const char c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
      if (letter || (digit && !s.empty()))
        s += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      else if (!s.empty() && s.back() != '_')
        s += '_';
    }
    while (!s.empty() && s.back() == '_') s.pop_back();
    if (s.empty() || s.size() > 60) s = "t";
    std::string free = s;
    for (int& i = variables_[s]; !taken_.insert(free).second;) free = s + "_" + std::to_string(++i);
    return free;
  }

  // ── Graphs
  // ────────────────────────────────────────────────────────────────────────────────────────────────

  /// `loop`: what add_loop said of the body; `body` then names the LoopBody, and `n` its network.
  void network(const std::shared_ptr<const Graph>& graph, const std::string& n, const std::string& indent,
               const LayerCall::Loop* loop, const std::string& body, std::string& out) {
    const Graph& g = *graph;
    networks_[&g] = n;
    std::vector<Part> parts = parts_of(graph, true, loop != nullptr);
    std::vector<const Part*> order = in_order(g, parts, !loop);
    if (order.size() < parts.size()) {
      parts = parts_of(graph, false, loop != nullptr);
      order = in_order(g, parts, !loop);
    }
    for (const Part* p : order) switch (p->kind) {
        case Part::Kind::input:
          if (loop)
            loop_input(g, p->value, *loop, body, indent, out);
          else
            input(g, p->value, n, indent, out);
          break;
        case Part::Kind::constant:
          constant(g, p->value, n, indent, out);
          break;
        case Part::Kind::call:
          layer(g, *p, p->call->of_loop ? body : n, indent, out);
          break;
        case Part::Kind::node:
          node(g, g.node(p->nodes[0]), n, indent, out);
          break;
      }
  }

  std::vector<Part> parts_of(const std::shared_ptr<const Graph>& graph, bool by_calls, bool in_loop) const {
    const Graph& g = *graph;
    const auto known = state_.calls.find(graph);
    std::map<std::string_view, std::vector<NodeId>> groups;
    for (NodeId id = 0; id < g.node_count(); ++id)
      if (const std::string& group = metadata_of(g.node(id), layer_key); g.node(id).alive && !group.empty())
        groups[group].push_back(id);
    std::vector<Part> parts;
    std::set<ValueId> made;
    std::set<NodeId> written;
    auto first_value = [&](const std::vector<NodeId>& nodes) {
      auto first = static_cast<ValueId>(g.value_count());
      for (NodeId id : nodes)
        for (ValueId v : g.node(id).outputs) first = std::min(first, v);
      return first;
    };
    for (NodeId id : g.order()) {
      if (written.contains(id)) continue;
      const std::string& group = metadata_of(g.node(id), layer_key);
      const std::vector<NodeId> nodes = group.empty() ? std::vector{id} : groups.at(group);
      const LayerCall* call = nullptr;
      if (by_calls && known != state_.calls.end())
        if (const auto at = known->second.find(nodes[0]); at != known->second.end()) call = at->second.get();
      if (call && (in_loop || !call->of_loop) && read_now(g, nodes, *call)) {
        ValueId key = first_value(nodes);
        for (ValueId v : call->constants) made.insert(v), key = std::min(key, v);
        parts.push_back({Part::Kind::call, key, no_id, nodes, call});
        written.insert(nodes.begin(), nodes.end());
      } else {
        parts.push_back({Part::Kind::node, first_value({id}), no_id, {id}, nullptr});
      }
    }
    for (ValueId v : g.inputs()) parts.push_back({Part::Kind::input, v, v});
    for (ValueId v = 0; v < g.value_count(); ++v) {
      const ValueInfo& i = g.value(v);
      if (i.constant && !i.is_input && i.captured == no_id && i.producer == no_id && !made.contains(v))
        parts.push_back({Part::Kind::constant, v, v});
    }
    return parts;
  }

  void input(const Graph& g, ValueId v, const std::string& n, const std::string& indent, std::string& out) {
    const ValueInfo& i = g.value(v);
    const std::string name = declare(g, v);
    out += indent + "const auto " + name + " = " + n + ".add_input(" + literal(i.name) + ", " +
           literal(i.type.str()) + ");\n";
    if (i.constant && i.constant->is_tensor())
      out += indent + n + ".set_default(" + name + ", " + tensor(i.name, i.constant->tensor()) + ");\n";
  }

  /// Writes an input of a body. A Scan has recurrences and iterators; a Loop the iteration, the condition and
  /// recurrences.
  void loop_input(const Graph& g, ValueId v, const LayerCall::Loop& loop, const std::string& body,
                  const std::string& indent, std::string& out) {
    auto at = static_cast<size_t>(std::ranges::find(g.inputs(), v) - g.inputs().begin());
    const Node& node = *loop_nodes_.at(&g);
    const Graph& around = *g.parent();
    auto made = [&](const char* usual, const std::string& call) {
      const std::string name = declare(g, v);
      out += indent + "const auto " + name + " = " + body + "." + call + ";\n";
      if (!g.value(v).name.starts_with(usual))
        out += indent + "lathe::TensorRef(" + name + ").set_name(" + literal(g.value(v).name) + ");\n";
    };
    auto source = [&](size_t input) { return variable(around, node.inputs[input]); };
    if (!loop.scan && at == 0) return made("iteration", "iteration()");
    if (!loop.scan && at == 1) return;  // found by its name, where somebody reads it
    const size_t k = loop.scan ? at : at - 2;
    if (k < loop.recurrences) return made("recurrence", "add_recurrence(" + source(at) + ")");
    const LayerCall::Loop::Iterator& i = loop.iterators[k - loop.recurrences];
    made("iterator",
         "add_iterator(" + source(at) + ", " + std::to_string(i.axis) + (i.reverse ? ", true)" : ")"));
  }

  void constant(const Graph& g, ValueId v, const std::string& n, const std::string& indent,
                std::string& out) {
    const ValueInfo& i = g.value(v);
    if (!i.constant->is_tensor())
      throw Error(Code::not_supported, "network", "constants that are tensors to write as C++",
                  "'" + i.name + "' of type " + i.type.str());
    const std::string made = tensor(i.name, i.constant->tensor());
    out += indent + "const auto " + declare(g, v) + " = " + n + ".add_constant(" + made + ", " +
           literal(i.name) + ");\n";
  }

  std::string tensor(const std::string& name, const Tensor& t) {
    if (options_.weights.empty() || t.size() <= options_.inline_elements || !safetensors_can_hold(t.type()))
      return cpp_text::tensor(t, uses_bytes_);
    std::string key = name;  // bodies beside each other may have the same names
    for (int i = 2; !keys_.insert(key).second; ++i) key = name + "_" + std::to_string(i);
    stored_.emplace_back(key, t);
    return "checkpoint.tensor(" + literal(key) + ")";
  }

  // ── Layers
  // ────────────────────────────────────────────────────────────────────────────────────────────────

  void layer(const Graph& g, const Part& p, const std::string& n, const std::string& indent,
             std::string& out) {
    const LayerCall& call = *p.call;
    const std::map<ValueId, ValueId> now = *read_now(g, p.nodes, call);
    const Node& first = g.node(p.nodes[0]);
    std::string text = n + "." + call.method + "(";
    for (const LayerCall::Piece& piece : call.pieces) {
      text += piece.text;
      if (piece.tensor != no_id) text += variable(g, now.at(piece.tensor));
      if (!piece.body.empty()) text += body_of(first, body_named(first, piece.body), call.loop, indent);
    }
    text += ")";
    const std::string name = identifier(call.name);
    const std::string& group = metadata_of(first, layer_key);
    std::string more;
    if (const std::string& named = group.empty() ? first.name : group; named != call.name && !call.of_loop)
      more += indent + name + ".set_name(" + literal(named) + ");\n";
    bool read = false;
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      const auto& [v, before] = call.outputs[i];
      const std::string output = name + ".get_output(" + std::to_string(i) + ")";
      names_[{&g, v}] = i || call.of_loop ? (call.of_loop ? name : output) : name;
      read = read || g.is_output(v) || state_.debug.contains({0, v}) || !g.uses_of(v).empty();
      const std::string& called = g.value(v).name;
      if (called == before) continue;
      // mark_output may give the name, unless it matters meanwhile.
      if (!g.parent() && g.is_output(v) && g.find_value(before) == no_id)
        late_names_[v] = called;
      else
        more += indent + (call.of_loop ? "lathe::TensorRef(" + name + ")" : output) + ".set_name(" +
                literal(called) + ");\n";
    }
    for (const auto& [key, value] : first.metadata)
      if (!is_layer_key(key))
        more += indent + name + ".set_metadata(" + literal(key) + ", " + literal(value) + ");\n";
    const bool changed = more.find(name + ".set_") != std::string::npos;
    const bool named = read || !more.empty();
    out += indent + (named ? (changed ? "auto " : "const auto ") + name + " = " : "") + text + ";\n" + more;
  }

  static const std::shared_ptr<Graph>& body_named(const Node& n, std::string_view name) {
    return std::ranges::find(n.bodies, name, &Body::name)->graph;
  }

  /// The function that fills the body of a loop or a branch.
  std::string body_of(const Node& node, const std::shared_ptr<const Graph>& graph,
                      const std::optional<LayerCall::Loop>& loop, const std::string& indent) {
    const Graph& g = *graph;
    const std::string name = identifier(loop ? "loop" : "body"), inner = indent + "  ";
    if (!loop) {
      std::string s =
          "[&]([[maybe_unused]] lathe::Network& " + name + ") -> std::vector<lathe::TensorRef> {\n";
      network(graph, name, inner, nullptr, "", s);
      return s + inner + "return " + list(g, g.outputs()) + ";\n" + indent + "}";
    }
    std::string s = "[&](lathe::LoopBody& " + name + ") {\n";
    loop_nodes_[&g] = &node;
    network(graph, name + ".network()", inner, &*loop, name, s);
    const size_t skipped = loop->scan ? 0 : 1;  // a Loop gives its condition first
    auto result = [&](size_t i) { return variable(g, g.outputs()[i + skipped]); };
    auto recurrence = [&](size_t i) { return variable(g, g.inputs()[loop->scan ? i : i + 2]); };
    if (loop->condition) s += inner + name + ".set_condition(" + variable(g, g.outputs()[0]) + ");\n";
    for (size_t i = 0; i < loop->recurrences; ++i)
      s += inner + name + ".set_next(" + recurrence(i) + ", " + result(i) + ");\n";
    size_t stacked = loop->recurrences;
    for (const auto& r : loop->results) {
      s += inner + name + ".add_output(" + (r.recurrence ? recurrence(*r.recurrence) : result(stacked++)) +
           ", " + cpp_text::text(r.kind);
      s += (r.axis ? ", " + std::to_string(r.axis) : "") + ");\n";
    }
    return s + indent + "}";
  }

  std::string list(const Graph& g, const std::vector<ValueId>& values) {
    std::string s = "{";
    for (size_t i = 0; i < values.size(); ++i)
      s += (i ? ", " : "") + (values[i] == no_id ? std::string("{}") : variable(g, values[i]));
    return s + "}";
  }

  // ── Operators
  // ─────────────────────────────────────────────────────────────────────────────────────────────

  void node(const Graph& g, const Node& n, const std::string& net, const std::string& indent,
            std::string& out) {
    const bool known = SchemaCatalog::standard().find(n.domain, n.op) != nullptr;
    std::string call = net + (known ? ".add_operator(" : ".add_plugin(" + literal(n.domain) + ", ");
    call += literal(n.op) + ", " + list(g, n.inputs) + ", ";
    if (!known) {
      call += "{";
      for (size_t i = 0; i < n.outputs.size(); ++i)
        call += (i ? ", " : "") + literal(g.value(n.outputs[i]).type.str());
      call += "}, ";
    }
    call += operator_options(g, n, indent);
    const size_t wanted =
        static_cast<size_t>(std::ranges::count_if(n.outputs, [](ValueId v) { return v != no_id; }));
    // A layer of several operators has other outputs than each of them.
    const bool grouped = !metadata_of(n, layer_key).empty();
    const std::string layer = wanted && !grouped ? identifier(n.name) : "";
    out += indent + (layer.empty() ? "" : "const auto " + layer + " = ") + call + ");\n";
    size_t at = 0;
    for (ValueId v : n.outputs) {
      if (v == no_id || grouped) continue;  // found by name
      names_[{&g, v}] = at ? layer + ".get_output(" + std::to_string(at) + ")" : layer;
      ++at;
    }
  }

  std::string operator_options(const Graph& g, const Node& n, const std::string& indent) {
    std::string s = "{";
    const std::string next = ",\n" + indent + "     ";
    if (!n.attributes.empty()) {
      s += ".attributes = {";
      bool first = true;
      for (const auto& a : n.attributes) {
        s += (first ? "{" : ", {") + literal(a.name) + ", " + cpp_text::attribute(a.value, uses_bytes_) + "}";
        first = false;
      }
      s += "}" + next;
    }
    if (!n.bodies.empty()) {
      s += ".bodies = {";
      for (const Body& b : n.bodies)
        s += "{" + literal(b.name) + ", " + body_of(n, b.graph, std::nullopt, indent + "    ") + "},\n" +
             indent + "    ";
      s += "}" + next;
    }
    if (!n.domain.empty()) s += ".domain = " + literal(n.domain) + next;
    s += ".output_names = {";
    for (size_t i = 0; i < n.outputs.size(); ++i)
      s += (i ? ", " : "") + literal(n.outputs[i] == no_id ? std::string() : g.value(n.outputs[i]).name);
    s += "}" + next;
    if (!n.metadata.empty()) {
      s += ".metadata = {";
      for (size_t i = 0; i < n.metadata.size(); ++i)
        s += (i ? ", {" : "{") + literal(n.metadata[i].first) + ", " + literal(n.metadata[i].second) + "}";
      s += "}" + next;
    }
    return s + ".name = " + literal(n.name) + "}";
  }

  const CppOptions& options_;
  const NetworkState& state_;
  std::map<std::pair<const Graph*, ValueId>, std::string> names_;
  std::map<const Graph*, std::string> networks_;    // what they are called
  std::map<const Graph*, const Node*> loop_nodes_;  // that run these bodies
  std::map<ValueId, std::string> late_names_;       // that mark_output gives
  std::map<std::string, int> variables_;
  std::set<std::string> taken_ = cpp_text::reserved();
  std::set<std::string> keys_;
  std::vector<std::pair<std::string, Tensor>> stored_;
  bool uses_bytes_ = false;
};

}  // namespace

std::string Network::cpp(const CppOptions& options) const {
  if (scope_ != 0)
    throw Error(Code::bad_argument, "network", "a whole network", "a body", "write the network around it");
  return CppWriter(options, *state_).run(state_->scopes[0]);
}

}  // namespace lathe
