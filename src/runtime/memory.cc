#include "runtime/memory.h"

#include <cstdlib>
#include <cstring>

#include "base/pages.h"
#include "lathe/error.h"

namespace lathe {
namespace {

class InOrder final : public Queue {
 public:
  void wait() override {}
};

class HostBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  /// Pages are supplied at once, so that no run waits for page faults.
  void* allocate(size_t bytes) override {
    void* const p = allocate_pages(bytes);
    if (p) supply_pages(p, bytes);
    return p;
  }
  void deallocate(void* p, size_t) noexcept override { std::free(p); }
  std::unique_ptr<Queue> create_queue() override { return std::make_unique<InOrder>(); }
  void copy_in(Queue&, void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy_out(Queue&, void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
};

/// Takes from the account first, so that the limit is checked before memory is allocated.
void* allocate(Backend& backend, MemoryAccount& account, size_t bytes) {
  account.take(bytes);
  void* p = backend.allocate(bytes);
  if (p) return p;
  account.give(bytes);
  throw Error(Code::run_out_of_memory, "run",
              std::to_string(bytes) + " bytes on " + std::string(backend.name()), "none left",
              "use smaller inputs or fewer contexts");
}

}  // namespace

Backend& host_backend() {
  static HostBackend host;
  return host;
}

size_t aligned_size(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(INT64_MAX) - memory_alignment)
    throw Error(Code::run_too_large, "run", "memory that can be addressed", std::to_string(bytes) + " bytes");
  return static_cast<size_t>((bytes + memory_alignment - 1) / memory_alignment * memory_alignment);
}

bool MemoryAccount::try_take(uint64_t bytes) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (!fits(used, bytes)) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  for (uint64_t peak = peak_.load(std::memory_order_relaxed);
       peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed);) {
  }
  return true;
}

template <class Taken>
void MemoryAccount::take_or_refuse(uint64_t bytes, Taken&& taken) {
  if (taken()) return;
  {
    const std::lock_guard lock(shortage_);
    if (give_back_) give_back_();
  }
  if (!taken())
    throw Error(Code::run_memory_limit, "run", "at most " + std::to_string(limit_) + " bytes for one context",
                std::to_string(used()) + " bytes held and " + std::to_string(bytes) + " more wanted",
                "raise the memory limit or use smaller inputs");
}

void MemoryAccount::take(uint64_t bytes) {
  take_or_refuse(bytes, [&] { return try_take(bytes); });
}

void MemoryAccount::require(uint64_t bytes) {
  take_or_refuse(bytes, [&] { return fits(used(), bytes); });
}

bool Buffer::ensure(size_t bytes) {
  if (bytes <= bytes_) return false;
  release();
  data_ = allocate(*backend_, *account_, bytes);
  bytes_ = bytes;
  return true;
}

void Buffer::release() noexcept {
  if (!data_) return;
  backend_->deallocate(data_, bytes_);
  account_->give(bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

BlockCache::Block BlockCache::take(size_t bytes) {
  bytes = aligned_size(bytes ? bytes : 1);
  size_t best = free_.size();
  for (size_t i = 0; i < free_.size(); ++i)
    if (free_[i].bytes >= bytes && free_[i].bytes / 2 <= bytes &&
        (best == free_.size() || free_[i].bytes < free_[best].bytes))
      best = i;
  if (best < free_.size()) {
    const Block b = free_[best];
    free_[best] = free_.back();
    free_.pop_back();
    return b;
  }
  try {
    return {allocate(*backend_, *account_, bytes), bytes};
  } catch (const Error&) {
    if (free_.empty()) throw;
    trim();  // what is cached may be what is missing
    return {allocate(*backend_, *account_, bytes), bytes};
  }
}

void BlockCache::trim() noexcept {
  for (const Block& b : free_) {
    backend_->deallocate(b.data, b.bytes);
    account_->give(b.bytes);
  }
  free_.clear();
}

}  // namespace lathe
