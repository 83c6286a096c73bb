#include "runtime/prepared_step.h"

#include <algorithm>

#include "runtime/memory.h"
#include "runtime/plugin_kernel.h"

namespace lathe {
namespace {

class Preparing final : public PrepareContext {
 public:
  Preparing(const KernelQuery& query, Backend& device, ThreadPool& pool, bool flush_denormals,
            PreparedStep& to)
      : query_(query), device_(device), pool_(pool), flush_denormals_(flush_denormals), to_(to) {
    if (&device != &host_backend()) queue_ = queue_of(device);
  }
  const KernelQuery& query() const override { return query_; }
  void replaces(size_t i) override { to_.replaced.at(i) = true; }
  void* allocate(size_t bytes) override {
    to_.memory.push_back(allocate_for_engine(device_, bytes));
    to_.bytes += aligned_size(std::max<size_t>(bytes, 1));
    return to_.memory.back().get();
  }
  Queue* queue() override { return queue_.get(); }
  void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) override {
    pool_.run(n, grain, flush_denormals_, f);
  }
  int threads() const override { return pool_.threads(); }
  void poll() override {}

 private:
  const KernelQuery& query_;
  Backend& device_;
  ThreadPool& pool_;
  bool flush_denormals_;
  PreparedStep& to_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace

std::unique_ptr<Queue> queue_of(Backend& device) {
  std::unique_ptr<Queue> queue = guarded("create_queue()", [&] { return device.create_queue(); });
  if (!queue) throw Error(Code::internal, "load", "a queue of " + std::string(device.name()), "none");
  return queue;
}

std::shared_ptr<void> allocate_for_engine(Backend& device, size_t bytes) {
  const size_t aligned = aligned_size(std::max<size_t>(bytes, 1));
  std::shared_ptr<void> memory(guarded("allocate()", [&] { return device.allocate(aligned); }),
                               [&device, aligned](void* p) {
                                 if (p) device.deallocate(p, aligned);
                               });
  if (memory) return memory;
  const DeviceMemory all = guarded("memory()", [&] { return device.memory(); });
  throw Error(
      Code::run_out_of_memory, "load", std::to_string(aligned) + " bytes on " + std::string(device.name()),
      all.total ? std::to_string(all.free) + " of " + std::to_string(all.total) + " bytes left" : "none left",
      "use fewer engines and contexts at once, or another device");
}

std::shared_ptr<const PreparedStep> prepare_step(const Kernel& kernel, const void* op,
                                                 const KernelQuery& query, Backend& device, ThreadPool& pool,
                                                 bool flush_denormals) {
  auto made = std::make_shared<PreparedStep>();
  made->replaced.resize(query.inputs.size());
  Preparing context(query, device, pool, flush_denormals, *made);
  try {
    made->object = kernel.prepare(op, context);
  } catch (...) {
    // Work that is queued may still write to memory that is about to be freed.
    try {
      if (context.queue()) context.queue()->wait();
    } catch (...) {  // the first failure says why
    }
    throw;
  }
  if (context.queue()) guarded("wait()", [&] { context.queue()->wait(); });
  return made;
}

}  // namespace lathe
