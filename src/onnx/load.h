// Model::load for those who can be asked to stop.
#pragma once

#include "lathe/engine.h"

namespace lathe::onnx {

/// As Model::load; `control` is asked while the file is read and parsed.
Model load_model(const std::filesystem::path& path, const LoadOptions& options, RunControl* control);

}  // namespace lathe::onnx
