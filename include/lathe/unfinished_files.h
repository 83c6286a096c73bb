// Files that are being written when the process must end.
#pragma once

#include "lathe/export.h"

namespace lathe {

/// Removes files that other threads are writing and that do not have their final names yet, and makes those
/// threads wait before they begin or finish another file: for a process that a signal is about to end. Not
/// async-signal-safe.
LATHE_API void remove_unfinished_files();

}  // namespace lathe
