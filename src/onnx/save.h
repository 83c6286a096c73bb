// Saving, told how far it is.
#pragma once

#include <cstdint>
#include <functional>

#include "lathe/onnx.h"

namespace lathe::onnx {

/// Told bytes as they are written; what it throws ends the save, and nothing is left of it.
using SaveListener = std::function<void(uint64_t bytes)>;

/// `take_scratch`: weights that lie in a scratch file, and all that does, may become the beginning of the
/// external file instead of being copied into it; nobody may change them in memory from then on.
void save(const Model& m, const std::filesystem::path& path, const SaveOptions& options,
          const SaveListener& listener, bool take_scratch = false);

}  // namespace lathe::onnx
