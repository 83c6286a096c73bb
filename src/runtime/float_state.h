// The floating-point environment of a run: round to nearest, no traps, denormals kept or flushed as asked. It
// is set on every thread that takes part, so that results do not depend on what the caller's thread happened
// to have.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lathe {

/// Sets the environment for the life of the object, then restores what was there.
class FloatState {
 public:
  explicit FloatState(bool flush_denormals) : saved_(read()) {
    const uint64_t wanted = environment(flush_denormals);
    if (saved_ != wanted) write(wanted);
    changed_ = saved_ != wanted;
  }
  ~FloatState() {
    if (changed_) write(saved_);
  }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
#if defined(__x86_64__)
  // All exceptions masked; flush-to-zero is bit 15, denormals-are-zero bit 6.
  static uint64_t environment(bool flush) { return flush ? 0x9fc0 : 0x1f80; }
  static uint64_t read() { return _mm_getcsr() & ~0x3fu; }  // the sticky exception flags are nobody's mode
  static void write(uint64_t v) { _mm_setcsr(static_cast<unsigned>(v)); }
#elif defined(__aarch64__)
  static uint64_t environment(bool flush) { return flush ? uint64_t{1} << 24 : 0; }
  static uint64_t read() {
    uint64_t v;
    asm volatile("mrs %0, fpcr" : "=r"(v));
    return v;
  }
  static void write(uint64_t v) { asm volatile("msr fpcr, %0" ::"r"(v)); }
#else
  static uint64_t environment(bool) { return 0; }
  static uint64_t read() { return 0; }
  static void write(uint64_t) {}
#endif
  uint64_t saved_;
  bool changed_ = false;
};

}  // namespace lathe
