// What an engine is made of: for each step its kernel, what was fused into it and what was not, and what it
// computes and moves.
//
//   lathe::EngineInspector inspector = engine.inspect({{"x", {8, 3, 224, 224}}});
//   std::puts(inspector.get_engine_information(lathe::LayerInformationFormat::oneline).c_str());
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lathe/engine.h"
#include "lathe/export.h"

namespace lathe {

enum class LayerInformationFormat : uint8_t { oneline, json };

/// One step of an engine.
struct LayerInformation : StepInfo {
  std::string tactic;  // the kernel with what it was told: "winograd.avx2 [65536]"
  uint32_t graph = 0;  // 0: the main graph, others are bodies of control flow
  /// Do the shapes of the inputs say what follows? Not where only the data decide, nor in bodies whose shapes
  /// change from one time that they run to the next. Of a body's step what follows is of one execution.
  bool known = false;
  double bytes = 0;    // operands read, weights as they are packed, and results written
  double flops = 0;    // as ModelSummary counts them
  std::string shapes;  // "float32[1,3,8,8] float32[4,3,3,3] -> float32[1,4,6,6]"
};

/// A picture of an engine at some input shapes, as it was when this was made. Immutable; copies are cheap
/// enough.
class LATHE_API EngineInspector {
 public:
  /// Of inputs that are left out, symbols that others do not tell have the sizes that kernels were chosen by.
  /// Throws Code::run_bad_input and run_bad_shape for shapes that the engine does not take.
  explicit EngineInspector(const Engine& engine, const NamedShapes& input_shapes = {});

  size_t num_layers() const { return layers_.size(); }
  /// In order of execution, graph by graph.
  const std::vector<LayerInformation>& layers() const& { return layers_; }
  std::vector<LayerInformation> layers() && { return std::move(layers_); }
  /// The shapes that bytes and arithmetic are told for.
  const NamedShapes& input_shapes() const { return shapes_; }
  /// One step: a line of text, or a JSON object. Throws Code::bad_argument.
  std::string get_layer_information(size_t i,
                                    LayerInformationFormat format = LayerInformationFormat::oneline) const;
  /// All of them: a line each, or one JSON object with what holds for the engine.
  std::string get_engine_information(LayerInformationFormat format = LayerInformationFormat::oneline) const;

 private:
  std::vector<LayerInformation> layers_;
  NamedShapes shapes_;
  TargetInfo target_;
  Numerics numerics_ = Numerics::normal;
  bool refittable_ = false;
  uint64_t weights_ = 0;  // bytes
};

}  // namespace lathe
