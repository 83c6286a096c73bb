#include "onnx/exporter.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error_about.h"
#include "onnx/export_decomposition.h"
#include "onnx/export_version.h"
#include "onnx/import_types.h"
#include "schema/check_node.h"

namespace lathe {
namespace {

std::optional<std::string> unless_empty(const std::string& s) {
  return s.empty() ? std::nullopt : std::optional(s);
}

onnx::Entries entries(const std::vector<std::pair<std::string, std::string>>& list) {
  onnx::Entries r;
  for (const auto& [key, value] : list) r.push_back({key, value, {}});
  return r;
}

class Exporter {
 public:
  Exporter(const SchemaCatalog& catalog, const ExportOptions& options)
      : catalog_(catalog), options_(options) {}

  /// `root` is a copy that the exporter may change.
  onnx::Model run(Graph& root) {
    if (options_.opset < 0 || options_.opset > newest_opset)
      throw Error(Code::bad_argument, "export", "an opset from 1 to " + std::to_string(newest_opset),
                  std::to_string(options_.opset));
    onnx::Model m;
    if (options_.opset) from_front_ = decompose_all(root, catalog_, options_.opset);
    find_versions(root);
    if (options_.opset) opset_ = options_.opset;
    write_in_versions(root);
    // Inputs and outputs get their names first; inner values with the same names are renamed.
    for (const auto* list : {&root.inputs(), &root.outputs()})
      for (ValueId v : *list) names_[&root].try_emplace(v, take_name(root.value(v).name));
    onnx::ModelProto& p = m.proto;
    p.graph = graph(root);
    p.ir_version = std::max(ir_version_, ir_version_for_opset(opset_));
    p.opset_import.push_back({std::string(), opset_, {}});
    for (const auto& [domain, version] : domains_) p.opset_import.push_back({domain, version, {}});
    p.producer_name = unless_empty(root.producer_name);
    p.producer_version = unless_empty(root.producer_version);
    p.domain = unless_empty(root.model_domain);
    if (root.model_version) p.model_version = root.model_version;
    p.metadata_props = entries(root.metadata);
    p.functions = root.functions;
    return m;
  }

 private:
  void need_ir(int version) { ir_version_ = std::max(ir_version_, version); }

  void find_versions(const Graph& g) {
    if (!g.parent()) {
      opset_ = options_.min_opset;
      if (!g.functions.empty()) need_ir(8);
      for (const auto& f : g.functions) {
        if (f.overload && !f.overload->empty()) need_ir(10);
        // An operator must mean the same in a function and in the model that calls it.
        for (const auto& o : f.opset_import)
          if (o.domain && !o.domain->empty() && *o.domain != "ai.onnx")
            need_domain(*o.domain, o.version.value_or(1));
          else
            opset_ = std::max(opset_, static_cast<int>(o.version.value_or(1)));
      }
    } else if (!g.metadata.empty()) {
      need_ir(10);
    }
    for (ValueId v = 0; v < g.value_count(); ++v) {
      need_ir(ir_version_for(g.value(v).type));
      if (!g.value(v).constant || !g.value(v).constant->is_sequence()) continue;
      opset_ = std::max(opset_, 11);  // see constant()
      if (options_.opset && options_.opset < 11)
        throw error_about(Code::node_cannot_convert, "export", g.value(v).name,
                          "constants that opset " + std::to_string(options_.opset) + " can say",
                          "a sequence, which needs opset 11: there is no SequenceConstruct before it",
                          "choose opset 11 or a newer one");
    }
    for (NodeId id : g.order()) {
      const Node& n = g.node(id);
      if (!n.metadata.empty()) need_ir(10);
      if (const OpSchema* schema = catalog_.find(n.domain, n.op)) {
        const int wanted = options_.opset ? options_.opset : options_.min_opset;
        const Version& v = lowest_version(g, n, *schema, n.domain.empty() ? wanted : 1, from_front_);
        if (!n.domain.empty()) {
          need_domain(n.domain, v.since);
        } else {
          if (options_.opset)
            if (const auto obstacle = obstacle_below(g, n, *schema, options_.opset, from_front_))
              refuse_at(g, n, options_.opset, *obstacle);
          opset_ = std::max(opset_, v.since);
        }
      } else {
        need_domain(n.domain, opset_of_file(g, n.domain));
      }
      for (const Body& b : n.bodies) find_versions(*b.graph);
    }
  }
  /// Writes every node in the version that is in force at its opset.
  void write_in_versions(Graph& g) {
    for (NodeId id : g.order()) {
      Node& n = g.node(id);
      if (const OpSchema* schema = catalog_.find(n.domain, n.op))
        downgrade(g, n, *schema, static_cast<int>(n.domain.empty() ? opset_ : domains_[n.domain]),
                  from_front_);
      for (const Body& b : n.bodies) write_in_versions(*b.graph);
    }
  }
  void need_domain(const std::string& domain, int64_t version) {
    if (domain.empty()) return;
    int64_t& v = domains_[domain];
    v = std::max(v, version);
  }
  static int64_t opset_of_file(const Graph& g, const std::string& domain) {
    const Graph* root = &g;
    while (root->parent()) root = root->parent();
    const auto at = root->opsets.find(domain);
    return at == root->opsets.end() ? 1 : at->second;
  }

  std::string take_name(const std::string& wanted) {
    return unique(taken_, wanted.empty() ? "value" : wanted);
  }
  static std::string unique(std::unordered_set<std::string>& taken, const std::string& wanted) {
    std::string name = wanted;
    for (size_t i = taken.size(); !taken.insert(name).second; ++i) name = wanted + "." + std::to_string(i);
    return name;
  }
  /// Returns the one name of a value; a captured value has its name in the outer graph.
  const std::string& name(const Graph& g, ValueId v) {
    const Graph* at = &g;
    while (at->value(v).captured != no_id) {
      v = at->value(v).captured;
      at = at->parent();
    }
    auto [found, fresh] = names_[at].try_emplace(v);
    if (fresh) found->second = take_name(at->value(v).name);
    return found->second;
  }

  onnx::ValueInfoProto value_info(const Graph& g, ValueId v, const std::string& called) {
    onnx::ValueInfoProto p;
    p.name = called;
    if (g.value(v).type.known()) p.type = export_type(g.value(v).type);
    p.doc_string = unless_empty(g.value(v).doc);
    return p;
  }

  onnx::GraphProto graph(const Graph& g) {
    onnx::GraphProto p;
    p.name = g.name.empty() ? "graph" : g.name;
    p.doc_string = unless_empty(g.doc);
    if (g.parent()) p.metadata_props = entries(g.metadata);
    for (ValueId v : g.inputs()) p.input.push_back(value_info(g, v, name(g, v)));

    for (ValueId v = 0; v < g.value_count(); ++v) {
      const ValueInfo& i = g.value(v);
      if (i.constant && i.captured == no_id && i.producer == no_id && (i.is_input || is_read(g, v)))
        constant(g, v, p);
    }
    for (NodeId id : g.order()) p.node.push_back(node(g, g.node(id)));
    outputs(g, p);
    if (options_.value_info) inner_types(g, p);
    return p;
  }

  /// Returns whether a node or an output needs the value. A body need not read all that it captures: a
  /// downgrade may have made an attribute of it.
  bool is_read(const Graph& g, ValueId v) {
    if (g.is_output(v)) return true;
    const auto [uses, fresh] = uses_.try_emplace(&g);
    if (fresh) uses->second = g.uses();
    return std::ranges::any_of(uses->second[v], [&](const Use& u) {
      return u.input != UINT32_MAX || std::ranges::any_of(g.node(u.node).bodies, [&](const Body& b) {
               return std::ranges::any_of(b.graph->captures(), [&](ValueId c) {
                 return b.graph->value(c).captured == v && is_read(*b.graph, c);
               });
             });
    });
  }

  /// Outputs of a body must be made in it, and be different values; Identity makes them so.
  void outputs(const Graph& g, onnx::GraphProto& p) {
    std::unordered_set<ValueId> seen;
    for (ValueId v : g.outputs()) {
      std::string called = name(g, v);
      if ((g.parent() && g.value(v).producer == no_id) || !seen.insert(v).second) {
        onnx::NodeProto same;
        same.op_type = "Identity";
        same.input = {called};
        called = take_name(called);
        same.output = {called};
        p.node.push_back(std::move(same));
      }
      p.output.push_back(value_info(g, v, called));
    }
  }

  void inner_types(const Graph& g, onnx::GraphProto& p) {
    for (NodeId id : g.order())
      for (ValueId v : g.node(id).outputs)
        if (v != no_id && g.value(v).type.known() && !g.is_output(v))
          p.value_info.push_back(value_info(g, v, name(g, v)));
  }

  void constant(const Graph& g, ValueId v, onnx::GraphProto& p) {
    const Value& value = *g.value(v).constant;
    if (value.is_tensor()) {
      p.initializer.push_back(onnx::from_tensor(value.tensor(), name(g, v)));
      return;
    }
    // Sequences of tensors have no initializer; nodes make them.
    const bool of_tensors =
        value.is_sequence() && std::all_of(value.sequence().items->begin(), value.sequence().items->end(),
                                           [](const Value& x) { return x.is_tensor(); });
    if (!of_tensors)
      throw Error(Code::node_cannot_convert, "export", "constants that are tensors or sequences of tensors",
                  g.value(v).type.str(), "keep the node that made '" + g.value(v).name + "'");
    onnx::NodeProto make;
    make.output = {name(g, v)};
    const auto& items = *value.sequence().items;
    if (items.empty()) {
      make.op_type = "SequenceEmpty";
      onnx::AttributeProto type;
      type.name = "dtype";
      type.type = onnx::AttributeProto::INT;
      type.i = static_cast<int64_t>(value.sequence().elem);
      make.attribute.push_back(std::move(type));
    } else {
      make.op_type = "SequenceConstruct";
      for (const Value& item : items) {
        make.input.push_back(take_name(name(g, v) + ".item"));
        p.initializer.push_back(onnx::from_tensor(item.tensor(), make.input.back()));
      }
    }
    p.node.push_back(std::move(make));
  }

  onnx::NodeProto node(const Graph& g, const Node& n) {
    onnx::NodeProto p;
    auto called = [&](ValueId v) { return v == no_id ? std::string() : name(g, v); };
    for (ValueId v : n.inputs) p.input.push_back(called(v));
    for (ValueId v : n.outputs) p.output.push_back(called(v));
    p.op_type = n.op;
    // Some runtimes refuse two nodes of one name, which inlining and upgrading can lead to.
    if (!n.name.empty()) p.name = unique(taken_by_nodes_, n.name);
    p.domain = unless_empty(n.domain);
    p.overload = unless_empty(n.overload);
    p.doc_string = unless_empty(n.doc);
    p.metadata_props = entries(n.metadata);
    const OpSchema* schema = catalog_.find(n.domain, n.op);
    const Version* version =
        schema ? schema->at(static_cast<int>(n.domain.empty() ? opset_ : domains_[n.domain])) : nullptr;
    const Signature* s = version ? &version->signature() : nullptr;
    // Some operators require empty names for inputs that are left out.
    const auto trim = [](auto& list, size_t least) {
      while (list.size() > least && list.back().empty()) list.pop_back();
    };
    trim(p.input, s ? s->min_inputs : 0);
    trim(p.output, 0);
    for (const auto& a : n.attributes) {
      if (s && !s->attribute(a.name)) continue;  // a later version added it, and it has its default
      p.attribute.push_back(attribute(a, s ? s->attribute(a.name) : nullptr));
    }
    for (const Body& b : n.bodies) {
      onnx::AttributeProto a;
      a.name = b.name;
      a.type = onnx::AttributeProto::GRAPH;
      a.g = graph(*b.graph);
      p.attribute.push_back(std::move(a));
    }
    return p;
  }

  static onnx::AttributeProto attribute(const Attributes::Entry& a, const AttributeDecl* declared) {
    using A = onnx::AttributeProto;
    A p;
    p.name = a.name;
    auto set = [&](A::Type type, auto&& field, auto&& value) {
      p.type = type;
      field = std::forward<decltype(value)>(value);
    };
    std::visit(
        [&]<class T>(const T& x) {
          if constexpr (std::is_same_v<T, int64_t>)
            set(A::INT, p.i, x);
          else if constexpr (std::is_same_v<T, float>)
            set(A::FLOAT, p.f, x);
          else if constexpr (std::is_same_v<T, std::string>) {
            if (declared && declared->kind == "type")
              set(A::TYPE_PROTO, p.tp, export_type(ValueType::parse(x)));
            else
              set(A::STRING, p.s, onnx::Bytes(x));
          } else if constexpr (std::is_same_v<T, Tensor>)
            set(A::TENSOR, p.t, onnx::from_tensor(x));
          else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
            set(A::INTS, p.ints, x);
          else if constexpr (std::is_same_v<T, std::vector<float>>)
            set(A::FLOATS, p.floats, x);
          else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            p.type = A::STRINGS;
            for (const std::string& s : x) p.strings.emplace_back(s);
          } else {
            p.type = A::TENSORS;
            for (const Tensor& t : x) p.tensors.push_back(onnx::from_tensor(t));
          }
        },
        a.value);
    return p;
  }

  const SchemaCatalog& catalog_;
  const ExportOptions& options_;
  FromFront from_front_;
  int opset_ = 0;
  int ir_version_ = 4;  // the first whose initializers need not be inputs
  std::map<std::string, int64_t> domains_;
  std::unordered_map<const Graph*, std::unordered_map<ValueId, std::string>> names_;
  std::unordered_map<const Graph*, std::vector<std::vector<Use>>> uses_;
  std::unordered_set<std::string> taken_, taken_by_nodes_;
};

}  // namespace

onnx::Model export_model(const Graph& graph, const SchemaCatalog& catalog, const ExportOptions& options) {
  return Exporter(catalog, options).run(*graph.clone());
}

}  // namespace lathe
