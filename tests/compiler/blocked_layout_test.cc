// Tests which operators the builder runs in nChw16c, and that the answers stay the same.
#include <gtest/gtest.h>

#include <map>

#include "base/cpu.h"
#include "lathe/lathe.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::inputs_of;
using testing::model_of;

/// The steps, "BlockedConv+Relu", after checking the answers against those without any optimization.
std::string steps_of(std::string_view text) {
  const onnx::Model m = model_of(text);
  const Engine plain = Engine::build(m, {.level = OptimizationLevel::none}), e = Engine::build(m);
  for (int64_t free : {20, 13}) {
    const std::vector<Value> want = plain.create_context().run(inputs_of(plain, free)),
                             got = e.create_context().run(inputs_of(e, free));
    for (size_t i = 0; i < want.size(); ++i) {
      double most = 0;
      for (float x : want[i].tensor().as<float>()) most = std::max<double>(most, std::abs(x));
      const Comparison c = compare(got[i], want[i], 1e-4 * most, 0);
      EXPECT_TRUE(c.equal) << text << ": " << c.reason;
    }
  }
  std::string steps;
  for (const StepInfo& s : e.steps()) {
    steps += (steps.empty() ? "" : " ") + s.op;
    for (const std::string& op : s.fused) steps += "+" + op;
  }
  return steps;
}

class BlockedLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_features().avx2) GTEST_SKIP() << "only where there is AVX2";
  }
};

TEST_F(BlockedLayout, FromTheImageToTheClassifier) {
  EXPECT_EQ(
      steps_of("(float[1,3,h,w] x) => (float[1,32,1,1] y) <float[16,3,3,3] a = {}, float[16] b = {}, "
               "float[32,16,3,3] c = {}>"
               "{ p = Conv<pads=[1,1,1,1], strides=[2,2]>(x, a, b) q = Relu(p)"
               "  r = MaxPool<kernel_shape=[2,2]>(q) s = Conv(r, c) t = Relu(s) y = GlobalAveragePool(t) }"),
      "BlockedConv+Relu BlockedMaxPool BlockedConv+Relu BlockedGlobalAveragePool Unblock");
}

TEST_F(BlockedLayout, ResidualsGatesAndConstants) {
  // A gate for each channel and a constant of each channel come in blocks too; channels need not fill them.
  EXPECT_EQ(
      steps_of(
          "(float[2,24,9,h] x) => (float[2,24,9,h] y) <float[24,24,3,3] a = {}, float[24,24,1,1] g = {}, "
          "float[24,1,1] k = {}>"
          "{ p = Conv<pads=[1,1,1,1]>(x, a) m = GlobalAveragePool(p) n = Conv(m, g) o = Sigmoid(n)"
          "  q = Mul(p, o) r = Mul(q, k) y = Add(r, x) }"),
      "Block BlockedConv BlockedGlobalAveragePool BlockedConv+Sigmoid Pointwise+Mul+Mul+Add Unblock");
}

TEST_F(BlockedLayout, SideBySide) {
  EXPECT_EQ(
      steps_of(
          "(float[1,16,7,7] x) => (float[1,40,7,7] y) <float[32,16,1,1] a = {}, float[20,16,1,1] c = {}, "
          "float[40,52,3,3] b = {}>"
          "{ p = Conv(x, a) q = Conv(x, c) r = Concat<axis=1>(p, q) y = Conv<pads=[1,1,1,1]>(r, b) }"),
      "Block BlockedConv BlockedConv Concat BlockedConv Unblock");
  // Blocks that are not full are allowed only at the end.
  EXPECT_EQ(
      steps_of(
          "(float[1,16,7,7] x) => (float[1,40,7,7] y) <float[32,16,1,1] a = {}, float[20,16,1,1] c = {}, "
          "float[40,52,3,3] b = {}>"
          "{ p = Conv(x, a) q = Conv(x, c) r = Concat<axis=1>(q, p) y = Conv<pads=[1,1,1,1]>(r, b) }"),
      "Conv Conv Concat Block BlockedConv Unblock");
}

TEST_F(BlockedLayout, PixelsThatAreResized) {
  const auto of = [](const std::string& numbers, const std::string& resize, const std::string& rest) {
    return steps_of(
        "(float[1,16,5,7] x) => (float[1,20,p,q] y) <float[20,16,3,3] a = {}, float[20,20,3,3] b "
        "= {}, " +
        numbers + "> { p = Conv<pads=[1,1,1,1]>(x, a) r = Resize" + resize + " " + rest + " }");
  };
  const std::string conv = "y = Conv<pads=[1,1,1,1]>(r, b)",
                    there = "Block BlockedConv Resize BlockedConv Unblock";
  EXPECT_EQ(of("float[4] by = {1,1,2,2}", "(p, , by)", conv), there);
  EXPECT_EQ(of("float[4] by = {1,1,1.5,2.5}", "<mode=\"linear\">(p, , by)", conv), there);
  EXPECT_EQ(of("int64[4] to = {1,20,8,8}",
               "<mode=\"linear\", coordinate_transformation_mode=\"align_corners\">"
               "(p, , , to)",
               conv),
            there);
  EXPECT_EQ(of("float[2] by = {2,3}", "<axes=[3,2]>(p, , by)", conv), there);
  // Resizing of channels, other modes, and values that leave the layout at once.
  EXPECT_EQ(of("float[4] by = {1,2,1,1}", "(p, , by)",
               "l, m = Split<axis=1, num_outputs=2>(r) s = Add(l, m) y = Conv<pads=[1,1,1,1]>(s, b)"),
            "Block BlockedConv Unblock Resize Split Add Block BlockedConv Unblock");
  EXPECT_EQ(of("float[4] by = {1,1,2,2}", "<mode=\"cubic\">(p, , by)", conv),
            "Block BlockedConv Unblock Resize Block BlockedConv Unblock");
  EXPECT_EQ(of("float[4] by = {1,1,2,2}", "(p, , by)", "y = Sigmoid(r)"),
            "Block BlockedConv Unblock Resize+Sigmoid");
}

TEST_F(BlockedLayout, ChannelsThatAreSplit) {
  const auto of = [](const std::string& sizes) {
    return steps_of(
        "(float[2,16,5,7] x) => (float[2,40,5,7] y) <float[40,16,3,3] a = {}, float[40,40,3,3] b = "
        "{}, int64[2] s = {" +
        sizes +
        "}> { p = Conv<pads=[1,1,1,1]>(x, a) l, m = Split<axis=1>(p, s) n = Relu(m) r = "
        "Concat<axis=1>(l, n) y = Conv<pads=[1,1,1,1]>(r, b) }");
  };
  EXPECT_EQ(of("16,24"), "Block BlockedConv Split Relu Concat BlockedConv Unblock");
  EXPECT_EQ(of("24,16"), "Block BlockedConv Unblock Split Relu Concat Block BlockedConv Unblock");
}

TEST_F(BlockedLayout, ImagesThatGrow) {
  EXPECT_EQ(steps_of("(float[2,16,h,5] x) => (float[2,20,p,q] y) <float[32,16,3,3] a = {}, "
                     "float[32,48,2,2] u = {}, float[48] v = {}, float[20,48,3,3] b = {}>"
                     "{ p = Conv<pads=[1,1,1,1]>(x, a) q = ConvTranspose<strides=[2,2]>(p, u, v) r = Relu(q)"
                     "  y = Conv<pads=[1,1,1,1]>(r, b) }"),
            "Block BlockedConv BlockedConv BlockedDepthToSpace Relu BlockedConv Unblock");
  // It stays in NCHW beside values that are not in blocks, with channels in front, or if blocks have other
  // channels.
  EXPECT_EQ(steps_of("(float[1,16,h,5] x) => (float[1,20,p,q] y) <float[64,16,3,3] a = {}, "
                     "float[20,16,3,3] b = {}>"
                     "{ p = Conv<pads=[1,1,1,1]>(x, a) q = DepthToSpace<blocksize=2, mode=\"CRD\">(p)"
                     "  y = Conv<pads=[1,1,1,1]>(q, b) }"),
            "Block BlockedConv Unblock DepthToSpace Block BlockedConv Unblock");
  EXPECT_EQ(steps_of("(float[1,16,h,5] x) => (float[1,20,p,q] y) <float[72,16,3,3] a = {}, "
                     "float[20,8,3,3] b = {}>"
                     "{ p = Conv<pads=[1,1,1,1]>(x, a) q = DepthToSpace<blocksize=3>(p)"
                     "  y = Conv<pads=[1,1,1,1]>(q, b) }"),
            "Block BlockedConv Unblock DepthToSpace BlockedConv Unblock");
}

TEST_F(BlockedLayout, PoolsWithoutPaddingRoundDown) {
  // With auto_pad VALID ceil_mode has no effect.
  for (const char* op : {"MaxPool", "AveragePool"})
    EXPECT_EQ(steps_of("(float[1,16,9,h] x) => (float[1,16,p,q] y) <float[16,16,3,3] a = {}>"
                       "{ c = Conv<pads=[1,1,1,1]>(x, a) y = " +
                       std::string(op) +
                       "<kernel_shape=[2,2], strides=[2,2], auto_pad=\"VALID\", ceil_mode=1>(c) }"),
              "Block BlockedConv Blocked" + std::string(op) + " Unblock");
}

TEST_F(BlockedLayout, SoundsHaveOneAxis) {
  EXPECT_EQ(
      steps_of(
          "(float[2,1,w] x) => (float[2,80,v] y, float[2,48,1] z) <float[32,1,10] a = {}, float[48,32,3] b = "
          "{}, "
          "float[48,1] s = {}, float[48,1,3] d = {}, float[48] e = {}>"
          "{ p = Conv<strides=[2]>(x, a) q = MaxPool<kernel_shape=[3], pads=[1,1]>(p)"
          "  r = Conv<pads=[1,1]>(q, b) o = Relu(r) t = Mul(o, s) u = Conv<group=48, pads=[2,2], "
          "dilations=[2]>(t, d, e)"
          "  y = Concat<axis=1>(q, u) z = GlobalAveragePool(u) }"),
      "BlockedConv BlockedMaxPool BlockedConv+Relu+Mul BlockedConv+RowMeans Concat Unblock "
      "BlockedGlobalAveragePool Unblock");
  // Operands of another rank are not beside one another as they seem to be.
  EXPECT_EQ(
      steps_of("(float[32,4,w] x) => (float[32,32,32,v] y) <float[32,4,3] a = {}, float[32,32,1] b = {}, "
               "float[32,32,1,1] c = {}>"
               "{ p = Conv(x, a) q = Conv(p, b) y = Add(q, c) }"),
      "BlockedConv BlockedConv Unblock Add");
}

TEST_F(BlockedLayout, ChannelsGoLastAtOnce) {
  // A detector's head: three boxes of 14 numbers, of which functions are taken where they are made.
  EXPECT_EQ(steps_of("(float[2,16,h,6] x) => (float[2,3,h,6,14] y) <float[42,16,3,3] a = {}, "
                     "int64[5] s = {2, 3, 14, -1, 6}>"
                     "{ c = Conv<pads=[1,1,1,1]>(x, a) r = Reshape(c, s) t = Transpose<perm=[0,1,3,4,2]>(r) "
                     "y = Sigmoid(t) }"),
            "Block BlockedConv+Sigmoid ChannelsLast");
  // The parts are made at once if nothing else reads the whole and they are along the last axis.
  const auto head = [](const std::string& outputs, const std::string& rest) {
    return "(float[2,16,h,6] x) => (" + outputs +
           ") <float[42,16,3,3] a = {}, int64[5] s = {2, 3, 14, -1, 6}, int64[3] p = {2, 1, 11}>"
           "{ c = Conv<pads=[1,1,1,1]>(x, a) r = Reshape(c, s) t = Transpose<perm=[0,1,3,4,2]>(r) " +
           rest + " }";
  };
  const std::string parts = "float[2,3,h,6,2] b, float[2,3,h,6,1] d, float[2,3,h,6,11] e";
  EXPECT_EQ(steps_of(head(parts, "b, d, e = Split<axis=-1>(t, p)")), "Block BlockedConv ChannelsLast");
  EXPECT_EQ(steps_of(head(parts + ", float[2,3,h,6,14] t", "b, d, e = Split<axis=4>(t, p)")),
            "Block BlockedConv ChannelsLast Split");
  EXPECT_EQ(
      steps_of(head("float[2,1,h,6,14] b, float[2,2,h,6,14] d", "b, d = Split<axis=1, num_outputs=2>(t)")),
      "Block BlockedConv ChannelsLast Split");
  EXPECT_EQ(steps_of("(float[1,16,h,6] x) => (float[1,h,6,40] y, float[1,40,h,6] z) <float[40,16,3,3] a = {}>"
                     "{ z = Conv<pads=[1,1,1,1]>(x, a) y = Transpose<perm=[0,2,3,1]>(z) }"),
            "Block BlockedConv Unblock ChannelsLast");
  EXPECT_EQ(steps_of("(float[2,16,w] x) => (float[2,w,40] y) <float[40,16,3] a = {}>"
                     "{ c = Conv<pads=[1,1]>(x, a) y = Transpose<perm=[0,2,1]>(c) }"),
            "Block BlockedConv ChannelsLast");
  // Tensors without a second axis have no channels: the pass must not look for their sizes.
  for (const char* from : {"3, 2", "2, 3"})
    EXPECT_EQ(steps_of("(float[6] x) => (float[a,b] y) <int64[2] s = {" + std::string(from) +
                       "}> { r = Reshape(x, s) y = Transpose(r) }"),
              "Reshape Transpose");
  // Another order of axes is not NHWC, nor are groups of channels beside other pixels.
  EXPECT_EQ(steps_of("(float[1,16,h,6] x) => (float[1,6,h,40] y) <float[40,16,3,3] a = {}>"
                     "{ c = Conv<pads=[1,1,1,1]>(x, a) y = Transpose<perm=[0,3,2,1]>(c) }"),
            "Block BlockedConv Unblock Transpose");
  EXPECT_EQ(
      steps_of("(float[1,16,h,6] x) => (float[1,4,6,h,10] y) <float[40,16,3,3] a = {}, "
               "int64[5] s = {1, 4, 10, 6, -1}>"
               "{ c = Conv<pads=[1,1,1,1]>(x, a) r = Reshape(c, s) y = Transpose<perm=[0,1,3,4,2]>(r) }"),
      "Block BlockedConv Unblock Reshape Transpose");
}

TEST_F(BlockedLayout, NormsOfChannelsAndGroups) {
  EXPECT_EQ(steps_of("(float[2,1,w] x) => (float[2,24,v] y) <float[48,1,10] a = {}, float[48] s = {}, "
                     "float[48] t = {}, float[24,48,3] b = {}>"
                     "{ p = Conv<strides=[2]>(x, a) q = InstanceNormalization(p, s, t) r = Gelu(q)"
                     "  y = Conv(r, b) }"),
            "BlockedConv BlockedGroupNormalization+Gelu BlockedConv Unblock");
  // Groups of ten channels do not coincide with blocks.
  EXPECT_EQ(steps_of("(float[1,16,h,5] x) => (float[1,40,h,5] y) <float[40,16,3,3] a = {}, float[40] s = {}, "
                     "float[40] t = {}, float[40,40,1,1] b = {}>"
                     "{ p = Conv<pads=[1,1,1,1]>(x, a) q = GroupNormalization<num_groups=4>(p, s, t)"
                     "  g = Sigmoid(q) r = Mul(q, g) u = Conv(r, b) y = Add(u, p) }"),
            "Block BlockedConv BlockedGroupNormalization+Swish BlockedConv+Add Unblock");
}

TEST_F(BlockedLayout, InputsAreScaledAsTheyAreRead) {
  const std::string head = "(float[n,16,28,28] x) => (float[n,48,28,28] y",
                    weights =
                        "<float[32,16,1,1] a = {}, float[32,1,1] f = {}, float[32,1,1] s = {}, "
                        "float[16,32,1,1] b = {}, float least = {0}, float most = {6}>",
                    first = "{ p = Conv(x, a)", join = " y = Concat<axis=1>(p, c) }";
  // Others read what is scaled as it is.
  EXPECT_EQ(steps_of(head + ")" + weights + first +
                     " m = Mul(p, f) t = Add(s, m) r = Relu(t) c = Conv(r, b)" + join),
            "Block BlockedConv BlockedConv Concat Unblock");
  EXPECT_EQ(steps_of(head + ")" + weights + first + " t = Add(p, s) r = Clip(t, least, most) c = Conv(r, b)" +
                     join),
            "Block BlockedConv BlockedConv Concat Unblock");
  EXPECT_EQ(steps_of(head + ")" + weights + first + " r = Relu(p) c = Conv(r, b)" + join),
            "Block BlockedConv BlockedConv Concat Unblock");
  // Without another reader it is fused into its producer; a value that is an output must exist.
  EXPECT_EQ(steps_of("(float[n,16,28,28] x) => (float[n,16,28,28] y)" + weights + first +
                     " m = Mul(p, f) t = Add(s, m) r = Relu(t) y = Conv(r, b) }"),
            "Block BlockedConv+Relu BlockedConv Unblock");
  EXPECT_EQ(steps_of(head + ", float[n,32,28,28] r)" + weights + first +
                     " m = Mul(p, f) t = Add(s, m) r = Relu(t) c = Conv(r, b)" + join),
            "Block BlockedConv Pointwise+Mul+Add+Relu Unblock BlockedConv Concat Unblock");
}

TEST_F(BlockedLayout, GatesAreMultipliedWithWeights) {
  const std::string image = "(float[2,16,28,28] x) => (float[2,24,28,28] y)",
                    weights = "<float[40,16,3,3] a = {}, float[40,40,1,1] g = {}, float[24,40,1,1] b = {}>",
                    gate =
                        "{ p = Conv<pads=[1,1,1,1]>(x, a) m = GlobalAveragePool(p) n = Conv(m, g)"
                        "  o = Sigmoid(n)",
                    fused =
                        "Block BlockedConv BlockedGlobalAveragePool BlockedConv+Sigmoid BlockedConv Unblock";
  EXPECT_EQ(steps_of(image + weights + gate + " q = Mul(p, o) y = Conv(q, b) }"), fused);
  EXPECT_EQ(steps_of(image + weights + gate + " q = Mul(o, p) r = Conv(q, b) y = Relu(r) }"),
            "Block BlockedConv BlockedGlobalAveragePool BlockedConv+Sigmoid BlockedConv+Relu Unblock");
  // Any number of images is possible, and one gate for all of them.
  EXPECT_EQ(steps_of("(float[n,16,28,28] x) => (float[n,24,28,28] y)" + weights + gate +
                     " q = Mul(p, o) y = Conv(q, b) }"),
            fused);
  EXPECT_EQ(
      steps_of("(float[n,16,28,28] x, float[1,16,28,28] z) => (float[n,24,28,28] y, float[n,40,28,28] e)" +
               weights +
               "{ p = Conv<pads=[1,1,1,1]>(x, a) s = Conv<pads=[1,1,1,1]>(z, a) e = Tanh(p)"
               "  m = GlobalAveragePool(s) o = Sigmoid(m) q = Mul(p, o) y = Conv(q, b) }")
          .find("Mul"),
      std::string::npos);
  // Others read the product too; or there are more weights than pixels to multiply.
  EXPECT_NE(steps_of("(float[2,16,28,28] x) => (float[2,24,28,28] y, float[2,40,28,28] q)" + weights + gate +
                     " q = Mul(p, o) y = Conv(q, b) }")
                .find("Mul"),
            std::string::npos);
  EXPECT_NE(steps_of("(float[2,16,4,4] x) => (float[2,24,4,4] y)" + weights + gate +
                     " q = Mul(p, o) y = Conv(q, b) }")
                .find("Mul"),
            std::string::npos);
}

/// A mean over all pixels does not read the image again if its rows can be summed when they are computed.
TEST_F(BlockedLayout, RowsAreAveragedWhereTheyAreMade) {
  const std::string image = "(float[n,40,28,28] x) => (float[n,40,1,1] y",
                    weights = "<float[40,1,3,3] a = {}, float[40,40,1,1] g = {}, float[40,40,3,3] b = {}>",
                    gate = "{ p = Conv<group=40, pads=[1,1,1,1]>(x, a)", mean = " y = GlobalAveragePool(q)";
  EXPECT_EQ(steps_of(image + ")" + weights + gate + " q = HardSwish(p)" + mean + "}"),
            "Block BlockedConv+HardSwish+RowMeans BlockedGlobalAveragePool Unblock");
  EXPECT_EQ(steps_of(image + ")" + weights + gate + " q = Relu(p)" + mean + "}"),
            "Block BlockedConv+Relu+RowMeans BlockedGlobalAveragePool Unblock");
  EXPECT_EQ(steps_of(image + ")" + weights + gate + " y = GlobalAveragePool(p) }"),
            "Block BlockedConv+RowMeans BlockedGlobalAveragePool Unblock");
  EXPECT_EQ(steps_of(image + ", float[n,40,28,28] q)" + weights + gate + " q = HardSwish(p)" + mean + "}"),
            "Block BlockedConv+HardSwish+RowMeans Unblock BlockedGlobalAveragePool Unblock");
  // A reader of the mean may follow it, and others may read the image that is averaged.
  EXPECT_EQ(steps_of("(float[n,40,28,28] x) => (float[n,40,28,28] y)" + weights + gate +
                     " q = HardSwish(p) m = GlobalAveragePool(q) s = Sigmoid(m) t = Mul(q, s)"
                     " y = Conv(t, g) }"),
            "Block BlockedConv+HardSwish+RowMeans BlockedGlobalAveragePool+Sigmoid BlockedConv Unblock");
  EXPECT_EQ(steps_of("(float[n,16,64,64] x) => (float[n,64,1,1] y) <float[64,16,1,1] a = {}, "
                     "float[64,1,3,3] c = {}> { p = Conv(x, a) q = HardSwish(p)"
                     "  r = Conv<group=64, strides=[2,2]>(q, c) s = HardSwish(r) y = GlobalAveragePool(s) }"),
            "Block BlockedConvDepthwise+HardSwish+RowMeans BlockedGlobalAveragePool Unblock");
  // A sound has one row; other convolutions do not know rows; and what is averaged must be the result.
  EXPECT_EQ(steps_of("(float[n,40,90] x) => (float[n,40,1] y) <float[40,1,3] a = {}>"
                     "{ p = Conv<group=40>(x, a) q = Tanh(p) y = GlobalAveragePool(q) }"),
            "Block BlockedConv+Tanh+RowMeans BlockedGlobalAveragePool Unblock");
  EXPECT_EQ(steps_of("(float[n,40,28,28] x) => (float[n,40,1,1] y)" + weights +
                     "{ p = Conv<pads=[1,1,1,1]>(x, b) q = Tanh(p)" + mean + "}"),
            "Block BlockedConv+Tanh BlockedGlobalAveragePool Unblock");
  EXPECT_EQ(steps_of(image + ", float[n,40,28,28] q)" + weights + gate +
                     " q = HardSwish(p) y = GlobalAveragePool(p) }"),
            "Block BlockedConv+RowMeans HardSwish Unblock BlockedGlobalAveragePool Unblock");
}

/// The bits are the same on any number of threads, in a plan that was read, if the averaged image is tapped,
/// and for images without pixels.
TEST_F(BlockedLayout, RowMeansHaveTheSameBits) {
  const onnx::Model m = model_of(
      "(float[n,40,h,w] x) => (float[n,40,1,1] y) <float[40,1,3,3] a = {}>"
      "{ p = Conv<group=40, pads=[1,1,1,1]>(x, a) q = HardSwish(p) y = GlobalAveragePool(q) }");
  const Engine e = Engine::build(m);
  const testing::TempDirectory directory;
  e.save(directory.path() / "model.lathe");
  const Engine three = Engine::load(directory.path() / "model.lathe", {.threads = 3}),
               watched = Engine::build(m, {.taps = {"*"}});
  for (int64_t size : {1, 7, 30}) {
    const std::vector<Value> x = inputs_of(e, size);
    const Tensor want = e.create_context().run(x)[0].tensor().clone();
    for (const Engine* other : {&three, &watched}) {
      Context c = other->create_context();
      if (other == &watched) c.on_tap([](std::string_view, const Value&) {});
      EXPECT_TRUE(compare(c.run(x)[0], want, 0, 0).equal) << size;
    }
  }
  const Tensor nothing(DataType::float32, {1, 40, 3, 0});
  Context empty = e.create_context();
  for (float y : empty.run(std::vector<Value>{nothing})[0].tensor().as<float>()) EXPECT_TRUE(std::isnan(y));
}

/// Multiplying the weights or the image by a gate gives different last bits, so the choice must not depend on
/// taps.
TEST_F(BlockedLayout, GatesThatAreWatchedChangeNothing) {
  const onnx::Model m = model_of(
      "(float[1,16,28,28] x) => (float[1,24,28,28] y)"
      "<float[40,16,3,3] a = {}, float[40,40,1,1] g = {}, float[24,40,1,1] b = {}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) m = GlobalAveragePool(p) n = Conv(m, g) o = Sigmoid(n)"
      "  q = Mul(p, o) y = Conv(q, b) }");
  const Engine plain = Engine::build(m);
  const Tensor want = plain.create_context().run(inputs_of(plain))[0].tensor().clone();
  for (const char* watched : {"q", "p", "o", "*"}) {
    const Engine e = Engine::build(m, {.taps = {watched}});
    Context c = e.create_context();
    size_t seen = 0;
    c.on_tap([&](std::string_view, const Value&) { ++seen; });
    const Value got = c.run(inputs_of(e))[0];
    EXPECT_GT(seen, 0u) << watched;
    EXPECT_TRUE(compare(got, want, 0, 0).equal) << watched;
  }
}

TEST_F(BlockedLayout, StaysAwayFromWhatItCannotSay) {
  // A mask of one channel is not a block.
  EXPECT_EQ(steps_of("(float[1,16,9,9] x, float[1,1,9,9] m) => (float[1,16,9,9] y) <float[16,16,3,3] a = {}>"
                     "{ p = Conv<pads=[1,1,1,1]>(x, a) y = Mul(p, m) }"),
            "Block BlockedConv Unblock Mul");
  // Groups do not fill blocks, or weights are inputs.
  EXPECT_EQ(steps_of("(float[1,30,9,9] x) => (float[1,30,7,7] y) <float[30,10,3,3] a = {}>"
                     "{ y = Conv<group=3>(x, a) }"),
            "Conv");
  EXPECT_EQ(steps_of("(float[1,32,9,9] x) => (float[1,32,7,7] y) <float[32,4,3,3] a = {}>"
                     "{ y = Conv<group=8>(x, a) }"),
            "Block BlockedConv Unblock");
  EXPECT_EQ(steps_of("(float[1,16,9,9] x, float[16,16,3,3] a) => (float[1,16,7,7] y) { y = Conv(x, a) }"),
            "Conv");
  // One convolution without reach does not pay for the way there and back.
  EXPECT_EQ(
      steps_of("(float[1,16,9,9] x) => (float[1,16,9,9] y) <float[16,16,1,1] a = {}> { y = Conv(x, a) }"),
      "Conv");
}

TEST_F(BlockedLayout, StaysAwayFromColumns) {
  EXPECT_EQ(
      steps_of("(float[1,16,60,1] x) => (float[1,32,56,1] y) <float[32,16,5,1] a = {}> { y = Conv(x, a) }"),
      "Conv");
  EXPECT_EQ(
      steps_of("(float[1,16,1,60] x) => (float[1,32,1,56] y) <float[32,16,1,5] a = {}> { y = Conv(x, a) }"),
      "Block BlockedConv Unblock");
}

TEST_F(BlockedLayout, KeepsNchwFormsForOutputsAndTaps) {
  const onnx::Model m = model_of(
      "(float[1,16,9,9] x) => (float[1,16,9,9] y, float[1,16,9,9] p)"
      "<float[16,16,3,3] a = {}, float[16,16,3,3] b = {}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) q = Tanh(p) r = Conv<pads=[1,1,1,1]>(q, b) y = Neg(r) }");
  const auto seen = [&](const BuildOptions& o) {
    const Engine e = Engine::build(m, o);
    Context c = e.create_context();
    std::map<std::string, Tensor> values;
    c.on_tap([&](std::string_view name, const Value& v) { values[std::string(name)] = v.tensor().clone(); });
    c.run(inputs_of(e));
    return values;
  };
  const auto want = seen({.level = OptimizationLevel::none, .taps = {"*"}}), got = seen({.taps = {"*"}});
  for (const char* name : {"p", "q", "r", "y"}) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_TRUE(compare(got.at(name), want.at(name), 1e-3, 0).equal) << name;
  }
}

TEST_F(BlockedLayout, PlansRunOnLesserMachines) {
  for (const char* text :
       {"(float[1,3,20,20] x) => (float[1,20,20,20] y) <float[20,3,3,3] a = {}, "
        "float[20,20,3,3] b = {}, float[20,1,1] k = {}>"
        "{ p = Conv<pads=[1,1,1,1]>(x, a) q = Mul(p, k) y = Conv<pads=[1,1,1,1]>(q, b) }",
        // Means of rows.
        "(float[n,16,64,64] x) => (float[n,64,1,1] y) <float[64,16,1,1] a = {}, float[64,1,3,3] c = {}>"
        "{ p = Conv(x, a) q = HardSwish(p) r = Conv<group=64>(q, c) s = HardSwish(r)"
        "  y = GlobalAveragePool(s) }",
        // Norms of groups, and an input that is scaled as it is packed.
        "(float[2,32,18,18] x) => (float[2,384,18,18] y) <float[256,32,1,1] a = {}, float[256] s = {}, "
        "float[256] t = {}, float[256,1,1] k = {}, float[128,256,1,1] b = {}>"
        "{ p = Conv(x, a) q = GroupNormalization<num_groups=8>(p, s, t) m = Mul(q, k) r = Relu(m)"
        "  c = Conv(r, b) y = Concat<axis=1>(q, c) }"}) {
    const onnx::Model m = model_of(text);
    const testing::TempDirectory directory;
    const auto file = directory.path() / "model.lathe";
    const Engine e = Engine::build(m);
    e.save(file);
    const Value want = e.create_context().run(inputs_of(e))[0];
    for (const char* isa : {"generic", "avx2"})
      EXPECT_TRUE(
          compare(Engine::load(file, {.isa = isa}).create_context().run(inputs_of(e))[0], want, 1e-3, 0)
              .equal)
          << isa << ": " << text;
  }
}

TEST_F(BlockedLayout, ConvDepthwise) {
  // The value between the convolutions is large, and nothing else reads it.
  const std::string
      expand = "(float[n,16,64,64] x) => (float[n,64,a,b] y",
      weights = "<float[64,16,1,1] a = {}, float[64] b = {}, float[64,1,3,3] c = {}, float[64] d = {}>";
  const std::string first = "{ p = Conv(x, a, b)",
                    second = " s = Conv<group=64, strides=[2,2]>(q, c, d) y = Relu(s) }";
  EXPECT_EQ(steps_of(expand + ")" + weights + first + " q = HardSwish(p)" + second),
            "Block BlockedConvDepthwise+Relu Unblock");
  EXPECT_EQ(steps_of(expand + ")" + weights + first + " q = Identity(p)" + second),
            "Block BlockedConvDepthwise+Relu Unblock");
  EXPECT_EQ(steps_of(expand + ", float[n,64,64,64] q)" + weights + first + " q = HardSwish(p)" + second),
            "Block BlockedConv+HardSwish Unblock BlockedConv+Relu Unblock");
  // Two functions cannot become one, and a small image stays in the cache anyway.
  EXPECT_EQ(steps_of(expand + ")" + weights + first + " o = HardSwish(p) q = Sqrt(o)" + second),
            "Block BlockedConv+HardSwish+Sqrt BlockedConv+Relu Unblock");
  EXPECT_EQ(steps_of("(float[n,16,32,64] x) => (float[n,64,a,b] y)" + weights + first + " q = HardSwish(p)" +
                     second),
            "Block BlockedConv+HardSwish BlockedConv+Relu Unblock");
}

TEST_F(BlockedLayout, ConvDepthwiseAndPools) {
  // Networks begin this way. Windows that leave the image at the end are not fused if they would be counted.
  const auto begins = [](const std::string& size, const std::string& pool) {
    return steps_of(
        "(float[n,3," + size +
        "] x) => (float[n,64,a,b] y) <float[64,3,7,7] a = {}, float[64] b = {}>"
        "{ p = Conv<strides=[2,2], pads=[3,3,3,3]>(x, a, b) q = Relu(p) s = MaxPool<kernel_shape=[3,3], "
        "strides=[2,2]" +
        pool + ">(q) y = Sqrt(s) }");
  };
  EXPECT_EQ(begins("150,150", ", pads=[1,1,1,1]"), "BlockedConvDepthwise+Sqrt Unblock");
  EXPECT_EQ(begins("150,150", ", ceil_mode=1"), "BlockedConvDepthwise+Sqrt Unblock");
  EXPECT_EQ(begins("151,150", ", ceil_mode=1"), "BlockedConv+Relu BlockedMaxPool+Sqrt Unblock");
  EXPECT_EQ(begins("60,60", ""), "BlockedConv+Relu BlockedMaxPool+Sqrt Unblock") << "little lies between";
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
