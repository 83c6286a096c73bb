// Convolutions of every instruction set against plain loops in double.
#include "cpu/conv/conv.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "cpu/conv/conv_transpose.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::ConvShape;

std::string text(const ConvShape& s) {
  std::string t = std::to_string(s.batch) + " images, " + std::to_string(s.in_channels) + " -> " +
                  std::to_string(s.out_channels) + " channels in " + std::to_string(s.groups) + " groups";
  for (int a = 0; a < 3; ++a)
    t += "; " + std::to_string(s.in[a]) + " -> " + std::to_string(s.out[a]) + " kernel " +
         std::to_string(s.kernel[a]) + " stride " + std::to_string(s.stride[a]) + " dilation " +
         std::to_string(s.dilation[a]) + " pad " + std::to_string(s.pad[a]);
  return t;
}

/// Sets the output sizes for `pad` zeros in front and `behind` at the end.
ConvShape sized(ConvShape s, std::array<int64_t, 3> behind) {
  for (size_t a = 0; a < 3; ++a)
    s.out[a] = (s.in[a] + s.pad[a] + behind[a] - (s.kernel[a] - 1) * s.dilation[a] - 1) / s.stride[a] + 1;
  return s;
}

ConvShape flat(int64_t in, int64_t out, int64_t groups, int64_t height, int64_t width, int64_t kernel,
               int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1, int64_t batch = 1) {
  ConvShape s{.batch = batch, .groups = groups, .in_channels = in, .out_channels = out};
  s.in[1] = height, s.in[2] = width;
  for (int a : {1, 2}) s.kernel[a] = kernel, s.stride[a] = stride, s.pad[a] = pad, s.dilation[a] = dilation;
  return sized(s, {0, pad, pad});
}

struct Sum {
  double value, magnitude;
};
Sum element(const ConvShape& s, const Fenced& x, const Fenced& w, int64_t n, int64_t m,
            std::array<int64_t, 3> at) {
  const int64_t in = s.in_channels / s.groups, first = m / (s.out_channels / s.groups) * in;
  Sum sum{0, 0};
  for (int64_t c = 0; c < in; ++c)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        for (int64_t l = 0; l < s.kernel[2]; ++l) {
          const int64_t z = at[0] * s.stride[0] - s.pad[0] + i * s.dilation[0];
          const int64_t y = at[1] * s.stride[1] - s.pad[1] + j * s.dilation[1];
          const int64_t v = at[2] * s.stride[2] - s.pad[2] + l * s.dilation[2];
          if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1] || v < 0 || v >= s.in[2]) continue;
          const int64_t pixel =
              ((((n * s.in_channels + first + c) * s.in[0] + z) * s.in[1]) + y) * s.in[2] + v;
          const int64_t tap = (((m * in + c) * s.kernel[0] + i) * s.kernel[1] + j) * s.kernel[2] + l;
          const double term =
              static_cast<double>(x[static_cast<size_t>(pixel)]) * w[static_cast<size_t>(tap)];
          sum.value += term;
          sum.magnitude += std::abs(term);
        }
  return sum;
}

/// Convolves with weights that are stored in `type`.
std::vector<float> convolve(Isa isa, const ConvShape& s, const Fenced& x, const Fenced& w, const float* bias,
                            int threads, DataType type = DataType::float32) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  std::vector<float> packed(static_cast<size_t>(cpu::packed_conv_weights_size(g, s)));
  WorkerContext context(threads);
  cpu::pack_conv_weights(g, s, w.data(), packed.data(), context);
  Fenced y(static_cast<size_t>(s.batch * s.out_channels * s.out_pixels()));
  const bool f16 = cpu::is_f16(type);
  std::vector<uint16_t> f16_weights(f16 ? packed.size() : 0);
  if (f16) cpu::narrow(isa, type, packed.data(), f16_weights.data(), static_cast<int64_t>(packed.size()));
  const void* const weights = f16 ? static_cast<const void*>(f16_weights.data()) : packed.data();
  Fenced scratch(cpu::conv_workspace(g, s, f16, threads) / sizeof(float));
  cpu::conv(isa, s, x.data(), {weights, type}, bias, y.data(), scratch.data(), context);
  EXPECT_TRUE(y.intact());
  EXPECT_TRUE(scratch.intact());
  EXPECT_TRUE(context.polls > 0 || y.size() == 0);
  return {y.data(), y.data() + y.size()};
}

/// Rounded to floats of 16 bits.
Fenced as_stored(const Fenced& w, DataType type) {
  Fenced rounded = w;
  const auto n = static_cast<int64_t>(w.size());
  std::vector<uint16_t> f16_weights(w.size());
  cpu::narrow(Isa::generic, type, w.data(), f16_weights.data(), n);
  cpu::widen(Isa::generic, type, f16_weights.data(), rounded.data(), n);
  return rounded;
}

void check(const ConvShape& s, bool with_bias = true) {
  Random random(static_cast<uint64_t>(s.in_channels * 77 + s.out_pixels()));
  const Fenced x(static_cast<size_t>(s.batch * s.in_channels * s.in_pixels()), random);
  const Fenced w(static_cast<size_t>(s.out_channels * s.depth()), random),
      bias(static_cast<size_t>(s.out_channels), random);
  for (Isa isa : usable_isas()) {
    SCOPED_TRACE(text(s) + ", " + std::string(name_of(isa)));
    const std::vector<float> got = convolve(isa, s, x, w, with_bias ? bias.data() : nullptr, 1);
    size_t at = 0;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t m = 0; m < s.out_channels; ++m)
        for (int64_t i = 0; i < s.out[0]; ++i)
          for (int64_t j = 0; j < s.out[1]; ++j)
            for (int64_t l = 0; l < s.out[2]; ++l, ++at) {
              const Sum want = element(s, x, w, n, m, {i, j, l});
              const double b = with_bias ? bias[static_cast<size_t>(m)] : 0.0;
              const double root = std::sqrt(static_cast<double>(s.depth())) + 2;
              ASSERT_NEAR(got[at], want.value + b, 0x1p-24 * root * (want.magnitude + 1))
                  << n << " " << m << " " << i << " " << j << " " << l;
            }
    const std::vector<float> again = convolve(isa, s, x, w, with_bias ? bias.data() : nullptr, 3);
    ASSERT_TRUE(got.empty() || std::memcmp(got.data(), again.data(), got.size() * sizeof(float)) == 0)
        << "the bits depend on the number of threads";
    // Weights of 16 bits are what they are in float32.
    for (DataType type : {DataType::float16, DataType::bfloat16}) {
      const Fenced same = as_stored(w, type);
      const auto answer = [&](DataType kept, int threads) {
        return convolve(isa, s, x, same, with_bias ? bias.data() : nullptr, threads, kept);
      };
      const std::vector<float> wide = answer(DataType::float32, 1);
      ASSERT_EQ(answer(type, 1), wide);
      ASSERT_EQ(answer(type, 3), wide);
    }
  }
}

TEST(CpuConv, Pointwise) {
  check(flat(5, 7, 1, 6, 9, 1));
  check(flat(64, 30, 1, 14, 14, 1, 1, 0, 1, 2), false);
  check(flat(40, 33, 1, 9, 9, 1, 2));
  check(flat(700, 20, 1, 3, 5, 1));
  check(flat(16, 8, 1, 1, 1, 1));
}

TEST(CpuConv, WideDepthwisePlanes) {
  check(flat(2, 2, 2, 2, 50001, 3, 1, 1));
  check(flat(1, 1, 1, 3, 40003, 3, 2, 1, 2));
  ConvShape row = flat(1, 1, 1, 1, 140003, 1);  // one axis
  row.kernel[2] = 5, row.stride[2] = 2, row.pad[2] = 3;
  check(sized(row, {0, 0, 3}));
}

TEST(CpuConv, Square) {
  for (int64_t kernel : {2, 3, 5, 7})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {0, 1, 3}) check(flat(3, 17, 1, 13, 19, kernel, stride, pad));
  check(flat(60, 20, 1, 12, 12, 3, 1, 1));  // k in two blocks
  check(flat(4, 6, 2, 10, 31, 3, 1, 2, 2, 2));
  check(flat(1, 1, 1, 5, 5, 5, 1, 4));
}

TEST(CpuConv, Groups) {
  check(flat(12, 18, 3, 8, 8, 3, 1, 1, 1, 2));
  check(flat(6, 12, 6, 9, 9, 3, 2, 1));  // two outputs of each channel
}

TEST(CpuConv, Depthwise) {
  for (int64_t size : {1, 4, 7, 16, 33})
    for (int64_t kernel : {1, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2}) {
          const int64_t reach = (kernel - 1) * dilation + 1;
          for (int64_t pad : {int64_t{0}, kernel / 2, reach})
            if (size + 2 * pad >= reach)
              check(flat(5, 5, 5, size, size + 2, kernel, stride, pad, dilation, 2));
        }
  check(flat(2, 2, 2, 200, 230, 3, 1, 1));  // rows in several strips
}

TEST(CpuConv, OneAndThreeAxes) {
  ConvShape line{.batch = 2, .in_channels = 6, .out_channels = 9};
  line.in[2] = 101, line.kernel[2] = 4, line.stride[2] = 2, line.pad[2] = 3;
  check(sized(line, {0, 0, 0}));
  line.groups = line.in_channels = line.out_channels = 4;
  check(sized(line, {0, 0, 5}));

  ConvShape volume{.in_channels = 4, .out_channels = 5};
  volume.volume = true;
  volume.in[0] = 6, volume.in[1] = 5, volume.in[2] = 7;
  for (int a = 0; a < 3; ++a) volume.kernel[a] = 3, volume.pad[a] = 1, volume.stride[a] = 1 + a % 2;
  check(sized(volume, {1, 0, 2}));
  volume.groups = volume.out_channels = 4;
  check(sized(volume, {1, 0, 2}));
}

TEST(CpuConv, DepthwiseVolumes) {
  for (int64_t kernel : {1, 2, 3, 5, 7, 9})  // the largest has too many taps
    for (int64_t stride : {1, 2})
      for (int64_t dilation : {1, 2}) {
        ConvShape s{.batch = 2, .groups = 3, .in_channels = 3, .out_channels = 3};
        s.volume = true;
        for (int a = 0; a < 3; ++a) {
          s.in[a] = 9 + 4 * a, s.kernel[a] = kernel, s.stride[a] = stride;
          s.dilation[a] = dilation, s.pad[a] = kernel / 2 * dilation;
        }
        check(sized(s, {s.pad[0], s.pad[1], s.pad[2] + 1}));
      }
  // Slices that windows see nothing of; an innermost axis that goes to the front; rows in several strips.
  ConvShape s{.groups = 2, .in_channels = 2, .out_channels = 2};
  s.volume = true;
  s.in[0] = 2, s.in[1] = 40, s.in[2] = 70, s.kernel[0] = 3, s.kernel[1] = 9, s.kernel[2] = 3;
  s.pad[0] = 6;
  check(sized(s, {7, 0, 0}));
  s.in[2] = s.kernel[2] = 1, s.kernel[0] = s.pad[0] = 2;
  check(sized(s, {0, 3, 0}));
}

TEST(CpuConv, UnevenPaddingAndEmpty) {
  ConvShape s = flat(2, 3, 1, 5, 6, 3);
  s.pad[1] = 2;
  check(sized(s, {0, 0, 4}));
  ConvShape wide = flat(1, 1, 1, 2, 2, 2, 1, 3);  // windows that see padding only
  check(wide);
  wide.batch = 0;
  check(wide);
}

/// Computes a transposed convolution, shaped as the convolution from its output to its input.
std::vector<float> transpose(Isa isa, const ConvShape& s, const Fenced& x, const Fenced& w, const float* bias,
                             int threads, DataType type = DataType::float32) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  std::vector<float> packed(static_cast<size_t>(cpu::packed_transposed_weights_size(g, s)));
  WorkerContext context(threads);
  cpu::pack_transposed_weights(g, s, w.data(), packed.data(), context);
  const bool f16 = cpu::is_f16(type);
  std::vector<uint16_t> f16_weights(f16 ? packed.size() : 0);
  if (f16) cpu::narrow(isa, type, packed.data(), f16_weights.data(), static_cast<int64_t>(packed.size()));
  const void* const weights = f16 ? static_cast<const void*>(f16_weights.data()) : packed.data();
  Fenced y(static_cast<size_t>(s.batch * s.in_channels * s.in_pixels()));
  Fenced scratch(cpu::transposed_workspace(g, s, f16, threads) / sizeof(float));
  cpu::conv_transpose(isa, s, x.data(), {weights, type}, bias, y.data(), scratch.data(), context);
  EXPECT_TRUE(y.intact());
  EXPECT_TRUE(scratch.intact());
  EXPECT_TRUE(context.polls > 0 || y.size() == 0);
  return {y.data(), y.data() + y.size()};
}

/// Returns every element of the output: each pixel of X is spread over it.
std::vector<Sum> spread(const ConvShape& s, const Fenced& x, const Fenced& w, const float* bias) {
  const int64_t channels = s.out_channels / s.groups, filters = s.in_channels / s.groups;
  std::vector<Sum> y(static_cast<size_t>(s.batch * s.in_channels * s.in_pixels()), Sum{0, 0});
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.out_channels; ++c)
      for (int64_t p = 0; p < s.out_pixels(); ++p)
        for (int64_t f = 0; f < filters; ++f)
          for (int64_t t = 0; t < s.taps(); ++t) {
            const std::array<int64_t, 3> at{p / s.out[2] / s.out[1], p / s.out[2] % s.out[1], p % s.out[2]};
            const std::array<int64_t, 3> tap{t / s.kernel[2] / s.kernel[1], t / s.kernel[2] % s.kernel[1],
                                             t % s.kernel[2]};
            int64_t to = n * s.in_channels + c / channels * filters + f;
            bool inside = true;
            for (size_t a = 0; a < 3; ++a) {
              const int64_t place = at[a] * s.stride[a] - s.pad[a] + tap[a] * s.dilation[a];
              inside = inside && place >= 0 && place < s.in[a];
              to = to * s.in[a] + place;
            }
            if (!inside) continue;
            const double term =
                static_cast<double>(x[static_cast<size_t>((n * s.out_channels + c) * s.out_pixels() + p)]) *
                w[static_cast<size_t>((c * filters + f) * s.taps() + t)];
            y[static_cast<size_t>(to)].value += term;
            y[static_cast<size_t>(to)].magnitude += std::abs(term);
          }
  for (size_t i = 0; bias && i < y.size(); ++i)
    y[i].value += bias[static_cast<int64_t>(i) / s.in_pixels() % s.in_channels];
  return y;
}

/// Outputs are as long as the pixels reach, less `pad` at the beginning and `behind` at the end, which is an
/// output_padding if it is negative.
void check_transposed(ConvShape s, std::array<int64_t, 3> behind, bool with_bias = true) {
  for (size_t a = 0; a < 3; ++a)
    s.in[a] = (s.out[a] - 1) * s.stride[a] + (s.kernel[a] - 1) * s.dilation[a] + 1 - s.pad[a] - behind[a];
  Random random(static_cast<uint64_t>(s.in_channels * 77 + s.out_pixels()));
  const Fenced x(static_cast<size_t>(s.batch * s.out_channels * s.out_pixels()), random);
  const Fenced w(static_cast<size_t>(s.out_channels * s.in_channels / s.groups * s.taps()), random),
      biases(static_cast<size_t>(s.in_channels), random);
  const float* const bias = with_bias ? biases.data() : nullptr;
  const std::vector<Sum> want = spread(s, x, w, bias);
  for (Isa isa : usable_isas()) {
    SCOPED_TRACE(text(s) + ", " + std::string(name_of(isa)));
    const std::vector<float> got = transpose(isa, s, x, w, bias, 1);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(
          got[i], want[i].value,
          0x1p-24 * (std::sqrt(static_cast<double>(s.out_channels * s.taps())) + 2) * (want[i].magnitude + 1))
          << i;
    ASSERT_EQ(transpose(isa, s, x, w, bias, 3), got) << "the bits depend on the number of threads";
    for (DataType type : {DataType::float16, DataType::bfloat16}) {
      const Fenced same = as_stored(w, type);
      const std::vector<float> wide = transpose(isa, s, x, same, bias, 1);
      ASSERT_EQ(transpose(isa, s, x, same, bias, 1, type), wide);
      ASSERT_EQ(transpose(isa, s, x, same, bias, 3, type), wide);
    }
  }
}

/// Returns the shape from `in` channels of height x width pixels to `out` channels.
ConvShape grown(int64_t in, int64_t out, int64_t groups, int64_t height, int64_t width, int64_t kernel,
                int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1, int64_t batch = 1) {
  ConvShape s{.batch = batch, .groups = groups, .in_channels = out, .out_channels = in};
  s.out[1] = height, s.out[2] = width;
  for (int a : {1, 2}) s.kernel[a] = kernel, s.stride[a] = stride, s.pad[a] = pad, s.dilation[a] = dilation;
  return s;
}

TEST(CpuConvTranspose, Square) {
  for (int64_t kernel : {1, 2, 3, 4, 5})
    for (int64_t stride : {1, 2, 3, 4})
      for (int64_t pad : {int64_t{0}, kernel / 2})
        for (int64_t behind : {pad, int64_t{0}, -(stride - 1)})
          check_transposed(grown(5, 7, 1, 5, 19, kernel, stride, pad), {0, behind, behind});
  check_transposed(grown(33, 40, 1, 7, 6, 4, 2, 1, 1, 2), {0, 1, 1}, false);  // filters in chunks
  check_transposed(grown(3, 2, 1, 4, 5, 3, 2, 1, 3), {0, 1, 2});              // dilated
  check_transposed(grown(9, 12, 3, 6, 5, 3, 2, 1, 2, 2), {0, 1, 0});          // groups
  check_transposed(grown(8, 8, 8, 9, 9, 4, 2, 1), {0, 1, 1});                 // each channel by itself
}

TEST(CpuConvTranspose, Strips) {
  check_transposed(grown(2, 9, 1, 70, 101, 4, 2, 1), {0, 1, 1});
  check_transposed(grown(2, 3, 1, 90, 130, 2, 2), {0, 0, -1});
  check_transposed(grown(1, 8, 1, 41, 57, 5, 3, 2), {0, 0, 0});
}

TEST(CpuConvTranspose, OneAndThreeAxes) {
  ConvShape line{.batch = 2, .in_channels = 6, .out_channels = 9};
  line.out[2] = 101, line.kernel[2] = 16, line.stride[2] = 8, line.pad[2] = 4;
  check_transposed(line, {0, 0, 4});
  line.batch = 1, line.in_channels = 3, line.out_channels = 2, line.out[2] = 5003;
  for (int64_t dilation : {1, 5}) line.dilation[2] = dilation, check_transposed(line, {0, 0, 3});

  ConvShape volume{.in_channels = 4, .out_channels = 5};
  volume.out[0] = 3, volume.out[1] = 4, volume.out[2] = 7;
  for (int a = 0; a < 3; ++a) volume.kernel[a] = 3, volume.pad[a] = 1, volume.stride[a] = 1 + a;
  check_transposed(volume, {1, 0, 2});
  volume.out[0] = 1, volume.kernel[1] = volume.stride[1] = 2, volume.pad[1] = 0;
  check_transposed(volume, {0, 0, 0});
}

TEST(CpuConvTranspose, StridesBeyondTheOutputAndEmpty) {
  check_transposed(grown(2, 3, 1, 1, 1, 3, int64_t{1} << 30), {0, 0, 1});
  check_transposed(grown(2, 3, 1, 2, 3, 2, 7, 1), {0, 1, 1});  // gaps between windows
  check_transposed(grown(2, 3, 1, 3, 3, 3, 1, 3), {0, 2, 1});  // most of it cropped
  check_transposed(grown(2, 3, 1, 4, 4, 2, 2, 0, 1, 0), {});   // no image
  check_transposed(grown(2, 0, 1, 4, 4, 2, 2), {});            // no filter
  ConvShape none = grown(0, 3, 1, 4, 4, 2, 2);                 // no channel: the bias alone
  check_transposed(none, {});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
