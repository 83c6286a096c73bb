// auto_pad and output_shape as pads: what becomes of convolutions and pools, where sizes are numbers and
// where they are not.
#include <gtest/gtest.h>

#include <random>

#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using Ints = std::vector<int64_t>;

/// Returns the operators and their attributes of padding, as text.
std::string attributes_of(std::string_view text) {
  const auto g = optimized_graph(text);
  std::string all;
  for (NodeId id : g->order()) {
    const Node& n = g->node(id);
    all += (all.empty() ? "" : " ") + n.op;
    for (const char* name : {"auto_pad", "ceil_mode", "output_shape"}) {
      if (n.attributes.has(name)) all += std::string(" ") + name;
    }
    for (int64_t p : n.attributes.get<Ints>("pads", {})) all += " " + std::to_string(p);
  }
  return all;
}

TEST(ExplicitPadding, ConvolutionsOfKnownSizes) {
  EXPECT_EQ(attributes_of("(float[1,2,7,8] x, float[3,2,3,4] w) => (float[1,3,4,4] y)"
                          "{ y = Conv<auto_pad=\"SAME_UPPER\", strides=[2,2]>(x, w) }"),
            "Conv 1 1 1 1");
  EXPECT_EQ(attributes_of("(float[1,2,7,8] x, float[3,2,2,4] w) => (float[1,3,7,8] y)"
                          "{ y = Conv<auto_pad=\"SAME_LOWER\">(x, w) }"),
            "Conv 1 2 0 1");
  EXPECT_EQ(attributes_of("(float[1,2,7,8] x, float[3,2,2,4] w) => (float[1,3,6,5] y)"
                          "{ y = Conv<auto_pad=\"VALID\">(x, w) }"),
            "Conv 0 0 0 0");
  EXPECT_EQ(attributes_of("(uint8[1,2,7] x, uint8[3,2,3] w) => (int32[1,3,7] y)"
                          "{ y = ConvInteger<auto_pad=\"SAME_UPPER\">(x, w) }"),
            "ConvInteger 1 1");
  EXPECT_EQ(
      attributes_of("(uint8[1,2,9] x, uint8[3,2,4] w) => (uint8[1,3,5] y) <float s = {0.5}, uint8 z = {1}>"
                    "{ y = QLinearConv<auto_pad=\"SAME_LOWER\", strides=[2]>(x, s, z, w, s, z, s, z) }"),
      "QLinearConv 2 1");
}

TEST(ExplicitPadding, StridesOfOneLeaveSizesOpen) {
  EXPECT_EQ(attributes_of("(float[n,2,h,w] x, float[3,2,3,5] f) => (float[n,3,h,w] y)"
                          "{ y = Conv<auto_pad=\"SAME_UPPER\", dilations=[2,1]>(x, f) }"),
            "Conv 2 2 2 2");
  EXPECT_EQ(attributes_of("(float[n,2,h] x) => (float[n,2,h] y)"
                          "{ y = MaxPool<auto_pad=\"SAME_LOWER\", kernel_shape=[4]>(x) }"),
            "MaxPool 2 1");
  // If a size is not known, the padding of such windows is not either.
  EXPECT_EQ(attributes_of("(float[n,2,h] x) => (float[n,2,m] y)"
                          "{ y = MaxPool<auto_pad=\"SAME_LOWER\", kernel_shape=[4], strides=[2]>(x) }"),
            "MaxPool auto_pad");
  EXPECT_EQ(attributes_of("(float[n,2,h] x, float[k,2,r] f) => (float[n,k,h] y)"
                          "{ y = Conv<auto_pad=\"SAME_UPPER\">(x, f) }"),
            "Conv auto_pad");
}

TEST(ExplicitPadding, Pools) {
  // SAME rounds sizes up and VALID rounds them down, for any ceil_mode.
  EXPECT_EQ(attributes_of("(float[1,2,8] x) => (float[1,2,4] y)"
                          "{ y = AveragePool<auto_pad=\"SAME_UPPER\", kernel_shape=[3], strides=[2], "
                          "count_include_pad=1, ceil_mode=1>(x) }"),
            "AveragePool 0 1");
  EXPECT_EQ(
      attributes_of("(float[1,2,8] x) => (float[1,2,3] y)"
                    "{ y = LpPool<auto_pad=\"VALID\", kernel_shape=[3], strides=[2], ceil_mode=1>(x) }"),
      "LpPool 0 0");
  EXPECT_EQ(attributes_of("(float[1,2,5] x) => (float[1,2,3] y, int64[1,2,3] i)"
                          "{ y, i = MaxPool<auto_pad=\"SAME_UPPER\", kernel_shape=[2], strides=[2]>(x) }"),
            "MaxPool 0 1");
  // Windows that are further apart than they are wide.
  EXPECT_EQ(attributes_of("(float[1,2,7] x) => (float[1,2,3] y)"
                          "{ y = MaxPool<auto_pad=\"SAME_UPPER\", kernel_shape=[1], strides=[3]>(x) }"),
            "MaxPool 0 0");
}

TEST(ExplicitPadding, TransposedConvolutions) {
  EXPECT_EQ(attributes_of("(float[1,2,5] x, float[2,3,5] f) => (float[1,3,10] y)"
                          "{ y = ConvTranspose<auto_pad=\"SAME_UPPER\", strides=[2]>(x, f) }"),
            "ConvTranspose 1 2");
  EXPECT_EQ(attributes_of("(float[n,2,l] x, float[2,3,4] f) => (float[n,3,m] y)"
                          "{ y = ConvTranspose<auto_pad=\"SAME_LOWER\", strides=[3]>(x, f) }"),
            "ConvTranspose 1 0");
  EXPECT_EQ(attributes_of("(float[1,2,5] x, float[2,3,5] f) => (float[1,3,9] y)"
                          "{ y = ConvTranspose<strides=[2], output_shape=[9], pads=[7,7]>(x, f) }"),
            "ConvTranspose 2 2");
  // More than there is: no padding is negative.
  EXPECT_EQ(attributes_of("(float[1,2,5] x, float[2,3,2] f) => (float[1,3,20] y)"
                          "{ y = ConvTranspose<strides=[2], output_shape=[20]>(x, f) }"),
            "ConvTranspose output_shape");
  // Explicit pads stay what they are.
  EXPECT_EQ(attributes_of("(float[1,2,5] x, float[2,3,3] f) => (float[1,3,9] y)"
                          "{ y = ConvTranspose<strides=[2], pads=[1,1]>(x, f) }"),
            "ConvTranspose 1 1");
}

TEST(ExplicitPadding, SameResultsForWindowsOfAllKinds) {
  std::mt19937 random(3);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto pair = [](const char* name, int64_t a, int64_t b) {
    return std::string(name) + "=[" + std::to_string(a) + "," + std::to_string(b) + "]";
  };
  for (int i = 0; i < 120; ++i) {
    const int64_t h = draw(1, 12), w = draw(1, 12), kh = draw(1, 4), kw = draw(1, 4);
    const std::string how = std::array{"SAME_UPPER", "SAME_LOWER", "VALID"}[static_cast<size_t>(draw(0, 2))];
    const std::string windows = "auto_pad=\"" + how + "\", " + pair("strides", draw(1, 4), draw(1, 4)) +
                                ", " + pair("kernel_shape", kh, kw);
    const std::string dilations = ", " + pair("dilations", draw(1, 2), draw(1, 2));
    const bool fits = how != "VALID" || (h > 2 * kh && w > 2 * kw);
    if (!fits) continue;
    const std::string x = "(float[2,4," + std::to_string(h) + "," + std::to_string(w) + "] x",
                      y = ") => (float[2,c,p,q] y) ",
                      kernel = std::to_string(kh) + "," + std::to_string(kw) + "] f" + y;
    for (const std::string& text :
         {x + ", float[6,2," + kernel + "{ y = Conv<group=2, " + windows + dilations + ">(x, f) }",
          x + ", float[4,3," + kernel + "{ y = ConvTranspose<" + windows + ">(x, f) }",
          x + y + "{ y = MaxPool<ceil_mode=1, " + windows + dilations + ">(x) }",
          x + y + "{ y = AveragePool<count_include_pad=" + std::to_string(draw(0, 1)) + ", ceil_mode=1, " +
              windows + dilations + ">(x) }",
          x + y + "{ y = LpPool<" + windows + ">(x) }"}) {
      const auto g = optimized_graph(text);  // which compares
      for (NodeId id : g->order()) {
        const Node& n = g->node(id);
        EXPECT_TRUE(n.op == "ConvTranspose" || !n.attributes.has("auto_pad")) << text;
      }
    }
  }
}

TEST(TransposedConv, WindowsSideBySide) {
  const auto numbers = [](int64_t n) {
    std::string all;
    for (int64_t i = 0; i < n; ++i) all += (i ? "," : "") + std::to_string(i * 7 % 11 - 5);
    return "{" + all + "}";
  };
  const auto becomes = [&](const std::string& attributes, const std::string& inputs = "x, w, b",
                           int64_t window = 2, int64_t filters = 16) {
    const std::string size = std::to_string(window), m = std::to_string(filters);
    const std::string text = "(float[n,6,h,5] x, float[16] d) => (float[n,c,p,q] y) <float[6," + m + "," +
                             size + "," + size + "] w = " + numbers(6 * filters * window * window) +
                             ", float[16] b = " + numbers(16) + ">{ y = ConvTranspose<" + attributes + ">(" +
                             inputs + ") }";
    const auto g = optimized_graph(text);  // which compares
    std::string all;
    for (NodeId id : g->order()) all += (all.empty() ? "" : " ") + g->node(id).op;
    return all;
  };
  const std::string conv = "Conv DepthToSpace", stays = "ConvTranspose";
  EXPECT_EQ(becomes("strides=[2,2]"), conv);
  EXPECT_EQ(becomes("strides=[2,2]", "x, w"), conv);
  EXPECT_EQ(becomes("strides=[2,2], pads=[0,0,0,0], output_padding=[0,0], dilations=[1,1]"), conv);
  EXPECT_EQ(becomes("strides=[2,2], auto_pad=\"VALID\""), conv);
  EXPECT_EQ(becomes("strides=[3,3]", "x, w, b", 3), conv);
  EXPECT_EQ(becomes("strides=[4,4]", "x, w", 4, 32), conv);
  // Windows that meet, gaps, padding, groups, filters that fill no blocks, a bias that is computed.
  EXPECT_EQ(becomes("strides=[1,1]"), "Conv");
  EXPECT_EQ(becomes("strides=[3,3]"), stays);
  EXPECT_EQ(becomes("strides=[2,1]"), stays);
  EXPECT_EQ(becomes("strides=[2,2], pads=[1,0,0,1]"), stays);
  EXPECT_EQ(becomes("strides=[2,2], output_padding=[1,0]"), stays);
  EXPECT_EQ(becomes("strides=[2,2], group=2", "x, w", 2, 8), stays);
  EXPECT_EQ(becomes("strides=[2,2], dilations=[2,2]"), stays);
  EXPECT_EQ(becomes("strides=[2,2]", "x, w, d"), stays);
  EXPECT_EQ(becomes("strides=[2,2]", "x, w", 2, 15), stays);
}

TEST(TransposedConv, WindowsThatStepByOne) {
  const auto becomes = [](const std::string& attributes, const std::string& kernel, int64_t taps,
                          const std::string& sizes = "h,5", const std::string& group = "4") {
    std::string numbers;
    for (int64_t i = 0; i < 6 * std::stoi(group) * taps; ++i)
      numbers += (i ? "," : "") + std::to_string(i * 7 % 11 - 5);
    std::string y;
    for (int64_t i = 0; i < std::ranges::count(sizes, ',') + 1; ++i) y += ",y" + std::to_string(i);
    const auto g = optimized_graph("(float[n,6," + sizes + "] x, float[4] d) => (float[n,c" + y +
                                   "] y) <float[6," + group + "," + kernel + "] w = {" + numbers +
                                   "}>{ y = ConvTranspose<" + attributes + ">(x, w, d) }");  // which compares
    std::string all;
    for (NodeId id : g->order()) all += (all.empty() ? "" : " ") + g->node(id).op;
    return all;
  };
  const std::string stays = "ConvTranspose";
  EXPECT_EQ(becomes("strides=[1,1]", "2,3", 6), "Conv");
  EXPECT_EQ(becomes("kernel_shape=[2,3]", "2,3", 6), "Conv");
  EXPECT_EQ(becomes("pads=[1,0,0,2]", "2,3", 6), "Conv");
  EXPECT_EQ(becomes("auto_pad=\"VALID\", dilations=[2,1]", "2,3", 6), "Conv");
  EXPECT_EQ(becomes("group=2, dilations=[2,1], pads=[2,1,1,2]", "2,3", 6, "h,5", "2"), "Conv");
  EXPECT_EQ(becomes("pads=[1,3]", "4", 4, "9"), "Conv");
  EXPECT_EQ(becomes("pads=[0,1,0,1,0,1]", "2,2,3", 12, "3,h,5"), "Conv");
  EXPECT_EQ(becomes("auto_pad=\"SAME_UPPER\"", "2,3", 6), "Conv");
  // Pads exceed the kernel, steps are larger, or sizes are given.
  EXPECT_EQ(becomes("pads=[2,0,0,0]", "2,3", 6), stays);
  EXPECT_EQ(becomes("strides=[1,2]", "2,3", 6), stays);
  EXPECT_EQ(becomes("output_shape=[7,7]", "2,3", 6, "5,5"), stays);
}

TEST(FoldedPadding, IntoConvolutionsAndPools) {
  const std::string head =
      "(float[1,2,5,6] x) => (float[1,i,j,k] y) <int64[8] p = {0,0,1,0,0,0,1,2}, int64[4] q = {1,2,1,1}, "
      "int64[2] last = {2,-1}, int64[8] wide = {0,0,3,0,0,0,0,0}, int64[8] channels = {0,1,0,0,0,0,0,0}, "
      "int64[8] less = {0,0,-1,0,0,0,0,0}, float zero = {0}, float one = {1}, float low = {-inf}, "
      "float[3,2,3,3] w = "
      "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
      "17,18,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18}> ";
  const auto of = [&](const std::string& text) { return attributes_of(head + "{ " + text + " }"); };
  EXPECT_EQ(of("a = Pad(x, p) y = Conv(a, w)"), "Conv 1 0 1 2");
  EXPECT_EQ(of("a = Pad(x, q, zero, last) y = Conv<pads=[1,1,1,1]>(a, w)"), "Conv 2 3 2 2");
  EXPECT_EQ(of("a = Pad(x, p) y = AveragePool<kernel_shape=[3,3]>(a)"), "AveragePool 1 0 1 2");
  EXPECT_EQ(of("a = Pad(x, p, low) y = MaxPool<kernel_shape=[3,3], strides=[2,2]>(a)"), "MaxPool 1 0 1 2");
  EXPECT_EQ(of("r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape=[3,3], pads=[1,1,1,0]>(a)"),
            "Relu MaxPool 2 1 2 2");
  // Elements may be below the zeros, padding is not counted, or windows see nothing else or exceed the image.
  EXPECT_EQ(of("a = Pad(x, p) y = MaxPool<kernel_shape=[3,3]>(a)"), "Pad MaxPool");
  EXPECT_EQ(of("r = Relu(x) a = Pad(r, p, one) y = MaxPool<kernel_shape=[3,3]>(a)"), "Relu Pad MaxPool");
  EXPECT_EQ(of("a = Pad(x, p) y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(a)"),
            "Pad AveragePool 1 1 1 1");
  EXPECT_EQ(of("a = Pad(x, wide) y = AveragePool<kernel_shape=[3,3]>(a)"), "Pad AveragePool");
  EXPECT_EQ(of("a = Pad(x, p) y = AveragePool<kernel_shape=[2,2], strides=[2,2], ceil_mode=1>(a)"),
            "Pad AveragePool ceil_mode");
  // Other fillings, channels, and what is taken away.
  EXPECT_EQ(of("a = Pad(x, p, one) y = Conv(a, w)"), "Pad Conv");
  EXPECT_EQ(of("a = Pad<mode=\"edge\">(x, p) y = Conv(a, w)"), "Pad Conv");
  EXPECT_EQ(of("a = Pad(x, channels) y = MaxPool<kernel_shape=[3,3]>(a)"), "Pad MaxPool");
  EXPECT_EQ(of("a = Pad(x, less) y = Conv(a, w)"), "Pad Conv");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
