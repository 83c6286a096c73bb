// Hands out numbered pieces of work to threads, as they become free.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace lathe {

/// Distributes the numbers [0, n), each once, and in later rounds once more. A thread begins with a share of
/// its own and then helps with those of others: no work waits for a late or slow thread, and in successive
/// loops the same thread has the same part of the data, which is in its cache. Thread-safe.
class Shares {
 public:
  /// For so many threads. More than sixteen use shares in common.
  Shares(int64_t n, int64_t threads) : count_(std::clamp<int64_t>(std::min(n, threads), 1, max_shares)) {
    for (int64_t i = 0, begin = 0; i < count_; ++i) {
      Share& s = at(i);
      s.next.store(0, std::memory_order_relaxed);
      s.begin = begin;
      begin += s.size = n / count_ + (i < n % count_);
    }
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  /// The place of one thread in a round: next() gives it piece after piece, -1 when there are none left. A
  /// round begins when all pieces of the one before have been given out; those who come late find nothing in
  /// earlier ones.
  class Walk {
   public:
    Walk(Shares& shares, int64_t thread, int64_t round = 0)
        : shares_(shares), round_(round), share_(thread % shares.count_) {}
    int64_t next() {
      for (; tried_ < shares_.count_; ++tried_, share_ = share_ + 1 == shares_.count_ ? 0 : share_ + 1) {
        Share& s = shares_.at(share_);
        const int64_t first = round_ * s.size;
        for (int64_t i = s.next.load(std::memory_order_relaxed); i < first + s.size;)
          if (s.next.compare_exchange_weak(i, i + 1, std::memory_order_relaxed)) return s.begin + i - first;
      }
      return -1;
    }

   private:
    Shares& shares_;
    int64_t round_, share_, tried_ = 0;
  };

 private:
  static constexpr int64_t max_shares = 16;
  struct alignas(64) Share {
    std::atomic<int64_t> next;  // of its pieces of all rounds
    int64_t begin, size;
  };
  Share& at(int64_t i) { return shares_[static_cast<size_t>(i)]; }

  int64_t count_;
  std::array<Share, max_shares> shares_;
};

}  // namespace lathe
