#include "onnx/check_file.h"

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/op_key.h"
#include "onnx/optional_text.h"

namespace lathe {
namespace {

using Names = std::unordered_set<std::string_view>;

/// The names that a graph defines, and the scope around it.
struct NamedScope {
  const NamedScope* outer = nullptr;
  Names names;

  bool around_gives(std::string_view name) const {
    for (const NamedScope* s = outer; s; s = s->outer)
      if (s->names.contains(name)) return true;
    return false;
  }
};

class FileChecker {
 public:
  FileChecker(const onnx::ModelProto& model, int max_nesting, std::vector<Diagnostic>& findings)
      : model_(model), max_nesting_(max_nesting), findings_(findings) {}

  Names run() {
    if (model_.graph) graph(*model_.graph, nullptr, 0);
    const Names read = read_;  // nodes of functions cannot read values of the graph
    for (const onnx::FunctionProto& f : model_.functions) function(f);
    return read;
  }

 private:
  void report(Code code, const onnx::NodeProto* node, std::string what, std::string expected, std::string got,
              std::string remedy) {
    constexpr size_t most = 1000;
    if (reported_++ >= most) return;
    Diagnostic d;
    d.code = code;
    d.node = std::move(what);
    if (node) d.op = text(node->op_type);
    d.expected = std::move(expected);
    d.got = std::move(got);
    d.remedy = std::move(remedy);
    findings_.push_back(std::move(d));
  }

  void graph(const onnx::GraphProto& g, const NamedScope* outer, int depth) {
    if (depth > max_nesting_) return;  // the import has reported it
    NamedScope scope{outer, {}};
    // Inputs and initializers of a body may shadow others, as tools that check it allow.
    for (const onnx::ValueInfoProto& i : g.input) scope.names.insert(text(i.name));
    for (const onnx::TensorProto& t : g.initializer) scope.names.insert(text(t.name));
    for (const onnx::SparseTensorProto& t : g.sparse_initializer)
      if (t.values) scope.names.insert(text(t.values->name));
    nodes(g.node, scope, depth);
    for (const onnx::ValueInfoProto& o : g.output) read_.insert(text(o.name));
    for (const onnx::TensorAnnotation& a : g.quantization_annotation)
      for (const auto& entry : a.quant_parameter_tensor_names) read_.insert(text(entry.value));
  }

  void nodes(const std::vector<onnx::NodeProto>& list, NamedScope& scope, int depth) {
    for (const onnx::NodeProto& n : list) {
      for (const std::string& name : n.input) read_.insert(name);
      attributes(n, scope, depth);
      if (imports_) imported(n);
      for (const std::string& name : n.output) {
        if (name.empty()) continue;
        if (scope.around_gives(name))
          report(Code::graph_duplicate_name, &n, std::string(text(n.name)),
                 "outputs with names that no graph around gives", "'" + name + "'",
                 "rename the output: what reads it could mean either");
        scope.names.insert(name);
      }
    }
  }

  void attributes(const onnx::NodeProto& n, const NamedScope& scope, int depth) {
    for (const onnx::AttributeProto& a : n.attribute) {
      // The first IR version lacks this field.
      if (!a.type && model_.ir_version.value_or(0) >= 2)
        report(Code::node_bad_attribute, &n, std::string(text(n.name)), "attributes that say their type",
               "'" + std::string(text(a.name)) + "', which does not", "set AttributeProto.type");
      if (a.g) graph(*a.g, &scope, depth + 1);
      for (const onnx::GraphProto& g : a.graphs) graph(g, &scope, depth + 1);
    }
  }

  void function(const onnx::FunctionProto& f) {
    Names imports;
    for (const onnx::OperatorSetIdProto& o : f.opset_import) imports.insert(canonical_domain(text(o.domain)));
    imports_ = &imports;
    function_ = &f;
    NamedScope scope;
    for (const std::string& name : f.input) scope.names.insert(name);
    nodes(f.node, scope, 0);
    imports_ = nullptr;
  }

  /// Reports a missing import once for each domain of a function.
  void imported(const onnx::NodeProto& n) {
    const std::string_view domain = canonical_domain(text(n.domain));
    if (domain == "ai.onnx.ml" || domain == "com.microsoft") return;  // an import warns of these
    if (!imports_->insert(domain).second) return;
    const std::string name(domain.empty() ? "ai.onnx" : domain);
    report(Code::model_bad_opset, &n,
           "function " + std::string(text(function_->domain)) + "::" + std::string(text(function_->name)),
           "an opset_import of its own for every domain that its nodes are in", "none for '" + name + "'",
           "add one to the function: it has none of the model's");
  }

  const onnx::ModelProto& model_;
  const int max_nesting_;
  std::vector<Diagnostic>& findings_;
  Names read_;
  Names* imports_ = nullptr;  // of the function that is checked
  const onnx::FunctionProto* function_ = nullptr;
  size_t reported_ = 0;
};

}  // namespace

std::unordered_set<std::string_view> check_file(const onnx::ModelProto& model, int max_nesting,
                                                std::vector<Diagnostic>& findings) {
  return FileChecker(model, max_nesting, findings).run();
}

}  // namespace lathe
