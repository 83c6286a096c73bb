// What an exported file is held against: a model run by plain loops, and once more with all floats as
// float64.
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
  /// `options` outlives it.
  Reference(onnx::Model model, const ValidationOptions& options);
  /// What the reference backend gives. Values that the model has no input for are left alone.
  NamedValues plain(const NamedValues& given) const;
  /// In float64; without room for it the same as plain().
  NamedValues exact(const NamedValues& given) const;
  bool is_exact() const { return wide_ != nullptr; }
  /// Why it is not; empty where it is.
  const std::string& left_out() const { return left_out_; }
  const onnx::Model& model() const { return model_; }

 private:
  NamedValues own(const NamedValues& given) const;

  onnx::Model model_;
  const ValidationOptions& options_;
  std::unique_ptr<Graph> graph_, wide_;
  std::unique_ptr<Engine> engine_;
  std::string left_out_;
};

}  // namespace lathe::exporters
