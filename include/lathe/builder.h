// Builds engines from networks, and parses networks from files, with TensorRT's names.
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

/// TensorRT's name for the options of a build (IBuilderConfig).
using BuilderConfig = BuildOptions;
/// TensorRT's name for the shapes that an engine is built for (IOptimizationProfile).
using OptimizationProfile = ShapeProfile;
/// TensorRT's name for the working memory of one run at a time (IExecutionContext).
using ExecutionContext = Context;

/// Builds engines from networks. Stateless; thread-safe as long as nobody changes the network meanwhile.
/// TensorRT: IBuilder.
class LATHE_API Builder {
 public:
  /// Makes an empty network. TensorRT: IBuilder::createNetworkV2.
  Network create_network(const std::string& name = {}) const { return Network(name); }
  /// Builds an engine; the network's debug tensors become taps, besides those of the config. Throws as
  /// Engine::build does, and Code::model_empty where no output is marked.
  Engine build_engine(const Network& network, const BuilderConfig& config = {}) const;
  /// Builds an engine and returns its plan, for Engine::deserialize. TensorRT:
  /// IBuilder::buildSerializedNetwork.
  std::vector<std::byte> build_serialized_network(const Network& network,
                                                  const BuilderConfig& config = {}) const;
  /// Exchanges weights of an engine that was built with refit; one call does what a Refitter does in several.
  /// Every name of a map must be a weight of the engine; tensors of a checkpoint or a model that the engine
  /// lacks are left out. Throws as Refitter's constructor, set_named_weights and refit do.
  RefitReport refit_engine(const Engine& engine, const NamedWeights& weights,
                           RunControl* control = nullptr) const;
  RefitReport refit_engine(const Engine& engine, const Checkpoint& weights,
                           RunControl* control = nullptr) const;
  RefitReport refit_engine(const Engine& engine, const onnx::Model& weights,
                           RunControl* control = nullptr) const;
};

/// Reads .onnx files into networks and keeps the findings of the last one. Not thread-safe: use one for each
/// thread. TensorRT: nvonnxparser::IParser.
class LATHE_API Parser {
 public:
  /// Makes a parser; models may have the operators of `plugins`, shared libraries (lathe/backend.h), which
  /// must also be in BuildOptions::plugins when engines are built of such networks. Throws
  /// build_plugin_failed.
  explicit Parser(const std::vector<std::filesystem::path>& plugins = {});
  /// Reads a model. Functions are inlined and operators become their newest versions; layers that were saved
  /// from a Network are layers again. Throws the first error after all were collected; the codes are those of
  /// Engine::build for files and models.
  Network parse(const std::filesystem::path& file, const onnx::LoadOptions& options = {});
  Network parse(const onnx::Model& model);
  /// Returns the errors and warnings of the last parse(), in the order of the file. TensorRT:
  /// IParser::getError.
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// Returns how many of them are errors.
  size_t num_errors() const;
  /// Returns whether this library or one of the plug-ins has the operator; the domain "" is ai.onnx.
  /// TensorRT: IParser::supportsOperator.
  bool supports_operator(std::string_view op, std::string_view domain = {}) const;

 private:
  std::shared_ptr<const SchemaCatalog> schemas_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lathe
