// Gradient of ai.onnx.preview.training names tensors of its own graph: the derivatives are appended as
// ordinary operators.
#include <algorithm>

#include "gradient/gradient.h"
#include "lathe/run_control.h"
#include "onnx/import_graph.h"

namespace lathe {

bool is_gradient(std::string_view domain, std::string_view op) {
  return op == "Gradient" && domain == "ai.onnx.preview.training";
}

void GraphImporter::import_gradient(ImportScope& scope, const Node& n) {
  Graph& g = *scope.graph;
  const auto names = [&](const char* attribute) {
    return n.attributes.get<std::vector<std::string>>(attribute, {});
  };
  const auto named = [&](const std::string& name) {
    const auto at = scope.values.find(name);
    if (at == scope.values.end() || at->second == no_id)
      throw Error(Code::node_cannot_convert, "import",
                  "xs, zs and y that tensors of the same graph have for names", "'" + name + "'",
                  suggestion(scope, name, "name what a node before this one gives"));
    return at->second;
  };
  Derivative what;
  for (const char* attribute : {"xs", "zs"})
    for (const std::string& name : names(attribute)) what.of.push_back(named(name));
  what.differentiated = names("xs").size();
  what.y = named(n.attributes.get<std::string>("y", {}));
  what.at = n.inputs;
  if (what.at.size() != what.of.size() || std::ranges::find(what.at, no_id) != what.at.end())
    throw Error(Code::node_bad_arity, "import",
                "an input for each of the " + std::to_string(what.of.size()) + " names in xs and zs",
                std::to_string(what.at.size()),
                "give the tensors that xs and zs name, or others of their shapes");
  if (n.outputs.size() > what.differentiated)
    throw Error(Code::node_bad_arity, "import",
                "at most an output for each of the " + std::to_string(what.differentiated) + " names in xs",
                std::to_string(n.outputs.size()), {});
  const AddNode add = [&](Node made) {
    if (options_.control) options_.control->check();
    if (++nodes_ > options_.max_nodes) throw Error(too_many_nodes(scope));
    made.name = n.name + "/" + (made.name.empty() ? made.op : made.name);
    made.origin = n.origin;
    const std::vector<ValueId> outputs = made.outputs;
    add_inferred(g, std::move(made));
    return outputs;
  };
  const std::vector<ValueId> found = differentiate(g, what, add);
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_id) continue;
    Node same;
    same.op = "Identity";
    same.inputs = {found[i]};
    same.outputs = {n.outputs[i]};
    add(std::move(same));
  }
}

}  // namespace lathe
