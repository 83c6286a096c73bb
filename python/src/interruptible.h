// Ctrl-C while Python waits for C++.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "module.h"

namespace lathe::python {

/// As long as it exists, Ctrl-C cancels `control()` besides what Python does about it: a KeyboardInterrupt
/// that would come when C++ returns comes within a moment. It works only when Python would raise one: on its
/// main thread, with its own handler in place. Made and destroyed under the interpreter lock.
class Interrupt {
 public:
  /// `theirs`: another control that may cancel, or null. It is as before when this is destroyed.
  explicit Interrupt(RunControl* theirs);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  RunControl* control() const { return control_; }
  /// Raises KeyboardInterrupt if Ctrl-C was the reason.
  void raise() const;

 private:
  bool came() const;

  RunControl own_, *control_, *outer_ = nullptr;
  bool catches_ = false, installed_ = false, was_cancelled_ = false;
  int before_ = 0;
};

/// Calls of one kind, such as the runs of one engine. Looking out for signals takes as long as a small model
/// does: they do so as long as the call before took a while.
class Interruptible {
 public:
  /// f(control) without the interpreter lock.
  template <class F>
  void call(RunControl* control, F&& f) {
    using Clock = std::chrono::steady_clock;
    std::optional<Interrupt> interrupt;
    if (!brief_.load(std::memory_order_relaxed)) interrupt.emplace(control);
    const Clock::time_point start = Clock::now();
    try {
      nb::gil_scoped_release free;
      f(interrupt ? interrupt->control() : control);
    } catch (const Error&) {
      if (interrupt) interrupt->raise();
      throw;
    }
    brief_.store(Clock::now() - start < std::chrono::milliseconds(10), std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> brief_{false};
};

}  // namespace lathe::python
