// Threads that the caller lends to engines.
#pragma once

#include <functional>

namespace lathe {

/// Lends the library somebody else's threads instead of its own pool (BuildOptions::executor). An engine's
/// contexts may call it from several threads at once.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Returns how many tasks may run at the same time; an engine has so many threads (at least one).
  virtual int concurrency() const = 0;
  /// Runs `task(i)` once for every i in [0, n), in any order and on any threads, and returns when all are
  /// done. Tasks throw nothing.
  virtual void run(int n, const std::function<void(int)>& task) = 0;
};

}  // namespace lathe
