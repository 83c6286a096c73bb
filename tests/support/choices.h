// Bytes that choose: what fuzzing varies, or a generator of random numbers makes.
#pragma once

#include <cstdint>
#include <span>

namespace lathe::testing {

/// Makes choices by the bytes of the fuzzer; 0 if none are left.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> b) : rest_(b) {}
  bool any() const { return !rest_.empty(); }
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }
  size_t below(size_t n) {
    const size_t high = n > 256 ? size_t{byte()} << 8 : 0;
    return n == 0 ? 0 : (high + byte()) % n;
  }
  /// One of `n` times; not where nothing is left to choose by.
  bool one_in(size_t n) { return any() && below(n) == n - 1; }
  const auto& of(const auto& list) { return list[below(list.size())]; }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace lathe::testing
