// The bits of integers: and, or, exclusive or, and shifts, by the size of the elements.
#include <functional>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "ops/binary/binary.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Calls f<T>() with the unsigned integer of the elements' size.
template <class F>
void for_unsigned(DataType type, F&& f) {
  for_size(type, [&]<class T> {
    if constexpr (std::is_integral_v<T>) f.template operator()<T>();
  });
}

template <class Op, class Combine>
void combine_bits(const Op&, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  for_unsigned(x.type(), [&]<class T> {
    cpu::map_pairs(static_cast<const T*>(x.data()), x.shape(), static_cast<const T*>(y.data()), y.shape(),
                   static_cast<T*>(c.out(0).data()), c,
                   [](T a, T b) { return static_cast<T>(Combine()(a, b)); });
  });
}

/// By all the bits that there are, or more: what extends the sign. A negative number is more than any.
template <class T, bool left>
T shifted(T x, T by) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned bits = sizeof(T) * 8;
  const bool beyond = static_cast<U>(by) >= bits;
  const auto n = static_cast<unsigned>(static_cast<U>(by)) & (bits - 1);
  if (left) return beyond ? T{0} : static_cast<T>(static_cast<U>(x) << n);
  return beyond ? static_cast<T>(x < 0 ? -1 : 0) : static_cast<T>(x >> n);
}

void shift_bits(const BitShift& op, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  for_type(x.type(), integer_types, [&]<class T>() -> void {
    const auto with = [&](auto f) {
      cpu::map_pairs(x.as<T>().data(), x.shape(), y.as<T>().data(), y.shape(), c.out(0).as<T>().data(), c, f);
    };
    if (op.to_left())
      with([](T a, T b) { return shifted<T, true>(a, b); });
    else
      with([](T a, T b) { return shifted<T, false>(a, b); });
  });
}

}  // namespace

void cpu_binary_bits(KernelCatalog& k);
void cpu_binary_bits(KernelCatalog& k) {
  const auto add = [&]<class Op>(const char* op, const char* name, void (*run)(const Op&, KernelContext&)) {
    k.add<Op>({.op = op, .name = cpu::kernel_name(name, Isa::generic), .overwrites = true}, {.run = run});
  };
  add("BitwiseAnd", "bitwise_and", combine_bits<BitwiseAnd, std::bit_and<>>);
  add("BitwiseOr", "bitwise_or", combine_bits<BitwiseOr, std::bit_or<>>);
  add("BitwiseXor", "bitwise_xor", combine_bits<BitwiseXor, std::bit_xor<>>);
  add("BitShift", "bit_shift", shift_bits);
}

}  // namespace lathe
