// The class behind engines in Python.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "interruptible.h"
#include "lathe/engine.h"

namespace lathe::python {

/// An engine and its idle contexts: run() may be called from many threads.
class PooledEngine {
 public:
  explicit PooledEngine(Engine e) : engine_(std::move(e)) {}
  const Engine& engine() const { return engine_; }
  Interruptible& runs() { return runs_; }

  NamedValues run(const NamedValues& inputs, RunControl* control) {
    std::unique_ptr<Context> context = take();
    // A context can be used again after a failed run, so it goes back either way.
    struct Return {
      PooledEngine& pool;
      std::unique_ptr<Context>& context;
      ~Return() { pool.give_back(std::move(context)); }
    } back{*this, context};
    return context->run(inputs, control);
  }

  /// Destroys idle contexts; those that run stay.
  void trim() {
    std::vector<std::unique_ptr<Context>> idle;
    {
      std::lock_guard lock(mutex_);
      idle.swap(idle_);
    }
    engine_.trim();
  }

 private:
  std::unique_ptr<Context> take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto context = std::move(idle_.back());
        idle_.pop_back();
        return context;
      }
    }
    return std::make_unique<Context>(engine_.create_context());
  }
  void give_back(std::unique_ptr<Context> context) {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(context));
  }

  Engine engine_;
  Interruptible runs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace lathe::python
