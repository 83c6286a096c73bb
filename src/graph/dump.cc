// Graphs as text, JSON and dot.
#include "base/json.h"
#include "graph/graph.h"

namespace lathe {
namespace {

std::string attribute_text(const AttributeValue& v) {
  auto list = [](const auto& items, auto&& show) {
    std::string s = "[";
    size_t shown = 0;
    for (const auto& x : items) {
      if (shown == 16) {
        s += ", … " + std::to_string(items.size() - shown) + " more";
        break;
      }
      s += (shown++ ? ", " : "") + show(x);
    }
    return s + "]";
  };
  auto number = [](float f) { return Json(f).dump(); };
  auto quoted = [](const std::string& s) { return Json(s.substr(0, 64)).dump(); };
  auto tensor = [](const Tensor& t) { return describe(t); };
  return std::visit(
      [&](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, int64_t>)
          return std::to_string(x);
        else if constexpr (std::is_same_v<T, float>)
          return number(x);
        else if constexpr (std::is_same_v<T, std::string>)
          return quoted(x);
        else if constexpr (std::is_same_v<T, Tensor>)
          return tensor(x);
        else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          return list(x, [](int64_t i) { return std::to_string(i); });
        else if constexpr (std::is_same_v<T, std::vector<float>>)
          return list(x, number);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return list(x, quoted);
        else
          return list(x, tensor);
      },
      v);
}

std::string typed(const Graph& g, ValueId v) {
  if (v == no_id) return "-";
  const ValueInfo& i = g.value(v);
  return i.type.known() ? i.name + ": " + i.type.str() : i.name;
}

void text_of(const Graph& g, const std::string& indent, std::string& out) {
  auto names = [&](const std::vector<ValueId>& list, bool with_types) {
    std::string s;
    for (size_t i = 0; i < list.size(); ++i)
      s += (i ? ", " : "") + (with_types         ? typed(g, list[i])
                              : list[i] == no_id ? "-"
                                                 : g.value(list[i]).name);
    return s;
  };
  out += indent + "graph " + g.name + " (" + names(g.inputs(), true) + ") -> (" + names(g.outputs(), true) +
         ")\n";
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    out += indent + "  " + names(n.outputs, true) + " = " + (n.domain.empty() ? "" : n.domain + "::") + n.op +
           "(" + names(n.inputs, false) + ")";
    if (!n.attributes.empty()) {
      out += " {";
      bool first = true;
      for (const auto& a : n.attributes) {
        out += (first ? "" : ", ") + a.name + "=" + attribute_text(a.value);
        first = false;
      }
      out += "}";
    }
    if (!n.name.empty()) out += "  # " + n.name;
    out += "\n";
    for (const Body& b : n.bodies) {
      out += indent + "    " + b.name + ":\n";
      text_of(*b.graph, indent + "    ", out);
    }
  }
}

Json json_of(const Graph& g) {
  auto value = [&](ValueId v) -> Json {
    if (v == no_id) return nullptr;
    Json j{{"name", g.value(v).name}};
    if (g.value(v).type.known()) j["type"] = g.value(v).type.str();
    return j;
  };
  auto values = [&](const std::vector<ValueId>& list) {
    Json a = Json::array();
    for (ValueId v : list) a.push_back(value(v));
    return a;
  };
  Json j{{"name", g.name}, {"inputs", values(g.inputs())}, {"outputs", values(g.outputs())}};
  Json constants = Json::array();
  for (ValueId v = 0; v < g.value_count(); ++v)
    if (g.value(v).is_constant() && g.value(v).captured == no_id) constants.push_back(value(v));
  j["constants"] = std::move(constants);
  Json nodes = Json::array();
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    Json node{{"id", id}, {"name", n.name}, {"op", n.op}, {"domain", n.domain}};
    node["inputs"] = values(n.inputs);
    node["outputs"] = values(n.outputs);
    for (const auto& a : n.attributes) node["attributes"][a.name] = attribute_text(a.value);
    for (const Body& b : n.bodies) node["bodies"][b.name] = json_of(*b.graph);
    nodes.push_back(std::move(node));
  }
  j["nodes"] = std::move(nodes);
  return j;
}

std::string escaped(const std::string& s) { return Json(s).dump(); }

void dot_of(const Graph& g, const std::string& prefix, std::string& out) {
  auto id_of = [&](ValueId v) { return "\"" + prefix + "v" + std::to_string(v) + "\""; };
  for (ValueId v : g.inputs())
    out += "  " + id_of(v) + " [shape=ellipse, label=" + escaped(typed(g, v)) + "];\n";
  for (ValueId v : g.outputs())
    out += "  \"" + prefix + "out" + std::to_string(v) +
           "\" [shape=ellipse, style=bold, label=" + escaped(typed(g, v)) + "];\n";
  auto source = [&](ValueId v) {
    const NodeId p = g.value(v).producer;
    return p == no_id ? id_of(v) : "\"" + prefix + "n" + std::to_string(p) + "\"";
  };
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    const std::string self = "\"" + prefix + "n" + std::to_string(id) + "\"";
    out +=
        "  " + self + " [shape=box, label=" + escaped(n.op + (n.name.empty() ? "" : "\n" + n.name)) + "];\n";
    for (ValueId v : n.inputs)
      if (v != no_id && !g.value(v).is_constant())
        out += "  " + source(v) + " -> " + self +
               " [label=" + escaped(g.value(v).type.known() ? g.value(v).type.str() : "") + "];\n";
    for (const Body& b : n.bodies) {
      const std::string inner = prefix + "n" + std::to_string(id) + "." + b.name + ".";
      out += "  subgraph \"cluster_" + inner + "\" {\n  label=" + escaped(b.name) + ";\n";
      dot_of(*b.graph, inner, out);
      out += "  }\n";
    }
  }
  for (ValueId v : g.outputs())
    out += "  " + source(v) + " -> \"" + prefix + "out" + std::to_string(v) + "\";\n";
}

}  // namespace

std::string Graph::text() const {
  std::string out;
  text_of(*this, "", out);
  return out;
}

std::string Graph::json() const { return json_of(*this).dump(2); }

std::string Graph::dot() const {
  std::string out = "digraph \"" + name + "\" {\n  rankdir=TB;\n";
  dot_of(*this, "", out);
  return out + "}\n";
}

}  // namespace lathe
