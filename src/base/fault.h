// For programs of our own, never for libraries: a mapped file that shrinks becomes an error instead of a
// crash.
#pragma once

namespace lathe {

/// From now on a SIGBUS prints the sentence of Code::external_truncated to the standard error and ends the
/// process with exit code 1, as any other fault of the model or data.
void exit_on_truncated_mapping();

}  // namespace lathe
