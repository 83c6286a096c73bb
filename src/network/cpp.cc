// A network as C++ source that makes it again, operator by operator.
#include <algorithm>
#include <map>

#include "io/file.h"
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
    for (ValueId v = 0; v < g.value_count(); ++v) {
      const ValueInfo& i = g.value(v);
      if (i.constant && !i.is_input && i.captured == no_id && i.producer == no_id)
        constant(g, v, n, indent, out);
    }
    for (NodeId id : g.order()) node(g, g.node(id), n, indent, out);
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
