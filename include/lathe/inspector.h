// Inspection of engines: for each step its kernel, what was fused into it and what was not, and the bytes and
// arithmetic that it needs.
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

/// Selects the form of an inspection: one line for each step, or JSON. TensorRT: LayerInformationFormat.
enum class LayerInformationFormat : uint8_t { oneline, json };

/// Describes one step of an engine.
struct LayerInformation : StepInfo {
  std::string tactic;  // kernel and its tunables: "blocked_conv.winograd4.avx2 [65536]"
  uint32_t graph = 0;  // 0: the main graph; other numbers are bodies of control flow
  /// True where `bytes`, `flops` and `shapes` are known from the shapes of the inputs: not where only the
  /// data decide, nor in bodies whose shapes change from one iteration to the next. For a step of a body they
  /// are of one execution.
  bool known = false;
  double bytes = 0;    // read and written: operands, weights as they are packed, results
  double flops = 0;    // multiplications and additions, as in ModelSummary
  std::string shapes;  // "float32[1,3,8,8] float32[4,3,3,3] -> float32[1,4,6,6]"
};

/// A snapshot of an engine at some input shapes. Immutable and thread-safe; it does not keep the engine's
/// weights. TensorRT: IEngineInspector.
class LATHE_API EngineInspector {
 public:
  /// Inspects an engine. Symbols of inputs that are left out have the sizes that kernels were chosen for,
  /// unless other inputs determine them. Throws Code::run_bad_input and run_bad_shape for shapes that the
  /// engine does not take.
  explicit EngineInspector(const Engine& engine, const NamedShapes& input_shapes = {});

  /// Returns the number of steps.
  size_t num_layers() const { return layers_.size(); }
  /// Returns the steps in order of execution, graph by graph.
  const std::vector<LayerInformation>& layers() const& { return layers_; }
  std::vector<LayerInformation> layers() && { return std::move(layers_); }
  /// Returns the shapes that bytes and arithmetic are given for.
  const NamedShapes& input_shapes() const { return shapes_; }
  /// Returns one step as a line of text or a JSON object. Throws Code::bad_argument where there is none.
  std::string get_layer_information(size_t i,
                                    LayerInformationFormat format = LayerInformationFormat::oneline) const;
  /// Returns all steps, a line each, or one JSON object that also describes the engine.
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
