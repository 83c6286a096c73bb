#include "onnx/import_graph.h"

#include <algorithm>

#include "base/nearest.h"
#include "lathe/run_control.h"
#include "onnx/import_types.h"
#include "onnx/tensor_data.h"
#include "schema/check_node.h"

namespace lathe {
namespace {

std::vector<std::pair<std::string, std::string>> pairs(const onnx::Entries& entries) {
  std::vector<std::pair<std::string, std::string>> r;
  for (const auto& e : entries) r.emplace_back(e.key.value_or(""), e.value.value_or(""));
  return r;
}

}  // namespace

Nesting::Nesting(int& depth, int most) : depth_(depth) {
  if (depth_ >= most)
    throw Error(Code::graph_too_deep, "import",
                "bodies and functions nested at most " + std::to_string(most) + " deep", "more",
                "a model made by a program that went wrong; see ImportOptions::max_nesting");
  ++depth_;
}

GraphImporter::GraphImporter(const onnx::Model& model, const SchemaCatalog& catalog,
                             const ImportOptions& options, const FunctionTable& functions,
                             std::vector<Diagnostic>& findings)
    : model_(model),
      catalog_(catalog),
      options_(options),
      functions_(functions),
      findings_(findings),
      free_names_(options.max_nesting) {
  state_.fill_body = [this](Graph& g) { return fill_body(g); };
}

Diagnostic GraphImporter::scope_fault(Code code, std::string_view what, std::string expected, std::string got,
                                      std::string remedy) const {
  Diagnostic d;
  d.code = code;
  d.stage = "import";
  d.node = what;
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return d;
}

// ── Values
// ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

ValueId GraphImporter::define(ImportScope& scope, std::string_view name, std::string_view what) {
  if (const auto at = scope.results.find(name); at != scope.results.end() && !scope.values.contains(name))
    return scope.values[name] = at->second;
  const ValueId v = scope.graph->add_value(scope.graph->fresh_name(scope.prefix + std::string(name)));
  if (!scope.values.try_emplace(name, v).second)
    report(scope_fault(Code::graph_duplicate_name, what, "names that are given once",
                       "'" + std::string(name) + "' twice", "rename one of the values"));
  if (const auto at = scope.declared.find(name); at != scope.declared.end()) {
    try {
      const ValueType declared = import_type(*at->second);
      scope.graph->value(v).type = without_shape(declared);
      hints_[{scope.graph, v}] = declared;
    } catch (const Error& e) {
      report(e.at("import", name, "").diagnostic());
    }
    if (scope.outer) state_.declare(*scope.graph, v, scope.graph->value(v).type);
  }
  return v;
}

ValueId GraphImporter::capture(Graph& into, const Graph& from, ValueId v) {
  if (&into == &from) return v;
  // A value that is a capture itself is known by the value that it captures, so each graph is searched once.
  if (const ValueId outer = from.value(v).captured; outer != no_id)
    return capture(into, *from.parent(), outer);
  const auto [at, fresh] = captures_[&into].try_emplace({&from, v}, no_id);
  if (fresh) {
    const ValueId outer = capture(*into.parent(), from, v);
    const ValueInfo& source = into.parent()->value(outer);
    at->second = into.add_value(source.name, source.type);
    into.value(at->second).captured = outer;
    if (source.is_constant()) into.value(at->second).constant = source.constant;
  }
  return at->second;
}

std::optional<ValueId> GraphImporter::find(ImportScope& scope, std::string_view name) {
  if (const auto at = scope.values.find(name); at != scope.values.end()) return at->second;
  for (const ImportScope* s = scope.outer; s; s = s->outer)
    if (const auto at = s->values.find(name); at != s->values.end()) {
      const ValueId v = at->second == no_id ? no_id : capture(*scope.graph, *s->graph, at->second);
      scope.values[name] = v;
      return v;
    }
  return std::nullopt;
}

void GraphImporter::declare_types(ImportScope& scope, const onnx::GraphProto& g) {
  for (const auto* list : {&g.value_info, &g.output})
    for (const onnx::ValueInfoProto& v : *list)
      if (v.name && v.type) scope.declared.try_emplace(*v.name, &*v.type);
}

void GraphImporter::add_initializers(ImportScope& scope, const onnx::GraphProto& g) {
  auto add = [&](std::string_view name, auto&& read) {
    if (name.empty()) {
      report(
          scope_fault(Code::graph_undefined_value, "initializer", "a name", "none", "name the initializer"));
      return;
    }
    const auto input = scope.values.find(name);
    const bool is_default = input != scope.values.end() && input->second != no_id &&
                            scope.graph->value(input->second).is_input &&
                            !scope.graph->value(input->second).constant;
    const ValueId v =
        is_default ? input->second : define(scope, name, "initializer '" + std::string(name) + "'");
    try {
      set_initializer(scope, v, read(), name);
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      report(e.at("import", name, "").diagnostic());
    }
  };
  for (const onnx::TensorProto& t : g.initializer)
    add(text(t.name), [&] { return onnx::to_tensor(t, &model_, options_.control, options_.any_alignment); });
  for (const onnx::SparseTensorProto& t : g.sparse_initializer)
    add(t.values ? text(t.values->name) : std::string_view(), [&] { return onnx::to_dense(t, &model_); });
}

void GraphImporter::set_initializer(ImportScope& scope, ValueId v, Tensor t, std::string_view name) {
  ValueInfo& value = scope.graph->value(v);
  const ValueType type = ValueType::tensor(t.type(), SymShape(t.shape().begin(), t.shape().end()));
  if (!value.is_input || !value.type.known())
    value.type = type;
  else if (!unify(value.type, type))
    throw Error(Code::node_bad_type, "import", "a default of the input's type " + value.type.str(),
                type.str(), "correct the declaration of the input, or its initializer");
  value.constant = std::make_shared<const Value>(std::move(t));
  value.source = name;
}

// ── Graphs
// ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

void GraphImporter::fill(ImportScope& scope, const onnx::GraphProto& g) {
  const Nesting level(nesting_, options_.max_nesting);
  declare_types(scope, g);
  add_initializers(scope, g);
  fill_nodes(scope, g.node);
  std::vector<ValueId> outputs;
  for (const onnx::ValueInfoProto& o : g.output) {
    const auto v = find(scope, text(o.name));
    if (!v || *v == no_id) {
      report(scope_fault(Code::graph_undefined_value, "graph '" + scope.graph->name + "'",
                         "outputs that a node, an input or an initializer gives",
                         "'" + std::string(text(o.name)) + "'",
                         suggestion(scope, text(o.name), "remove the output")));
      continue;
    }
    outputs.push_back(*v);
    if (o.doc_string) scope.graph->value(*v).doc = *o.doc_string;
  }
  scope.graph->set_outputs(std::move(outputs));
}

void GraphImporter::fill_nodes(ImportScope& scope, const std::vector<onnx::NodeProto>& nodes) {
  if (nodes.size() > options_.max_nodes) return report(too_many_nodes(scope));  // without reading any
  const NodeOrder order =
      order_nodes(nodes, free_names_, [&](std::string_view name) { return scope.values.contains(name); });
  if (!order.as_in_file) {
    Diagnostic d = scope_fault(Code::warning_not_sorted, "graph '" + scope.graph->name + "'",
                               "nodes after those whose outputs they read", "another order",
                               "sort the nodes; other tools refuse such a file");
    d.severity = Diagnostic::Severity::warning;
    report(std::move(d));
  }
  if (!order.in_cycle.empty()) {
    const onnx::NodeProto& first = nodes[order.in_cycle[0]];
    Diagnostic d =
        scope_fault(Code::graph_cycle, text(first.name), "a graph without cycles",
                    std::to_string(order.in_cycle.size()) + " nodes that wait for each other",
                    "a node may only read what other nodes made before it; use Loop for recurrence");
    d.op = text(first.op_type);
    d.node_index = order.in_cycle[0];
    report(std::move(d));
  }
  for (uint32_t i : order.sorted) import_node(scope, nodes[i], i);
  // The outputs of a cycle are defined, so that nodes that read them are checked too.
  for (uint32_t i : order.in_cycle)
    for (const std::string& o : nodes[i].output)
      if (!o.empty()) define(scope, o, text(nodes[i].name));
  for (uint32_t i : order.behind) import_node(scope, nodes[i], i);
}

void GraphImporter::add_body(Graph& parent, const ImportScope& where, const std::string& name,
                             const onnx::GraphProto& g, Node& n) {
  auto body = std::make_shared<Graph>(&parent);
  body->name = text(g.name);
  body->doc = text(g.doc_string);
  body->metadata = pairs(g.metadata_props);
  const auto constants = initializer_names(g);
  for (const onnx::ValueInfoProto& i : g.input) {
    if (constants.contains(text(i.name))) continue;
    const ValueType declared = i.type ? import_type(*i.type) : ValueType{};
    const ValueId v = body->add_input(body->fresh_name(where.prefix + std::string(text(i.name))), declared);
    state_.declare(*body, v, without_shape(declared));
    hints_[{body.get(), v}] = declared;
  }
  bodies_.push_back(body);
  pending_[body.get()] = {&g, &where};
  n.bodies.push_back({name, std::move(body)});
}

bool GraphImporter::fill_body(Graph& g) {
  const auto at = pending_.find(&g);
  if (at == pending_.end()) return false;
  const PendingBody pending = at->second;
  pending_.erase(at);
  ++nodes_;  // with its captured values, a body costs as much as a node
  const ImportScope& outer = *pending.outer;
  ImportScope scope{.graph = &g,
                    .outer = &outer,
                    .opsets = outer.opsets,
                    .prefix = outer.prefix,
                    .call = outer.call,
                    .function = outer.function,
                    .caller = outer.caller,
                    .uncalled = outer.uncalled};
  const auto constants = initializer_names(*pending.proto);
  size_t next = 0;
  for (const onnx::ValueInfoProto& i : pending.proto->input) {
    if (constants.contains(text(i.name))) continue;
    if (!scope.values.try_emplace(text(i.name), g.inputs()[next++]).second)
      report(scope_fault(Code::graph_duplicate_name, "graph '" + g.name + "'", "inputs of different names",
                         "'" + i.name.value_or("") + "' twice", "rename one of them"));
  }
  fill(scope, *pending.proto);
  return true;
}

// ── Nodes
// ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

void GraphImporter::report(Diagnostic d, int64_t node_index) {
  constexpr size_t most = 1000;
  if (stopped_) return;
  if (d.node_index < 0) d.node_index = node_index;
  if (d.code == Code::graph_too_large || d.code == Code::function_too_large) stopped_ = true;
  findings_.push_back(std::move(d));
  if (findings_.size() >= most) stopped_ = true;
}

std::string GraphImporter::suggestion(const ImportScope& scope, std::string_view name,
                                      std::string otherwise) {
  if (++suggestions_ > 16) return otherwise;  // each search reads all names
  std::vector<std::string> known;
  for (const ImportScope* s = &scope; s; s = s->outer)
    for (const auto& [k, v] : s->values) known.emplace_back(k);
  const auto near = nearest_names(name, known, 1);
  return near.empty() ? otherwise : "did you mean '" + near[0] + "'?";
}

void GraphImporter::read_inputs(ImportScope& scope, const onnx::NodeProto& p, Node& n, int64_t index) {
  for (const std::string& name : p.input) {
    if (name.empty()) {
      n.inputs.push_back(no_id);
      continue;
    }
    auto v = find(scope, name);
    if (!v) {
      report(node_fault(*scope.graph, n, "import", Code::graph_undefined_value,
                        "inputs that a node, an input or an initializer gives", "'" + name + "'",
                        suggestion(scope, name, "add what gives it")),
             index);
      v = define(scope, name, n.name);  // reported once, not for every reader
    }
    n.inputs.push_back(*v);
  }
}

GraphImporter::Declaration GraphImporter::find_operator(const ImportScope& scope, const Node& n) const {
  const std::string domain = n.domain.empty() ? "ai.onnx" : n.domain;
  const auto opset = scope.opsets->find(n.domain);
  const OpSchema* schema = catalog_.find(n.domain, n.op);
  if (!catalog_.knows_domain(n.domain) && !functions_.knows_domain(n.domain)) {
    std::vector<std::string> known;
    for (const auto& [key, op] : catalog_.all()) {
      const std::string d = key.first.empty() ? "ai.onnx" : key.first;
      if (known.empty() || known.back() != d) known.push_back(d);
    }
    std::string list;
    for (const std::string& d : known) list += (list.empty() ? "" : ", ") + d;
    throw Error(Code::node_unknown_domain, "import",
                "a domain that is known (" + list + ") or that the model's functions are in",
                "'" + domain + "'",
                "load a plug-in that brings the operator, or export the model without it");
  }
  if (!schema) {
    std::vector<std::string> known;
    for (const auto& [key, op] : catalog_.all())
      if (key.first == n.domain) known.push_back(key.second);
    std::string near;
    for (const std::string& k : nearest_names(n.op, known))
      near += (near.empty() ? "did you mean " : " or ") + k;
    throw Error(Code::node_unknown_operator, "import", "an operator that domain '" + domain + "' has",
                "'" + n.op + "'", near.empty() ? "see `lathe ops` for what is supported" : near + "?");
  }
  // ONNX Runtime accepts models without an import of these domains, so such models exist.
  if (opset == scope.opsets->end() && (n.domain == "ai.onnx.ml" || n.domain == "com.microsoft"))
    return {schema, &schema->versions().front(), true};
  if (opset == scope.opsets->end())
    throw Error(Code::model_bad_opset, "import", "an opset_import for every domain in use",
                "none for '" + domain + "'", "add one");
  const Version* version = schema->at(static_cast<int>(opset->second));
  if (!version) return {schema, &schema->versions().front(), true};
  const std::string got = n.op + " in opset " + std::to_string(opset->second);
  if (version->deprecated)
    throw Error(Code::node_unknown_operator, "import", "an operator of the model's opset",
                got + ", which ended with opset " + std::to_string(version->since),
                "use what replaced it, or lower the version of the opset_import");
  return {schema, version, false};
}

Diagnostic GraphImporter::too_many_nodes(const ImportScope& scope) const {
  return scope_fault(scope.function ? Code::function_too_large : Code::graph_too_large,
                     "graph '" + scope.graph->name + "'",
                     "at most " + std::to_string(options_.max_nodes) + " nodes, functions inlined", "more",
                     "see ImportOptions::max_nodes");
}

void GraphImporter::import_node(ImportScope& scope, const onnx::NodeProto& p, int64_t index) {
  if (stopped_) return;
  if (options_.control) options_.control->check();
  Node n;
  n.op = text(p.op_type);
  n.domain = canonical_domain(text(p.domain));
  n.overload = text(p.overload);
  n.name = scope.prefix + (text(p.name).empty() ? n.op + "_" + std::to_string(index) : std::string(*p.name));
  n.doc = text(p.doc_string);
  n.metadata = pairs(p.metadata_props);
  n.origin = {n.name};
  if (++nodes_ > options_.max_nodes) return report(too_many_nodes(scope));
  read_inputs(scope, p, n, index);
  for (const std::string& o : p.output) n.outputs.push_back(o.empty() ? no_id : define(scope, o, n.name));
  try {
    if (const onnx::FunctionProto* f = functions_.find(p); f && options_.inline_functions)
      return inline_call(scope, p, *f, n);
    if (functions_.is_refused(p)) return;  // reported already
    if (p.input.empty() && p.output.empty()) return warn_of_idle(*scope.graph, n, index);
    add_attributes(scope, p, n);
    import_operator(scope, n, index);
    compare_declared(*scope.graph, n, index);
  } catch (const Error& e) {
    if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
    report(at_node(*scope.graph, n, "import", e), index);
  }
}

void GraphImporter::warn_of_idle(const Graph& g, const Node& n, int64_t index) {
  Diagnostic d = node_fault(g, n, "import", Code::warning_unused, "nodes that read or give something",
                            "one that does neither and is dropped", "remove it");
  d.severity = Diagnostic::Severity::warning;
  report(std::move(d), index);
}

ValueType GraphImporter::hint(const Graph& g, ValueId v) const {
  const auto at = hints_.find({&g, v});
  return at == hints_.end() ? ValueType{} : at->second;
}

void GraphImporter::compare_declared(const Graph& g, const Node& n, int64_t index) {
  for (ValueId v : n.outputs) {
    if (v == no_id) continue;
    const ValueType declared = hint(g, v);
    if (unify(g.value(v).type, declared)) continue;
    Diagnostic d = node_fault(
        g, n, "import", Code::node_bad_shape,
        "output '" + g.value(v).name + "' of type " + declared.str() + ", as the model declares",
        g.value(v).type.str(), "correct or remove the declaration in value_info or in the graph's outputs");
    d.severity = Diagnostic::Severity::warning;
    report(std::move(d), index);
  }
}

void GraphImporter::import_operator(ImportScope& scope, Node n, int64_t index) {
  Graph& g = *scope.graph;
  if (!options_.inline_functions && functions_.knows_domain(n.domain) && !catalog_.find(n.domain, n.op)) {
    for (const Body& b : n.bodies) fill_body(*b.graph);
    for (ValueId v : n.outputs)
      if (v != no_id && hint(g, v).known()) g.value(v).type = hint(g, v);
    g.add_node(std::move(n));
    return;
  }
  const bool constant = n.op == "Constant" && n.domain.empty();
  if (constant && !scope.uncalled && !catalog_.find("", "Constant")) return import_constant(g, n);
  const auto [schema, version, early] = find_operator(scope, n);
  if (early) {
    // ONNX Runtime had some operators in the standard's domain years before the standard, and such models
    // exist.
    Diagnostic d =
        scope.opsets->contains(n.domain)
            ? node_fault(g, n, "import", Code::node_unknown_operator, "an operator of the model's opset",
                         n.op + ", which came with opset " + std::to_string(version->since),
                         "raise the version of the opset_import")
            : node_fault(g, n, "import", Code::model_bad_opset, "an opset_import for every domain in use",
                         "none for '" + n.domain + "', taken to be version " + std::to_string(version->since),
                         "add one");
    d.severity = Diagnostic::Severity::warning;
    report(std::move(d), index);
  }
  if (constant) drop_unknown_attributes(g, n, *schema, index);
  std::vector<Diagnostic> faults = check_signature(g, n, *schema, *version);
  for (Diagnostic& d : faults) report(std::move(d), index);
  if (!faults.empty()) return;
  // Trailing operands that are left out are removed, so that counts are right.
  n.inputs.trim(version->signature().min_inputs);
  n.outputs.trim();
  if (scope.uncalled) {
    for (const Body& b : n.bodies) fill_body(*b.graph);
    return;
  }
  if (is_gradient(n.domain, n.op)) return import_gradient(scope, n);
  if (inline_live_branch(g, n)) return;
  if (constant) return import_constant(g, n);
  // Inference knows the newest version only. Operators that are newer than the model's opset are not checked
  // here.
  if (!early && version != &schema->newest()) {
    faults = check_input_types(g, n, *schema, *version);
    for (Diagnostic& d : faults) report(std::move(d), index);
    if (!faults.empty()) {
      for (const Body& b : n.bodies) fill_body(*b.graph);
      g.add_node(std::move(n));
      return;
    }
  }

  std::vector<Node> after;
  upgrade(g, n, index, *schema, *version, after);
  add_inferred(g, std::move(n));
  for (Node& a : after) add_inferred(g, std::move(a));
}

void GraphImporter::drop_unknown_attributes(const Graph& g, Node& n, const OpSchema& schema, int64_t index) {
  std::vector<std::string> unknown;
  for (const auto& a : n.attributes)
    if (!schema.newest().signature().attribute(a.name)) unknown.push_back(a.name);
  for (const std::string& name : unknown) {
    n.attributes.erase(name);
    Diagnostic d = node_fault(g, n, "check", Code::node_bad_attribute, "attributes that Constant has",
                              "'" + name + "', which is ignored", "remove it");
    d.severity = Diagnostic::Severity::warning;
    report(std::move(d), index);
  }
}

NodeId GraphImporter::add_inferred(Graph& g, Node n) {
  const NodeId id = g.add_node(std::move(n));
  // If operators do not ask for their bodies' types (or fail before), bodies get their declared types.
  auto fill_rest = [&] {
    for (size_t i = 0; i < g.node(id).bodies.size(); ++i) fill_body(*g.node(id).bodies[i].graph);
  };
  try {
    infer_node(g, id, catalog_, state_);
  } catch (const Error&) {
    fill_rest();
    throw;
  }
  fill_rest();
  return id;
}

void GraphImporter::import_constant(Graph& g, const Node& n) {
  auto fault = [](std::string expected, std::string got) {
    throw Error(Code::node_bad_attribute, "import", std::move(expected), std::move(got),
                "a Constant holds one value");
  };
  if (n.attributes.size() != 1 || !n.bodies.empty())
    fault("one attribute of Constant", std::to_string(n.attributes.size() + n.bodies.size()));
  if (n.outputs.size() != 1 || n.outputs[0] == no_id || !n.inputs.empty())
    throw Error(Code::node_bad_arity, "import", "no inputs and one output of Constant",
                std::to_string(n.inputs.size()) + " and " + std::to_string(n.outputs.size()), {});
  const auto& [name, value] = *n.attributes.begin();
  Tensor t = std::visit(
      [&]<class T>(const T& x) -> Tensor {
        if constexpr (std::is_same_v<T, Tensor>) {
          if (name == "value" || name == "sparse_value") return x;
        } else if constexpr (std::is_same_v<T, int64_t>) {
          if (name == "value_int") return Tensor::scalar(x);
        } else if constexpr (std::is_same_v<T, float>) {
          if (name == "value_float") return Tensor::scalar(x);
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (name == "value_string") return Tensor::scalar(x);
        } else if constexpr (!std::is_same_v<T, std::vector<Tensor>>) {
          if (name == "value_ints" || name == "value_floats" || name == "value_strings")
            return Tensor::from({static_cast<int64_t>(x.size())}, x);
        }
        fault("value, sparse_value, value_float(s), value_int(s) or value_string(s)",
              "'" + name + "' of kind " + std::string(kind_of(value)));
        return {};
      },
      value);
  ValueInfo& v = g.value(n.outputs[0]);
  v.type = ValueType::tensor(t.type(), SymShape(t.shape().begin(), t.shape().end()));
  v.source = v.name;
  v.constant = std::make_shared<const Value>(std::move(t));
}

}  // namespace lathe
