// A network as C++ source that makes it again: in TensorRT's words where one call appends just what there is,
// else operator by operator.
#include <algorithm>
#include <map>
#include <set>

#include "io/file.h"
#include "network/cpp_calls.h"
#include "network/cpp_text.h"
#include "network/state.h"

namespace lathe {
namespace {

using cpp_text::literal;

class CppWriter {
 public:
  explicit CppWriter(const CppOptions& o) : options_(o) {}

  std::string run(const Graph& g) {
    std::string body;
    network(g, "n", "  ", body);
    for (ValueId v : g.outputs()) body += "  n.mark_output(" + variable(g, v) + ");\n";
    std::string text =
        "#include <lathe/lathe.h>\n#include <lathe/network.h>\n\n#include <bit>\n#include <cstring>\n\n";
    const bool files = !options_.weights.empty();
    text += "lathe::Network " + options_.function + "(" +
            (files ? "const std::filesystem::path& weights" : "") + ") {\n";
    if (uses_bytes_) text += cpp_text::helper;
    text += "  lathe::Network n(" + literal(g.name) + ");\n" + body + "  return n;\n}\n";
    return text;
  }

 private:
  /// Captured values are called what they are called around the body.
  std::string variable(const Graph& g, ValueId v) {
    const Graph* at = &g;
    while (at->value(v).captured != no_id) v = at->value(v).captured, at = at->parent();
    return names_.at({at, v});
  }
  std::string declare(const Graph& g, ValueId v) {
    return names_[{&g, v}] = "t" + std::to_string(names_.size());
  }

  void network(const Graph& g, const std::string& n, const std::string& indent, std::string& out) {
    for (ValueId v : g.inputs()) input(g, v, n, indent, out);
    const Constants all = constants_of(g);
    ValueId next = 0;  // constants below it are there: in the order that they have in files
    const auto declare_below = [&](ValueId end) {
      for (; next < end; ++next)
        if (all.plain.contains(next)) constant(g, next, n, indent, out);
    };
    for (NodeId id : g.order()) {
      const Node& node = g.node(id);
      const auto call = all.calls.find(id);
      ValueId reads = node.bodies.empty() ? 0 : static_cast<ValueId>(g.value_count());
      for (ValueId v : node.inputs)
        if (v != no_id && all.plain.contains(v)) reads = std::max(reads, v + 1);
      if (call != all.calls.end())
        for (size_t i : call->second.made) reads = std::max(reads, node.inputs[i] + 1);
      declare_below(reads);
      if (call != all.calls.end())
        write_call(g, node, call->second.call, n, indent, out);
      else
        this->node(g, node, n, indent, out);
    }
    declare_below(static_cast<ValueId>(g.value_count()));
  }

  struct Known {
    CppCall call;
    std::vector<size_t> made;  // inputs that are constants which the call makes
  };
  struct Constants {
    std::set<ValueId> plain;  // to be declared
    std::map<NodeId, Known> calls;
  };
  /// Constants that calls make are not declared, where that keeps the order of all of them.
  static Constants constants_of(const Graph& g) {
    Constants all;
    for (ValueId v = 0; v < g.value_count(); ++v) {
      const ValueInfo& i = g.value(v);
      if (i.constant && !i.is_input && i.captured == no_id && i.producer == no_id) all.plain.insert(v);
    }
    const UseIndex uses(g);
    ValueId reached = 0;  // what nodes until now have had declared
    for (NodeId id : g.order()) {
      const Node& n = g.node(id);
      ValueId reads = n.bodies.empty() ? 0 : static_cast<ValueId>(g.value_count());
      for (ValueId v : n.inputs)
        if (v != no_id && all.plain.contains(v)) reads = std::max(reads, v + 1);
      auto call = call_for(g, n);
      auto made = call ? constants_made_by(*call, g, n) : std::nullopt;
      ValueId before = reached;
      const bool fits = made && std::ranges::all_of(*made, [&](size_t i) {
                          const ValueId v = n.inputs[i];
                          const bool alone = all.plain.contains(v) && uses.of(v).size() == 1 &&
                                             !g.is_output(v) && !is_captured(g, v) && v >= before &&
                                             reads == v + 1;
                          before = v + 1;
                          return alone;
                        });
      if (fits && (made->size() < 2)) {
        for (size_t i : *made) all.plain.erase(n.inputs[i]);
        all.calls.emplace(id, Known{std::move(*call), std::move(*made)});
      }
      reached = std::max(reached, reads);
    }
    return all;
  }
  static bool is_captured(const Graph& g, ValueId v) {
    for (NodeId id : g.order())
      for (const Body& b : g.node(id).bodies)
        for (ValueId c : b.graph->captures())
          if (b.graph->value(c).captured == v) return true;
    return false;
  }

  void write_call(const Graph& g, const Node& n, const CppCall& call, const std::string& net,
                  const std::string& indent, std::string& out) {
    std::string operands;
    for (size_t i : call.operands) {
      const bool left_out = i >= n.inputs.size() || n.inputs[i] == no_id;
      operands += (operands.empty() ? "" : ", ") + (left_out ? std::string("{}") : variable(g, n.inputs[i]));
    }
    if (call.as_list) operands = "{" + operands + "}";
    const std::string made = net + "." + call.method + "(" + operands + call.rest + ")";
    const auto wanted =
        static_cast<size_t>(std::ranges::count_if(n.outputs, [](ValueId v) { return v != no_id; }));
    if (wanted == 1 && n.outputs[0] != no_id) {
      out += indent + "const lathe::TensorRef " + declare(g, n.outputs[0]) + " = " + made + ";\n";
      return;
    }
    const std::string layer = "l" + std::to_string(layers_++);
    out += indent + "const lathe::Layer " + layer + " = " + made + ";\n";
    size_t at = 0;
    for (ValueId v : n.outputs)
      if (v != no_id)
        out += indent + "const lathe::TensorRef " + declare(g, v) + " = " + layer + ".get_output(" +
               std::to_string(at++) + ");\n";
  }

  void input(const Graph& g, ValueId v, const std::string& n, const std::string& indent, std::string& out) {
    const ValueInfo& i = g.value(v);
    const std::string name = declare(g, v);
    out += indent + "const lathe::TensorRef " + name + " = " + n + ".add_input(" + literal(i.name) + ", " +
           literal(i.type.str()) + ");\n";
    if (i.constant && i.constant->is_tensor())
      out += indent + n + ".set_default(" + name + ", " + tensor(i.constant->tensor()) + ");\n";
  }

  void constant(const Graph& g, ValueId v, const std::string& n, const std::string& indent,
                std::string& out) {
    const ValueInfo& i = g.value(v);
    if (!i.constant->is_tensor())
      throw Error(Code::not_supported, "network", "constants that are tensors to write as C++",
                  "'" + i.name + "' of type " + i.type.str());
    const std::string made = tensor(i.constant->tensor());
    out += indent + "const lathe::TensorRef " + declare(g, v) + " = " + n + ".add_constant(" + made + ", " +
           literal(i.name) + ");\n";
  }

  std::string tensor(const Tensor& t) {
    if (options_.weights.empty() || t.size() <= options_.inline_elements)
      return cpp_text::tensor(t, uses_bytes_);
    const std::string file = "constant_" + std::to_string(files_++) + ".pb";
    std::filesystem::create_directories(options_.weights);
    write_file(options_.weights / file, {onnx::serialize(onnx::from_tensor(t))});
    return "lathe::load_value(weights / \"" + file + "\").tensor()";
  }

  void node(const Graph& g, const Node& n, const std::string& net, const std::string& indent,
            std::string& out) {
    const bool known = SchemaCatalog::standard().find(n.domain, n.op) != nullptr;
    std::string call = net + (known ? ".add_operator(" : ".add_plugin(" + literal(n.domain) + ", ");
    call += literal(n.op) + ", {";
    for (size_t i = 0; i < n.inputs.size(); ++i)
      call += (i ? ", " : "") +
              (n.inputs[i] == no_id ? std::string("lathe::TensorRef()") : variable(g, n.inputs[i]));
    call += "}, ";
    if (!known) {
      call += "{";
      for (size_t i = 0; i < n.outputs.size(); ++i)
        call += (i ? ", " : "") + literal(g.value(n.outputs[i]).type.str());
      call += "}, ";
    }
    call += options(g, n, indent);
    const size_t wanted =
        static_cast<size_t>(std::ranges::count_if(n.outputs, [](ValueId v) { return v != no_id; }));
    const std::string layer = "l" + std::to_string(layers_++);
    out += indent + "const lathe::Layer " + layer + " = " + call + ");\n";
    // Of one of a layer's operators the layer has other outputs than the operator.
    const bool grouped = !metadata_of(n, layer_key).empty();
    size_t at = 0;
    for (ValueId v : n.outputs)
      if (v != no_id)
        out += indent + "const lathe::TensorRef " + declare(g, v) + " = " +
               (grouped ? "*" + net + ".find_tensor(" + literal(g.value(v).name) + ")"
                        : layer + ".get_output(" + std::to_string(at++) + ")") +
               ";\n";
    if (wanted == 0 || grouped) out += indent + "(void)" + layer + ";\n";
  }

  std::string options(const Graph& g, const Node& n, const std::string& indent) {
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
      for (const Body& b : n.bodies) s += body(*b.graph, b.name, indent + "    ");
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

  std::string body(const Graph& g, const std::string& name, const std::string& indent) {
    const std::string n = "body" + std::to_string(bodies_++);
    std::string s =
        "{" + literal(name) + ", [&](lathe::Network& " + n + ") -> std::vector<lathe::TensorRef> {\n";
    network(g, n, indent + "  ", s);
    s += indent + "  return {";
    for (size_t i = 0; i < g.outputs().size(); ++i) s += (i ? ", " : "") + variable(g, g.outputs()[i]);
    return s + "};\n" + indent + "}},\n" + indent;
  }

  const CppOptions& options_;
  std::map<std::pair<const Graph*, ValueId>, std::string> names_;
  size_t layers_ = 0, bodies_ = 0, files_ = 0;
  bool uses_bytes_ = false;
};

}  // namespace

std::string Network::cpp(const CppOptions& options) const {
  if (scope_ != 0)
    throw Error(Code::bad_argument, "network", "a whole network", "a body", "write the network around it");
  return CppWriter(options).run(NetworkAccess::graph(*this));
}

}  // namespace lathe
