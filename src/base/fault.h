// For programs of our own, never for libraries: a mapped file that shrinks becomes an error instead of a
// crash.
#pragma once

namespace lathe {

/// Makes a SIGBUS print the sentence of Code::external_truncated to the standard error and end the process
/// with exit code 1, as any other fault of the model or data does.
void exit_on_truncated_mapping();

}  // namespace lathe
