// Checks of models and plans.
#pragma once

#include <filesystem>
#include <vector>

#include "lathe/error.h"
#include "lathe/export.h"
#include "lathe/onnx.h"

namespace lathe {

/// Returns all errors and warnings about a model, in the order of the file; an empty list means that it is
/// valid. Never throws for what is wrong with the model. Operators of `plugins` (shared libraries, see
/// lathe/backend.h) are known, too; throws build_plugin_failed where one cannot be loaded. Thread-safe. ONNX:
/// onnx.checker.check_model.
LATHE_API std::vector<Diagnostic> check(const onnx::Model& model,
                                        const std::vector<std::filesystem::path>& plugins = {});

/// Returns what is damaged in a plan: its structure, or else every stored array, by name, that does not match
/// its checksum. Reads the whole file. Throws file_* where it cannot be read.
LATHE_API std::vector<Diagnostic> check_plan(const std::filesystem::path& plan);

}  // namespace lathe
