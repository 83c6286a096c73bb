// Products and convolutions of bytes, every algorithm of every instruction set, with VNNI and without,
// against plain loops in 64 bits. They are exact: nothing may differ.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "base/cpu.h"
#include "cpu/bytes_conv.h"
#include "cpu/bytes_winograd.h"
#include "support/tiles.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace {

using cpu::BlockedShape;
using cpu::channel_block;

size_t at(int64_t i) { return static_cast<size_t>(i); }

/// Bytes with a fence before them, so that writing there shows, and behind them a page that nobody may even
/// read.
class Bytes {
 public:
  explicit Bytes(int64_t n)
      : n_(n),
        room_((at(n) + fence + page - 1) / page * page),
        pages_(std::make_unique<Pages>(room_ + page)) {
    mprotect(pages_->begin + room_, page, PROT_NONE);
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
  uint8_t* data() { return pages_->begin + room_ - n_; }
  const uint8_t* data() const { return pages_->begin + room_ - n_; }
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
  size_t room_;
  std::unique_ptr<Pages> pages_;
};

/// Calls f(isa) for every instruction set, for AVX-512 with AMX, with VNNI alone, and without both.
void for_each_set(const std::function<void(Isa)>& f) {
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

/// What is not tested here is said.
TEST(CpuBytes, WithTiles) {
  if (!provide_tiles()) GTEST_SKIP() << "no AMX, or this process may not use it";
  cpu::use_amx(false);
  EXPECT_FALSE(cpu::uses_amx());
  const cpu::ByteTiles& plain = cpu::byte_tiles(Isa::avx512);
  cpu::use_amx(true);
  EXPECT_EQ(cpu::byte_tiles(Isa::avx512).packed_rows > plain.packed_rows, cpu_features().amx_int8);
}

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

struct Product {
  int64_t m, n, k;
  bool a_signed, b_signed;
  int32_t a_zero,
      b_zero;  // as they are stored; B's of column j: b_zero + j % 3 where b_zero is not in the middle
};

int64_t number(const Bytes& b, int64_t i, bool is_signed) {
  return is_signed ? static_cast<int8_t>(b.data()[i]) : b.data()[i];
}

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
  void multiply(Isa isa, int threads, const std::function<void(cpu::ByteProduct&)>& into) {
    WorkerContext c(threads);
    Bytes packed(cpu::packed_matrix_bytes(p_.k, p_.n));
    cpu::pack_matrix({b_.data(), p_.b_signed}, p_.k, p_.n, reinterpret_cast<int8_t*>(packed.data()), c);
    ASSERT_TRUE(packed.intact());
    Scratch scratch(cpu::byte_product_workspace(isa, p_.m, p_.k));
    const bool centred = p_.b_zero == (p_.b_signed ? 0 : 128);
    cpu::ByteProduct p{.m = p_.m, .n = p_.n, .k = p_.k};
    p.a = a_.data();
    p.a_signed = p_.a_signed;
    p.b = reinterpret_cast<const int8_t*>(packed.data());
    p.a_zero = p_.a_zero + (p_.a_signed ? 128 : 0);
    p.b_zero = centred ? nullptr : zeros_.data();
    p.scale = scales_.data();
    into(p);
    cpu::multiply_bytes(isa, p, scratch.begin, c);
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
    multiply(isa, threads, [&](cpu::ByteProduct& p) { p.ints = reinterpret_cast<int32_t*>(y.data()); });
    hold<int32_t>(y, [&](int64_t i) { return want_[at(i)]; });
  }
  float scaled(int64_t i) const { return static_cast<float>(want_[at(i)]) * scales_[at(i % p_.n)]; }
  void hold_floats(Isa isa, int threads) {
    Bytes y(p_.m * p_.n * 4);
    multiply(isa, threads, [&](cpu::ByteProduct& p) { p.floats = reinterpret_cast<float*>(y.data()); });
    hold<float>(y, [&](int64_t i) { return scaled(i); });
  }
  void hold_bytes(Isa isa, int threads) {
    for (int32_t zero : {-128, 7, 127}) {
      Bytes y(p_.m * p_.n);
      multiply(isa, threads, [&](cpu::ByteProduct& p) {
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

TEST(CpuBytes, ProductsOfEverySize) {
  for (int64_t m : {1, 2, 13, 14, 15, 29})
    for (int64_t n : {1, 15, 16, 17, 32, 33, 50})
      for (int64_t k : {0, 1, 3, 4, 7, 63, 64, 65, 130}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
        ProductCheck({m, n, k, (m + k) % 2 == 0, true, 5, 0}).check();
      }
}

// Every height of a tile, and of two that differ.
TEST(CpuBytes, ProductsOfEveryHeight) {
  for (int64_t m = 1; m <= 40; ++m)
    for (int64_t k : {60, 64, 129}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k));
      ProductCheck({m, 48, k, m % 2 == 0, true, 5, 0}).check();
      ProductCheck({m, 33, k, m % 2 != 0, false, 5, 7}).check();
    }
}

TEST(CpuBytes, SignsAndZeroPoints) {
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

TEST(CpuBytes, LargeProducts) {
  ProductCheck({70, 300, 500, false, true, 131, 0}).check();  // several tasks
  ProductCheck({3, 40, 70000, true, false, -7, 9}).check();   // sums that wrap around are not reached
}

// The largest magnitudes that there are: what saturates on the way would show.
TEST(CpuBytes, Corners) {
  constexpr int64_t k = 200;
  for (int x : {0, 255})
    for (int w : {-128, 127}) {
      const std::vector<uint8_t> a(at(k), static_cast<uint8_t>(x));
      const std::vector<int8_t> b(at(k * 33), static_cast<int8_t>(w));
      for_each_set([&](Isa isa) {
        WorkerContext c;
        std::vector<int8_t> packed(at(cpu::packed_matrix_bytes(k, 33)));
        cpu::pack_matrix({b.data(), true}, k, 33, packed.data(), c);
        Scratch scratch(cpu::byte_product_workspace(isa, 1, k));
        std::vector<int32_t> y(33);
        cpu::ByteProduct p{.m = 1, .n = 33, .k = k};
        p.a = a.data(), p.b = packed.data(), p.ints = y.data();
        cpu::multiply_bytes(isa, p, scratch.begin, c);
        for (int32_t v : y) ASSERT_EQ(v, k * x * w);
      });
    }
}

/// What a window sees: f(tap, pixel or -1).
template <class F>
void for_each_tap(const BlockedShape& s, int64_t oy, int64_t ox, F&& f) {
  for (int64_t i = 0; i < s.kernel[0]; ++i)
    for (int64_t j = 0; j < s.kernel[1]; ++j) {
      const int64_t y = oy * s.stride[0] - s.pad[0] + i * s.dilation[0],
                    x = ox * s.stride[1] - s.pad[1] + j * s.dilation[1];
      const bool inside = y >= 0 && y < s.in[0] && x >= 0 && x < s.in[1];
      f(i * s.kernel[1] + j, inside ? y * s.in[1] + x : -1);
    }
}

class Convolution {
 public:
  Convolution(const BlockedShape& s, bool depthwise, bool weights_signed, bool adds, cpu::ByteGrid grid,
              float factor = 0.00031731f)
      : s_(s),
        depthwise_(depthwise),
        signed_(weights_signed),
        adds_(adds),
        grid_(grid),
        x_(s.batch * s.in_blocks() * s.in_pixels() * channel_block, 11),
        w_(s.filters * (depthwise ? 1 : s.channels) * s.taps(), 12),
        other_(s.batch * s.out_blocks() * s.out_pixels() * channel_block, 13) {
    grid_.adds = adds;
    for (int64_t f = 0; f < cpu::panels(s.filters) * cpu::panel_filters; ++f) {
      factor_.push_back(f < s.filters ? factor * static_cast<float>(f % 5 + 1) : 0);
      shift_.push_back(f < s.filters ? 0.3170731f * static_cast<float>(f % 11 - 5) : 0);
      bias_.push_back(f < s.filters ? static_cast<int32_t>(f * 37 - 200) : 0);
    }
  }

  void fill(int x, int w) {
    std::memset(x_.data(), x, at(x_.size()));
    std::memset(w_.data(), w, at(w_.size()));
  }

  void check() {
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t f = 0; f < s_.filters; ++f)
        for (int64_t p = 0; p < s_.out_pixels(); ++p) want_.push_back(result(n, f, p));
    for_each_set([&](Isa isa) {
      for (int threads : {1, 3}) {
        hold(isa, threads, false);
        if (!depthwise_ && cpu::fits_byte_winograd({s_})) hold(isa, threads, true);
      }
    });
  }

 private:
  static constexpr uint8_t zero = 200;

  int64_t place(int64_t n, int64_t f, int64_t p) const {
    return ((n * s_.out_blocks() + f / channel_block) * s_.out_pixels() + p) * channel_block +
           f % channel_block;
  }
  int64_t weight(int64_t i) const { return number(w_, i, signed_) - (signed_ ? 0 : 128); }

  uint8_t result(int64_t n, int64_t f, int64_t p) const {
    int64_t sum = bias_[at(f)];
    const int64_t inner = depthwise_ ? 1 : s_.channels;
    for (int64_t c = 0; c < inner; ++c)
      for_each_tap(s_, p / s_.out[1], p % s_.out[1], [&](int64_t tap, int64_t pixel) {
        const int64_t channel = depthwise_ ? f : c;
        const int64_t plane = n * s_.in_blocks() + channel / channel_block;
        const int64_t x =
            pixel < 0 ? zero
                      : x_.data()[(plane * s_.in_pixels() + pixel) * channel_block + channel % channel_block];
        sum += (x - zero) * weight((f * inner + c) * s_.taps() + tap);
      });
    double q = std::fma(static_cast<double>(static_cast<float>(sum)), static_cast<double>(factor_[at(f)]),
                        static_cast<double>(shift_[at(f)]));
    const cpu::ByteGrid& g = grid_;
    q = std::clamp(static_cast<float>(q), g.low, g.high);
    if (adds_) {
      const double rest =
          static_cast<float>(std::fma(static_cast<double>(other_.data()[place(n, f, p)]),
                                      static_cast<double>(g.others), static_cast<double>(g.constant)));
      q = std::clamp(static_cast<float>(std::fma(std::nearbyint(q), static_cast<double>(g.own), rest)),
                     g.sum_low, g.sum_high);
    }
    return static_cast<uint8_t>(static_cast<int>(std::nearbyint(static_cast<float>(q))) + g.zero);
  }

  void hold(Isa isa, int threads, bool winograd) const {
    SCOPED_TRACE(winograd ? "Winograd" : "direct");
    WorkerContext c(threads), packers(3);
    const cpu::ByteConvShape conv{s_};
    Bytes packed(depthwise_ ? cpu::byte_depthwise_weights_size(s_)
                 : winograd ? cpu::byte_winograd_weights_size(conv)
                            : cpu::byte_conv_weights_size(conv));
    auto* const w = reinterpret_cast<int8_t*>(packed.data());
    if (depthwise_)
      cpu::pack_byte_depthwise(s_, w_.data(), signed_, w);
    else if (winograd)
      cpu::pack_byte_winograd(conv, w_.data(), signed_, w, packers);
    else
      cpu::pack_byte_conv(conv, w_.data(), signed_, w, packers);
    ASSERT_TRUE(packed.intact());
    const int32_t* sums = depthwise_ ? cpu::byte_depthwise_sums(s_, w)
                          : winograd ? cpu::byte_winograd_sums(conv, w)
                                     : cpu::byte_conv_sums(conv, w);
    std::vector<int32_t> start;
    for (size_t f = 0; f < bias_.size(); ++f) start.push_back(bias_[f] - zero * sums[f]);
    Bytes y(s_.batch * s_.out_blocks() * s_.out_pixels() * channel_block);
    cpu::ByteImages images{
        .x = x_.data(), .x_zero = zero, .weights = w, .start = start.data(), .grid = grid_};
    images.grid.factor = factor_.data();
    images.grid.shift = shift_.data();
    images.grid.find_shortcut(s_.filters);
    images.other = adds_ ? other_.data() : nullptr;
    images.y = y.data();
    Scratch scratch(depthwise_ ? cpu::byte_depthwise_workspace(s_)
                    : winograd ? cpu::byte_winograd_workspace(isa, conv, threads)
                               : cpu::byte_conv_workspace(isa, conv, threads));
    if (depthwise_)
      cpu::byte_depthwise(isa, s_, images, scratch.begin, c);
    else if (winograd)
      cpu::byte_winograd(isa, conv, images, scratch.begin, c);
    else
      cpu::byte_convolution(isa, conv, images, scratch.begin, c);
    EXPECT_TRUE(y.intact());
    EXPECT_TRUE(scratch.memory.intact());
    EXPECT_EQ(c.polls > 0, y.size() > 0);
    size_t i = 0, neighbours = 0;
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t f = 0; f < s_.filters; ++f)
        for (int64_t p = 0; p < s_.out_pixels(); ++p, ++i) {
          const int off = std::abs(y.data()[place(n, f, p)] - want_[i]);
          // Without fused multiplication the middle between two may be missed.
          if (isa == Isa::generic && off == 1)
            ++neighbours;
          else
            ASSERT_EQ(off, 0) << "image " << n << " filter " << f << " pixel " << p;
        }
    EXPECT_LE(neighbours * 1000, want_.size() + 1000);
  }

  BlockedShape s_;
  bool depthwise_, signed_, adds_;
  cpu::ByteGrid grid_;
  Bytes x_, w_, other_;
  std::vector<float> factor_, shift_;
  std::vector<int32_t> bias_;
  std::vector<uint8_t> want_;
};

BlockedShape square(int64_t in, int64_t out, int64_t height, int64_t width, int64_t kernel,
                    int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1, int64_t batch = 1) {
  BlockedShape s{.batch = batch, .channels = in, .filters = out};
  s.in[0] = height, s.in[1] = width;
  for (int a : {0, 1}) {
    s.kernel[a] = kernel, s.stride[a] = stride, s.pad[a] = pad, s.dilation[a] = dilation;
    s.out[a] = (s.in[a] + 2 * pad - s.reach(a)) / stride + 1;
  }
  return s;
}

cpu::ByteGrid residual() {
  cpu::ByteGrid sum{.low = -128, .high = 127, .zero = 100};
  sum.own = 0.70137f, sum.others = 1.29571f, sum.constant = -60.1237f, sum.sum_low = -100, sum.sum_high = 155;
  return sum;
}

/// On a plain grid, on one that clamps, and with an image to add.
void check(const BlockedShape& s, bool depthwise = false) {
  SCOPED_TRACE(std::to_string(s.batch) + " images, " + std::to_string(s.channels) + " -> " +
               std::to_string(s.filters) + ", " + std::to_string(s.in[0]) + " x " + std::to_string(s.in[1]) +
               ", kernel " + std::to_string(s.kernel[0]) + " x " + std::to_string(s.kernel[1]) + ", stride " +
               std::to_string(s.stride[1]) + ", pad " + std::to_string(s.pad[1]));
  Convolution(s, depthwise, true, false, {.low = -30, .high = 225, .zero = 30}).check();
  Convolution(s, depthwise, false, false, {.low = 0.4f, .high = 90.5f, .zero = 3}).check();
  Convolution(s, depthwise, true, true, residual()).check();
}

TEST(CpuBytes, Pointwise) {
  check(square(5, 7, 6, 9, 1));
  check(square(64, 30, 14, 14, 1, 1, 0, 1, 2));
  check(square(40, 33, 9, 9, 1, 2));
  check(square(40, 48, 9, 9, 1, 3));
  check(square(17, 100, 1, 1, 1, 1, 0, 1, 3));
  check(square(16, 20, 60, 40, 1));
  check(square(600, 20, 30, 20, 1));  // several strips
}

TEST(CpuBytes, Square) {
  for (int64_t kernel : {2, 3, 5})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {0, 1, 3}) check(square(3, 17, 13, 19, kernel, stride, pad));
  check(square(60, 40, 12, 12, 3, 1, 1));
  check(square(20, 50, 15, 15, 3, 2, 1, 2, 2));
  check(square(3, 40, 40, 40, 7, 2, 3));
  check(square(1, 1, 5, 5, 5, 1, 4));
}

TEST(CpuBytes, EveryRemainder) {
  for (int64_t channels = 1; channels <= 20; ++channels)
    check(square(channels, 21 - channels, 4, channels, 3, 1, 1));
  for (int64_t width = 13; width <= 29; ++width) check(square(18, 20, 2, width, 3, 1, 1));
  // Gathered pixels: every height of a tile, and of the last one.
  for (int64_t pixels = 1; pixels <= 40; ++pixels) check(square(44 + pixels, 48, 1, pixels, 1));
  check(square(80, 40, 33, 40, 3, 1, 1));  // in several strips
}

// Tiles of two by two: strips that begin and end within a row of them, rows and columns that are half a tile.
TEST(CpuBytes, Tiles) {
  for (int64_t size = 1; size <= 9; ++size) check(square(33, 34, size, 10 - size, 3, 1, 1, 1, 2));
  check(square(70, 40, 31, 29, 3, 1, 0));
  check(square(200, 24, 23, 22, 3, 1, 1));
  check(square(20, 130, 40, 7, 3, 1, 2));
}

TEST(CpuBytes, CornersOfTiles) {
  for (int x : {0, 255})
    for (int w : {-128, 127}) {
      SCOPED_TRACE(std::to_string(x) + " times " + std::to_string(w));
      Convolution most(square(1024, 16, 5, 4, 3, 1, 1), false, true, false,
                       {.low = -128, .high = 127, .zero = 128}, 1e-7f);
      most.fill(x, w);
      most.check();
    }
  EXPECT_FALSE(cpu::fits_byte_winograd({square(1025, 16, 5, 4, 3, 1, 1)}));
}

// Numbers beyond int32 are clamped all the same, those of a grid of its own before an image is added.
TEST(CpuBytes, NumbersBeyondIntegers) {
  for (float factor : {3e5f, -3e5f, 0.3f}) {
    SCOPED_TRACE(factor);
    for (const bool depthwise : {false, true}) {
      const BlockedShape s = square(40, 40, 6, 7, 3, 1, 1);
      Convolution(s, depthwise, true, false, {.low = -30, .high = 225, .zero = 30}, factor).check();
      Convolution(s, depthwise, true, true, residual(), factor).check();
    }
  }
}

TEST(CpuBytes, UnevenWindows) {
  BlockedShape s = square(18, 35, 9, 11, 3);
  s.kernel[0] = 1, s.kernel[1] = 4, s.stride[0] = 2, s.pad[1] = 3, s.dilation[1] = 2;
  s.out[0] = 5, s.out[1] = 8;
  check(s);
  s.filters = s.channels;
  check(s, true);
}

TEST(CpuBytes, Depthwise) {
  for (int64_t size : {1, 2, 7, 16, 33})
    for (int64_t kernel : {1, 2, 3, 5, 7})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t pad : {int64_t{0}, kernel / 2})
            if (size + 2 * pad >= (kernel - 1) * dilation + 1)
              check(square(21, 21, size, size + 2, kernel, stride, pad, dilation), true);
  check(square(40, 40, 6, 6, 3, 1, 1, 1, 2), true);
}

TEST(CpuBytes, Empty) {
  BlockedShape s = square(16, 16, 4, 4, 3);
  s.batch = 0;
  check(s);
  check(s, true);
}

TEST(CpuBytes, Maximum) {
  for (int64_t kernel : {1, 2, 3})
    for (int64_t stride : {1, 2, 3})
      for (int64_t dilation : {1, 2})
        for (int64_t pad : {int64_t{0}, kernel / 2}) {
          const BlockedShape s = square(32, 32, 14, 17, kernel, stride, pad, dilation, 2);
          const Bytes x(s.batch * s.in_blocks() * s.in_pixels() * channel_block, 5);
          Bytes y(s.batch * s.out_blocks() * s.out_pixels() * channel_block);
          WorkerContext c(3);
          cpu::byte_maximum(s, x.data(), y.data(), c);
          ASSERT_TRUE(y.intact());
          for (int64_t i = 0; i < y.size(); ++i) {
            const int64_t lane = i % channel_block, pixel = i / channel_block % s.out_pixels(),
                          block = i / channel_block / s.out_pixels();
            uint8_t most = 0;
            for_each_tap(s, pixel / s.out[1], pixel % s.out[1], [&](int64_t, int64_t from) {
              if (from >= 0)
                most = std::max(most, x.data()[(block * s.in_pixels() + from) * channel_block + lane]);
            });
            ASSERT_EQ(y.data()[i], most) << i;
          }
        }
}

TEST(CpuBytes, ThereAndBack) {
  for (int64_t channels : {1, 3, 4, 16, 40})
    for (int64_t pixels : {1, 7, 64, 2500})
      for (uint8_t turned : {0, 128}) {
        const Bytes x(2 * channels * pixels, 9);
        Bytes y(2 * cpu::channel_blocks(channels) * pixels * channel_block), back(x.size());
        WorkerContext c(3);
        cpu::to_blocks(2, channels, pixels, x.data(), turned, y.data(), c);
        cpu::from_blocks(2, channels, pixels, y.data(), turned, back.data(), c);
        EXPECT_TRUE(y.intact());
        EXPECT_TRUE(back.intact());
        ASSERT_EQ(std::memcmp(x.data(), back.data(), at(x.size())), 0);
        for (int64_t i = 0; i < y.size(); ++i) {
          const int64_t blocks = cpu::channel_blocks(channels), lane = i % channel_block,
                        block = i / channel_block / pixels, channel = block % blocks * channel_block + lane;
          const uint8_t want =
              channel < channels
                  ? x.data()[(block / blocks * channels + channel) * pixels + i / channel_block % pixels] ^
                        turned
                  : 0;
          ASSERT_EQ(y.data()[i], want) << i;
        }
      }
}

TEST(CpuBytes, Rows) {
  std::vector<float> x{0.5f,     1.5f,      2.5f, -0.5f, -1.5f,  1e30f, -1e30f,
                       INFINITY, -INFINITY, NAN,  -0.0f, 127.5f, 128.5f};
  for (int i = 0; i < 40; ++i) x.push_back(static_cast<float>(i) * 7.3f - 140);
  for_each_set([&](Isa isa) {
    const cpu::ByteRowKernels& k = cpu::byte_row_kernels(isa);
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

TEST(CpuBytes, Maps) {
  const Bytes table(256, 3), all(700, 5);
  for_each_set([&](Isa isa) {
    for (int64_t n = 0; n <= all.size(); n += n < 200 ? 1 : 100) {
      const uint8_t* const x = all.data() + all.size() - n;
      Bytes y(n);
      cpu::byte_row_kernels(isa).map(table.data(), x, y.data(), n);
      ASSERT_TRUE(y.intact());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y.data()[i], table.data()[x[i]]) << x[i] + 0;
    }
  });
  Bytes numbers(256);
  for (int i = 0; i < 256; ++i) numbers.data()[i] = static_cast<uint8_t>(i);
  for_each_set([&](Isa isa) {
    Bytes y(256);
    cpu::byte_row_kernels(isa).map(table.data(), numbers.data(), y.data(), 256);
    EXPECT_EQ(std::memcmp(y.data(), table.data(), 256), 0);
  });
}

TEST(CpuBytes, Scaled) {
  cpu::ByteScaling how;
  how.low = -100, how.high = 90.25f, how.zero = 120;
  for (int l = 0; l < 16; ++l)
    how.factor[l] = 0.37f * static_cast<float>(l - 7), how.shift[l] = 3.7f * static_cast<float>(l % 5) - 8;
  for_each_set([&](Isa isa) {
    for (int64_t pixels : {0, 1, 2, 7, 100}) {
      const Bytes x(pixels * channel_block, 11);
      Bytes y(x.size());
      cpu::byte_row_kernels(isa).scale(how, x.data(), y.data(), pixels);
      ASSERT_TRUE(y.intact());
      for (int64_t i = 0; i < x.size(); ++i) {
        const float q = std::fma(static_cast<float>(x.data()[i]), how.factor[i % 16], how.shift[i % 16]);
        ASSERT_NEAR(y.data()[i], std::nearbyint(std::clamp(q, how.low, how.high)) + how.zero,
                    isa == Isa::generic ? 1 : 0);
      }
    }
  });
}

}  // namespace
}  // namespace lathe::test
