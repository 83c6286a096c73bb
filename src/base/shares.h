// Hands out numbered pieces of work to threads, as they become free.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace lathe {

/// The numbers [0, n), each given out once. A thread begins with a share of its own and then helps with those
/// of others: however late a thread comes, or however slow it is, no work waits for it; and in one loop after
/// the other the same thread has the same part of what was computed, which is in its cache. Thread-safe.
class Shares {
 public:
  /// For so many threads. More than sixteen use shares in common.
  Shares(int64_t n, int64_t threads) : count_(std::clamp<int64_t>(std::min(n, threads), 1, most)) {
    for (int64_t i = 0, begin = 0; i < count_; ++i) {
      Share& s = at(i);
      s.next.store(begin, std::memory_order_relaxed);
      s.end = begin += n / count_ + (i < n % count_);
    }
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  /// The place of one thread: next() gives it piece after piece, -1 when there are none left.
  class Walk {
   public:
    Walk(Shares& shares, int64_t thread) : shares_(shares), share_(thread % shares.count_) {}
    int64_t next() {
      for (; tried_ < shares_.count_; ++tried_, share_ = share_ + 1 == shares_.count_ ? 0 : share_ + 1) {
        Share& s = shares_.at(share_);
        // Looked at first, so that a share that is used up is not written by all who come by.
        if (s.next.load(std::memory_order_relaxed) >= s.end) continue;
        const int64_t piece = s.next.fetch_add(1, std::memory_order_relaxed);
        if (piece < s.end) return piece;
      }
      return -1;
    }

   private:
    Shares& shares_;
    int64_t share_, tried_ = 0;
  };

 private:
  static constexpr int64_t most = 16;
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  Share& at(int64_t i) { return shares_[static_cast<size_t>(i)]; }

  int64_t count_;
  std::array<Share, most> shares_;
};

}  // namespace lathe
