// Builds engines of every level, of graphs whose sizes, axes and shapes only folding finds: drawn ones, and
// models of files. If the graph as written is refused, every level refuses it, and all levels give the same
// results.
#include <optional>

#include "compiler/optimize.h"
#include "fuzz/outcome.h"
#include "lathe/engine.h"
#include "lathe/optimize.h"
#include "onnx/importer.h"
#include "support/drawn_graph.h"
#include "support/hidden_constants.h"
#include "tensor/element.h"

namespace lathe::fuzz {
namespace {

constexpr size_t max_nodes = 300;

struct Fed {
  onnx::Model model;
  std::optional<NamedValues> inputs;  // nothing: only built
};

/// Some for a model of a file, whose open sizes are 3; nothing where that would be much.
std::optional<NamedValues> synthetic_inputs(const Graph& g) {
  NamedValues made;
  for (ValueId v : g.inputs()) {
    const ValueInfo& input = g.value(v);
    if (input.constant) continue;
    if (!input.type.is_tensor() || !input.type.shape || bits_of(input.type.elem) == 0) return std::nullopt;
    Shape shape;
    int64_t count = 1;
    for (const Dim& d : *input.type.shape) {
      shape.push_back(d.value().value_or(3));
      if (shape.back() < 0 || shape.back() > 256) return std::nullopt;
      count = std::min<int64_t>(count * shape.back(), 1 << 20);
    }
    if (count > 4096) return std::nullopt;
    Tensor t(input.type.elem, shape);
    for (int64_t i = 0; i < t.size(); ++i)
      store_double(t, i,
                   is_float(t.type()) ? 0.25 * static_cast<double>(i % 13) - 1 : static_cast<double>(i % 2));
    made.emplace(input.name, std::move(t));
  }
  return made;
}

/// A model as its file holds it, or one that the bytes draw.
std::optional<Fed> graph_of(Bytes data) {
  Fed fed;
  const bool is_file = data.size() > 8 && data[0] == 0x08 &&
                       code_of([&] { fed.model = onnx::Model::parse(chars(data)); }) == Code::none;
  if (is_file && fed.model.proto.graph && !fed.model.proto.graph->node.empty()) {
    if (fed.model.proto.graph->node.size() > max_nodes) return std::nullopt;
    return fed;
  }
  auto [model, inputs] = testing::draw_graph(data);
  return Fed{std::move(model), std::move(inputs)};
}

/// Makes only values that nothing reads outputs, so that passes have something to change.
void give_last_results(onnx::GraphProto& g) {
  std::set<std::string> read;
  for (const onnx::NodeProto& n : g.node) read.insert(n.input.begin(), n.input.end());
  std::erase_if(g.output, [&](const onnx::ValueInfoProto& o) { return read.contains(o.name.value_or("")); });
}

bool is_memory(Code c) { return c == Code::run_out_of_memory || c == Code::run_memory_limit; }

}  // namespace

void levels(Bytes data) {
  constexpr size_t max_choices = 48;
  const size_t hiding = std::min(max_choices, data.size() / 2);
  std::optional<Fed> fed = graph_of(data.first(data.size() - hiding));
  if (!fed) return;
  testing::Choices choose(data.last(hiding));
  testing::hide_constants(fed->model.proto, choose);
  const onnx::Model& m = fed->model;
  if (fed->inputs && choose.one_in(2)) give_last_results(*fed->model.proto.graph);
  std::string sentence;
  const auto must = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "%s\n%s\n", onnx::to_text(m.proto).c_str(), sentence.c_str());
    require(holds, what);
  };

  std::unique_ptr<Graph> graph;
  if (code_of([&] { graph = import_model(m, SchemaCatalog::standard()); }) != Code::none) return;
  if (!fed->inputs) fed->inputs = synthetic_inputs(*graph);
  BuildOptions options;
  options.threads = 1;
  options.memory_limit = options.fold_limit = uint64_t{16} << 20;
  sentence = testing::sentence_of([&] {
    const Optimized done =
        optimize_graph(*graph, SchemaCatalog::standard(), KernelCatalog::standard(), options);
    if (!done.declined.empty()) throw Error(done.declined[0]);
    graph->check();
  });
  must(sentence.find("E9001") == std::string::npos, "every patch fits");
  const auto is_coded = [&](Code c) { must(c != Code::internal, "an error has a code of its own"); };
  is_coded(code_of([&] { optimize(m, options); }));

  const auto outcome_at = [&](OptimizationLevel level) {
    BuildOptions o = options;
    o.level = level;
    Outcome got;
    std::optional<Engine> engine;
    got.build = code_of([&] { engine = Engine::build(m, o); });
    if (engine && fed->inputs) {
      sentence = testing::sentence_of([&] { got.values = engine->create_context().run(*fed->inputs); });
      got.run = sentence.empty() ? Code::none : code_of([&] { engine->create_context().run(*fed->inputs); });
    }
    is_coded(got.build);
    is_coded(got.run);
    return got;
  };
  const bool has_branches = std::ranges::any_of(
      m.proto.graph->node, [](const onnx::NodeProto& n) { return n.op_type == std::string("If"); });
  const bool has_empty = fed->inputs && std::ranges::any_of(*fed->inputs, [](const auto& i) {
                           return i.second.is_tensor() && i.second.tensor().size() == 0;
                         });
  const Outcome want = outcome_at(OptimizationLevel::none);
  for (const OptimizationLevel level :
       {OptimizationLevel::basic, OptimizationLevel::extended, OptimizationLevel::all}) {
    const Outcome got = outcome_at(level);
    if (!fed->inputs || !says_the_same_again(m) || is_memory(want.build) || is_memory(want.run) ||
        is_memory(got.build) || is_memory(got.run))
      continue;
    // Values that only a branch that is never taken reads are not computed. Nor are checks that refuse
    // tensors without elements always kept (passes/checks.h).
    if (want.run != Code::none && (has_branches || has_empty)) continue;
    const bool runs = want.build == Code::none && want.run == Code::none;
    if (runs != (got.build == Code::none && got.run == Code::none))
      for (const Outcome* o : {&want, &got})
        std::fprintf(stderr, "level %d ends with %s and %s\n", o == &want ? 0 : static_cast<int>(level),
                     code_name(o->build).c_str(), code_name(o->run).c_str());
    must(runs == (got.build == Code::none && got.run == Code::none), "every level runs, or none does");
    if (!runs) continue;
    for (const auto& [name, value] : want.values)
      must(same_form(value, got.values.at(name)), "every level gives the same types and shapes");
  }
}

}  // namespace lathe::fuzz
