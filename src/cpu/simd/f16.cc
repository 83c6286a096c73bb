#include "cpu/simd/f16.h"

#include <algorithm>
#include <vector>

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/simd/f16_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(F16Kernels, f16_kernels)

void widen(Isa isa, DataType type, const void* x, float* y, int64_t n) {
  const F16Kernels& k = f16_kernels(isa);
  if (type == DataType::float16)
    k.from_float16(static_cast<const Float16*>(x), y, n);
  else
    k.from_bfloat16(static_cast<const BFloat16*>(x), y, n);
}

void narrow(Isa isa, DataType type, const float* x, void* y, int64_t n) {
  const F16Kernels& k = f16_kernels(isa);
  if (type == DataType::float16)
    k.to_float16(x, static_cast<Float16*>(y), n);
  else
    k.to_bfloat16(x, static_cast<BFloat16*>(y), n);
}

namespace {

/// Elements between two polls.
constexpr int64_t in_one_go = 65536;

/// Calls f(begin, length) for pieces of [0, n).
template <class F>
void in_pieces(int64_t n, Workers& workers, F&& f) {
  workers.parallel((n + in_one_go - 1) / in_one_go, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      workers.poll();
      f(i * in_one_go, std::min(in_one_go, n - i * in_one_go));
    }
  });
}

const std::byte* f16_at(const void* x, int64_t i) {
  return static_cast<const std::byte*>(x) + i * static_cast<int64_t>(sizeof(Float16));
}
std::byte* f16_at(void* x, int64_t i) {
  return static_cast<std::byte*>(x) + i * static_cast<int64_t>(sizeof(Float16));
}

}  // namespace

const float* widened(Isa isa, DataType type, const void* weights, int64_t first, int64_t n, float* buffer) {
  if (type == DataType::float32) return static_cast<const float*>(weights) + first;
  widen(isa, type, f16_at(weights, first), buffer, n);
  return buffer;
}

void widen(Isa isa, DataType type, const void* x, float* y, int64_t n, Workers& workers) {
  in_pieces(n, workers, [&](int64_t i, int64_t some) { widen(isa, type, f16_at(x, i), y + i, some); });
}

void pack_f16(Isa isa, const Tensor& from, Tensor& to, Workers& workers,
              const std::function<void(const float* from, float* to)>& pack) {
  std::vector<float> wide(static_cast<size_t>(from.size())), packed(static_cast<size_t>(to.size()));
  widen(isa, from.type(), from.data(), wide.data(), from.size(), workers);
  pack(wide.data(), packed.data());
  in_pieces(to.size(), workers, [&](int64_t i, int64_t some) {
    narrow(isa, to.type(), packed.data() + i, f16_at(to.data(), i), some);
  });
}

}  // namespace lathe::cpu
