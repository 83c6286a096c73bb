// Products of bytes and rows of them, every algorithm of every instruction set, with VNNI and without,
// against plain loops in 64 bits. They are exact: nothing may differ.
#include <gtest/gtest.h>

#include <cmath>

#include "base/cpu.h"
#include "cpu/quantized/int8_conv.h"
#include "support/fenced_bytes.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::channel_block;

/// Skipped tests are reported.
TEST(CpuInt8, WithTiles) {
  if (!provide_tiles()) GTEST_SKIP() << "no AMX, or this process may not use it";
  cpu::use_amx(false);
  EXPECT_FALSE(cpu::uses_amx());
  const cpu::Int8Tiles& plain = cpu::int8_tiles(Isa::avx512);
  cpu::use_amx(true);
  EXPECT_EQ(cpu::int8_tiles(Isa::avx512).packed_rows > plain.packed_rows, cpu_features().amx_int8);
}

struct Product {
  int64_t m, n, k;
  bool a_signed, b_signed;
  int32_t a_zero,
      b_zero;  // as they are stored; B's of column j: b_zero + j % 3 where b_zero is not in the middle
};

class ProductCheck {
 public:
  explicit ProductCheck(const Product& p)
      : p_(p), a_(p.m * p.k, 3), b_(p.k * p.n, 7), columns_(cpu::panels(p.n) * cpu::panel_filters) {
    const int32_t middle = p.b_signed ? 0 : 128;
    for (int64_t j = 0; j < columns_; ++j) {
      zeros_.push_back(p.b_zero == middle ? 0 : p.b_zero - middle + static_cast<int32_t>(j % 3));
      scales_.push_back(0.001f * static_cast<float>(j % 7 + 1));
    }
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        int64_t sum = 0;
        for (int64_t t = 0; t < p.k; ++t)
          sum += (number(a_, i * p.k + t, p.a_signed) - p.a_zero) *
                 (number(b_, t * p.n + j, p.b_signed) - middle - zeros_[at(j)]);
        want_.push_back(static_cast<int32_t>(sum));
      }
  }

  void check() {
    for_each_set([&](Isa isa) {
      for (int threads : {1, 3}) {
        hold_ints(isa, threads);
        hold_floats(isa, threads);
        hold_bytes(isa, threads);
      }
    });
  }

 private:
  void multiply(Isa isa, int threads, const std::function<void(cpu::Int8Product&)>& into) {
    WorkerContext c(threads);
    Bytes packed(cpu::packed_matrix_bytes(p_.k, p_.n));
    cpu::pack_matrix({b_.data(), p_.b_signed}, p_.k, p_.n, reinterpret_cast<int8_t*>(packed.data()), c);
    ASSERT_TRUE(packed.intact());
    Scratch scratch(cpu::int8_product_workspace(isa, p_.m, p_.k));
    const bool centered = p_.b_zero == (p_.b_signed ? 0 : 128);
    cpu::Int8Product p{.m = p_.m, .n = p_.n, .k = p_.k};
    p.a = a_.data();
    p.a_signed = p_.a_signed;
    p.b = reinterpret_cast<const int8_t*>(packed.data());
    p.a_zero = p_.a_zero + (p_.a_signed ? 128 : 0);
    p.b_zero = centered ? nullptr : zeros_.data();
    p.scale = scales_.data();
    into(p);
    cpu::multiply_int8(isa, p, scratch.begin, c);
    EXPECT_TRUE(scratch.memory.intact());
  }

  template <class T>
  void hold(const Bytes& got, const std::function<T(int64_t)>& want) {
    EXPECT_TRUE(got.intact());
    for (int64_t i = 0; i < p_.m * p_.n; ++i) {
      T v;
      std::memcpy(&v, got.data() + i * static_cast<int64_t>(sizeof(T)), sizeof v);
      ASSERT_EQ(v, want(i)) << "at " << i;
    }
  }
  void hold_ints(Isa isa, int threads) {
    Bytes y(p_.m * p_.n * 4);
    multiply(isa, threads, [&](cpu::Int8Product& p) { p.ints = reinterpret_cast<int32_t*>(y.data()); });
    hold<int32_t>(y, [&](int64_t i) { return want_[at(i)]; });
  }
  float scaled(int64_t i) const { return static_cast<float>(want_[at(i)]) * scales_[at(i % p_.n)]; }
  void hold_floats(Isa isa, int threads) {
    Bytes y(p_.m * p_.n * 4);
    multiply(isa, threads, [&](cpu::Int8Product& p) { p.floats = reinterpret_cast<float*>(y.data()); });
    hold<float>(y, [&](int64_t i) { return scaled(i); });
  }
  void hold_bytes(Isa isa, int threads) {
    for (int32_t zero : {-128, 7, 127}) {
      Bytes y(p_.m * p_.n);
      multiply(isa, threads, [&](cpu::Int8Product& p) {
        p.bytes = y.data();
        p.zero = zero;
        p.lowest = -128;
      });
      hold<int8_t>(y, [&](int64_t i) {
        return static_cast<int8_t>(
            std::clamp(std::nearbyint(scaled(i)) + static_cast<float>(zero), -128.0f, 127.0f));
      });
    }
  }

  Product p_;
  Bytes a_, b_;
  int64_t columns_;
  std::vector<int32_t> zeros_, want_;
  std::vector<float> scales_;
};

TEST(CpuInt8, ProductsOfEverySize) {
  for (int64_t m : {1, 2, 13, 14, 15, 29})
    for (int64_t n : {1, 15, 16, 17, 32, 33, 50})
      for (int64_t k : {0, 1, 3, 4, 7, 63, 64, 65, 130}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
        ProductCheck({m, n, k, (m + k) % 2 == 0, true, 5, 0}).check();
      }
}

// Every height of a tile, and of two that differ.
TEST(CpuInt8, ProductsOfEveryHeight) {
  for (int64_t m = 1; m <= 40; ++m)
    for (int64_t k : {60, 64, 129}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k));
      ProductCheck({m, 48, k, m % 2 == 0, true, 5, 0}).check();
      ProductCheck({m, 33, k, m % 2 != 0, false, 5, 7}).check();
    }
}

TEST(CpuInt8, SignsAndZeroPoints) {
  for (bool a_signed : {false, true})
    for (bool b_signed : {false, true})
      for (int end : {0, 1, 2})
        for (int b_end : {0, 1, 2}) {
          const auto zero = [](bool is_signed, int where) {
            return where == 0   ? (is_signed ? 0 : 128)
                   : where == 1 ? (is_signed ? -128 : 0)
                   : is_signed  ? 120
                                : 250;
          };
          ProductCheck({9, 40, 100, a_signed, b_signed, zero(a_signed, end), zero(b_signed, b_end)}).check();
        }
}

TEST(CpuInt8, LargeProducts) {
  ProductCheck({70, 300, 500, false, true, 131, 0}).check();  // several tasks
  ProductCheck({3, 40, 70000, true, false, -7, 9}).check();   // sums that wrap around are not reached
}

// The largest magnitudes that there are: what saturates on the way would show.
TEST(CpuInt8, Corners) {
  constexpr int64_t k = 200;
  for (int x : {0, 255})
    for (int w : {-128, 127}) {
      const std::vector<uint8_t> a(at(k), static_cast<uint8_t>(x));
      const std::vector<int8_t> b(at(k * 33), static_cast<int8_t>(w));
      for_each_set([&](Isa isa) {
        WorkerContext c;
        std::vector<int8_t> packed(at(cpu::packed_matrix_bytes(k, 33)));
        cpu::pack_matrix({b.data(), true}, k, 33, packed.data(), c);
        Scratch scratch(cpu::int8_product_workspace(isa, 1, k));
        std::vector<int32_t> y(33);
        cpu::Int8Product p{.m = 1, .n = 33, .k = k};
        p.a = a.data(), p.b = packed.data(), p.ints = y.data();
        cpu::multiply_int8(isa, p, scratch.begin, c);
        for (int32_t v : y) ASSERT_EQ(v, k * x * w);
      });
    }
}

TEST(CpuInt8, ThereAndBack) {
  for (int64_t channels : {1, 3, 4, 16, 40})
    for (int64_t pixels : {1, 7, 64, 2500})
      for (uint8_t sign_xor : {0, 128}) {
        const Bytes x(2 * channels * pixels, 9);
        Bytes y(2 * cpu::channel_blocks(channels) * pixels * channel_block), back(x.size());
        WorkerContext c(3);
        cpu::to_blocks(2, channels, pixels, x.data(), sign_xor, y.data(), c);
        cpu::from_blocks(2, channels, pixels, y.data(), sign_xor, back.data(), c);
        EXPECT_TRUE(y.intact());
        EXPECT_TRUE(back.intact());
        ASSERT_EQ(std::memcmp(x.data(), back.data(), at(x.size())), 0);
        for (int64_t i = 0; i < y.size(); ++i) {
          const int64_t blocks = cpu::channel_blocks(channels), lane = i % channel_block,
                        block = i / channel_block / pixels, channel = block % blocks * channel_block + lane;
          const uint8_t want =
              channel < channels
                  ? x.data()[(block / blocks * channels + channel) * pixels + i / channel_block % pixels] ^
                        sign_xor
                  : 0;
          ASSERT_EQ(y.data()[i], want) << i;
        }
      }
}

TEST(CpuInt8, Rows) {
  std::vector<float> x{0.5f,     1.5f,      2.5f, -0.5f, -1.5f,  1e30f, -1e30f,
                       INFINITY, -INFINITY, NAN,  -0.0f, 127.5f, 128.5f};
  for (int i = 0; i < 40; ++i) x.push_back(static_cast<float>(i) * 7.3f - 140);
  for_each_set([&](Isa isa) {
    const cpu::Int8RowKernels& k = cpu::int8_row_kernels(isa);
    for (int64_t n = 0; n <= static_cast<int64_t>(x.size()); ++n)
      for (int32_t lowest : {0, -128})
        for (int32_t zero : {lowest, lowest + 100, lowest + 255}) {
          Bytes y(n);
          k.quantize(x.data(), y.data(), n, 0.5f, zero, lowest);
          ASSERT_TRUE(y.intact());
          for (int64_t i = 0; i < n; ++i) {
            const float q = x[at(i)] / 0.5f;
            const double want =
                std::isnan(q) ? zero : std::clamp<double>(std::nearbyint(q) + zero, lowest, lowest + 255);
            ASSERT_EQ(y.data()[i], static_cast<uint8_t>(static_cast<int>(want))) << x[at(i)];
          }
          std::vector<float> back(at(n) + 1, -7);
          if (lowest == 0)
            k.dequantize(y.data(), back.data(), n, 0.3f, zero);
          else
            k.dequantize_signed(reinterpret_cast<const int8_t*>(y.data()), back.data(), n, 0.3f, zero);
          ASSERT_EQ(back[at(n)], -7);
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(back[at(i)], static_cast<float>(number(y, i, lowest < 0) - zero) * 0.3f);
          float low = 0, high = 0, least = 0, most = 0;
          k.range(x.data(), n, low, high);
          for (int64_t i = 0; i < n; ++i) least = std::min(least, x[at(i)]), most = std::max(most, x[at(i)]);
          ASSERT_EQ(low, least);
          ASSERT_EQ(high, most);
        }
  });
}

TEST(CpuInt8, Maps) {
  const Bytes table(256, 3), all(700, 5);
  for_each_set([&](Isa isa) {
    for (int64_t n = 0; n <= all.size(); n += n < 200 ? 1 : 100) {
      const uint8_t* const x = all.data() + all.size() - n;
      Bytes y(n);
      cpu::int8_row_kernels(isa).map(table.data(), x, y.data(), n);
      ASSERT_TRUE(y.intact());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y.data()[i], table.data()[x[i]]) << x[i] + 0;
    }
  });
  Bytes numbers(256);
  for (int i = 0; i < 256; ++i) numbers.data()[i] = static_cast<uint8_t>(i);
  for_each_set([&](Isa isa) {
    Bytes y(256);
    cpu::int8_row_kernels(isa).map(table.data(), numbers.data(), y.data(), 256);
    EXPECT_EQ(std::memcmp(y.data(), table.data(), 256), 0);
  });
}

TEST(CpuInt8, Scaled) {
  cpu::Int8Scaling how;
  how.low = -100, how.high = 90.25f, how.zero = 120;
  for (int l = 0; l < 16; ++l)
    how.factor[l] = 0.37f * static_cast<float>(l - 7), how.shift[l] = 3.7f * static_cast<float>(l % 5) - 8;
  for_each_set([&](Isa isa) {
    for (int64_t pixels : {0, 1, 2, 7, 100}) {
      const Bytes x(pixels * channel_block, 11);
      Bytes y(x.size());
      cpu::int8_row_kernels(isa).scale(how, x.data(), y.data(), pixels);
      ASSERT_TRUE(y.intact());
      for (int64_t i = 0; i < x.size(); ++i) {
        const float q = std::fma(static_cast<float>(x.data()[i]), how.factor[i % 16], how.shift[i % 16]);
        ASSERT_NEAR(y.data()[i], std::nearbyint(std::clamp(q, how.low, how.high)) + how.zero,
                    isa == Isa::generic ? 1 : 0);
      }
    }
  });
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
