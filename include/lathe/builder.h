// From networks to engines, and from files to networks, with TensorRT's words.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/engine.h"
#include "lathe/network.h"
#include "lathe/refit.h"

namespace lathe {

class SchemaCatalog;

/// How engines are built: effort, threads, memory limits, progress with cancel, timing cache, ….
using BuilderConfig = BuildOptions;
/// Shapes that an engine is made for: smallest, most likely and greatest, by input.
using OptimizationProfile = ShapeProfile;
/// Working memory for one run at a time (Engine::create_context).
using ExecutionContext = Context;

/// Builds engines from networks. Without state; thread-safe as long as the network is not changed.
class LATHE_API Builder {
 public:
  Network create_network(const std::string& name = {}) const { return Network(name); }
  /// Debug tensors become taps, besides those of the config. Throws what Engine::build throws;
  /// Code::model_empty where no output is marked.
  Engine build_engine(const Network& network, const BuilderConfig& config = {}) const;
  /// The same as the bytes of a plan, for Engine::deserialize.
  std::vector<std::byte> build_serialized_network(const Network& network,
                                                  const BuilderConfig& config = {}) const;
  /// Other weights for an engine that was built with refit: in one call what a Refitter does in several.
  /// Every name of the map must be a weight of the engine; of a checkpoint or a model those that the engine
  /// lacks are left out. Throws what Refitter's constructor, set_named_weights and refit throw.
  RefitReport refit_engine(const Engine& engine, const NamedWeights& weights,
                           RunControl* control = nullptr) const;
  RefitReport refit_engine(const Engine& engine, const Checkpoint& weights,
                           RunControl* control = nullptr) const;
  RefitReport refit_engine(const Engine& engine, const onnx::Model& weights,
                           RunControl* control = nullptr) const;
};

/// Fills networks from .onnx files. Holds what it found in the last one; one thread each.
class LATHE_API Parser {
 public:
  /// `plugins`: shared libraries whose operators models may have (lathe/backend.h); engines of such networks
  /// are built with the same ones in BuildOptions::plugins. Throws build_plugin_failed.
  explicit Parser(const std::vector<std::filesystem::path>& plugins = {});
  /// Functions are inlined, operators become their newest versions; layers that were saved from a Network are
  /// layers again. Throws the first error, after all were collected.
  Network parse(const std::filesystem::path& file, const onnx::LoadOptions& options = {});
  Network parse(const onnx::Model& model);
  /// Errors and warnings of the last call, in the order of the file.
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  size_t num_errors() const;
  /// Is it an operator that this library or one of the plug-ins knows ("" is ai.onnx)?
  bool supports_operator(std::string_view op, std::string_view domain = {}) const;

 private:
  std::shared_ptr<const SchemaCatalog> schemas_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lathe
