// Strict numerics: each item of a batch comes out as it would alone, bit by bit.
#include <gtest/gtest.h>

#include <cstring>

#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// A model whose inputs and outputs all have the batch `b` on the same axis.
struct Sample {
  const char* name;
  const char* text;
  size_t axis = 0;  // of the batch, counted from the end where outputs have more axes than inputs
  Precision precision = Precision::float32;
};

constexpr const char* mlp = R"((float[b,75] x) => (float[b,10] y)
  <float[75,330] w = {}, float[330] c = {}, float[330,700] u = {}, float[700,10] v = {}, float[10] d = {}>
  { h0 = Gemm (x, w, c)  h1 = Gelu (h0)  h2 = MatMul (h1, u)  h3 = Tanh (h2)  y = Gemm (h3, v, d) })";

constexpr const char* transformer = R"((float[b,s,64] x) => (float[b,s,64] y)
  <float[64,64] wq = {}, float[64,64] wk = {}, float[64,64] wv = {}, float[64,64] wo = {}, float[64] bq = {},
   float[64] g = {}, float[64] h = {}, float[64,256] w1 = {}, float[256] b1 = {}, float[256,64] w2 = {},
   int64[4] split = {0, 0, 4, 16}, int64[3] join = {0, 0, 64}, float[1] quarter = {0.25}>
  { q0 = MatMul (x, wq)  q1 = Add (q0, bq)  q2 = Reshape (q1, split)  q = Transpose <perm = [0, 2, 1, 3]> (q2)
    k0 = MatMul (x, wk)  k2 = Reshape (k0, split)  k = Transpose <perm = [0, 2, 3, 1]> (k2)
    v0 = MatMul (x, wv)  v2 = Reshape (v0, split)  v = Transpose <perm = [0, 2, 1, 3]> (v2)
    s0 = MatMul (q, k)  s1 = Mul (s0, quarter)  p = Softmax <axis = -1> (s1)  m0 = MatMul (p, v)
    m1 = Transpose <perm = [0, 2, 1, 3]> (m0)  m2 = Reshape (m1, join)  o = MatMul (m2, wo)
    r = Add (o, x)  n = LayerNormalization <axis = -1> (r, g, h)
    f0 = MatMul (n, w1)  f1 = Add (f0, b1)  f2 = Gelu (f1)  f3 = MatMul (f2, w2)  f4 = Add (f3, n)
    y = LayerNormalization <axis = -1> (f4, g, h) })";

/// Winograd, strided, depthwise and plain 1 x 1 convolutions, pools, a transposed one, a few rows at the end.
constexpr const char* images = R"((float[b,3,h,w] x) => (float[b,7] y, float[b,5,u,v] z)
  <float[32,3,3,3] a = {}, float[64,32,3,3] c = {}, float[64,64,3,3] d = {}, float[64,1,3,3] e = {},
   float[48,64,1,1] f = {}, float[48,5,2,2] t = {}, float[48,7] g = {}, float[64] bias = {}>
  { x0 = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x, a)  x1 = Relu (x0)
    x2 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x1, c, bias)  x3 = HardSwish (x2)
    x4 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x3, d)  x5 = Add (x4, x3)
    x6 = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x5)
    x7 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 64> (x6, e)  x8 = Sigmoid (x7)
    x9 = Conv <kernel_shape = [1, 1]> (x8, f)
    z0 = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (x9, t)  z = Softmax <axis = 1> (z0)
    p = GlobalAveragePool (x9)  q = Flatten (p)  y = MatMul (q, g) })";

constexpr const char* recurrent = R"((float[t,b,24] x) => (float[t,1,b,40] y, float[t,1,b,32] z)
  <float[1,160,24] w = {}, float[1,160,40] r = {}, float[1,320] c = {},
   float[1,96,24] u = {}, float[1,96,32] s = {}, float[1,192] d = {}>
  { y = LSTM <hidden_size = 40> (x, w, r, c)  z = GRU <hidden_size = 32, linear_before_reset = 1> (x, u, s, d) })";

constexpr const char* sums = R"((float[b,90] x) => (float[b,33] y, float[b,33] z)
  <float[90,33] w = {}, float[33] c = {}>
  { y0 = Einsum <equation = "bi,ij->bj"> (x, w)  y = Log (y0)
    z0 = MatMul (x, w)  z1 = ReduceSum <keepdims = 1> (x, last)  z2 = Add (z0, z1)  z = Exp (z2)
    last = Constant <value_ints = [1]> () })";

const Sample samples[] = {{"mlp", mlp},
                          {"narrow mlp", mlp, 0, Precision::bfloat16},
                          {"transformer", transformer},
                          {"images", images},
                          {"recurrent", recurrent, 1}};

/// Item `item` along an axis, bit by bit.
std::string bits_of(const Tensor& t, size_t axis, int64_t item) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= t.shape()[i];
  for (size_t i = axis + 1; i < t.shape().size(); ++i) inner *= t.shape()[i];
  const auto bytes = static_cast<size_t>(inner) * sizeof(float);
  std::string bits;
  for (int64_t o = 0; o < outer; ++o)
    bits.append(static_cast<const char*>(t.data()) + static_cast<size_t>(o * t.shape()[axis] + item) * bytes,
                bytes);
  return bits;
}

/// An input of `batch` items; each depends on its number alone.
Tensor items(const IoInfo& io, size_t axis, int64_t first, int64_t batch, int64_t free) {
  Shape shape;
  for (const Dim& d : *io.shape) shape.push_back(d.value().value_or(free));
  shape[axis] = batch;
  Tensor all(DataType::float32, shape);
  int64_t inner = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t outer = all.size() / (batch * inner);
  for (int64_t b = 0; b < batch; ++b) {
    const Tensor one = random_tensor(DataType::float32, {outer * inner}, static_cast<uint64_t>(first + b));
    for (int64_t o = 0; o < outer; ++o)
      std::memcpy(static_cast<float*>(all.data()) + (o * batch + b) * inner,
                  static_cast<const float*>(one.data()) + o * inner,
                  static_cast<size_t>(inner) * sizeof(float));
  }
  return all;
}

/// Counts the items of these batches that differ from the same items alone. `fixed`: an engine for each
/// batch.
int differences(const Sample& s, BuildOptions options, bool fixed) {
  options.precision = s.precision;
  const onnx::Model model = model_of(s.text);
  const auto engine_for = [&](int64_t batch) {
    if (fixed) options.shapes["b"] = batch;
    return Engine::build(model, options);
  };
  const Engine alone = engine_for(1);
  int different = 0;
  for (int64_t free : {1, 9, 20}) {
    for (int64_t batch : {2, 3, 5, 8, 17}) {
      const Engine together = fixed ? engine_for(batch) : alone;
      const std::vector<Value> all = together.create_context().run(
          std::vector<Value>{items(together.inputs()[0], s.axis, 0, batch, free)});
      Context single = alone.create_context();
      for (int64_t b = 0; b < batch; ++b) {
        const std::vector<Value> one =
            single.run(std::vector<Value>{items(alone.inputs()[0], s.axis, b, 1, free)});
        for (size_t i = 0; i < all.size(); ++i) {
          const size_t axis = s.axis == 0 ? 0 : 2;
          different += bits_of(all[i].tensor(), axis, b) != bits_of(one[i].tensor(), axis, 0);
        }
      }
    }
    if (s.text == mlp) break;
  }
  return different;
}

class Numerics_ : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Isa, Numerics_, ::testing::Values("generic", "avx2", "avx512"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(Numerics_, StrictItemsComeOutAsTheyWouldAlone) {
  for (const Sample& s : samples)
    EXPECT_EQ(differences(s, {.threads = 2, .isa = GetParam(), .numerics = Numerics::strict}, false), 0)
        << s.name;
}

TEST_P(Numerics_, StrictItemsAreTheSameInEnginesOfOtherBatches) {
  for (const Sample& s : samples)
    if (s.text == images || s.text == transformer) {
      EXPECT_EQ(differences(s, {.threads = 1, .isa = GetParam(), .numerics = Numerics::strict}, true), 0)
          << s.name;
    }
}

TEST_P(Numerics_, NormallyAFewRowsAreSummedInAnotherOrder) {
  EXPECT_GT(differences(samples[0], {.threads = 1, .isa = GetParam()}, false), 0);
}

TEST(Numerics, OtherKernelsAndReferencesToo) {
  const Sample s{"sums", sums};
  EXPECT_EQ(differences(s, {.threads = 2, .numerics = Numerics::strict}, false), 0);
  EXPECT_EQ(differences(s, {.threads = 2, .backend = "reference", .numerics = Numerics::strict}, false), 0);
}

TEST(Numerics, AreKeptInThePlanAndTold) {
  const TempDirectory dir;
  const Engine built = Engine::build(model_of(mlp), {.numerics = Numerics::strict});
  built.save(dir / "strict.lathe");
  const Engine loaded = Engine::load(dir / "strict.lathe");
  EXPECT_EQ(loaded.numerics(), Numerics::strict);
  size_t told = 0;
  for (const StepInfo& step : loaded.steps()) told += !step.strict.empty();
  EXPECT_EQ(told, 3u);
  const Engine normal = Engine::build(model_of(mlp));
  EXPECT_EQ(normal.numerics(), Numerics::normal);
  for (const StepInfo& step : normal.steps()) EXPECT_EQ(step.strict, "");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
