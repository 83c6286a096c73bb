// Checkpoints on the command line.
#pragma once

#include <filesystem>

namespace lathe::cli {

/// Returns whether the path is a checkpoint: by its ending, or because it is a directory.
bool is_checkpoint(const std::filesystem::path& path);
/// Lists the tensors and their totals.
int inspect_checkpoint(const std::filesystem::path& path, bool untrusted, bool json);
/// The same of a GGUF file, with its metadata and the types of its tensors.
int inspect_gguf(const std::filesystem::path& path, bool untrusted, bool json);

}  // namespace lathe::cli
