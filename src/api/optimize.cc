// The optimiser without an engine: model in, model out.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "build/optimise.h"
#include "build/rewrites.h"
#include "lathe/tools.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "tensor/alignment.h"

namespace lathe {
namespace {

bool is_attention(const Node& n) { return n.op == "Attention" && n.domain.empty(); }

using Origins = std::set<std::string>;
void add_attention_of_file(const Graph& g, Origins& found) {
  for (NodeId id : g.order()) {
    if (is_attention(g.node(id))) found.insert(g.node(id).origin.begin(), g.node(id).origin.end());
    for (const Body& b : g.node(id).bodies) add_attention_of_file(*b.graph, found);
  }
}

/// ONNX Runtime's Attention gives 0 to a query whose keys are all masked by the least float, where softmax
/// gave each key the same weight, as the standard still says. What is masked by less is as invisible beside
/// others, and alone it counts as before: so the masks of Attention that was found are written. That of the
/// file is as its author wanted it; 16-bit floats have no room for such a number.
void write_hidden_rows_as_softmax_has_them(Graph& g, const Origins& of_file) {
  constexpr float unseen = -1e30f;
  std::map<ValueId, ValueId> written;
  ValueId least = no_id;
  for (NodeId id : g.order()) {
    for (const Body& b : g.node(id).bodies) write_hidden_rows_as_softmax_has_them(*b.graph, of_file);
    const Node& n = g.node(id);
    if (!is_attention(n) || n.inputs.size() < 4 || n.inputs[3] == no_id ||
        g.value(n.inputs[3]).type.elem != DataType::float32 ||
        std::ranges::any_of(n.origin, [&](const std::string& o) { return of_file.contains(o); }))
      continue;
    const ValueId mask = n.inputs[3];
    const Tensor* known = g.constant_tensor(mask);
    const auto hides = [](float x) { return x < unseen && std::isfinite(x); };
    if (known && std::ranges::none_of(aligned(*known).as<float>(), hides)) continue;
    const auto [at, fresh] = written.try_emplace(mask, no_id);
    if (fresh && known) {
      Tensor t = known->clone();
      std::ranges::replace_if(t.as<float>(), hides, unseen);
      at->second = g.add_constant(g.fresh_name(g.value(mask).name), std::move(t));
    } else if (fresh) {
      if (least == no_id) least = g.add_constant(g.fresh_name("unseen"), Tensor::scalar(unseen));
      at->second = g.node(g.add_node("Max", {mask, least}, 1, {}, g.node(id).name + "/Max")).outputs[0];
      g.value(at->second).type = g.value(mask).type;
    }
    g.node(id).inputs[3] = at->second;
  }
}

}  // namespace

OptimizedModel optimize(const onnx::Model& model, const BuildOptions& options, int opset) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  const std::unique_ptr<Graph> graph = import_model(
      model, catalog,
      {.shapes = options.shapes, .fix_defaults = options.fix_defaults, .control = options.control});
  Origins attention;
  add_attention_of_file(*graph, attention);
  const Optimised done = optimise(*graph, catalog, KernelCatalog::standard(), options,
                                  {.dequantize = false, .newest_opset = opset});
  write_hidden_rows_as_softmax_has_them(*graph, attention);
  OptimizedModel result{export_model(*graph, catalog, {.opset = opset}), {}};
  for (const AppliedPatch& p : done.patches)
    result.patches.push_back({std::string(p.pass), p.node, p.reason});
  return result;
}

std::vector<PassInfo> passes() {
  std::vector<PassInfo> list;
  for (const Pass& p : all_passes())
    list.push_back({std::string(p.name), std::string(p.says), p.level, p.by_default});
  return list;
}

std::vector<PassInfo> rewrites() {
  std::vector<PassInfo> list;
  for (const Rewrite& r : all_rewrites())
    list.push_back({std::string(r.name), std::string(r.says), OptimizationLevel::all, true});
  return list;
}

}  // namespace lathe
