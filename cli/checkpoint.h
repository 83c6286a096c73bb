// Checkpoints on the command line.
#pragma once

#include <filesystem>

namespace lathe::cli {

/// By the ending, or because it is a directory.
bool is_checkpoint(const std::filesystem::path& path);
/// Lists the tensors and what they come to.
int inspect_checkpoint(const std::filesystem::path& path, bool untrusted, bool json);

}  // namespace lathe::cli
