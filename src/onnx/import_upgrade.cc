// Upgrades a node from the version of the operator that the model is written in to the newest, one version
// after another.
#include "onnx/import_graph.h"
#include "schema/check_node.h"
#include "tensor/element.h"

namespace lathe {

/// Gives an upgrade access to a node that is not in the graph yet.
class NodeUpgrade final : public UpgradeContext {
 public:
  NodeUpgrade(GraphImporter& importer, Graph& g, Node& n, int64_t index, std::vector<Node>& after)
      : importer_(importer), g_(g), node_(n), index_(index), after_(after) {}

  Node& node() override { return node_; }
  const ValueType& type(ValueId v) const override {
    static const ValueType absent;
    if (v == no_id) return absent;
    const ValueType& inferred = g_.value(v).type;
    if (inferred.shape || !(inferred.is_tensor() || !inferred.known())) return inferred;
    // A declared shape is better than none: without a rank many upgrades cannot be done.
    const auto at = importer_.hints_.find({&g_, v});
    return at == importer_.hints_.end() ? inferred : at->second;
  }
  const Tensor* constant(ValueId v) const override {
    if (v == no_id) return nullptr;
    if (const Tensor* t = g_.constant_tensor(v)) return t;
    // Values that shape arithmetic found serve as constants.
    const auto values = importer_.state_.values(g_, v);
    const ValueType& type = g_.value(v).type;
    if (!values || type.elem != DataType::int64) return nullptr;
    auto made = tensor_of(type, *values);
    return made ? &importer_.numbers_.emplace_back(*std::move(made)) : nullptr;
  }
  ValueId add_constant(Tensor t, std::string_view hint) override {
    return g_.add_constant(name(hint), std::move(t));
  }
  std::vector<ValueId> insert(std::string_view op, std::vector<ValueId> inputs, Attributes attrs,
                              size_t outputs) override {
    Node n = made(op, std::move(inputs), std::move(attrs));
    for (size_t i = 0; i < outputs; ++i) n.outputs.push_back(g_.add_value(name(op)));
    std::vector<ValueId> made = n.outputs;
    importer_.add_inferred(g_, std::move(n));
    return made;
  }
  void append(size_t output, std::string_view op, std::vector<ValueId> extra_inputs,
              Attributes attrs) override {
    const ValueId out = node_.outputs[output];
    if (out == no_id) return;
    const ValueId inner = g_.add_value(name(op));
    extra_inputs.insert(extra_inputs.begin(), inner);
    Node n = made(op, std::move(extra_inputs), std::move(attrs));
    n.outputs = {out};
    node_.outputs.set(output, inner);
    after_.insert(after_.begin(), std::move(n));
  }
  void give(size_t output, ValueId v) override {
    Node n = made("Identity", {v}, {});
    n.outputs = {node_.outputs[output]};
    node_.outputs.set(output, no_id);
    after_.push_back(std::move(n));
    node_.outputs.trim();
  }
  void ignore_attribute(std::string_view attribute, std::string_view remedy) override {
    if (!node_.attributes.erase(attribute)) return;
    Diagnostic d =
        node_fault(g_, node_, "import", Code::node_bad_attribute, "attributes that " + node_.op + " has",
                   "'" + std::string(attribute) + "', which is ignored", std::string(remedy));
    d.severity = Diagnostic::Severity::warning;
    importer_.report(std::move(d), index_);
  }

 private:
  std::string name(std::string_view hint) const {
    return g_.fresh_name(node_.name + "/" + std::string(hint));
  }
  Node made(std::string_view op, std::vector<ValueId> inputs, Attributes attrs) const {
    Node n;
    n.op = op;
    n.name = node_.name + "/" + n.op;
    n.inputs = std::move(inputs);
    n.attributes = std::move(attrs);
    n.origin = node_.origin;
    return n;
  }

  GraphImporter& importer_;
  Graph& g_;
  Node& node_;
  int64_t index_;
  std::vector<Node>& after_;
};

namespace {

/// Drops attributes that the newer version lacks if they have no effect: those with the default value, and a
/// hint to the memory planners of 2017.
void drop_empty_words(Attributes& attributes, const Signature& before, const Signature& now) {
  std::vector<std::string> gone;
  for (const auto& a : attributes) {
    const AttributeDecl* old = before.attribute(a.name);
    if (!old || now.attribute(a.name)) continue;
    if (a.name == "consumed_inputs" || (old->fallback && same_value(a.value, *old->fallback)))
      gone.push_back(a.name);
  }
  for (const std::string& name : gone) attributes.erase(name);
}

}  // namespace

void GraphImporter::upgrade(Graph& g, Node& n, int64_t index, const OpSchema& schema, const Version& from,
                            std::vector<Node>& after) {
  const Version* before = &from;
  for (const Version& v : schema.versions()) {
    if (v.since <= from.since) continue;
    if (v.from_previous) {
      NodeUpgrade context(*this, g, n, index, after);
      v.from_previous(context);
      if (n.op != schema.name() || n.domain != schema.domain())
        return;  // another operator, in its newest form
    }
    drop_empty_words(n.attributes, before->signature(), v.signature());
    before = &v;
  }
}

}  // namespace lathe
