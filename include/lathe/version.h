#pragma once

#include <string_view>

#include "lathe/export.h"

#define LATHE_VERSION_MAJOR 0
#define LATHE_VERSION_MINOR 1
#define LATHE_VERSION_PATCH 0

namespace lathe {
/// Returns the version of the library: "0.1.0".
LATHE_API std::string_view version();
}  // namespace lathe
