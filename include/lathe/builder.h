// From networks to engines, and from files to networks, with TensorRT's words.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "lathe/engine.h"
#include "lathe/network.h"

namespace lathe {

/// How engines are built: effort, threads, memory limits, progress with cancel, timing cache, ….
using BuilderConfig = BuildOptions;
/// Working memory for one run at a time (Engine::create_context).
using ExecutionContext = Context;

/// Builds engines from networks. Without state; thread-safe as long as the network is not changed.
class LATHE_API Builder {
 public:
  Network create_network(const std::string& name = {}) const { return Network(name); }
  /// Debug tensors become taps, besides those of the config. Throws what Engine::build throws;
  /// Code::model_empty where no output is marked.
  Engine build_engine(const Network& network, const BuilderConfig& config = {}) const;
};

/// Fills networks from .onnx files. Holds what it found in the last one; one thread each.
class LATHE_API Parser {
 public:
  /// Functions are inlined, operators become their newest versions; layers that were saved from a Network are
  /// layers again. Throws the first error, after all were collected.
  Network parse(const std::filesystem::path& file, const onnx::LoadOptions& options = {});
  Network parse(const onnx::Model& model);
  /// Errors and warnings of the last call, in the order of the file.
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  size_t num_errors() const;
  /// Is it an operator that this library knows ("" is ai.onnx)?
  static bool supports_operator(std::string_view op, std::string_view domain = {});

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lathe
