#include "compiler/built_in.h"

#include <algorithm>

#include "graph/traverse.h"
#include "plan/checksum.h"
#include "schema/infer.h"
#include "tensor/contents.h"

namespace lathe {
namespace {

void add_initializers(const Graph& g, std::vector<Initializer>& all, std::set<const Value*>& read) {
  const UseIndex uses(g);
  for (ValueId v = 0; v < g.value_count(); ++v) {
    const ValueInfo& i = g.value(v);
    if (!i.constant || !i.constant->is_tensor()) continue;
    if (!i.source.empty()) all.push_back({i.source, i.constant});
    if (uses.is_read(v) || i.is_input) read.insert(i.constant.get());
  }
}

/// True for axes, sizes and indices, which are not trained: rewrites by them are worth more than exchanging
/// them.
bool is_number_of_the_model(const Value& v) {
  if (!v.is_tensor()) return false;
  const Tensor& t = v.tensor();
  return (t.type() == DataType::int64 || t.type() == DataType::boolean) && t.size() <= max_tracked_values;
}

class DecidingShapes {
 public:
  DecidingShapes(const Folds& folds, const SchemaCatalog& schemas) : folds_(folds), schemas_(schemas) {}

  std::set<const Value*> run(Graph& g) {
    state_.declare_bodies(g);
    std::vector<Diagnostic> ignored;
    infer_graph(g, schemas_, state_, &ignored);
    each_graph(g, [this](Graph& each) { look(each); });
    return std::move(deciding_);
  }

 private:
  void look(Graph& g) {
    for (ValueId v = 0; v < g.value_count(); ++v)
      if (g.value(v).is_constant() && !g.value(v).source.empty() &&
          is_number_of_the_model(*g.value(v).constant))
        mark(g.value(v).constant.get());
    for (NodeId id : g.order()) {
      const std::vector<ValueId> inputs = g.node(id).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == no_id || !g.value(inputs[i]).is_constant()) continue;
        const Value* constant = g.value(inputs[i]).constant.get();
        if (!deciding_.contains(constant) && depends_on_contents(g, id, i, schemas_, state_)) mark(constant);
      }
    }
  }
  /// Marks the constant and all constants that it was folded from, through chains of any length.
  void mark(const Value* constant) {
    std::vector<const Value*> open{constant};
    while (!open.empty()) {
      const Value* next = open.back();
      open.pop_back();
      if (!deciding_.insert(next).second) continue;
      if (const auto fold = folds_.find(next); fold != folds_.end())
        for (const Fold::Operand& o : fold->second.from)
          if (o.constant) open.push_back(o.constant.get());
    }
  }

  const Folds& folds_;
  const SchemaCatalog& schemas_;
  InferState state_;
  std::set<const Value*> deciding_;
};

}  // namespace

std::vector<Initializer> initializers(const Graph& graph) {
  std::vector<Initializer> all;
  std::set<const Value*> read;
  each_graph(graph, [&](const Graph& g) { add_initializers(g, all, read); });
  std::erase_if(all, [&](const Initializer& i) { return !read.contains(i.value.get()); });
  return all;
}

std::set<const Value*> deciding_shapes(Graph& graph, const Folds& folds, const SchemaCatalog& schemas) {
  return DecidingShapes(folds, schemas).run(graph);
}

std::vector<BuiltInWeight> built_in_weights(const Plan& plan, const std::vector<Initializer>& all,
                                            const std::set<const Value*>& deciding) {
  std::set<std::string_view> sources;
  for (const Weight& w : plan.weights)
    if (w.recipe.kind == WeightRecipe::Kind::source) sources.insert(w.recipe.source);
  std::vector<BuiltInWeight> list;
  for (const Initializer& i : all) {
    if (sources.contains(i.name) && !deciding.contains(i.value.get())) continue;
    const Tensor& t = i.value->tensor();
    list.push_back(
        {i.name, t.type(), t.shape(), t.type() == DataType::string ? 0 : checksum_of(t.data(), t.bytes())});
  }
  return list;
}

}  // namespace lathe
