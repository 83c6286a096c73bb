// Attention, masks, biases and rotary embeddings against loops of this file's own.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lathe/builder.h"
#include "lathe/nn.h"
#include "lathe/optimize.h"
#include "lathe/values.h"

namespace lathe::nn {
namespace LATHE_TEST_FILE {

Tensor made(const Shape& shape, uint64_t seed) { return random_tensor(DataType::float32, shape, seed); }

void fill(Module& m, uint64_t seed = 10) {
  for (const NamedParameter& p : m.named_parameters())
    Parameter(p.parameter).value = made(p.parameter.shape(), seed++);
}

double at(const Tensor& t, std::initializer_list<int64_t> index) {
  int64_t place = 0;
  size_t axis = 0;
  for (int64_t i : index) place = place * t.dim(axis++) + i;
  return t.as<float>()[static_cast<size_t>(place)];
}

struct Fed {
  std::string name;
  Tensor value;
  Sizes sizes;
};
using Build = std::function<std::vector<TensorRef>(const std::vector<TensorRef>&)>;

/// `left`, if given, counts the operators after the engine's optimizer.
std::vector<Tensor> run(Module& m, const std::vector<Fed>& inputs, const Build& build,
                        std::multiset<std::string>* left = nullptr) {
  Network n;
  std::vector<TensorRef> refs;
  NamedValues values;
  for (const Fed& in : inputs) {
    refs.push_back(n.add_input(in.name, in.value.type(), in.sizes));
    values.emplace(in.name, in.value);
  }
  std::vector<std::string> names;
  {
    const Emission emission(n, m);
    for (const TensorRef& t : build(refs)) {
      names.push_back("y" + std::to_string(names.size()));
      n.mark_output(n.add_identity(t), names.back());
    }
  }
  EXPECT_NO_THROW(n.to_model(18));
  if (left) {
    const OptimizedModel better = optimize(n.to_model());
    for (const auto& node : better.model.proto.graph->node) left->insert(*node.op_type);
  }
  std::vector<Tensor> first;
  for (const OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all}) {
    BuildOptions options;
    options.level = level;
    const auto outputs = Builder().build_engine(n, options).create_context().run(values);
    std::vector<Tensor> list;
    for (const std::string& name : names) list.push_back(outputs.at(name).tensor().clone());
    if (first.empty()) first = list;
    for (size_t i = 0; i < list.size(); ++i) {
      const Comparison c = compare(list[i], first[i], 1e-5, 1e-5);
      EXPECT_TRUE(c.equal) << "levels differ: " << c.reason;
    }
  }
  return first;
}

using Table = std::vector<std::vector<double>>;  // [position][element]

/// Row r of x · wᵀ + b.
std::vector<double> project(const Tensor& x, int64_t b, int64_t r, const Linear& l) {
  const Tensor& w = l.weight.value;
  std::vector<double> y;
  for (int64_t o = 0; o < w.dim(0); ++o) {
    double sum = l.bias ? at(l.bias.value, {o}) : 0;
    for (int64_t i = 0; i < w.dim(1); ++i) sum += at(x, {b, r, i}) * at(w, {o, i});
    y.push_back(sum);
  }
  return y;
}

/// Rotates one head at a position.
void rotate(double* x, const Rope& rope, int64_t position, bool interleaved) {
  const size_t half = rope.frequencies().size();
  const double scale = rope.attention_scale();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * rope.frequencies()[i];
    double &a = x[interleaved ? 2 * i : i], &b = x[interleaved ? 2 * i + 1 : i + half];
    const double c = std::cos(angle) * scale, s = std::sin(angle) * scale, before = a;
    a = a * c - b * s;
    b = b * c + before * s;
  }
}

struct Case {
  const char* name;
  AttentionModuleOptions options;
  bool memory = false, padding = false, past = false;
};

class NnAttention : public ::testing::TestWithParam<Case> {};

TEST_P(NnAttention, IsWhatTheFormulaSays) {
  const Case& c = GetParam();
  const AttentionModuleOptions& o = c.options;
  const int64_t batch = 2, length = 4, size = 16, heads = 4, before = c.past ? 3 : 0;
  const int64_t groups = o.groups ? o.groups : heads, head = o.head_size ? o.head_size : size / heads;
  Attention attention(size, heads, o);
  fill(attention);
  const Tensor x = made({batch, length, size}, 1);
  const Tensor memory = c.memory ? made({batch, 5, o.memory_size ? o.memory_size : size}, 2) : x;
  const int64_t fresh = memory.dim(1), keys = before + fresh;
  std::vector<Fed> fed{{"x", x, {"N", "L", size}}};
  if (c.memory) fed.push_back({"memory", memory, {"N", "M", memory.dim(2)}});
  Tensor padding =
      Tensor::from<int64_t>({batch, keys}, std::vector<int64_t>(static_cast<size_t>(batch * keys), 1));
  if (c.padding) {
    padding.as<int64_t>()[static_cast<size_t>(keys) + 1] = 0;  // in the second text
    fed.push_back({"padding", padding, {"N", "K"}});
  }
  const Tensor past_key = made({batch, groups, 3, head}, 3), past_value = made({batch, groups, 3, head}, 4);
  if (c.past) {
    fed.push_back({"past_key", past_key, {"N", groups, "P", head}});
    fed.push_back({"past_value", past_value, {"N", groups, "P", head}});
  }
  std::multiset<std::string> left;
  const auto got = run(
      attention, fed,
      [&](const std::vector<TensorRef>& in) {
        AttentionInputs a;
        size_t next = 1;
        if (c.memory) a.memory = in[next++];
        if (c.padding) a.padding = in[next++];
        if (c.past) a.past = {in[next], in[next + 1]};
        const AttentionResult r = attention(in[0], a);
        return std::vector{r.output, r.present.key, r.present.value};
      },
      &left);
  EXPECT_EQ(left.count("Attention"), 1u) << "engines do not recognize it";

  for (int64_t b = 0; b < batch; ++b) {
    // Keys and values, past ones first.
    std::vector<Table> k(static_cast<size_t>(groups)), v(k);
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t t = 0; t < keys; ++t) {
        std::vector<double> key, value;
        for (int64_t i = 0; i < head; ++i) {
          if (t >= before) break;
          key.push_back(at(past_key, {b, g, t, i})), value.push_back(at(past_value, {b, g, t, i}));
        }
        if (t >= before) {
          const auto all_k = project(memory, b, t - before, attention.k_proj),
                     all_v = project(memory, b, t - before, attention.v_proj);
          key.assign(all_k.begin() + g * head, all_k.begin() + (g + 1) * head);
          value.assign(all_v.begin() + g * head, all_v.begin() + (g + 1) * head);
          if (attention.rope) rotate(key.data(), *attention.rope, t, o.rope->interleaved);
        }
        for (int64_t i = 0; i < head; ++i) {
          ASSERT_NEAR(at(got[1], {b, g, t, i}), key[static_cast<size_t>(i)], 1e-5);
          ASSERT_NEAR(at(got[2], {b, g, t, i}), value[static_cast<size_t>(i)], 1e-5);
        }
        k[static_cast<size_t>(g)].push_back(key), v[static_cast<size_t>(g)].push_back(value);
      }
    for (int64_t t = 0; t < length; ++t) {
      const int64_t position = keys - length + t;
      const auto all_q = project(x, b, t, attention.q_proj);
      std::vector<double> joined;
      for (int64_t h = 0; h < heads; ++h) {
        std::vector<double> q(all_q.begin() + h * head, all_q.begin() + (h + 1) * head);
        if (attention.rope) rotate(q.data(), *attention.rope, position, o.rope->interleaved);
        const auto g = static_cast<size_t>(h / (heads / groups));
        std::vector<double> weight;
        double sum = 0;
        for (int64_t s = 0; s < keys; ++s) {
          double score = 0;
          for (size_t i = 0; i < q.size(); ++i) score += q[i] * k[g][static_cast<size_t>(s)][i];
          score *= o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(head));
          if (o.softcap != 0) score = o.softcap * std::tanh(score / o.softcap);
          if (o.alibi)
            score += std::pow(2.0, -2.0 * static_cast<double>(h + 1)) * static_cast<double>(s - position);
          const bool seen = (!o.causal || s <= position) && (!o.window || s > position - o.window) &&
                            (!o.window || o.causal || s < position + o.window) &&
                            padding.as<int64_t>()[static_cast<size_t>(b * keys + s)] != 0;
          weight.push_back(seen ? std::exp(score) : 0);
          sum += weight.back();
        }
        for (int64_t i = 0; i < head; ++i) {
          double y = 0;
          for (size_t s = 0; s < weight.size(); ++s) y += weight[s] / sum * v[g][s][static_cast<size_t>(i)];
          joined.push_back(y);
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        double y = attention.out_proj.bias ? at(attention.out_proj.bias.value, {i}) : 0;
        for (size_t j = 0; j < joined.size(); ++j)
          y += joined[j] * at(attention.out_proj.weight.value, {i, static_cast<int64_t>(j)});
        ASSERT_NEAR(at(got[0], {b, t, i}), y, 3e-5) << "batch " << b << ", position " << t;
      }
    }
  }
}

RopeOptions rope(const char* type) {
  RopeOptions r;
  r.type = type, r.theta = 100, r.factor = 4, r.max_positions = 64, r.original_max_positions = 16;
  r.short_factor = {1, 1.5}, r.long_factor = {2, 3};
  return r;
}
RopeOptions interleaved() {
  RopeOptions r;
  r.interleaved = true;
  return r;
}
RopeOptions partial() {
  RopeOptions r;
  r.partial = 0.5;
  return r;
}

INSTANTIATE_TEST_SUITE_P(
    All, NnAttention,
    ::testing::Values(
        Case{"heads", {}}, Case{"groups", {.groups = 2}}, Case{"one_key_head", {.groups = 1}},
        Case{"causal", {.causal = true}, false, false, true},
        Case{"causal_padded", {.causal = true}, false, true, false},
        Case{"past_padded", {.groups = 2, .causal = true}, false, true, true},
        Case{"window", {.causal = true, .window = 2}, false, false, true},
        Case{"window_to_both_sides", {.window = 2}}, Case{"cross", {.memory_size = 12}, true, true},
        Case{"alibi", {.causal = true, .alibi = true}, false, false, true},
        Case{"alibi_alone", {.alibi = true}},
        Case{"softcap", {.head_size = 6, .bias = false, .scale = 0.3, .softcap = 2.5}},
        Case{"rope", {.causal = true, .rope = RopeOptions()}, false, false, true},
        Case{"rope_groups", {.groups = 2, .causal = true, .rope = RopeOptions()}, false, true, true},
        Case{"rope_pairs", {.rope = interleaved()}, false, false, true},
        Case{"rope_part", {.rope = partial()}, false, false, true},
        Case{"rope_linear", {.rope = rope("linear")}}, Case{"rope_llama3", {.rope = rope("llama3")}},
        Case{"rope_yarn", {.rope = rope("yarn")}}, Case{"rope_longrope", {.rope = rope("longrope")}}),
    [](const auto& info) { return info.param.name; });

// ── Frequencies
// ─────────────────────────────────────────────────────────────────────────────────────────────

/// cos of [1, 1, length, rotary size] at every position, and sin.
std::vector<Tensor> angles(Rope& r, int64_t length) {
  Tensor positions(DataType::int64, {1, length});
  for (int64_t i = 0; i < length; ++i) positions.as<int64_t>()[static_cast<size_t>(i)] = i;
  return run(r, {{"p", positions, {"N", "L"}}}, [&](const std::vector<TensorRef>& in) {
    const RopeAngles a = r.angles(in[0]);
    return std::vector{a.cos, a.sin};
  });
}
void expect_angles(Rope& r, int64_t length, const std::vector<double>& frequencies, double scale) {
  const auto got = angles(r, length);
  for (int64_t p = 0; p < length; ++p)
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(p) * frequencies[i];
      ASSERT_NEAR(at(got[0], {0, 0, p, static_cast<int64_t>(i)}), scale * std::cos(angle), 2e-5)
          << p << " " << i;
      ASSERT_NEAR(at(got[1], {0, 0, p, static_cast<int64_t>(i)}), scale * std::sin(angle), 2e-5)
          << p << " " << i;
    }
}

TEST(NnRope, DynamicGrowsWithTheText) {
  RopeOptions o;
  o.type = "dynamic", o.theta = 100, o.factor = 2, o.max_positions = 8;
  Rope r(8, o);
  for (const int64_t length : {4, 8, 13, 20}) {
    const double longest = std::max<double>(8, static_cast<double>(length));
    const double theta = 100 * std::pow(2 * longest / 8 - 1, 8.0 / 6.0);
    std::vector<double> f;
    for (int i = 0; i < 4; ++i) f.push_back(std::pow(theta, -i / 4.0));
    expect_angles(r, length, f, 1);
  }
}

TEST(NnRope, LongRopeHasTwoSetsAndAScale) {
  RopeOptions o = rope("longrope");
  Rope r(4, o);
  const double scale = std::sqrt(1 + std::log(4.0) / std::log(16.0));
  EXPECT_NEAR(r.attention_scale(), scale, 1e-12);
  expect_angles(r, 16, {1, 1 / (1.5 * 10)}, scale);
  expect_angles(r, 17, {0.5, 1 / (3.0 * 10)}, scale);
  o.attention_factor = 1.5;
  EXPECT_EQ(Rope(4, o).attention_scale(), 1.5);
  o.long_factor = {1};
  EXPECT_THROW(Rope(4, o), Error);
}

TEST(NnRope, YarnMixesAlongARamp) {
  RopeOptions o = rope("yarn");
  o.theta = 10000, o.original_max_positions = 32, o.factor = 4;
  const int64_t size = 16;
  // low = ⌊d·ln(32/(32·2π)) / 2·ln θ⌋ below 0 → 0; high = ⌈d·ln(32/2π) / 2·ln θ⌉.
  const double high = std::ceil(16 * std::log(32 / (2 * M_PI)) / (2 * std::log(10000.0)));
  std::vector<double> want;
  for (int i = 0; i < 8; ++i) {
    const double f = std::pow(10000.0, -i / 8.0), ramp = std::min(1.0, i / high);
    want.push_back(f * (1 - ramp) + f / 4 * ramp);
  }
  Rope r(size, o);
  EXPECT_NEAR(r.attention_scale(), 0.1 * std::log(4.0) + 1, 1e-12);
  expect_angles(r, 9, want, r.attention_scale());
  o.mscale = 0.7, o.mscale_all_dim = 0.5;
  EXPECT_NEAR(Rope(size, o).attention_scale(), (0.07 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1),
              1e-12);
}

TEST(NnRope, Llama3StretchesLongWaves) {
  RopeOptions o = rope("llama3");
  o.theta = 10000, o.factor = 8, o.original_max_positions = 64;
  std::vector<double> want;
  for (int i = 0; i < 8; ++i) {
    const double f = std::pow(10000.0, -i / 8.0), wave = 2 * M_PI / f;
    const double smooth = (64 / wave - 1) / 3;
    want.push_back(wave > 64 ? f / 8 : wave < 16 ? f : (1 - smooth) * f / 8 + smooth * f);
  }
  Rope r(16, o);
  expect_angles(r, 40, want, 1);
}

TEST(NnRope, ReadsConfigurations) {
  const auto old = RopeOptions::from(ModelConfig::parse(
      R"({"max_position_embeddings": 99, "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2}})"));
  EXPECT_EQ(old.type, "linear");
  EXPECT_EQ(old.theta, 5e5);
  EXPECT_EQ(old.max_positions, 99);
  const auto now = RopeOptions::from(ModelConfig::parse(
      R"({"partial_rotary_factor": 0.5, "rope_scaling": null, "rope_parameters": {"rope_type": "yarn", "rope_theta": 7, "factor": 3}})"));
  EXPECT_EQ(now.type, "yarn");
  EXPECT_EQ(now.theta, 7);
  EXPECT_EQ(now.partial, 0.5);
  try {
    RopeOptions::from(ModelConfig::parse(R"({"rope_scaling": {"rope_type": "yarm"}})"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'yarn'"), std::string::npos) << e.what();
  }
  EXPECT_THROW(Rope(5), Error);
}

// ── Biases
// ──────────────────────────────────────────────────────────────────────────────────────────────────

TEST(NnBias, RelativeBuckets) {
  for (const bool both : {true, false}) {
    Embedding table(8, 3);
    fill(table);
    const int64_t queries = 5, keys = 30;
    const auto got =
        run(table, {{"q", made({queries}, 1), {"Q"}}, {"k", made({keys}, 2), {"K"}}},
            [&](const std::vector<TensorRef>& in) {
              const Ops o(table, in[0]);
              return std::vector{relative_bias(o, o.use(table.weight), o.size(in[0], 0), o.size(in[1], 0),
                                               {.buckets = 8, .max_distance = 16, .bidirectional = both})};
            });
    ASSERT_EQ(got[0].shape(), (Shape{1, 3, queries, keys}));
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t k = 0; k < keys; ++k) {
        const int64_t ahead = k - (keys - queries + q), buckets = both ? 4 : 8, exact = buckets / 2;
        const int64_t distance = both ? std::abs(ahead) : std::max<int64_t>(-ahead, 0);
        int64_t bucket = distance;
        if (distance >= exact)
          bucket = std::min<int64_t>(
              buckets - 1, exact + static_cast<int64_t>(
                                       std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                                       std::log(16.0 / static_cast<double>(exact)) *
                                       static_cast<double>(buckets - exact) * (1 + 1e-7)));
        if (both && ahead > 0) bucket += buckets;
        for (int64_t h = 0; h < 3; ++h)
          ASSERT_EQ(at(got[0], {0, h, q, k}), at(table.weight.value, {bucket, h})) << q << " " << k;
      }
  }
}

TEST(NnBias, AlibiSlopes) {
  EXPECT_EQ(alibi_slopes(8),
            (std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}));
  // Three heads: two of a power of two, and the first of four.
  const auto three = alibi_slopes(3);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_DOUBLE_EQ(three[0], 1.0 / 16);
  EXPECT_DOUBLE_EQ(three[1], 1.0 / 256);
  EXPECT_DOUBLE_EQ(three[2], 1.0 / 4);
}

TEST(NnAttentionErrors, AreSaidWhereTheyAre) {
  EXPECT_THROW(Attention(10, 4), Error);
  EXPECT_THROW(Attention(16, 4, {.groups = 3}), Error);
  Attention attention(16, 4);
  fill(attention);
  Network n;
  const Emission emission(n, attention);
  EXPECT_THROW(attention(n.add_input("x", DataType::float32, {"N", "L", 12})), Error);
  EXPECT_THROW(attention(n.add_input("half", DataType::float16, {"N", "L", 16})), Error);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::nn
