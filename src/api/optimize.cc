// The optimizer without an engine: model in, model out.
#include "lathe/optimize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "compiler/lowering_passes.h"
#include "compiler/optimize.h"
#include "compiler/unfold.h"
#include "graph/traverse.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "runtime/extensions.h"
#include "tensor/alignment.h"

namespace lathe {
namespace {

/// Returns the opset of the file, or the oldest that can be written if that is newer: nodes of the file keep
/// the versions that its author chose.
int opset_of(const onnx::Model& model) {
  int64_t opset = ExportOptions().min_opset;
  for (const onnx::OperatorSetIdProto& o : model.proto.opset_import)
    if (o.domain.value_or("").empty() || *o.domain == "ai.onnx")
      opset = std::max(opset, o.version.value_or(1));
  return static_cast<int>(std::min<int64_t>(opset, newest_opset));
}

bool is_attention(const Node& n) { return n.op == "Attention" && n.domain.empty(); }

using Origins = std::set<std::string>;
void add_attention_of_file(const Graph& root, Origins& found) {
  each_graph(root, [&](const Graph& g) {
    for (NodeId id : g.order())
      if (is_attention(g.node(id))) found.insert(g.node(id).origin.begin(), g.node(id).origin.end());
  });
}

/// ONNX Runtime's Attention gives 0 to a query whose keys are all masked by the least float, where softmax
/// gave each key the same weight, as the standard still says. What is masked by less is as invisible beside
/// others, and alone it counts as before: so the masks of Attention that was found are written. Minus
/// infinity stays: what it hides altogether is 0 in both. Masks of the file are as their author wanted them;
/// 16-bit floats have no room for such a number.
class HiddenRows {
 public:
  explicit HiddenRows(Graph& g) : g_(g) {}

  void write(const Origins& of_file) {
    for (NodeId id : g_.order()) {
      const Node& n = g_.node(id);
      if (!is_attention(n) || n.inputs.size() < 4 || n.inputs[3] == no_id ||
          g_.value(n.inputs[3]).type.elem != DataType::float32 ||
          std::ranges::any_of(n.origin, [&](const std::string& o) { return of_file.contains(o); }))
        continue;
      const ValueId mask = written(n.inputs[3]);
      g_.node(id).inputs.set(3, mask);
    }
    remove_what_nobody_reads();
  }

 private:
  static constexpr float unseen = -1e30f;

  /// `mask` without numbers below `unseen` that are finite.
  ValueId written(ValueId mask) {
    if (const auto known = written_.find(mask); known != written_.end()) return known->second;
    const ValueId made = make(mask);
    written_.emplace(mask, made);
    return made;
  }
  ValueId make(ValueId mask) {
    if (const Tensor* known = g_.constant_tensor(mask)) return make_constant(mask, *known);
    const NodeId at = g_.value(mask).producer;
    if (at == no_id) return limited(mask);
    // The output of an operator that only chooses or repeats has no other numbers than its inputs.
    const Node& n = g_.node(at);
    if (!n.domain.empty() || (n.op != "Where" && n.op != "Expand" && n.op != "Unsqueeze"))
      return limited(mask);
    std::vector<ValueId> inputs = n.inputs;
    if (n.op == "Where")
      for (size_t i : {size_t{1}, size_t{2}}) inputs[i] = written(inputs[i]);
    else
      inputs[0] = written(inputs[0]);
    const Node& read = g_.node(at);
    if (inputs == read.inputs) return mask;
    replaced_.push_back(at);
    return add(read.op, inputs, g_.value(mask).type, read.attributes);
  }
  ValueId make_constant(ValueId mask, const Tensor& known) {
    const auto hides = [](float x) { return x < unseen && std::isfinite(x); };
    if (std::ranges::none_of(aligned(known).as<float>(), hides)) return mask;
    Tensor t = known.clone();
    std::ranges::replace_if(t.as<float>(), hides, unseen);
    return g_.add_constant(g_.fresh_name(g_.value(mask).name), std::move(t));
  }
  /// Adds nodes that limit a mask whose numbers are known only in a run.
  ValueId limited(ValueId mask) {
    if (least_ == no_id) least_ = g_.add_constant(g_.fresh_name("unseen"), Tensor::scalar(unseen));
    const ValueType type = g_.value(mask).type;
    ValueType boolean = type;
    boolean.elem = DataType::boolean;
    const ValueId seen = add("Max", {mask, least_}, type), hidden = add("IsInf", {mask}, boolean);
    return add("Where", {hidden, mask, seen}, type);
  }
  ValueId add(std::string op, std::vector<ValueId> inputs, ValueType type, Attributes attributes = {}) {
    const NodeId made = g_.add_node(op, std::move(inputs), 1, std::move(attributes), g_.fresh_name(op));
    const ValueId v = g_.node(made).outputs[0];
    g_.value(v).type = std::move(type);
    return v;
  }

  void remove_what_nobody_reads() {
    UseIndex uses(g_);
    for (auto at = replaced_.rbegin(); at != replaced_.rend(); ++at) {
      if (uses.is_read(g_.node(*at).outputs[0])) continue;
      uses.removing(*at);
      g_.remove_node(*at);
    }
  }

  Graph& g_;
  std::map<ValueId, ValueId> written_;
  std::vector<NodeId> replaced_;  // what is made of something comes after it
  ValueId least_ = no_id;
};

}  // namespace

OptimizedModel optimize(const onnx::Model& model, const BuildOptions& options, int opset) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  const std::unique_ptr<Graph> graph = import_model(
      model, catalog,
      {.shapes = options.shapes, .fix_defaults = options.fix_defaults, .control = options.control});
  const int written = opset ? opset : opset_of(model);
  Origins attention;
  add_attention_of_file(*graph, attention);
  const Optimized done = optimize_graph(
      *graph, catalog, KernelCatalog::standard(), options,
      {.dequantize = false, .newest_opset = opset, .for_others = true, .written_opset = written});
  each_graph(*graph, [&](Graph& g) { HiddenRows(g).write(attention); });
  unfold_repeated(*graph, done.folds, UnfoldFor::files);
  OptimizedModel result{export_model(*graph, catalog, {.opset = opset, .min_opset = written}), {}};
  for (const AppliedPatch& p : done.patches)
    result.patches.push_back({std::string(p.pass), p.node, p.reason});
  return result;
}

std::vector<PassInfo> passes(const std::vector<std::filesystem::path>& plugins) {
  std::vector<PassInfo> list;
  for (const Pass& p : all_passes())
    list.push_back({std::string(p.name), std::string(p.description), p.level, p.by_default});
  for (const LoweringPass& p : lowering_passes())
    list.push_back({std::string(p.name), std::string(p.description), OptimizationLevel::all, true, true,
                    p.required, std::string(p.target), facts_text(p.needs), facts_text(p.provides)});
  const auto extensions = Extensions::load(plugins);
  for (const PluginPass& p : extensions->passes())
    list.push_back({.name = p.name,
                    .description = p.description,
                    .level = OptimizationLevel::all,
                    .lowering = true,
                    .target = p.backend});
  return list;
}

}  // namespace lathe
