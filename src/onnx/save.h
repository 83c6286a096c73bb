// Saving with reports of progress.
#pragma once

#include <cstdint>
#include <functional>

#include "lathe/onnx.h"

namespace lathe::onnx {

/// Receives the number of bytes as they are written; an exception ends the save, and nothing is left of it.
using SaveListener = std::function<void(uint64_t bytes)>;

/// `take_scratch`: a scratch file with weights, and all that it has, may become the beginning of the external
/// file instead of being copied into it; the weights must not change in memory from then on.
void save(const Model& m, const std::filesystem::path& path, const SaveOptions& options,
          const SaveListener& listener, bool take_scratch = false);

}  // namespace lathe::onnx
