// How kernels poll in time whether they should stop: by the work they have done since the last poll.
#pragma once

#include <algorithm>

#include "kernel/kernel.h"

namespace lathe {

/// Polls once every so many elements: some tenths of a millisecond of work.
class Poller {
 public:
  static constexpr int64_t every = 65536;

  explicit Poller(KernelContext& c) : c_(c) {}
  void did(int64_t elements) {
    if ((since_ += elements) < every) return;
    c_.poll();
    since_ = 0;
  }
  /// Calls f(begin, end) for pieces of [0, n), however large it is, and polls in between. `cost` of one of
  /// them: in elements.
  template <class F>
  void pieces(int64_t n, int64_t cost, F&& f) {
    const int64_t piece = std::max<int64_t>(1, every / std::max<int64_t>(1, cost));
    for (int64_t i = 0; i < n; i += std::min(piece, n - i)) {
      const int64_t length = std::min(piece, n - i);
      f(i, i + length);
      did(length * cost);
    }
  }
  /// Copies a run of elements.
  template <class T>
  void copy(const T* from, int64_t count, T* to) {
    pieces(count, 1, [&](int64_t begin, int64_t end) { std::copy_n(from + begin, end - begin, to + begin); });
  }
  template <class T>
  void fill(T* to, int64_t count, const T& with) {
    pieces(count, 1, [&](int64_t begin, int64_t end) { std::fill_n(to + begin, end - begin, with); });
  }

 private:
  KernelContext& c_;
  int64_t since_ = 0;
};

}  // namespace lathe
