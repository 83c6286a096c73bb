#include "exporters/reference.h"

#include <algorithm>

#include "eval/eval.h"
#include "exporters/float64.h"
#include "onnx/importer.h"
#include "schema/schema.h"

namespace lathe::exporters {

Reference::Reference(onnx::Model model, const ValidationOptions& options)
    : model_(std::move(model)), options_(options), graph_(import_model(model_, SchemaCatalog::standard())) {
  BuildOptions plain;
  plain.backend = "reference";
  plain.level = OptimizationLevel::none;
  plain.threads = options.build.threads;
  engine_ = std::make_unique<Engine>(Engine::build(model_, plain));
  const uint64_t bytes = float64_bytes(*graph_);
  if (bytes <= options.memory_limit)
    wide_ = in_float64(*graph_);
  else
    left_out_ = "float64: the weights alone are " + std::to_string(bytes >> 20) + " MiB";
}

NamedValues Reference::own(const NamedValues& given) const {
  NamedValues all;
  for (const IoInfo& io : engine_->inputs())
    if (const auto at = given.find(io.name); at != given.end()) all.insert(*at);
  return all;
}

NamedValues Reference::plain(const NamedValues& given) const {
  return engine_->create_context().run(own(given));
}

NamedValues Reference::exact(const NamedValues& given) const {
  return wide_ ? evaluated(*wide_, given) : plain(given);
}

NamedValues Reference::moved(const NamedValues& given, DataType type, uint64_t seed) {
  wide_.reset();  // The weights are in memory once.
  NamedValues all;
  {
    const std::unique_ptr<Graph> off = in_float64(*graph_);
    move_weights(*off, type, seed);
    all = evaluated(*off, given);
  }
  wide_ = in_float64(*graph_);
  return all;
}

NamedValues Reference::evaluated(const Graph& wide, const NamedValues& given) const {
  std::vector<Value> in_order;
  for (ValueId v : wide.inputs()) {
    const auto at = given.find(wide.value(v).name);
    in_order.push_back(at == given.end() ? Value() : Value(as_float64(at->second.tensor())));
  }
  const std::vector<Value> got = evaluate(wide, in_order, {.control = options_.build.control});
  NamedValues all;
  for (size_t i = 0; i < got.size(); ++i) all[graph_->value(graph_->outputs()[i]).name] = got[i];
  return all;
}

}  // namespace lathe::exporters
