// Signals that ask the command to end: what is half-written goes, and work that has something to keep ends in
// order.
#pragma once

#include "lathe/run_control.h"

namespace lathe::cli {

/// From here on SIGINT, SIGTERM and SIGHUP remove what is being written before they end the process. Before
/// any thread is started.
void watch_signals();

/// From here on the first of them cancels the control that this returns, which whoever works then looks at; a
/// second one ends the process at once. Only where all that takes long looks.
RunControl& stop_on_signals();

/// From here on each of them ends the process again, when what was half-written is gone.
void end_on_signals();

/// The signal that cancelled it; 0: none did.
int stop_signal();

}  // namespace lathe::cli
