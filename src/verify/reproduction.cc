#include "verify/reproduction.h"

#include <limits>

#include "verify/sensitivity.h"
#include "verify/stateful_run.h"
#include "verify/step_by_step.h"
#include "verify/sums.h"

namespace lathe {
namespace {

/// The same model for the shapes of these inputs alone.
std::unique_ptr<Graph> with_sizes(const Graph& graph, const std::vector<Value>& inputs) {
  std::unique_ptr<Graph> g = graph.clone();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    const Shape& s = inputs[i].tensor().shape();
    g->value(g->inputs()[i]).type.shape = SymShape(s.begin(), s.end());
  }
  return g;
}

}  // namespace

Difference failed_run(const Error& e) {
  return {.within = false,
          .largest = std::numeric_limits<double>::infinity(),
          .expected = "a run without an error, as the reference has it",
          .got = e.what()};
}

std::optional<Piece> Reproducer::piece(Cut cut, std::vector<Value> inputs) const {
  Piece p{std::move(cut.graph), std::move(inputs), {}, {}};
  try {
    p.expected = variants_.evaluate(*p.graph, p.inputs);
    p.slack = sensitivity(variants_, *p.graph, p.inputs, p.expected);
  } catch (const Error& e) {
    if (stops_everything(e)) throw;
    return std::nullopt;
  }
  return p;
}

Difference Reproducer::run(const Engine& engine, const Piece& piece) const {
  try {
    Context context = engine.create_context();
    const std::vector<Value> got = run_statefully(engine, context, piece.inputs, variants_.options().control);
    const std::vector<std::string> names = output_names(*piece.graph);
    Difference d = tolerance_difference(got, piece.expected, names, held_, piece.slack);
    if (!d.within || got.size() != 1 || held_ == Held::none) return d;
    const auto bounds = bounds_of_sums(*piece.graph, fast_kernel(engine.steps()), piece.inputs,
                                       piece.expected[0], variants_.isa());
    return bounds.empty() ? d
                          : bounds_difference(got[0].tensor(), piece.expected[0].tensor(), names[0], bounds);
  } catch (const Error& e) {
    if (stops_everything(e)) throw;
    return failed_run(e);
  }
}

bool Reproducer::fails(const Optimum& of, const Piece& piece, const Search& search) const {
  return !run(variants_.engine(of, level_, {}, search), piece).within;
}

std::optional<Reproducer::Failure> Reproducer::failure_of(const onnx::Model& model, const Piece& piece,
                                                          const Search& search) const {
  const std::unique_ptr<Graph> graph = variants_.import(model);
  try {
    const Engine engine = variants_.engine(variants_.optimized(*graph, level_), level_, {}, search);
    Difference d = run(engine, piece);
    if (d.within) return std::nullopt;
    return Failure{model, std::move(d), engine.steps()};
  } catch (const Error& e) {  // of the build
    if (stops_everything(e)) throw;
    return Failure{model, failed_run(e), {}};
  }
}

std::optional<Reproducer::Failure> Reproducer::failure(const Piece& piece, const Search& search) const {
  for (bool symbolic : {true, false}) {
    try {
      const std::unique_ptr<Graph> sized = symbolic ? nullptr : with_sizes(*piece.graph, piece.inputs);
      if (auto f = failure_of(variants_.export_graph(sized ? *sized : *piece.graph), piece, search)) return f;
    } catch (const Error& e) {
      // Not every piece can be written as a file.
      if (stops_everything(e)) throw;
    }
  }
  return std::nullopt;
}

}  // namespace lathe
