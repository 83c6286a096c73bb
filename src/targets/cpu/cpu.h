// The CPU as a target.
#pragma once

#include "compiler/target.h"

namespace lathe {

/// Thread-safe.
const Target& cpu_target();

}  // namespace lathe
