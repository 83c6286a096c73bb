// A mapped file that becomes shorter while it is used raises SIGBUS when its bytes are read. The command
// reports that like every error.
#pragma once

#include <filesystem>

namespace lathe::cli {

/// Makes such a fault print error E1207 (with `json` as JSON too) and end the process with exit code 1;
/// unfinished files are removed.
void report_mapped_faults(const std::filesystem::path& model, bool json);

}  // namespace lathe::cli
