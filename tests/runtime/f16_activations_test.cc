// Half-precision activations, which are used if they take much of the memory: which values they are, that
// answers stay the same, and that half the memory is saved.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/cpu.h"
#include "lathe/lathe.h"
#include "support/text_model.h"
#include "tensor/element.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::inputs_of;
using testing::model_of;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}
std::string as_bfloat16(const std::string& text) { return replaced(text, "float16", "bfloat16"); }
std::string as_float32(const std::string& text) { return replaced(text, "float16", "float"); }

bool is_f16(const StepInfo& s) { return s.kernel.find(".f16_activations") != std::string::npos; }

/// Operators whose kernels read or make f16 activations: "BlockedConv BlockedMaxPool".
std::string f16_steps(const Engine& e) {
  std::string list;
  for (const StepInfo& s : e.steps()) {
    EXPECT_EQ(s.backend, "cpu") << s.op << " " << s.kernel;
    if (is_f16(s)) list += (list.empty() ? "" : " ") + s.op;
  }
  return list;
}

double largest(const Tensor& t) {
  double most = 0;
  for (int64_t i = 0; i < t.size(); ++i) most = std::max(most, std::abs(load_double(t, i)));
  return most;
}

/// Within some roundings of numbers as large as the largest.
void expect_close(const Value& got, const Value& want, const std::string& what) {
  const Tensor& t = want.tensor();
  if (t.type() == DataType::int64) {
    const Comparison c = compare(got, want, 0, 0);
    EXPECT_TRUE(c.equal) << what << ": " << c.reason;
    return;
  }
  const double epsilon = t.type() == DataType::bfloat16 ? 0x1p-8 : 0x1p-11;
  const Comparison c = compare(got, want, 6 * epsilon * largest(t), 6 * epsilon);
  EXPECT_TRUE(c.equal) << what << ": " << c.reason;
}

std::vector<Value> run(const Engine& e, const std::vector<Value>& inputs) {
  return e.create_context().run(inputs);
}

/// The engine of a model, after holding its answers against those of the model as it is written.
Engine checked(const std::string& text, BuildOptions options = {}) {
  const onnx::Model m = model_of(text);
  const Engine plain = Engine::build(m, {.level = OptimizationLevel::none});
  Engine e = Engine::build(m, options);
  const std::vector<Value> inputs = inputs_of(e);
  const std::vector<Value> want = run(plain, inputs), got = run(e, inputs);
  for (size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], text);
  return e;
}

class F16Activations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_features().avx2) GTEST_SKIP() << "only where there is AVX2";
  }
};

/// Down and up again, with what was there before beside it.
const std::string unet =
    "(float16[1,3,160,160] x) => (float16[1,1,160,160] y) <float16[32,3,3,3] a = {}, float16[32] ab = {}, "
    "float16[32,32,3,3] b = {}, float16[48,32,3,3] c = {}, float16[48,32,2,2] u = {}, float16[32] ub = {}, "
    "float16[32,64,3,3] d = {}, float16[1,32,1,1] f = {}>"
    "{ p = Conv<pads=[1,1,1,1]>(x, a, ab) q = Relu(p) r = Conv<pads=[1,1,1,1]>(q, b) s = Relu(r)"
    "  t = MaxPool<kernel_shape=[2,2], strides=[2,2]>(s) v = Conv<pads=[1,1,1,1]>(t, c) w = Relu(v)"
    "  g = ConvTranspose<strides=[2,2]>(w, u, ub) h = Concat<axis=1>(g, s) i = Conv<pads=[1,1,1,1]>(h, d)"
    "  j = Swish(i) k = Conv(j, f) y = Sigmoid(k) }";

TEST_F(F16Activations, UpAndDownAgain) {
  for (const std::string& text :
       {replaced(unet, "Swish", "Relu"), as_bfloat16(replaced(unet, "Swish", "Elu"))}) {
    const Engine e = checked(text);
    EXPECT_NE(f16_steps(e).find("BlockedConv"), std::string::npos);
    EXPECT_NE(f16_steps(e).find("BlockedMaxPool"), std::string::npos);
    const Engine whole = Engine::build(model_of(as_float32(replaced(text, "bfloat16", "float16"))));
    EXPECT_EQ(f16_steps(whole), "");
    const double ratio =
        static_cast<double>(e.memory({}).total()) / static_cast<double>(whole.memory({}).total());
    EXPECT_LT(ratio, 0.7);  // a small model: strips take their room
    EXPECT_LT(e.memory({}).activations, whole.memory({}).activations * 0.6);
  }
}

TEST_F(F16Activations, SoundsAndNorms) {
  const Engine e = checked(
      "(float16[1,1,60000] x) => (float16[1,32,n] y) <float16[48,1,10] a = {}, float16[48] s = {}, "
      "float16[48] t "
      "= {}, float16[48,48,3] b = {}, float16[32,48,3] c = {}>"
      "{ p = Conv<strides=[5]>(x, a) q = InstanceNormalization(p, s, t) r = Gelu<approximate=\"none\">(q)"
      "  v = Conv<strides=[2]>(r, b) w = Relu(v) y = Conv<strides=[2], pads=[1,1]>(w, c) }");
  EXPECT_NE(f16_steps(e).find("BlockedGroupNormalization"), std::string::npos) << f16_steps(e);
  EXPECT_NE(f16_steps(e).find("BlockedConv"), std::string::npos);
  // Groups across blocks, two images.
  const Engine groups = checked(
      "(float16[2,16,90,90] x) => (float16[2,16,90,90] y) <float16[40,16,3,3] a = {}, float16[40] s = {}, "
      "float16[40] t = {}, float16[16,40,1,1] b = {}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) q = GroupNormalization<num_groups=4>(p, s, t) r = Relu(q)"
      "  y = Conv(r, b) }");
  EXPECT_NE(f16_steps(groups).find("BlockedGroupNormalization"), std::string::npos) << f16_steps(groups);
}

TEST_F(F16Activations, GatesAndDepthwise) {
  // The mean of what a depthwise convolution makes of an f16 activation, and f16 ones that are scaled by
  // gates. Two functions keep the pool from being part of the convolution's step.
  const Engine e = checked(
      "(float16[1,3,128,128] x) => (float16[1,24,128,128] y) <float16[48,3,3,3] a = {}, float16[48,1,3,3] d "
      "= "
      "{}, float16[48,48,1,1] g = {}, float16[24,48,1,1] b = {}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) h = Relu(p) q = Sqrt(h) f = MaxPool<kernel_shape=[3,3], "
      "pads=[1,1,1,1]>(q)"
      "  r = Conv<pads=[1,1,1,1], group=48>(f, d) s = Relu(r) m = GlobalAveragePool(s) n = Conv(m, g)"
      "  o = Sigmoid(n) t = Mul(s, o) y = Conv(t, b) }");
  EXPECT_NE(f16_steps(e).find("BlockedMaxPool BlockedConv"), std::string::npos) << f16_steps(e);
}

TEST_F(F16Activations, PairsMakeThem) {
  // 130 rows and 150 channels: strips and the last panel are not like the others.
  const std::string text =
      "(float16[1,3,130,150] x) => (float16[1,24,65,75] y) <float16[24,3,3,3] a = {}, float16[150,24,1,1] b "
      "= "
      "{}, float16[150] bb = {}, float16[150,1,3,3] d = {}, float16[150] db = {}, float16[24,150,1,1] c = "
      "{}, "
      "float16 low = {0}, float16 high = {6}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p) e = Conv(q, b, bb) f = Clip(e, low, high)"
      "  r = Conv<pads=[1,1,1,1], strides=[2,2], group=150>(f, d, db) s = ACT y = Conv(s, c) }";
  for (const char* activation : {"Clip(r, low, high)", "Elu(r)"})
    for (const bool brain : {false, true}) {
      std::string here = replaced(text, "ACT", activation);
      if (brain) here = as_bfloat16(here);
      for (const int threads : {1, 3}) {
        BuildOptions options;
        options.threads = threads;
        const Engine e = checked(here, options);
        EXPECT_EQ(f16_steps(e), "BlockedConvDepthwise BlockedConv");
      }
    }
}

TEST_F(F16Activations, Detections) {
  const Engine e = checked(
      "(float16[1,3,192,192] x) => (int64[k,3] y) <float16[32,3,3,3] a = {}, float16[16,32,1,1] b = {}, "
      "int64[4] shape = {1, 2, 8, 36864}, int64[2] parts = {4, 4}, int64[1] most = {5}, float iou = {0.5}, "
      "float least = {0.6}, int64[3] flat = {1, -1, 4}, int64[3] turned = {1, 4, -1}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p) r = Conv(q, b) s = Sigmoid(r) t = Reshape(s, shape)"
      "  u, v = Split<axis=2>(t, parts) w = Transpose<perm=[0,1,3,2]>(u) boxes = Reshape(w, flat)"
      "  z = Transpose<perm=[0,2,1,3]>(v) scores = Reshape(z, turned) fb = Cast<to=1>(boxes) fs = "
      "Cast<to=1>(scores)"
      "  y = NonMaxSuppression(fb, fs, most, iou, least) }");
  EXPECT_NE(f16_steps(e), "");
}

TEST_F(F16Activations, SameBitsWhateverTheThreadsAndTaps) {
  const onnx::Model m = model_of(replaced(unet, "Swish", "Relu"));
  std::vector<Value> first;
  for (int threads : {1, 2, 3}) {
    BuildOptions options;
    options.threads = threads;
    const Engine e = Engine::build(m, options);
    EXPECT_NE(f16_steps(e), "");
    const std::vector<Value> got = run(e, inputs_of(e));
    if (first.empty()) first = got;
    const Tensor &a = got[0].tensor(), &b = first[0].tensor();
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << threads;
  }
  const Engine tapped = Engine::build(m, {.taps = {"*"}});
  const std::vector<Value> got = run(tapped, inputs_of(tapped));
  EXPECT_EQ(std::memcmp(got[0].tensor().data(), first[0].tensor().data(), first[0].tensor().bytes()), 0);
}

TEST_F(F16Activations, PlansThatAreOpenedElsewhere) {
  const onnx::Model m = model_of(replaced(unet, "Swish", "Relu"));
  const Engine built = Engine::build(m);
  const std::vector<std::byte> plan = built.serialize();
  const std::vector<Value> inputs = inputs_of(built), want = run(built, inputs);
  for (const char* isa : {"", "avx2", "generic"}) {
    BuildOptions options;
    options.isa = isa;
    const Engine e = Engine::deserialize(plan, options);
    expect_close(run(e, inputs)[0], want[0], isa);
    EXPECT_NE(f16_steps(e), "");
  }
}

TEST_F(F16Activations, NotWhereWeightsAreWhatTakesMemory) {
  const Engine e = checked(
      "(float16[1,64,17,17] x) => (float16[1,64,17,17] y) <float16[512,64,3,3] a = {}, float16[512,512,3,3] "
      "b "
      "= {}, float16[64,512,3,3] c = {}>"
      "{ p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p) r = Conv<pads=[1,1,1,1]>(q, b) s = Relu(r)"
      "  y = Conv<pads=[1,1,1,1]>(s, c) }");
  EXPECT_EQ(f16_steps(e), "");
}

/// Windows of all kinds in images of all sizes, two in a row, with what else stands between them.
TEST_F(F16Activations, DrawnConvolutions) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const auto ints = [](const std::vector<int64_t>& v) {
    std::string s;
    for (int64_t i : v) s += (s.empty() ? "" : ",") + std::to_string(i);
    return s;
  };
  size_t strips = 0;
  for (int i = 0; i < 40; ++i) {
    const bool depthwise = draw(0, 3) == 0;
    const int64_t channels = draw(17, 50), filters = depthwise ? channels : draw(8, 50), last = draw(8, 20);
    const int64_t height = draw(0, 5) == 0 ? 1 : draw(60, 120), batch = draw(1, 2);
    const int64_t width = 600000 / 4 / channels / height + draw(1, 40);
    const std::vector<int64_t> kernel = {height == 1 ? 1 : draw(0, 1) * 2 + 1, draw(0, 2) * 2 + 1};
    const std::vector<int64_t> stride = {height == 1 ? 1 : draw(1, 2), draw(1, 2)};
    const std::vector<int64_t> dilation = {height == 1 ? 1 : draw(1, 2), draw(1, 2)};
    const int64_t vertical = height == 1 ? 0 : 3;
    const std::vector<int64_t> pads = {draw(0, vertical), draw(0, 3), draw(0, vertical), draw(0, 3)};
    const std::string image = "float16[" + ints({batch, 8, height, width}) + "]";
    std::string text =
        "(" + image + " x) => (float16[b,m,h,w] y) <float16[" + ints({channels, 8, 1, 1}) +
        "] a = {}, float16[" + ints({filters, depthwise ? 1 : channels, kernel[0], kernel[1]}) +
        "] f = {}, float16[" + ints({filters}) + "] fb = {}, float16[" + ints({last, filters, 1, 1}) +
        "] l = {}> { p = Conv(x, a) q = " + (draw(0, 1) ? "Relu" : "Sigmoid") + "(p) r = Conv<strides=[" +
        ints(stride) + "], dilations=[" + ints(dilation) + "], pads=[" + ints(pads) + "]" +
        (depthwise ? ", group=" + std::to_string(channels) : "") + ">(q, f, fb) s = Elu(r) y = Conv(s, l) }";
    strips += f16_steps(checked(text)).empty() ? 0 : 1;
  }
  EXPECT_GE(strips, 30u);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
