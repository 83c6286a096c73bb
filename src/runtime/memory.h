// The memory of one context: who holds how much, one growing buffer per purpose, and a cache of blocks for
// what only the data decide.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "lathe/backend.h"

namespace lathe {

/// The host as a device like any other: 64-byte aligned heap memory.
Backend& host_backend();
inline constexpr size_t memory_alignment = 64;
/// A size rounded up to whole cache lines; throws run_too_large when that does not fit.
size_t aligned_size(uint64_t bytes);

/// Counts what the allocators of one context hold, and refuses more than the limit. Used by all its threads.
class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t limit = 0) : limit_(limit) {}
  /// Sets a function that releases unused memory. It is called before anything is refused, by one thread at a
  /// time.
  void on_shortage(std::function<void()> give_back) { give_back_ = std::move(give_back); }
  bool is_limited() const { return limit_ != 0; }
  /// Throws Code::run_memory_limit.
  void take(uint64_t bytes);
  /// Throws as take() does, but counts nothing. It is for memory like the elements of string tensors.
  void require(uint64_t bytes);
  void give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  bool try_take(uint64_t bytes);
  bool fits(uint64_t used, uint64_t bytes) const {
    return limit_ == 0 || (bytes <= limit_ && used <= limit_ - bytes);
  }
  /// Throws if `taken` fails even after unused memory has been released.
  template <class Taken>
  void take_or_refuse(uint64_t bytes, Taken&& taken);

  uint64_t limit_;
  std::atomic<uint64_t> used_{0}, peak_{0};
  std::mutex shortage_;
  std::function<void()> give_back_;
};

/// Bytes that are taken from an account for as long as this exists.
class MemoryCharge {
 public:
  explicit MemoryCharge(MemoryAccount& account) : account_(account) {}
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  ~MemoryCharge() { account_.give(bytes_); }
  /// Throws Code::run_memory_limit.
  void take(uint64_t bytes) {
    account_.take(bytes);
    bytes_ += bytes;
  }
  /// From now on somebody else gives the bytes back.
  void keep() { bytes_ = 0; }

 private:
  MemoryAccount& account_;
  uint64_t bytes_ = 0;
};

/// One allocation that grows when it has to; growing loses the contents.
class Buffer {
 public:
  Buffer(Backend& backend, MemoryAccount& account) : backend_(&backend), account_(&account) {}
  Buffer(Buffer&& o) noexcept : backend_(o.backend_), account_(o.account_), data_(o.data_), bytes_(o.bytes_) {
    o.data_ = nullptr;
    o.bytes_ = 0;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { release(); }

  /// Grows to at least so many bytes; true when the address changed. Throws run_memory_limit,
  /// run_out_of_memory.
  bool ensure(size_t bytes);
  void release() noexcept;
  char* data() const { return static_cast<char*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  Backend* backend_;
  MemoryAccount* account_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Blocks that come and go within runs; those given back are kept for the next, so that a steady state
/// allocates nothing.
class BlockCache {
 public:
  struct Block {
    void* data = nullptr;
    size_t bytes = 0;
  };
  BlockCache(Backend& backend, MemoryAccount& account) : backend_(&backend), account_(&account) {}
  BlockCache(BlockCache&&) = default;
  BlockCache& operator=(BlockCache&&) = delete;
  ~BlockCache() { trim(); }

  /// A block of at least so many bytes (at least one). Throws run_memory_limit, run_out_of_memory.
  Block take(size_t bytes);
  void give(Block b) { free_.push_back(b); }
  /// Gives unused blocks back to the device.
  void trim() noexcept;

 private:
  Backend* backend_;
  MemoryAccount* account_;
  std::vector<Block> free_;
};

}  // namespace lathe
