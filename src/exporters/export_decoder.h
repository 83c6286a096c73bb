// Decoders of checkpoints as models in memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "exporters/gguf_source.h"
#include "lathe/exporters.h"
#include "lathe/onnx.h"

namespace lathe::exporters {

struct ExportedDecoder {
  onnx::Model model;
  std::string config;                      // the text of config.json
  std::shared_ptr<const GgufSource> gguf;  // the source, if it is a GGUF file
  std::shared_ptr<const void> weights;     // memory that the model refers to
};

/// Returns the model that export_checkpoint() would write for text-generation-with-past, without validating
/// it. Throws as export_checkpoint() does; not_supported for models of several files.
ExportedDecoder export_decoder(const std::filesystem::path& checkpoint, ExportOptions options = {});

}  // namespace lathe::exporters
