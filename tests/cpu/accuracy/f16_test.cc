// Conversions between float32 and the floats of 16 bits, of every instruction set against the scalar ones,
// bit for bit.
#include "cpu/simd/f16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

template <class F16>
class CpuF16 : public ::testing::Test {};
using Halves = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(CpuF16, Halves);

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
bool is_nan(float x) { return x != x; }

TYPED_TEST(CpuF16, EveryPatternIsWidened) {
  std::vector<TypeParam> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  for (Isa isa : usable_isas()) {
    std::vector<float> wide(all.size());
    cpu::widen(isa, type_of<TypeParam>, all.data(), wide.data(), 65536);
    for (size_t i = 0; i < all.size(); ++i) {
      const float want = to_float(all[i]);
      ASSERT_TRUE(bits(wide[i]) == bits(want) || (is_nan(wide[i]) && is_nan(want)))
          << name_of(isa) << " " << i;
    }
  }
}

TYPED_TEST(CpuF16, RoundedToTheNearest) {
  // Exponents and signs of all kinds; then numbers at, below and above the middle between two neighbors.
  std::vector<float> x;
  for (uint64_t b = 0; b < (uint64_t{1} << 32); b += 65521)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(b)));
  for (uint32_t h = 0; h < 65536; ++h) {
    const float low = to_float(TypeParam{static_cast<uint16_t>(h)}),
                high = to_float(TypeParam{static_cast<uint16_t>(h ^ 1u)});
    const float middle = low / 2 + high / 2;
    for (uint32_t around : {bits(middle) - 1, bits(middle), bits(middle) + 1})
      x.push_back(std::bit_cast<float>(around));
  }
  for (Isa isa : usable_isas()) {
    std::vector<TypeParam> narrow(x.size());
    cpu::narrow(isa, type_of<TypeParam>, x.data(), narrow.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(narrow[i].bits, Element<TypeParam>::store(x[i]).bits)
          << name_of(isa) << " " << x[i] << " " << bits(x[i]);
  }
}

TYPED_TEST(CpuF16, TailsStayInside) {
  Random random(3);
  for (Isa isa : usable_isas())
    for (int64_t n = 0; n < 40; ++n) {
      const Fenced x(static_cast<size_t>(n), random);
      Fenced back(static_cast<size_t>(n));
      std::vector<TypeParam> half(static_cast<size_t>(n) + 1, TypeParam{0x5a5a});
      cpu::narrow(isa, type_of<TypeParam>, x.data(), half.data(), n);
      cpu::widen(isa, type_of<TypeParam>, half.data(), back.data(), n);
      EXPECT_TRUE(back.intact());
      EXPECT_EQ(half.back().bits, 0x5a5a);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(back[static_cast<size_t>(i)],
                  to_float(Element<TypeParam>::store(x[static_cast<size_t>(i)])));
    }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
