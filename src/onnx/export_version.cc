// Finds the versions of the standard that can express a graph.
#include "onnx/export_version.h"

#include <algorithm>
#include <deque>
#include <map>
#include <sstream>

#include "schema/check_node.h"

namespace lathe {
namespace {

bool same_default(const std::optional<AttributeValue>& a, const std::optional<AttributeValue>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return same_value(*a, *b);
}

std::string value_text(const AttributeValue& v) {
  return std::visit(
      []<class T>(const T& x) -> std::string {
        if constexpr (std::is_same_v<T, int64_t>) {
          return std::to_string(x);
        } else if constexpr (std::is_same_v<T, float>) {
          std::ostringstream s;
          s << x;
          return s.str();
        } else if constexpr (std::is_same_v<T, std::string>) {
          return "'" + x.substr(0, 64) + "'";
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          std::string s = "[";
          for (size_t i = 0; i < x.size() && i < 8; ++i) s += (i ? ", " : "") + std::to_string(x[i]);
          return s + (x.size() > 8 ? ", …]" : "]");
        } else {
          return std::string(kind_of(AttributeValue(x)));
        }
      },
      v);
}

std::string before(int since) { return "before opset " + std::to_string(since) + " "; }
std::string came_with(int since) { return " came with opset " + std::to_string(since); }

/// Returns the reason why the node's attributes, or those it leaves out, do not mean in `older` what they
/// mean in `newer`, which came with `since`; empty if they do. Attributes that came after `older` may be set
/// to their defaults, which `newest` has.
std::string attributes_unfit(const Node& n, const Signature& older, const Signature& newer,
                             const Signature& newest, int since) {
  for (const auto& a : n.attributes) {
    const AttributeDecl* then = older.attribute(a.name);
    const AttributeDecl* now = newer.attribute(a.name);
    if (then && now && then->kind != now->kind)
      return before(since) + "attribute '" + a.name + "' was of kind " + then->kind + ", not " + now->kind;
    const AttributeDecl* last = newest.attribute(a.name);
    if (!then && !(last && last->fallback && same_value(a.value, *last->fallback)))
      return "attribute '" + a.name + "' (" + value_text(a.value) + ")" + came_with(since);
  }
  for (const Body& b : n.bodies)
    if (!older.attribute(b.name)) return "attribute '" + b.name + "'" + came_with(since);
  for (const AttributeDecl& then : older.attributes) {
    if (n.attributes.has(then.name) || n.body(then.name)) continue;
    if (then.required) return before(since) + "attribute '" + then.name + "' may not be left out";
    const AttributeDecl* now = newer.attribute(then.name);
    if (!now || same_default(then.fallback, now->fallback)) continue;
    const auto meaning = [](const AttributeDecl& d) {
      return d.fallback ? value_text(*d.fallback) : std::string("nothing");
    };
    return before(since) + "attribute '" + then.name + "', which is left out, means " + meaning(then) +
           ", not " + meaning(*now);
  }
  return {};
}

size_t count_present(const std::vector<ValueId>& list) {
  size_t n = list.size();
  while (n > 0 && list[n - 1] == no_id) --n;
  return n;
}

/// The element types that the type variables of a signature have at one node: one each.
class TypeBinding {
 public:
  explicit TypeBinding(const Signature& s) : signature_(s) {}

  /// Returns the reason why the signature, which ended before `since`, does not allow the type of a
  /// parameter; empty if it does.
  std::string unfit(std::string_view side, const Parameter& p, const ValueType& t, int since) {
    if (!t.known()) return {};
    const std::string is = t.str(false), what = std::string(side) + " '" + p.name + "' ";
    const TypeVariable* v = signature_.variable(p.type);
    if (!v) return is == p.type ? "" : before(since) + what + "has to be " + p.type + ", not " + is;
    if (!v->allows(t)) return before(since) + what + "may not be " + is + only(*v);
    if (p.arity == Parameter::Arity::heterogeneous) return {};
    const std::string& bound = bound_.try_emplace(p.type, is).first->second;
    return bound == is ? "" : before(since) + what + "has to be " + bound + " as the others are, not " + is;
  }

 private:
  static std::string only(const TypeVariable& v) {
    if (v.types.size() > 8) return {};
    std::string s = ", only ";
    for (size_t i = 0; i < v.types.size(); ++i)
      s += (i == 0 ? "" : i + 1 == v.types.size() ? " or " : ", ") + v.types[i];
    return s;
  }

  const Signature& signature_;
  std::map<std::string_view, std::string> bound_;
};

/// A node that is downgraded. Constants that a version needs are added to the graph only if the node stays in
/// it.
class NodeDowngrade final : public RewriteContext {
 public:
  NodeDowngrade(const Graph& g, Node n, const FromFront& known) : g_(g), node_(std::move(n)), known_(known) {}

  Node& node() override { return node_; }
  const ValueType& type(ValueId v) const override {
    static const ValueType absent;
    if (v == no_id) return absent;
    return is_own(v) ? made_[v - own].type : g_.value(v).type;
  }
  bool is_from_front(ValueId v) const override { return known_.contains({&g_, v}); }
  const Tensor* constant(ValueId v) const override {
    return is_own(v) ? &made_[v - own].tensor : g_.constant_tensor(v);
  }
  ValueId add_constant(Tensor t, std::string_view hint) override {
    ValueType type = ValueType::tensor(t.type(), SymShape(t.shape().begin(), t.shape().end()));
    made_.push_back({std::string(hint), std::move(t), std::move(type)});
    return own + static_cast<ValueId>(made_.size() - 1);
  }

  const Version& run(const OpSchema& schema, int min_opset) {
    const std::vector<Version>& all = schema.versions();
    size_t i = all.size() - 1;
    for (; i > 0 && all[i].since > min_opset && !all[i - 1].deprecated; --i) {
      std::optional<Node> before;
      if (all[i].into_previous) before = node_;
      obstacle_ = {all[i].since, step(all[i])};
      if (obstacle_.why.empty())
        obstacle_.why =
            unfit(all[i - 1].signature(), all[i].signature(), all.back().signature(), all[i].since);
      else
        obstacle_.remedy = remedy();
      if (obstacle_.why.empty()) continue;
      if (before) node_ = std::move(*before);
      return all[i];
    }
    obstacle_ = {all[i].since,
                 "there is no " + schema.name() + " before opset " + std::to_string(all[i].since)};
    return all[i];
  }
  const Obstacle& obstacle() const { return obstacle_; }
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

  /// Returns why the step to the version before cannot be made; empty if it was made.
  std::string step(const Version& from) {
    if (!from.into_previous)
      return from.from_previous ? before(from.since) + "the operator means something else" : std::string();
    if (from.into_previous(*this)) return {};
    return why().empty() ? before(from.since) + "the operator means something else" : why();
  }
  std::string unfit(const Signature& older, const Signature& newer, const Signature& newest,
                    int since) const {
    const size_t inputs = count_present(node_.inputs), outputs = count_present(node_.outputs);
    const auto named = [](std::string_view side, const Parameter& p) {
      return std::string(side) + " '" + p.name + "'";
    };
    const auto needed = [&](std::string_view side, const Parameter& p) {
      return before(since) + named(side, p) + " may not be left out";
    };
    if (inputs > older.max_inputs) return named("input", newer.input(inputs - 1)) + came_with(since);
    if (node_.inputs.size() < older.min_inputs) return needed("input", older.input(older.min_inputs - 1));
    if (outputs > older.max_outputs) return named("output", newer.output(outputs - 1)) + came_with(since);
    if (outputs < older.min_outputs) return needed("output", older.output(older.min_outputs - 1));
    if (std::string why = attributes_unfit(node_, older, newer, newest, since); !why.empty()) return why;
    TypeBinding types(older);
    for (size_t i = 0; i < inputs; ++i) {
      const Parameter& p = older.input(i);
      const bool absent = node_.inputs[i] == no_id;
      if (absent && p.arity != Parameter::Arity::optional) return needed("input", p);
      if (absent) continue;
      if (std::string why = types.unfit("input", p, type(node_.inputs[i]), since); !why.empty()) return why;
    }
    for (size_t i = 0; i < outputs; ++i) {
      if (node_.outputs[i] == no_id) continue;
      std::string why = types.unfit("output", older.output(i), type(node_.outputs[i]), since);
      if (!why.empty()) return why;
    }
    return {};
  }

  const Graph& g_;
  Node node_;
  const FromFront& known_;
  Obstacle obstacle_;
  std::deque<Made> made_;
};

/// Returns the IR version that introduced an element type, by the releases of the standard.
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

const Version& downgrade(Graph& g, Node& n, const OpSchema& schema, int min_opset, const FromFront& known) {
  NodeDowngrade down(g, n, known);
  const Version& version = down.run(schema, min_opset);
  n = down.finish(g);
  return version;
}

const Version& lowest_version(const Graph& g, const Node& n, const OpSchema& schema, int min_opset,
                              const FromFront& known) {
  return NodeDowngrade(g, n, known).run(schema, min_opset);
}

std::optional<Obstacle> obstacle_below(const Graph& g, const Node& n, const OpSchema& schema, int min_opset,
                                       const FromFront& known) {
  NodeDowngrade down(g, n, known);
  if (down.run(schema, min_opset).since <= min_opset) return std::nullopt;
  return down.obstacle();
}

void refuse_at(const Graph& g, const Node& n, int opset, const Obstacle& o) {
  const std::string needed = std::to_string(o.since);
  throw Error(node_fault(
      g, n, "export", Code::node_cannot_convert, "nodes that opset " + std::to_string(opset) + " can say",
      "one that needs opset " + needed + ": " + o.why,
      "choose opset " + needed + " or a newer one" + (o.remedy.empty() ? "" : ", or " + o.remedy)));
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
