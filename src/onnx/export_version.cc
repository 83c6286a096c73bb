// Which versions of the standard can say a graph.
#include "onnx/export_version.h"

#include <algorithm>
#include <deque>
#include <map>

#include "schema/check_node.h"

namespace lathe {
namespace {

bool same_default(const std::optional<AttributeValue>& a, const std::optional<AttributeValue>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return same_value(*a, *b);
}

/// Do the node's attributes, and those it leaves out, mean in `older` what they mean in `newer`? What came
/// after `older` may be set to its default, which `newest` knows.
bool attributes_fit(const Node& n, const Signature& older, const Signature& newer, const Signature& newest) {
  for (const auto& a : n.attributes) {
    const AttributeDecl* then = older.attribute(a.name);
    const AttributeDecl* now = newer.attribute(a.name);
    if (then && now && then->kind != now->kind) return false;
    const AttributeDecl* last = newest.attribute(a.name);
    if (!then && !(last && last->fallback && same_value(a.value, *last->fallback))) return false;
  }
  for (const Body& b : n.bodies)
    if (!older.attribute(b.name)) return false;
  for (const AttributeDecl& then : older.attributes) {
    if (n.attributes.has(then.name) || n.body(then.name)) continue;
    if (then.required) return false;
    const AttributeDecl* now = newer.attribute(then.name);
    if (now && !same_default(then.fallback, now->fallback)) return false;
  }
  return true;
}

size_t count_present(const std::vector<ValueId>& list) {
  size_t n = list.size();
  while (n > 0 && list[n - 1] == no_id) --n;
  return n;
}

/// What the type variables of a signature stand for at one node: one element type each.
class TypeBinding {
 public:
  explicit TypeBinding(const Signature& s) : signature_(s) {}

  bool fits(const Parameter& p, const ValueType& t) {
    if (!t.known()) return true;
    const TypeVariable* v = signature_.variable(p.type);
    if (!v) return t.str(false) == p.type;
    if (!v->allows(t)) return false;
    if (p.arity == Parameter::Arity::heterogeneous) return true;
    return bound_.try_emplace(p.type, t.str(false)).first->second == t.str(false);
  }

 private:
  const Signature& signature_;
  std::map<std::string_view, std::string> bound_;
};

/// A node on its way down. Constants that a version needs are the graph's only when the node stays with it.
class NodeDowngrade final : public RewriteContext {
 public:
  NodeDowngrade(const Graph& g, Node n) : g_(g), node_(std::move(n)) {}

  Node& node() override { return node_; }
  const ValueType& type(ValueId v) const override {
    static const ValueType absent;
    if (v == no_id) return absent;
    return is_own(v) ? made_[v - own].type : g_.value(v).type;
  }
  const Tensor* constant(ValueId v) const override {
    return is_own(v) ? &made_[v - own].tensor : g_.constant_tensor(v);
  }
  ValueId add_constant(Tensor t, std::string_view hint) override {
    ValueType type = ValueType::tensor(t.type(), SymShape(t.shape().begin(), t.shape().end()));
    made_.push_back({std::string(hint), std::move(t), std::move(type)});
    return own + static_cast<ValueId>(made_.size() - 1);
  }

  const Version& run(const OpSchema& schema, int least) {
    const std::vector<Version>& all = schema.versions();
    size_t i = all.size() - 1;
    for (; i > 0 && all[i].since > least && !all[i - 1].deprecated; --i) {
      std::optional<Node> before;
      if (all[i].into_previous) before = node_;
      const Signature& older = all[i - 1].signature();
      if (step(all[i]) && fits(older, all[i].signature(), all.back().signature())) continue;
      if (before) node_ = std::move(*before);
      break;
    }
    return all[i];
  }
  Node finish(Graph& g) {
    for (ValueId& v : node_.inputs)
      if (is_own(v)) {
        Made& made = made_[v - own];
        v = g.add_constant(g.fresh_name(node_.name + "/" + made.hint), made.tensor);
      }
    return std::move(node_);
  }

 private:
  static constexpr ValueId own = 0x80000000u;
  struct Made {
    std::string hint;
    Tensor tensor;
    ValueType type;
  };
  static bool is_own(ValueId v) { return v != no_id && v >= own; }

  bool step(const Version& from) {
    return from.into_previous ? from.into_previous(*this) : !from.from_previous;
  }
  bool fits(const Signature& older, const Signature& newer, const Signature& newest) const {
    const size_t inputs = count_present(node_.inputs), outputs = count_present(node_.outputs);
    if (node_.inputs.size() < older.min_inputs || inputs > older.max_inputs || outputs < older.min_outputs ||
        outputs > older.max_outputs || !attributes_fit(node_, older, newer, newest))
      return false;
    TypeBinding types(older);
    for (size_t i = 0; i < inputs; ++i) {
      const Parameter& p = older.input(i);
      if (node_.inputs[i] == no_id ? p.arity != Parameter::Arity::optional
                                   : !types.fits(p, type(node_.inputs[i])))
        return false;
    }
    for (size_t i = 0; i < outputs; ++i)
      if (node_.outputs[i] != no_id && !types.fits(older.output(i), type(node_.outputs[i]))) return false;
    return true;
  }

  const Graph& g_;
  Node node_;
  std::deque<Made> made_;
};

/// The IR version that brought an element type, by the releases of the standard.
int ir_version_of(DataType t) {
  switch (t) {
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
      return 9;
    case DataType::int4:
    case DataType::uint4:
      return 10;
    case DataType::float4e2m1:
      return 11;
    case DataType::float8e8m0:
      return 12;
    case DataType::int2:
    case DataType::uint2:
      return 13;
    case DataType::float6e2m3:
    case DataType::float6e3m2:
      return 14;
    default:
      return 3;
  }
}

}  // namespace

const Version& downgrade(Graph& g, Node& n, const OpSchema& schema, int least) {
  NodeDowngrade down(g, n);
  const Version& version = down.run(schema, least);
  n = down.finish(g);
  return version;
}

const Version& lowest_version(const Graph& g, const Node& n, const OpSchema& schema, int least) {
  return NodeDowngrade(g, n).run(schema, least);
}

int ir_version_for(const ValueType& t) {
  int ir = ir_version_of(t.elem);
  if (t.kind == ValueType::Kind::optional) ir = std::max(ir, 8);
  return t.inner ? std::max(ir, ir_version_for(*t.inner)) : ir;
}

int ir_version_for_opset(int opset) {
  struct Release {
    int opset, ir;
  };
  constexpr Release releases[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7}, {18, 8},
                                  {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}};
  for (const Release& r : releases)
    if (opset <= r.opset) return r.ir;
  return newest_ir_version;
}

}  // namespace lathe
