// A mapped file that becomes shorter while it is used raises SIGBUS where its bytes are read. The command
// says so as it says every error.
#pragma once

#include <filesystem>

namespace lathe::cli {

/// From here on such a fault prints error E1207 (as JSON too, where asked) and ends the process with exit
/// code 1; what was being written is removed.
void report_mapped_faults(const std::filesystem::path& model, bool json);

}  // namespace lathe::cli
