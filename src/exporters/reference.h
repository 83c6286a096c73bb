// The reference for an exported file: a model run by plain loops, and once more with all floats as float64.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lathe/engine.h"
#include "lathe/exporters.h"
#include "lathe/onnx.h"

namespace lathe::exporters {

class Reference {
 public:
  /// `options` must outlive it.
  Reference(onnx::Model model, const ValidationOptions& options);
  /// Returns the results of the reference backend. Values without an input in the model are ignored.
  NamedValues plain(const NamedValues& given) const;
  /// Returns the results in float64; if memory does not suffice for that, those of plain().
  NamedValues exact(const NamedValues& given) const;
  /// Returns what exact() would if every weight were off by half a unit in the last place of `type`, up or
  /// down by chance: how far rounding alone moves the results. Only where is_exact().
  NamedValues moved(const NamedValues& given, DataType type, uint64_t seed);
  bool is_exact() const { return wide_ != nullptr; }
  /// Returns why it is not exact; empty if it is.
  const std::string& left_out() const { return left_out_; }
  const onnx::Model& model() const { return model_; }

 private:
  NamedValues own(const NamedValues& given) const;
  NamedValues evaluated(const Graph& wide, const NamedValues& given) const;

  onnx::Model model_;
  const ValidationOptions& options_;
  std::unique_ptr<Graph> graph_, wide_;
  std::unique_ptr<Engine> engine_;
  std::string left_out_;
};

}  // namespace lathe::exporters
