// SIGINT and SIGTERM as requests to stop: work that has something to keep ends in order.
#pragma once

#include "lathe/engine.h"

namespace lathe::cli {

/// From here on the first SIGINT or SIGTERM cancels the control that this returns, which whoever works then
/// looks at; a second one ends the process at once. Call it once, and only where all that takes long looks.
RunControl& stop_on_signals();

/// The signal that came; 0: none did.
int stop_signal();

}  // namespace lathe::cli
