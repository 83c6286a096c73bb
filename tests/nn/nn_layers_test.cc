// Layers against loops of this file's own, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lathe/builder.h"
#include "lathe/nn.h"
#include "lathe/values.h"

namespace lathe::nn {
namespace LATHE_TEST_FILE {

/// An array of doubles with a shape: what the loops work on.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> v;
  explicit Array(std::vector<int64_t> s) : shape(std::move(s)), v(static_cast<size_t>(count()), 0) {}
  Array(const Tensor& t)
      : shape(t.shape().begin(), t.shape().end()), v(t.as<float>().begin(), t.as<float>().end()) {}
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  template <class... I>
  double& operator()(I... index) {
    int64_t at = 0;
    size_t axis = 0;
    ((at = at * shape[axis++] + index), ...);
    return v[static_cast<size_t>(at)];
  }
  template <class... I>
  double operator()(I... index) const {
    return const_cast<Array&>(*this)(index...);
  }
};

Tensor made(const Shape& shape, uint64_t seed) { return random_tensor(DataType::float32, shape, seed); }

void fill(Module& m, uint64_t seed = 10) {
  for (const NamedParameter& p : m.named_parameters()) {
    Parameter handle = p.parameter;
    handle.value = made(handle.shape(), seed++);
    if (p.name.ends_with("running_var"))
      for (float& x : Tensor(handle.value.tensor()).as<float>()) x = 0.5f + std::abs(x);
  }
}

Sizes open(const Tensor& t) {
  Sizes s;
  for (size_t i = 0; i < t.rank(); ++i) s.push_back(t.dim(i));
  return s;
}

using Build = std::function<std::vector<TensorRef>(const std::vector<TensorRef>&)>;

/// Returns the results of the network, which is also saved at opset 18, to test that all of it can be
/// expressed there.
std::vector<Tensor> run(Module& m, const std::vector<Tensor>& inputs, const Build& build,
                        bool downgraded = true) {
  Network n;
  std::vector<TensorRef> refs;
  NamedValues values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    refs.push_back(n.add_input(name, inputs[i].type(), open(inputs[i])));
    values.emplace(name, inputs[i]);
  }
  std::vector<std::string> names;
  {
    const Emission emission(n, m);
    for (const TensorRef& t : build(refs)) {
      names.push_back("y" + std::to_string(names.size()));
      n.mark_output(n.add_identity(t), names.back());
    }
  }
  if (downgraded) {
    EXPECT_NO_THROW(n.to_model(18));
  }
  // The optimized engine, in which passes recognize patterns, and the plain one agree.
  std::vector<Tensor> first;
  for (const OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all}) {
    BuildOptions options;
    options.level = level;
    const auto outputs = Builder().build_engine(n, options).create_context().run(values);
    std::vector<Tensor> list;
    for (const std::string& name : names) list.push_back(outputs.at(name).tensor().clone());
    if (first.empty())
      first = list;
    else
      for (size_t i = 0; i < list.size(); ++i) {
        const Comparison c = compare(list[i], first[i], 1e-5, 1e-5);
        EXPECT_TRUE(c.equal) << "levels differ: " << c.reason;
      }
  }
  return first;
}
Tensor run1(Module& m, const Tensor& x, const std::function<TensorRef(const TensorRef&)>& f) {
  return run(m, {x}, [&](const auto& in) { return std::vector{f(in[0])}; })[0];
}

void expect_near(const Tensor& got, const Array& want, double tolerance = 2e-5) {
  ASSERT_EQ(std::vector<int64_t>(got.shape().begin(), got.shape().end()), want.shape);
  for (size_t i = 0; i < want.v.size(); ++i)
    ASSERT_NEAR(got.as<float>()[i], want.v[i], tolerance * std::max(1.0, std::abs(want.v[i])))
        << "element " << i;
}

/// x [rows, in] · wᵀ + b.
Array affine(const Array& x, const Array& w, const Array* b) {
  const int64_t in = w.shape[1], out = w.shape[0], rows = x.count() / in;
  std::vector<int64_t> shape = x.shape;
  shape.back() = out;
  Array y(shape);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o) {
      double sum = b ? b->v[static_cast<size_t>(o)] : 0;
      for (int64_t i = 0; i < in; ++i) sum += x.v[static_cast<size_t>(r * in + i)] * w(o, i);
      y.v[static_cast<size_t>(r * out + o)] = sum;
    }
  return y;
}
Array mapped(Array x, const std::function<double(double)>& f) {
  for (double& v : x.v) v = f(v);
  return x;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_of(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(NnLayers, Linear) {
  const Tensor x = made({2, 3, 4}, 1);
  for (const bool bias : {true, false}) {
    Linear fc(4, 5, {.bias = bias});
    fill(fc);
    const Array w(fc.weight.value), b = bias ? Array(fc.bias.value) : Array({5});
    expect_near(run1(fc, x, fc), affine(x, w, &b));
  }
  Linear transposed(4, 5, {.transposed = true});
  fill(transposed);
  Array w({5, 4});
  const Array stored(transposed.weight.value), b(transposed.bias.value);
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 4; ++j) w(i, j) = stored(j, i);
  expect_near(run1(transposed, x, transposed), affine(x, w, &b));
}

TEST(NnLayers, LoraIsAddedMergedAndTakenAway) {
  const Tensor x = made({3, 4}, 1);
  for (const bool transposed : {false, true}) {
    Linear base(4, 5, {.transposed = transposed});
    fill(base);
    Lora lora(base, 2, 6);
    EXPECT_EQ(lora.scale, 3);
    EXPECT_TRUE(lora.base_layer.weight == base.weight);
    lora.lora_A.weight.value = made({2, 4}, 5), lora.lora_B.weight.value = made({5, 2}, 6);
    const Tensor plain = run1(base, x, base), adapted = run1(lora, x, lora);
    const Array a(lora.lora_A.weight.value), b(lora.lora_B.weight.value);
    Array want(plain);
    const Array extra = affine(affine(x, a, nullptr), b, nullptr);
    for (size_t i = 0; i < want.v.size(); ++i) want.v[i] += 3 * extra.v[i];
    expect_near(adapted, want);
    Linear merged(4, 5, {.transposed = transposed});
    merged.weight.value = lora.merged_weight(), merged.bias.value = base.bias.value;
    expect_near(run1(merged, x, merged), want);
    lora.scale = 0;  // its very bits
    const Tensor taken = run1(lora, x, lora);
    EXPECT_EQ(std::memcmp(taken.data(), plain.data(), plain.bytes()), 0);
    EXPECT_EQ(lora.merged_weight().data(), base.weight.value.tensor().data());
  }
  EXPECT_THROW(Lora(Linear(2, 2), 0, 1), Error);
}

TEST(NnLayers, EmbeddingAndCast) {
  Embedding e(6, 3);
  fill(e);
  const Tensor ids = Tensor::from<int64_t>({2, 2}, std::vector<int64_t>{5, 0, 3, 3});
  const Tensor y = run1(e, ids, e);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 3; ++j)
      EXPECT_EQ(y.as<float>()[i * 3 + j],
                e.weight.value.tensor().as<float>()[static_cast<size_t>(ids.as<int64_t>()[i]) * 3 + j]);
  Cast to_double(DataType::float64);
  EXPECT_EQ(run1(to_double, y, to_double).type(), DataType::float64);
}

TEST(NnLayers, LayerNormAndRmsNorm) {
  const Tensor x = made({3, 6}, 1);
  for (const bool bias : {true, false}) {
    LayerNorm norm(6, {.epsilon = 1e-2, .bias = bias});
    fill(norm);
    const Array in(x), w(norm.weight.value), b = bias ? Array(norm.bias.value) : Array({6});
    Array want({3, 6});
    for (int64_t r = 0; r < 3; ++r) {
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < 6; ++i) mean += in(r, i) / 6;
      for (int64_t i = 0; i < 6; ++i) variance += (in(r, i) - mean) * (in(r, i) - mean) / 6;
      for (int64_t i = 0; i < 6; ++i)
        want(r, i) = (in(r, i) - mean) / std::sqrt(variance + 1e-2) * w(i) + b(i);
    }
    expect_near(run1(norm, x, norm), want);
  }
  for (const bool plus_one : {true, false}) {
    RmsNorm norm(6, {.epsilon = 1e-3, .plus_one = plus_one});
    fill(norm);
    const Array in(x), w(norm.weight.value);
    Array want({3, 6});
    for (int64_t r = 0; r < 3; ++r) {
      double square = 0;
      for (int64_t i = 0; i < 6; ++i) square += in(r, i) * in(r, i) / 6;
      for (int64_t i = 0; i < 6; ++i) want(r, i) = in(r, i) / std::sqrt(square + 1e-3) * (w(i) + plus_one);
    }
    expect_near(run1(norm, x, norm), want);
  }
}

TEST(NnLayers, GroupNormAndBatchNorm) {
  const Tensor x = made({2, 6, 3, 2}, 1);
  const Array in(x);
  for (const bool affine : {true, false}) {
    GroupNorm group(3, 6, {.epsilon = 1e-3, .affine = affine});
    fill(group);
    BatchNorm batch(6, {.epsilon = 1e-3, .affine = affine});
    fill(batch);
    auto factor = [&](const Parameter& p, int64_t c, double otherwise) {
      return affine ? static_cast<double>(p.value.tensor().as<float>()[static_cast<size_t>(c)]) : otherwise;
    };
    Array by_group({2, 6, 3, 2}), by_batch({2, 6, 3, 2});
    const Array mean_of(batch.running_mean.value), variance_of(batch.running_var.value);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t c = 0; c < 6; ++c) {
        const int64_t first = c / 2 * 2;
        double mean = 0, variance = 0;
        for (int64_t k = first; k < first + 2; ++k)
          for (int64_t i = 0; i < 6; ++i) mean += in(n, k, i / 2, i % 2) / 12;
        for (int64_t k = first; k < first + 2; ++k)
          for (int64_t i = 0; i < 6; ++i) variance += std::pow(in(n, k, i / 2, i % 2) - mean, 2) / 12;
        for (int64_t i = 0; i < 6; ++i) {
          const double v = in(n, c, i / 2, i % 2);
          by_group(n, c, i / 2, i % 2) =
              (v - mean) / std::sqrt(variance + 1e-3) * factor(group.weight, c, 1) + factor(group.bias, c, 0);
          by_batch(n, c, i / 2, i % 2) =
              (v - mean_of(c)) / std::sqrt(variance_of(c) + 1e-3) * factor(batch.weight, c, 1) +
              factor(batch.bias, c, 0);
        }
      }
    expect_near(run1(group, x, group), by_group);
    expect_near(run1(batch, x, batch), by_batch);
  }
  EXPECT_THROW(GroupNorm(4, 6), Error);
}

TEST(NnLayers, Convolutions) {
  const Tensor x = made({2, 4, 7, 6}, 1);
  Conv2d conv(4, 6, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
  fill(conv);
  const Array in(x), w(conv.weight.value), b(conv.bias.value);
  Array want({2, 6, 4, 4});
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 6; ++o)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j) {
          double sum = b(o);
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t p = 0; p < 3; ++p)
              for (int64_t q = 0; q < 2; ++q) {
                const int64_t row = i * 2 - 1 + p, column = j + q * 2;
                if (row >= 0 && row < 7) sum += in(n, o / 3 * 2 + c, row, column) * w(o, c, p, q);
              }
          want(n, o, i, j) = sum;
        }
  expect_near(run1(conv, x, conv), want);

  // One axis, and three: of a window of one element a product of channels.
  Conv1d line(4, 3, {1}, {.bias = false});
  fill(line);
  const Tensor flat = made({2, 4, 5}, 2);
  Array mixed({2, 3, 5});
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 3; ++o)
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t c = 0; c < 4; ++c)
          mixed(n, o, i) += Array(flat)(n, c, i) * Array(line.weight.value)(o, c, int64_t{0});
  expect_near(run1(line, flat, line), mixed);
  Conv3d cube(1, 1, {2}, {.stride = {2}});
  fill(cube);
  const Tensor volume = made({1, 1, 2, 2, 4}, 3);
  Array sums({1, 1, 1, 1, 2});
  for (int64_t k = 0; k < 2; ++k) {
    sums.v[static_cast<size_t>(k)] = Array(cube.bias.value).v[0];
    for (int64_t i = 0; i < 8; ++i)
      sums.v[static_cast<size_t>(k)] +=
          Array(volume)(int64_t{0}, int64_t{0}, i / 4, i / 2 % 2, 2 * k + i % 2) *
          Array(cube.weight.value).v[static_cast<size_t>(i)];
  }
  expect_near(run1(cube, volume, cube), sums);

  ConvTranspose2d wide(4, 2, {3}, {.stride = {2}, .padding = {1}, .output_padding = {1}, .groups = 2});
  fill(wide);
  const Array k(wide.weight.value), kb(wide.bias.value);
  Array grown({2, 2, 14, 12});
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 2; ++o) {
      for (int64_t i = 0; i < 14 * 12; ++i) grown(n, o, i / 12, i % 12) += kb(o);
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t i = 0; i < 7 * 6; ++i)
          for (int64_t p = 0; p < 9; ++p) {
            const int64_t row = i / 6 * 2 - 1 + p / 3, column = i % 6 * 2 - 1 + p % 3;
            if (row >= 0 && row < 14 && column >= 0 && column < 12)
              grown(n, o, row, column) +=
                  in(n, o * 2 + c, i / 6, i % 6) * k(o * 2 + c, int64_t{0}, p / 3, p % 3);
          }
    }
  expect_near(run1(wide, x, wide), grown);
  EXPECT_THROW(Conv2d(4, 6, {3, 3, 3}), Error);
  EXPECT_THROW(Conv2d(4, 6, {3}, {.groups = 3}), Error);
}

TEST(NnLayers, Pools) {
  const Tensor x = made({1, 2, 5, 4}, 1);
  const Array in(x);
  MaxPool most({3, 2}, {.stride = {2}, .padding = {1, 0}});
  AvgPool within({2}, {.padding = {1}, .count_padding = false}), all({2}, {.padding = {1}});
  GlobalAvgPool whole;
  Array a({1, 2, 3, 2}), b({1, 2, 3, 3}), c({1, 2, 3, 3}), d({1, 2, 1, 1});
  const int64_t zero = 0;
  for (int64_t ch = 0; ch < 2; ++ch) {
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        double best = -1e9, sum = 0;
        int64_t count = 0;
        for (int64_t p = 0; p < 3; ++p)
          for (int64_t q = 0; q < 2; ++q)
            if (const int64_t r = i * 2 - 1 + p; j < 2 && r >= 0 && r < 5)
              best = std::max(best, in(zero, ch, r, j * 2 + q));
        if (j < 2) a(zero, ch, i, j) = best;
        for (int64_t p = 0; p < 4; ++p) {
          const int64_t r = i * 2 - 1 + p / 2, s = j * 2 - 1 + p % 2;
          if (r >= 0 && r < 5 && s >= 0 && s < 4) sum += in(zero, ch, r, s), ++count;
        }
        b(zero, ch, i, j) = sum / static_cast<double>(count), c(zero, ch, i, j) = sum / 4;
      }
    for (int64_t i = 0; i < 20; ++i) d(zero, ch, zero, zero) += in(zero, ch, i / 4, i % 4) / 20;
  }
  expect_near(run1(most, x, most), a);
  expect_near(run1(within, x, within), b);
  expect_near(run1(all, x, all), c);
  expect_near(run1(whole, x, whole), d);
}

TEST(NnLayers, ActivationsByName) {
  const Tensor x = Tensor::from<float>({7}, std::vector<float>{-20, -3, -0.7f, 0, 0.3f, 2, 15});
  const std::vector<std::pair<const char*, std::function<double(double)>>> all{
      {"gelu", gelu_of},
      {"gelu_new", gelu_tanh_of},
      {"gelu_pytorch_tanh", gelu_tanh_of},
      {"gelu_fast", gelu_tanh_of},
      {"gelu_10", [](double v) { return std::clamp(gelu_of(v), -10.0, 10.0); }},
      {"quick_gelu", [](double v) { return v * sigmoid(1.702 * v); }},
      {"silu", [](double v) { return v * sigmoid(v); }},
      {"swish", [](double v) { return v * sigmoid(v); }},
      {"relu", [](double v) { return std::max(v, 0.0); }},
      {"relu2", [](double v) { return v > 0 ? v * v : 0; }},
      {"relu6", [](double v) { return std::clamp(v, 0.0, 6.0); }},
      {"leaky_relu", [](double v) { return v > 0 ? v : 0.01 * v; }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"sigmoid", sigmoid},
      {"mish", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
      {"hardswish", [](double v) { return v * std::clamp(v / 6 + 0.5, 0.0, 1.0); }},
      {"linear", [](double v) { return v; }}};
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    Activation a(name);
    expect_near(run1(a, x, a), mapped(x, f));
  }
  try {
    Activation("geluu");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'gelu'"), std::string::npos) << e.what();
  }
}

TEST(NnLayers, Mlps) {
  const Tensor x = made({2, 3, 4}, 1);
  Mlp mlp(4, 6, {.activation = "gelu_new"});
  fill(mlp);
  auto linear = [](const Array& in, const Linear& l) {
    const Array w(l.weight.value), b = l.bias ? Array(l.bias.value) : Array({w.shape[0]});
    return affine(in, w, &b);
  };
  expect_near(run1(mlp, x, mlp), linear(mapped(linear(x, mlp.fc1), gelu_tanh_of), mlp.fc2));
  GatedMlp gated(4, 6, {.bias = true});
  fill(gated);
  Array product = mapped(linear(x, gated.gate_proj), [](double v) { return v * sigmoid(v); });
  const Array up = linear(x, gated.up_proj);
  for (size_t i = 0; i < up.v.size(); ++i) product.v[i] *= up.v[i];
  expect_near(run1(gated, x, gated), linear(product, gated.down_proj));
}

/// One direction of one layer in PyTorch's formulas. x [length, batch, in] → [length, batch, hidden].
Array recur(bool lstm, const Array& x, const Recurrent::Direction& w, int64_t hidden, bool back, Array& h,
            Array& c) {
  const int64_t length = x.shape[0], batch = x.shape[1], in = x.shape[2];
  const Array wi(w.weight_ih.value), wh(w.weight_hh.value);
  const int64_t gates = lstm ? 4 : 3;
  const Array bi = w.bias_ih ? Array(w.bias_ih.value) : Array({gates * hidden});
  const Array bh = w.bias_hh ? Array(w.bias_hh.value) : Array({gates * hidden});
  Array y({length, batch, hidden});
  for (int64_t step = 0; step < length; ++step) {
    const int64_t t = back ? length - 1 - step : step;
    const Array before = h;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t k = 0; k < hidden; ++k) {
        auto from_x = [&](int64_t g) {
          double s = bi(g * hidden + k);
          for (int64_t i = 0; i < in; ++i) s += x(t, b, i) * wi(g * hidden + k, i);
          return s;
        };
        auto from_h = [&](int64_t g) {
          double s = bh(g * hidden + k);
          for (int64_t i = 0; i < hidden; ++i) s += before(b, i) * wh(g * hidden + k, i);
          return s;
        };
        if (lstm) {
          auto gate = [&](int64_t g) { return from_x(g) + from_h(g); };
          c(b, k) = sigmoid(gate(1)) * c(b, k) + sigmoid(gate(0)) * std::tanh(gate(2));
          h(b, k) = sigmoid(gate(3)) * std::tanh(c(b, k));
        } else {
          const double r = sigmoid(from_x(0) + from_h(0)), z = sigmoid(from_x(1) + from_h(1));
          const double n = std::tanh(from_x(2) + r * from_h(2));
          h(b, k) = (1 - z) * n + z * before(b, k);
        }
        y(t, b, k) = h(b, k);
      }
  }
  return y;
}

TEST(NnLayers, LstmAndGru) {
  const int64_t length = 5, batch = 2, in = 3, hidden = 4;
  const Tensor x = made({length, batch, in}, 1);
  for (const bool lstm : {true, false})
    for (const bool both : {true, false})
      for (const bool bias : {true, false})
        for (const bool started : {true, false}) {
          const RecurrentOptions o{.layers = 2, .bias = bias, .bidirectional = both};
          Lstm a(in, hidden, o);
          Gru b(in, hidden, o);
          Recurrent& m = lstm ? static_cast<Recurrent&>(a) : b;
          fill(m);
          const int64_t directions = both ? 2 : 1;
          const Tensor h0 = made({2 * directions, batch, hidden}, 7),
                       c0 = made({2 * directions, batch, hidden}, 8);
          Array below(x), last_h({2 * directions, batch, hidden}), last_c = last_h;
          for (int64_t layer = 0; layer < 2; ++layer) {
            Array y({length, batch, directions * hidden});
            for (int64_t d = 0; d < directions; ++d) {
              const int64_t at = layer * directions + d;
              Array h({batch, hidden}), c({batch, hidden});
              for (int64_t i = 0; started && i < batch * hidden; ++i) {
                h.v[static_cast<size_t>(i)] = Array(h0)(at, i / hidden, i % hidden);
                c.v[static_cast<size_t>(i)] = Array(c0)(at, i / hidden, i % hidden);
              }
              const Array one = recur(lstm, below, m.weights[static_cast<size_t>(at)], hidden, d == 1, h, c);
              for (int64_t i = 0; i < length * batch * hidden; ++i)
                y(i / (batch * hidden), i / hidden % batch, d * hidden + i % hidden) =
                    one.v[static_cast<size_t>(i)];
              for (int64_t i = 0; i < batch * hidden; ++i) {
                last_h(at, i / hidden, i % hidden) = h.v[static_cast<size_t>(i)];
                last_c(at, i / hidden, i % hidden) = c.v[static_cast<size_t>(i)];
              }
            }
            below = y;
          }
          std::vector<Tensor> inputs{x};
          if (started) inputs.push_back(h0);
          if (started && lstm) inputs.push_back(c0);
          const auto got = run(m, inputs, [&](const std::vector<TensorRef>& t) {
            const RecurrentResult r =
                m(t[0], started ? t[1] : TensorRef(), started && lstm ? t[2] : TensorRef());
            return lstm ? std::vector{r.output, r.hidden, r.cell} : std::vector{r.output, r.hidden};
          });
          expect_near(got[0], below);
          expect_near(got[1], last_h);
          if (lstm) expect_near(got[2], last_c);
        }
  Gru m(in, hidden, {.batch_first = true});
  fill(m);
  std::vector<std::string> names;
  for (const NamedParameter& p : m.named_parameters()) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}));
  EXPECT_EQ(run1(m, made({2, 5, 3}, 1), [&](const TensorRef& t) { return m(t).output; }).shape(),
            (Shape{2, 5, 4}));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::nn
