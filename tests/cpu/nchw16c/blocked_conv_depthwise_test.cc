// Pairs of convolutions, and of convolutions and pools, in channel blocks, on every instruction set, against
// both one after the other: the same bits. Lanes beyond the last channel of X are NaN.
#include "cpu/nchw16c/blocked_conv_depthwise.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/blocked_shapes.h"
#include "support/row_means.h"
#include "support/sign_flipper.h"
#include "support/tiles.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;
using cpu::ConvDepthwiseShape;

size_t at(int64_t i) { return static_cast<size_t>(i); }

struct Window {
  int64_t kernel, stride = 1, pad = 0, dilation = 1;
};
BlockedShape slid(BlockedShape s, const Window& w) {
  for (int a : {0, 1}) {
    s.kernel[a] = w.kernel, s.stride[a] = w.stride, s.dilation[a] = w.dilation;
    // More rows in front than behind, more columns behind than in front.
    s.pad[a] = a == 0 ? w.pad : w.pad / 2;
  }
  return sized(s, w.pad / 2, w.pad);
}

ConvDepthwiseShape pair(int64_t channels, int64_t filters, int64_t height, int64_t width, const Window& first,
                        const Window& second, int64_t batch = 1) {
  ConvDepthwiseShape p;
  p.first = {.batch = batch, .channels = channels, .filters = filters};
  p.first.in[0] = height, p.first.in[1] = width;
  p.first.nchw = channels < channel_block;
  p.first = slid(p.first, first);
  p.second = {.batch = batch, .channels = filters, .filters = filters};
  for (int a : {0, 1}) p.second.in[a] = p.first.out[a];
  p.second = slid(p.second, second);
  return p;
}

/// The inputs of both convolutions, and their results when run one after the other.
struct Problem {
  Problem(Isa isa, const ConvDepthwiseShape& shape)
      : s(shape),
        x(size_of_x(shape)),
        bias(at(s.first.filters), random),
        depthwise_bias(bias.size(), random) {
    const BlockedShape &one = s.first, &two = s.second;
    for (int64_t n = 0; n < one.batch; ++n)
      for (int64_t c = 0; c < one.channels; ++c)
        for (int64_t p = 0; p < one.in_pixels(); ++p) x.data()[at(place(n, c, p))] = random();
    const Fenced w(at(one.filters * one.channels * one.taps()), random),
        dw(at(two.filters * two.taps()), random);
    WorkerContext c;
    weights = Fenced(at(cpu::direct_weights_size(isa, one)));
    cpu::pack_direct_weights(isa, one, w.data(), weights.data(), c);
    depthwise_weights = Fenced(at(cpu::depthwise_weights_size(two)));
    cpu::pack_depthwise_weights(two, dw.data(), depthwise_weights.data());
  }
  static size_t size_of_x(const ConvDepthwiseShape& s) {
    return at(s.first.batch * s.first.in_pixels() *
              (s.first.nchw ? s.first.channels : s.first.in_blocks() * channel_block));
  }
  int64_t place(int64_t n, int64_t c, int64_t pixel) const {
    const BlockedShape& one = s.first;
    if (one.nchw) return (n * one.channels + c) * one.in_pixels() + pixel;
    return ((n * one.in_blocks() + c / channel_block) * one.in_pixels() + pixel) * channel_block +
           c % channel_block;
  }

  std::vector<float> one_after_the_other(Isa isa) const {
    const BlockedShape &one = s.first, &two = s.second;
    WorkerContext c;
    Fenced between(at(one.batch * one.out_blocks() * one.out_pixels() * channel_block)),
        y(at(two.batch * two.out_blocks() * two.out_pixels() * channel_block));
    cpu::direct_convolution(
        isa, one, {.x = x.data(), .weights = weights.data(), .bias = bias.data(), .y = between.data()},
        c.workspace(cpu::direct_workspace(isa, one, false, 1)), c);
    if (s.between.op)
      cpu::apply_unary(isa, *s.between.op, between.data(), between.data(),
                       static_cast<int64_t>(between.size()), s.between.a, s.between.b, c);
    if (s.pools)
      cpu::blocked_maximum(isa, two, between.data(), y.data(), c);
    else
      cpu::depthwise_convolution(isa, two,
                                 {.x = between.data(),
                                  .weights = depthwise_weights.data(),
                                  .bias = depthwise_bias.data(),
                                  .y = y.data()},
                                 nullptr, c);
    return {y.data(), y.data() + y.size()};
  }

  std::vector<float> together(Isa isa, int threads) const {
    const BlockedShape& two = s.second;
    Fenced y(at(two.batch * two.out_blocks() * two.out_pixels() * channel_block)), means(means_size(two)),
        scratch(cpu::conv_depthwise_workspace(isa, s, false, threads) / sizeof(float));
    SignFlipper flipper(y);
    EpilogueContext c(threads, &flipper);
    cpu::ConvDepthwiseImages images{
        .x = x.data(), .weights = weights.data(), .bias = bias.data(), .y = y.data()};
    if (!s.pools)
      images.depthwise_weights = depthwise_weights.data(), images.depthwise_bias = depthwise_bias.data(),
      images.row_means = means.data();
    cpu::conv_depthwise(isa, s, images, scratch.data(), c);
    EXPECT_TRUE(y.intact());
    EXPECT_TRUE(scratch.intact());
    EXPECT_TRUE(flipper.once());
    if (!s.pools) expect_row_means(two, y.data(), means);
    EXPECT_EQ(c.polls > 0, y.size() > 0);
    return flipper.undone();
  }

  ConvDepthwiseShape s;
  Random random{7};
  Fenced x, bias, depthwise_bias, weights{0}, depthwise_weights{0};
};

class CpuBlockedConvDepthwise : public ::testing::Test {
 protected:
  // Results of bf16x3 have other bits.
  WithoutTiles without;

  static void check(ConvDepthwiseShape shape) {
    for (bool pools : {false, true}) {
      shape.pools = pools;
      check_one(shape);
    }
  }
  static void check_one(const ConvDepthwiseShape& shape) {
    for (Isa isa : usable_isas()) {
      SCOPED_TRACE(std::string(name_of(isa)) + ": " + text(shape.first) + "; then " + text(shape.second) +
                   (shape.pools ? ", pooled" : ""));
      const Problem p(isa, shape);
      const std::vector<float> want = p.one_after_the_other(isa);
      for (int threads : {1, 2, 5}) {
        const std::vector<float> got = p.together(isa, threads);
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(float)), 0)
              << got[i] << " for " << want[i] << " at " << i << ", " << threads << " threads";
      }
    }
  }
};

TEST_F(CpuBlockedConvDepthwise, Shapes) {
  // Images have several strips, with panels and blocks that are not full, some in NCHW.
  check(pair(16, 96, 56, 60, {.kernel = 1}, {.kernel = 3, .stride = 2, .pad = 1}));
  check(pair(24, 40, 50, 41, {.kernel = 1}, {.kernel = 3, .pad = 1}));
  check(pair(24, 56, 31, 64, {.kernel = 1}, {.kernel = 5, .stride = 2, .pad = 2}, 2));
  check(pair(3, 32, 70, 70, {.kernel = 3, .stride = 2, .pad = 1}, {.kernel = 3, .pad = 1}));
  check(pair(3, 24, 33, 29, {.kernel = 7, .pad = 3}, {.kernel = 5, .pad = 2}, 3));
  check(pair(17, 20, 20, 15, {.kernel = 3, .pad = 1}, {.kernel = 3, .stride = 1, .pad = 2, .dilation = 2}));
  check(pair(40, 33, 12, 300, {.kernel = 3, .stride = 2, .pad = 1, .dilation = 2}, {.kernel = 4}));
}

TEST_F(CpuBlockedConvDepthwise, EdgesOfTheImage) {
  check(pair(16, 16, 1, 1, {.kernel = 1}, {.kernel = 3, .pad = 2}));
  check(pair(16, 16, 1, 40, {.kernel = 1}, {.kernel = 1}));
  check(pair(16, 32, 40, 1, {.kernel = 1}, {.kernel = 3, .stride = 3, .pad = 2}));
  // Windows that see nothing but padding, in front and behind.
  check(pair(16, 16, 5, 5, {.kernel = 1}, {.kernel = 2, .pad = 7}));
  // Rows that no window sees.
  check(pair(16, 16, 90, 90, {.kernel = 1}, {.kernel = 2, .stride = 9}));
  // A row of more than a strip holds.
  check(pair(16, 16, 3, 9000, {.kernel = 1}, {.kernel = 3, .pad = 1}));
}

TEST_F(CpuBlockedConvDepthwise, WhatLiesBetween) {
  ConvDepthwiseShape s = pair(16, 40, 30, 30, {.kernel = 1}, {.kernel = 3, .pad = 1});
  for (const cpu::ConvDepthwiseActivation& f :
       {cpu::ConvDepthwiseActivation{UnaryOp::relu},
        cpu::ConvDepthwiseActivation{UnaryOp::clip, -0.25F, 0.5F},
        cpu::ConvDepthwiseActivation{UnaryOp::swish, 1.0F}, cpu::ConvDepthwiseActivation{UnaryOp::hard_swish},
        cpu::ConvDepthwiseActivation{UnaryOp::linear, 2.0F, 0.5F}}) {
    s.between = f;
    check(s);
  }
}

TEST_F(CpuBlockedConvDepthwise, NothingAtAll) {
  check(pair(16, 16, 0, 4, {.kernel = 1}, {.kernel = 1}));
  check(pair(16, 16, 4, 4, {.kernel = 1}, {.kernel = 1}, 0));
  // A first one without windows, whose image is smaller than a stride.
  const Window second{.kernel = 2, .pad = 2};
  ConvDepthwiseShape none = pair(16, 16, 1, 40, {.kernel = 3, .stride = 5, .pad = 1}, second);
  none.first.out[0] = none.second.in[0] = 0;
  none.second = slid(none.second, second);
  check(none);
  // An image without pixels, and windows that see its padding.
  check(pair(16, 16, 0, 0, {.kernel = 1}, {.kernel = 2, .pad = 2}));
}

TEST_F(CpuBlockedConvDepthwise, PaysWhereStripsRepeatLittle) {
  const auto pays = [](const ConvDepthwiseShape& s) { return cpu::pays_conv_depthwise(Isa::avx2, s); };
  EXPECT_TRUE(pays(pair(16, 96, 112, 112, {.kernel = 1}, {.kernel = 3, .stride = 2, .pad = 1})));
  EXPECT_TRUE(pays(pair(3, 32, 224, 224, {.kernel = 3, .stride = 2, .pad = 1}, {.kernel = 3, .pad = 1})));
  EXPECT_FALSE(pays(pair(16, 96, 28, 28, {.kernel = 1}, {.kernel = 3, .pad = 1}))) << "little lies between";
  EXPECT_FALSE(pays(pair(16, 96, 112, 1500, {.kernel = 1}, {.kernel = 3, .pad = 1}))) << "strips of few rows";
  EXPECT_FALSE(pays(pair(16, 96, 1, 9000, {.kernel = 1}, {.kernel = 3, .pad = 1}))) << "one row";
  EXPECT_FALSE(pays(pair(32, 96, 112, 112, {.kernel = 3, .pad = 1}, {.kernel = 3, .pad = 1}))) << "Winograd";
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
