// Fills Graphs from the lists of nodes of a model: the main graph, bodies, functions that are inlined.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/import_functions.h"
#include "onnx/import_order.h"
#include "onnx/importer.h"
#include "onnx/known_value.h"
#include "onnx/optional_text.h"
#include "schema/infer.h"

namespace lathe {

using OpsetMap = std::map<std::string, int64_t, std::less<>>;

/// A scope of names: the main graph, a body, or one call of a function.
struct ImportScope {
  Graph* graph = nullptr;
  const ImportScope* outer = nullptr;  // of a body: where the names it captures are
  const OpsetMap* opsets = nullptr;
  std::unordered_map<std::string_view, ValueId> values = {};
  /// Declared types of values by name.
  std::unordered_map<std::string_view, const onnx::TypeProto*> declared = {};
  /// Calls only: the values that the caller made for the function's outputs.
  std::unordered_map<std::string_view, ValueId> results = {};
  std::string prefix = {};  // of inner names of an inlined function: "encoder/"
  // Attribute references are resolved by `call`, the call of the function of this scope (or of the body's
  // outermost scope), in the scope `caller`.
  const onnx::NodeProto* call = nullptr;
  const onnx::FunctionProto* function = nullptr;
  const ImportScope* caller = nullptr;
  /// True in a function that nothing calls: nothing is typed, only names, operators, arity and attributes are
  /// checked.
  bool uncalled = false;
};

class GraphImporter {
 public:
  GraphImporter(const onnx::Model& model, const SchemaCatalog& catalog, const ImportOptions& options,
                const FunctionTable& functions, std::vector<Diagnostic>& findings);

  /// Adds the values of the initializers, then the nodes. The inputs exist already.
  void fill(ImportScope& scope, const onnx::GraphProto& g);
  ValueId define(ImportScope& scope, std::string_view name, std::string_view what);
  /// Returns the value of that name in the scope's graph, captured from around it if necessary; nothing if
  /// the name is unknown.
  std::optional<ValueId> find(ImportScope& scope, std::string_view name);
  /// Call this after the main graph: checks functions that nothing called, and training_info. Nothing of them
  /// is added to the graph.
  void check_unreached(ImportScope& main);

 private:
  friend class NodeUpgrade;
  struct PendingBody {
    const onnx::GraphProto* proto = nullptr;
    const ImportScope* outer = nullptr;
  };

  void add_initializers(ImportScope& scope, const onnx::GraphProto& g);
  void set_initializer(ImportScope& scope, ValueId v, Tensor t, std::string_view name);
  void declare_types(ImportScope& scope, const onnx::GraphProto& g);
  void fill_nodes(ImportScope& scope, const std::vector<onnx::NodeProto>& nodes);
  void import_node(ImportScope& scope, const onnx::NodeProto& p, int64_t index);
  void import_operator(ImportScope& scope, Node n, int64_t index);
  void import_constant(Graph& g, const Node& n);
  void import_gradient(ImportScope& scope, const Node& n);
  /// Warns if the inferred shape of an output contradicts the declared one.
  void compare_declared(const Graph& g, const Node& n, int64_t index);
  ValueType hint(const Graph& g, ValueId v) const;
  void warn_of_idle(const Graph& g, const Node& n, int64_t index);
  void inline_call(ImportScope& scope, const onnx::NodeProto& p, const onnx::FunctionProto& f,
                   const Node& call);
  /// Puts `inner` in place of `n`: its values of these names become the outputs of the node.
  void inline_nodes(ImportScope& inner, const std::vector<onnx::NodeProto>& nodes,
                    const std::vector<std::string>& outputs, const Node& n, std::string_view what);
  /// Inlines an If that always takes one branch while the other one is faulty: the branch taken replaces the
  /// node.
  bool inline_live_branch(Graph& g, const Node& n);
  std::optional<bool> known_condition(const Graph& g, ValueId v);
  const OpsetMap& opsets_of(const onnx::FunctionProto& f, const ImportScope& scope);
  bool fill_body(Graph& g);

  Graph& scratch_graph(Graph* parent, std::string name);
  void check_function(const ImportScope& main, const onnx::FunctionProto& f);
  void check_training_graph(ImportScope& main, const onnx::GraphProto& g);
  void check_bindings(const onnx::Entries& bindings, const std::optional<onnx::GraphProto>& g,
                      const onnx::TrainingInfoProto& training, std::string_view what);

  void read_inputs(ImportScope& scope, const onnx::NodeProto& p, Node& n, int64_t index);
  void add_attributes(ImportScope& scope, const onnx::NodeProto& p, Node& n);
  static void add_reference(const ImportScope& scope, const onnx::AttributeProto& a, Node& n);
  /// Adds a body to `n` that is filled later, when its inputs are typed; its free names are looked up in
  /// `where`.
  void add_body(Graph& parent, const ImportScope& where, const std::string& name, const onnx::GraphProto& g,
                Node& n);
  struct Declaration {
    const OpSchema* schema = nullptr;
    const Version* version = nullptr;
    bool early = false;  // the model's opset does not have it yet; this is the first version
  };
  /// Returns the operator in the version of the scope's opset. Throws Error if there is none.
  Declaration find_operator(const ImportScope& scope, const Node& n) const;
  /// Drops unknown attributes of a Constant, with a warning: notes of other programs do not change its value.
  void drop_unknown_attributes(const Graph& g, Node& n, const OpSchema& schema, int64_t index);
  /// Adds the node in its newest form and infers it.
  NodeId add_inferred(Graph& g, Node n);
  void upgrade(Graph& g, Node& n, int64_t index, const OpSchema& schema, const Version& from,
               std::vector<Node>& after);
  ValueId capture(Graph& into, const Graph& from, ValueId v);
  std::string suggestion(const ImportScope& scope, std::string_view name, std::string otherwise);

  void report(Diagnostic d, int64_t node_index = -1);
  Diagnostic too_many_nodes(const ImportScope& scope) const;
  Diagnostic scope_fault(Code code, std::string_view what, std::string expected, std::string got,
                         std::string remedy) const;

  const onnx::Model& model_;
  const SchemaCatalog& catalog_;
  const ImportOptions& options_;
  const FunctionTable& functions_;
  std::vector<Diagnostic>& findings_;
  FreeNames free_names_;
  InferState state_;
  KnownValues known_values_{catalog_, state_, options_.control};
  /// The types that the file declares for values, with shapes. Some are wrong, so graphs get kinds and
  /// element types alone.
  std::map<std::pair<const Graph*, ValueId>, ValueType> hints_;
  std::unordered_map<const Graph*, PendingBody> pending_;
  /// For each graph: its values that capture values of the graphs around it.
  std::unordered_map<const Graph*, std::map<std::pair<const Graph*, ValueId>, ValueId>> captures_;
  std::map<const onnx::FunctionProto*, OpsetMap> function_opsets_;
  std::deque<Tensor> numbers_;  // values of shape arithmetic, for upgrades that need constants
  std::vector<std::shared_ptr<Graph>>
      bodies_;  // kept, so that no other graph gets the address of one that was dropped
  size_t nodes_ = 0;
  int nesting_ = 0;
  int suggestions_ = 0;
  bool stopped_ = false;  // a limit was reached: the rest is not checked
};

/// Increments the nesting depth for as long as it lives. Throws graph_too_deep.
class Nesting {
 public:
  Nesting(int& depth, int most);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

/// Returns whether the function has an attribute of that name, with a default or without.
bool declares_attribute(const onnx::FunctionProto& f, std::string_view name);

/// Returns the names of the initializers, sparse ones too.
std::unordered_set<std::string_view> initializer_names(const onnx::GraphProto& g);

/// Returns the opsets of a list of imports; faults go to `findings`.
OpsetMap read_opsets(const std::vector<onnx::OperatorSetIdProto>& imports, std::string_view where,
                     std::vector<Diagnostic>& findings);

/// Returns the first error (not warning) of the list; null if there is none.
const Diagnostic* first_error(const std::vector<Diagnostic>& findings);

}  // namespace lathe
