// What a kernel makes for one step of an engine before any run, and memory of devices that engines hold.
#pragma once

#include <memory>
#include <vector>

#include "kernel/kernel.h"
#include "runtime/thread_pool.h"

namespace lathe {

/// Immutable; shared by the engine and those that are refitted from it.
struct PreparedStep {
  std::vector<std::shared_ptr<void>> memory;  // on the kernel's device
  uint64_t bytes = 0;                         // of it
  std::vector<bool> replaced;                 // by input: runs do not read the constant itself
  std::shared_ptr<const void> object;         // destroyed before its memory is freed
};

/// Makes a queue. Throws what the device does, as an Error.
std::unique_ptr<Queue> queue_of(Backend& device);

/// Throws run_out_of_memory.
std::shared_ptr<void> allocate_for_engine(Backend& device, size_t bytes);

/// Calls the kernel's `prepare`, which is there, and waits until its device is done. Throws what it throws.
std::shared_ptr<const PreparedStep> prepare_step(const Kernel& kernel, const void* op,
                                                 const KernelQuery& query, Backend& device, ThreadPool& pool,
                                                 bool flush_denormals);

}  // namespace lathe
