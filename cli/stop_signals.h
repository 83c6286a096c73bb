// Signals that ask the command to end: unfinished files are removed, and work that has results to keep ends
// in order.
#pragma once

#include "lathe/run_control.h"

namespace lathe::cli {

/// Makes SIGINT, SIGTERM and SIGHUP remove unfinished files before they end the process. To be called before
/// any thread is started.
void watch_signals();

/// Makes the first of them cancel the returned control, which the work has to check; a second one ends the
/// process at once. Only for work that checks it whenever it takes long.
RunControl& stop_on_signals();

/// Forgets a signal that cancelled the control: the next one cancels it again.
void go_on_after_signal();

/// Makes each of them end the process again, after unfinished files are removed.
void end_on_signals();

/// The signal that cancelled it; 0: none did.
int stop_signal();

}  // namespace lathe::cli
