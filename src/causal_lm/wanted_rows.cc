#include "causal_lm/wanted_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generate/decoder.h"

namespace lathe {
namespace {

constexpr const char* logits_output = "logits";

/// Follows the logits of a graph upwards to the product with the vocabulary.
class LogitsPath {
 public:
  explicit LogitsPath(const onnx::GraphProto& g) : graph_(g) {
    for (const onnx::ValueInfoProto& in : g.input) varying_.insert(in.name.value_or(""));
    for (const onnx::TensorProto& t : g.initializer) varying_.erase(t.name.value_or(""));
    for (size_t i = 0; i < g.node.size(); ++i) {
      const onnx::NodeProto& n = g.node[i];
      // Bodies may read any value of the graph.
      has_bodies_ |= std::ranges::any_of(n.attribute, [](const auto& a) { return a.g || !a.graphs.empty(); });
      const bool varies = std::ranges::any_of(n.input, [&](const auto& v) { return varying_.contains(v); });
      for (const std::string& v : n.input) ++readers_[v];
      for (const std::string& v : n.output) {
        makers_[v] = i;
        if (varies) varying_.insert(v);
      }
    }
    for (const onnx::ValueInfoProto& out : g.output) ++readers_[out.name.value_or("")];
  }

  /// Returns the index of the product, and the values from behind it to the logits. Nothing: there is another
  /// node on the way, or somebody else reads a value of it, or may do so.
  std::optional<size_t> find(std::vector<std::string>& passed) const {
    if (has_bodies_) return std::nullopt;
    for (std::string value = logits_output;;) {
      const auto at = makers_.find(value);
      if (at == makers_.end() || readers_.at(value) != 1) return std::nullopt;
      const onnx::NodeProto& n = graph_.node[at->second];
      if (n.output.size() != 1) return std::nullopt;
      passed.push_back(value);
      if (is_product(n)) return varies(n, 0) && !others_vary(n) ? std::optional(at->second) : std::nullopt;
      const auto next = operand(n);
      if (!next) return std::nullopt;
      value = *next;
    }
  }

 private:
  bool varies(const onnx::NodeProto& n, size_t i) const { return varying_.contains(n.input[i]); }
  bool others_vary(const onnx::NodeProto& n) const {
    for (size_t i = 1; i < n.input.size(); ++i)
      if (varies(n, i)) return true;
    return false;
  }
  static bool is_product(const onnx::NodeProto& n) {
    const std::string domain = n.domain.value_or(""), op = n.op_type.value_or("");
    return ((domain.empty() || domain == "ai.onnx") && op == "MatMul") ||
           (domain == "com.microsoft" && op == "MatMulNBits");
  }
  /// Returns the one operand that varies of a node which works element by element.
  std::optional<std::string> operand(const onnx::NodeProto& n) const {
    static const std::set<std::string, std::less<>> elementwise{"Add", "Cast", "Div", "Identity",
                                                                "Mul", "Sub",  "Tanh"};
    if (const std::string domain = n.domain.value_or(""); !domain.empty() && domain != "ai.onnx")
      return std::nullopt;
    if (!elementwise.contains(n.op_type.value_or(""))) return std::nullopt;
    std::optional<std::string> found;
    for (const std::string& v : n.input) {
      if (!varying_.contains(v)) {
        // A constant could have a row for each token.
        if (!is_row(v)) return std::nullopt;
        continue;
      }
      if (found) return std::nullopt;
      found = v;
    }
    return found;
  }
  /// Returns whether a constant is known to be the same for all tokens.
  bool is_row(const std::string& name) const {
    for (const onnx::TensorProto& t : graph_.initializer)
      if (t.name == name)
        return t.dims.empty() ||
               std::all_of(t.dims.begin(), t.dims.end() - 1, [](int64_t d) { return d == 1; });
    const auto at = makers_.find(name);
    if (at == makers_.end()) return false;
    const onnx::NodeProto& n = graph_.node[at->second];
    return n.op_type == "Constant" && std::ranges::any_of(n.attribute, [](const onnx::AttributeProto& a) {
             return a.f || a.i || (a.t && a.t->dims.size() <= 1);
           });
  }

  const onnx::GraphProto& graph_;
  std::set<std::string> varying_;  // values that depend on inputs
  std::map<std::string, size_t> makers_;
  std::map<std::string, int> readers_;
  bool has_bodies_ = false;
};

std::string unused(const onnx::GraphProto& g, std::string name) {
  std::set<std::string> used;
  for (const onnx::NodeProto& n : g.node) {
    used.insert(n.output.begin(), n.output.end());
    used.insert(n.name.value_or(""));
  }
  while (used.contains(name)) name += "_";
  return name;
}

}  // namespace

bool select_logits_rows(onnx::Model& model) {
  if (!model.proto.graph) return false;
  onnx::GraphProto& g = *model.proto.graph;
  const auto logits = std::ranges::find_if(g.output, [](const auto& o) { return o.name == logits_output; });
  if (logits == g.output.end() || !logits->type || !logits->type->tensor_type ||
      !logits->type->tensor_type->shape || logits->type->tensor_type->shape->dim.size() != 3)
    return false;
  if (std::ranges::any_of(g.input, [](const auto& i) { return i.name == logits_rows_input; })) return false;
  std::vector<std::string> passed;
  const auto product = LogitsPath(g).find(passed);
  if (!product) return false;

  onnx::ValueInfoProto rows;
  rows.name = logits_rows_input;
  rows.type.emplace();
  onnx::TypeProto::Tensor type;
  type.elem_type = static_cast<int32_t>(DataType::int64);
  onnx::TensorShapeProto shape;
  onnx::TensorShapeProto::Dimension any;
  any.dim_param = logits_rows_input;
  shape.dim.push_back(any);
  type.shape = std::move(shape);
  rows.type->tensor_type = std::move(type);
  g.input.push_back(std::move(rows));

  auto& dims = logits->type->tensor_type->shape->dim;
  dims[1] = {};
  dims[1].dim_param = logits_rows_input;
  std::erase_if(g.value_info, [&](const onnx::ValueInfoProto& v) {
    return std::ranges::find(passed, v.name.value_or("")) != passed.end();
  });

  onnx::NodeProto gather;
  gather.name = unused(g, "logits_rows/Gather");
  gather.op_type = "Gather";
  const std::string selected = unused(g, "logits_rows/hidden");
  gather.input = {g.node[*product].input[0], logits_rows_input};
  gather.output = {selected};
  onnx::AttributeProto axis;
  axis.name = "axis";
  axis.type = 2;
  axis.i = 1;
  gather.attribute.push_back(std::move(axis));
  g.node[*product].input[0] = selected;
  g.node.insert(g.node.begin() + static_cast<std::ptrdiff_t>(*product), std::move(gather));
  return true;
}

}  // namespace lathe
