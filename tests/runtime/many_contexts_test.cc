// One engine, many threads with a context each: everyone gets the answers of one thread alone, to the bit.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "support/model_builder.h"
#include "support/resident.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::vector;
using Results = vector<vector<float>>;

constexpr int callers = 64;

struct Sample {
  const char* name;
  std::string_view text;
};

/// Models that run differently: convolutions of all kinds, attention with its surroundings, recurrent layers,
/// control flow, and branches.
constexpr Sample samples[] = {
    {"convolutions", R"((float[1,3,24,24] x) => (float[1,32,6,6] y)
      <float[32,3,3,3] a = {}, float[32,1,3,3] b = {}, float[32,32,3,3] c = {}, float[32,32,1,1] d = {}> {
        p = Conv<pads = [1, 1, 1, 1]>(x, a)
        q = Relu(p)
        r = Conv<pads = [1, 1, 1, 1], group = 32, strides = [2, 2]>(q, b)
        s = Conv<pads = [1, 1, 1, 1]>(r, c)
        t = Sigmoid(s)
        u = Conv(t, d)
        v = Add(u, r)
        y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(v)
      })"},
    {"attention", R"((float[1,12,64] x) => (float[1,12,64] y)
      <float[64,64] a = {}, float[64,64] b = {}, float[64,64] c = {}, float[64] g = {}, float[64] h = {}> {
        q = MatMul(x, a)
        k = MatMul(x, b)
        v = MatMul(x, c)
        s = Attention<q_num_heads = 4, kv_num_heads = 4>(q, k, v)
        t = Add(s, x)
        u = LayerNormalization(t, g, h)
        y = Gelu(u)
      })"},
    {"recurrent", R"((float[9,1,24] x) => (float[9,2,1,32] y, float[9,2,1,16] z)
      <float[2,128,24] w = {}, float[2,128,32] r = {}, float[2,256] b = {}, float[2,48,24] m = {}, float[2,48,16] n = {}> {
        y = LSTM<hidden_size = 32, direction = "bidirectional">(x, w, r, b)
        z = GRU<hidden_size = 16, direction = "bidirectional">(x, m, n)
      })"},
    {"control flow", R"((float[4,16] x) => (float[4,16] y, float[4,16] z)
      <float[16,16] a = {}, int64 trips = {5}, bool go = {1}, float nothing = {0}> {
        sum = ReduceSum<keepdims = 0>(x)
        positive = Greater(sum, nothing)
        y = If(positive) <then_branch = one () => (float[4,16] s) { s = MatMul(x, a) },
                          else_branch = other () => (float[4,16] t) { u = Tanh(x) t = Neg(u) }>
        z = Loop(trips, go, x) <body = round (int64 i, bool c, float[4,16] before) => (bool d, float[4,16] after) {
          d = Identity(c)
          e = MatMul(before, a)
          after = Tanh(e)
        }>
      })"},
    {"branches", R"((float[16,128] x) => (float[16,128] q, float[16,128] k, float[16,128] v)
      <float[128,128] a = {}, float[128,128] b = {}, float[128,128] c = {}> {
        p = MatMul(x, a)
        q = Softmax(p)
        m = MatMul(x, b)
        k = Softmax(m)
        v = MatMul(x, c)
      })"}};

class ManyContexts : public ::testing::TestWithParam<Sample> {};

/// Everybody has inputs of his own.
vector<Value> inputs_of(const Engine& e, int caller) {
  vector<Value> in;
  for (const IoInfo& io : e.inputs()) {
    Shape shape;
    for (const Dim& d : *io.shape) shape.push_back(d.value().value());
    in.push_back(
        random_tensor(io.element_type, shape, 1000 + static_cast<uint64_t>(caller) * 10 + in.size()));
  }
  return in;
}

Results floats_of(const vector<Value>& values) {
  Results all;
  for (const Value& v : values)
    all.emplace_back(v.tensor().as<float>().begin(), v.tensor().as<float>().end());
  return all;
}

bool equal_bits(const Results& a, const Results& b) {
  return std::ranges::equal(a, b, [](const vector<float>& x, const vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  });
}

TEST_P(ManyContexts, AnswerAsOneThreadDoes) {
  const onnx::Model model = model_of(GetParam().text);
  const Engine alone = Engine::build(model, {.threads = 1}), shared = Engine::build(model, {.threads = 2});
  vector<Results> expected;
  for (int i = 0; i < callers; ++i)
    expected.push_back(floats_of(alone.create_context().run(inputs_of(alone, i))));
  EXPECT_FALSE(equal_bits(expected[0], expected[1])) << "the inputs do not matter";

  std::atomic<int> wrong{0}, right{0}, ready{0};
  vector<std::thread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      Context c = shared.create_context();
      const vector<Value> in = inputs_of(shared, i);
      for (++ready; ready < callers;) std::this_thread::yield();
      for (int round = 0; round < 5; ++round)
        ++(equal_bits(floats_of(c.run(in)), expected[static_cast<size_t>(i)]) ? right : wrong);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(right, callers * 5);
}

INSTANTIATE_TEST_SUITE_P(Models, ManyContexts, ::testing::ValuesIn(samples),
                         [](const ::testing::TestParamInfo<Sample>& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

/// Weights are in memory once, however many contexts there are.
TEST(Contexts, ShareTheWeights) {
  constexpr int64_t n = 4096;
  constexpr size_t weights = size_t{4} * n * n;
  test::ModelBuilder b(21);
  b.input("x", "float[1,4096]").output("y");
  b.initializer(onnx::from_tensor(Tensor::from({n, n}, std::vector<float>(n * n, 0.5f)), "w"))
      .node("MatMul", {"x", "w"}, {"y"});
  const Engine e = Engine::build(b.model);
  const std::vector<Value> x{Tensor::from({1, n}, std::vector<float>(n, 1.0f))};
  std::vector<Context> contexts;
  contexts.push_back(e.create_context());
  contexts.back().run(x);
  const size_t before = resident();
  while (contexts.size() < callers) {
    contexts.push_back(e.create_context());
    contexts.back().run(x);
  }
  EXPECT_LT(resident(), before + weights);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
