#pragma once

#include <string_view>

#include "lathe/export.h"

#define LATHE_VERSION_MAJOR 0
#define LATHE_VERSION_MINOR 1
#define LATHE_VERSION_PATCH 0

namespace lathe {
/// "0.1.0"
LATHE_API std::string_view version();

/// Makes the tables of operators and kernels that all engines of a process share, and asks the processor what
/// it can do: some two milliseconds, once, which the first engine would take else. The Python module does so
/// when it is imported. Any thread may call it, as often as it likes.
LATHE_API void initialize();
}  // namespace lathe
