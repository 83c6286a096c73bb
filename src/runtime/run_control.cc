#include "lathe/run_control.h"

#include "lathe/error.h"

namespace lathe {

void RunControl::check() const {
  if (cancelled()) throw Error(Code::cancelled, "run", "to go on", "cancelled by the caller");
  const int64_t deadline = deadline_.load(std::memory_order_relaxed);
  if (deadline != INT64_MAX && std::chrono::steady_clock::now().time_since_epoch().count() >= deadline)
    throw Error(Code::deadline, "run", "to end before the deadline", "out of time", "allow more time");
}

}  // namespace lathe
