// Arithmetic for shape rules that cannot overflow unnoticed: on symbolic dimensions and on numbers alike.
#pragma once

#include <string>

#include "lathe/dim.h"
#include "lathe/error.h"

namespace lathe {

[[noreturn]] inline void dim_overflow(const char* op, int64_t a, int64_t b) {
  throw Error(Code::tensor_bad_shape, "infer", "sizes that fit 63 bits",
              std::to_string(a) + " " + op + " " + std::to_string(b));
}
inline int64_t plus(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) dim_overflow("+", a, b);
  return r;
}
inline int64_t minus(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_sub_overflow(a, b, &r)) dim_overflow("-", a, b);
  return r;
}
inline int64_t times(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) dim_overflow("*", a, b);
  return r;
}
// Dim checks its own arithmetic.
inline Dim plus(const Dim& a, const Dim& b) { return a + b; }
inline Dim minus(const Dim& a, const Dim& b) { return a - b; }
inline Dim times(const Dim& a, const Dim& b) { return a * b; }

}  // namespace lathe
