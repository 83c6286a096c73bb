#include "passes/onnxruntime_types.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace lathe {
namespace {

/// By the opset from which they apply: the types of a type variable, if they are not all of the standard's.
using Restrictions = std::map<std::string, std::vector<std::string>, std::less<>>;
using Table = std::map<std::string, std::map<int, Restrictions>, std::less<>>;

const Table& table() {
  static const Table parsed = [] {
    constexpr std::string_view text =
#include "passes/onnxruntime_types.inc"
        ;
    Table t;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string op, variable;
      int opset = 0;
      if (!(words >> op >> opset)) continue;
      Restrictions& r = t[op][opset];
      if (!(words >> variable)) continue;
      for (std::string type; words >> type;) r[variable].push_back(type);
    }
    return t;
  }();
  return parsed;
}

}  // namespace

bool onnxruntime_takes(const Graph& graph, const Node& node, const SchemaCatalog& schemas, int opset) {
  const OpSchema* schema = node.domain.empty() ? schemas.find("", node.op) : nullptr;
  const auto op = table().find(node.op);
  if (!schema || op == table().end()) return true;
  opset = std::max(opset, schema->versions().front().since);
  const auto behind = op->second.upper_bound(opset);
  const Version* version = schema->at(opset);
  if (behind == op->second.begin() || !version) return true;
  const Restrictions& restrictions = std::prev(behind)->second;
  const Signature& s = version->signature();
  const auto takes = [&](const Parameter& p, ValueId v) {
    const auto at = restrictions.find(p.type);
    if (v == no_id || at == restrictions.end() || !graph.value(v).type.is_tensor()) return true;
    const DataType elem = graph.value(v).type.elem;
    const auto has = [&](DataType t) {
      return std::ranges::find(at->second, onnx_name_of(t)) != at->second.end();
    };
    return elem == DataType::undefined || has(elem) || (elem == DataType::float16 && has(DataType::float32));
  };
  for (size_t i = 0; i < node.inputs.size() && i < s.max_inputs; ++i)
    if (!takes(s.input(i), node.inputs[i])) return false;
  for (size_t i = 0; i < node.outputs.size() && i < s.max_outputs; ++i)
    if (!takes(s.output(i), node.outputs[i])) return false;
  return true;
}

}  // namespace lathe
