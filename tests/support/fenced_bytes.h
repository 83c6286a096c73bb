// Bytes that are watched, for kernels of bytes: what is written before them shows, and what is read behind
// them faults.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <memory>

#include "cpu/quantized/int8_tile.h"
#include "support/tiles.h"
#include "support/worker_context.h"

namespace lathe::test {

inline size_t at(int64_t i) { return static_cast<size_t>(i); }

/// Bytes with a fence before them, which shows writes there, and behind them a page without access.
class Bytes {
 public:
  explicit Bytes(int64_t n)
      : n_(n),
        capacity_((at(n) + fence + page - 1) / page * page),
        pages_(std::make_unique<Pages>(capacity_ + page)) {
    mprotect(pages_->begin + capacity_, page, PROT_NONE);
    std::memset(data() - fence, mark, at(n) + fence);
  }
  Bytes(int64_t n, uint64_t seed) : Bytes(n) {
    for (int64_t i = 0; i < n; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      // The corners often.
      const auto r = static_cast<uint32_t>(seed >> 33);
      data()[i] = static_cast<uint8_t>(r % 8 == 0 ? 0 : r % 8 == 1 ? 255 : r % 8 == 2 ? 128 : r >> 8);
    }
  }
  uint8_t* data() { return pages_->begin + capacity_ - n_; }
  const uint8_t* data() const { return pages_->begin + capacity_ - n_; }
  int64_t size() const { return n_; }
  bool intact() const {
    for (size_t i = 0; i < fence; ++i)
      if (data()[static_cast<int64_t>(i) - static_cast<int64_t>(fence)] != mark) return false;
    return true;
  }

 private:
  struct Pages {
    explicit Pages(size_t bytes)
        : begin(static_cast<uint8_t*>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
          size(bytes) {}
    ~Pages() { munmap(begin, size); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    uint8_t* begin;
    size_t size;
  };
  static constexpr size_t fence = 256, page = size_t{1} << 16;
  static constexpr uint8_t mark = 0xa5;
  int64_t n_;
  size_t capacity_;
  std::unique_ptr<Pages> pages_;
};

/// 64-byte aligned scratch of exactly so many bytes, with a fence.
struct Scratch {
  explicit Scratch(size_t bytes) : memory(static_cast<int64_t>(bytes) + 64), size(bytes) {
    void* p = memory.data();
    size_t room = bytes + 64;
    begin = static_cast<uint8_t*>(std::align(64, bytes, p, room));
    std::memset(memory.data(), 0x77, bytes + 64);
  }
  Bytes memory;
  size_t size;
  uint8_t* begin;
};

inline int64_t number(const Bytes& b, int64_t i, bool is_signed) {
  return is_signed ? static_cast<int8_t>(b.data()[i]) : b.data()[i];
}

/// Calls f(isa) for every instruction set, for AVX-512 with AMX, with VNNI alone, and without both.
inline void for_each_set(const std::function<void(Isa)>& f) {
  constexpr const char* without[] = {"", " without AMX", " without AMX and VNNI"};
  for (Isa isa : usable_isas())
    for (int least : {0, 1, 2}) {
      if (least > 0 && isa != Isa::avx512) continue;
      if (least == 0 && isa == Isa::avx512 && !provide_tiles()) continue;
      SCOPED_TRACE(std::string(name_of(isa)) + without[least]);
      cpu::use_amx(least < 1);
      cpu::use_vnni(least < 2);
      f(isa);
      cpu::use_amx(true);
      cpu::use_vnni(true);
    }
}

}  // namespace lathe::test
