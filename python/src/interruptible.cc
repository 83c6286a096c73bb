#include "interruptible.h"

#include <signal.h>
#include <unistd.h>

namespace lathe::python {
namespace {

std::atomic<RunControl*> waited_for{nullptr};
std::atomic<int> interrupts{0};
void (*pythons_handler)(int) = nullptr;

void on_interrupt(int signal) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  if (RunControl* c = waited_for.load()) c->cancel();
  pythons_handler(signal);
}

bool raises_keyboard_interrupt() {
  if (::gettid() != ::getpid()) return false;
  const nb::module_ signals = nb::module_::import_("signal");
  return signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"));
}

}  // namespace

Interrupt::Interrupt(RunControl* theirs) : control_(theirs) {
  catches_ = raises_keyboard_interrupt();
  if (!catches_) return;
  if (!control_) control_ = &own_;
  was_cancelled_ = control_->cancelled();
  before_ = interrupts.load(std::memory_order_relaxed);
  outer_ = waited_for.exchange(control_);
  struct sigaction action = {};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == on_interrupt) return;  // a listener of another call makes this one
  pythons_handler = action.sa_handler;
  action.sa_handler = on_interrupt;
  installed_ = sigaction(SIGINT, &action, nullptr) == 0;
}

Interrupt::~Interrupt() {
  if (!catches_) return;
  waited_for.store(outer_);
  struct sigaction action = {};
  if (installed_ && sigaction(SIGINT, nullptr, &action) == 0 && action.sa_handler == on_interrupt) {
    action.sa_handler = pythons_handler;
    sigaction(SIGINT, &action, nullptr);
  }
  if (came() && !was_cancelled_) control_->reset();
}

bool Interrupt::came() const { return interrupts.load(std::memory_order_relaxed) != before_; }

void Interrupt::raise() const {
  if (catches_ && came() && PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace lathe::python
