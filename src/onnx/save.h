// Saving, told how far it is.
#pragma once

#include <cstdint>
#include <functional>

#include "lathe/onnx.h"

namespace lathe::onnx {

/// Told bytes as they are written; what it throws ends the save, and nothing is left of it.
using SaveListener = std::function<void(uint64_t bytes)>;

void save(const Model& m, const std::filesystem::path& path, const SaveOptions& options,
          const SaveListener& listener);

}  // namespace lathe::onnx
