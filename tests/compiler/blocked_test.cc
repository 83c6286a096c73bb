// The operators on channel blocks against the ordinary ones, whose reference kernels judge: tolerances,
// attributes and scratch memory, on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cpu/simd/amx.h"
#include "kernel/kernel.h"
#include "kernel/select.h"
#include "support/error_code.h"
#include "support/kernel_check.h"
#include "support/worker_context.h"
#include "tensor/channel_groups.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using Ints = std::vector<int64_t>;

constexpr int64_t lanes = 16;

Tensor randomly(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Tensor t(DataType::float32, shape);
  for (float& v : t.as<float>()) v = random();
  return t;
}

/// Returns x in nChw16c, with `beyond` in the lanes beyond the last channel.
Tensor blocked(const Tensor& x, float beyond) {
  Shape shape = x.shape();
  shape[1] = (shape[1] + lanes - 1) / lanes;
  shape.push_back(lanes);
  Tensor y(DataType::float32, shape);
  for (float& v : y.as<float>()) v = beyond;
  const int64_t channels = x.dim(1), blocks = shape[1], pixels = x.size() / (x.dim(0) * channels);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t n = i / pixels / channels, c = i / pixels % channels;
    y.as<float>()[static_cast<size_t>(((n * blocks + c / lanes) * pixels + i % pixels) * lanes + c % lanes)] =
        x.as<float>()[static_cast<size_t>(i)];
  }
  return y;
}

/// The case in nChw16c: inputs and the results that its kernels must have.
struct Problem {
  OpCase blocked;
  Tensor want;
  double tolerance = 2e-5;
  bool all_lanes = true;  // are lanes beyond the last channel told?
};

void hold(const Tensor& got, const Tensor& want, double tolerance, bool all_lanes) {
  ASSERT_EQ(got.shape(), want.shape());
  double most = 0;
  for (float v : want.as<float>())
    if (!std::isnan(v)) most = std::max<double>(most, std::abs(v));
  for (size_t i = 0; i < static_cast<size_t>(want.size()); ++i) {
    const float a = got.as<float>()[i], b = want.as<float>()[i];
    if (std::isnan(b) && !all_lanes) continue;
    ASSERT_NEAR(a, b, tolerance * most) << "at " << i;
  }
}

/// The kernels that took it.
std::set<std::string> check(const Problem& p) {
  std::set<std::string> took;
  for (const auto& kernel : KernelCatalog::standard().all()) {
    if (kernel->op != p.blocked.op || kernel->domain != "lathe" || !usable(*kernel)) continue;
    SCOPED_TRACE(kernel->name + " " + p.blocked.name);
    for (const Tunables& tunables : tunables_of(*kernel, p.blocked, {Value(p.want)})) {
      SCOPED_TRACE(tactic_text(kernel->name, tunables));
      std::vector<Value> one, three;
      if (!run_kernel(*kernel, p.blocked, {Value(p.want)}, 1, &one, tunables)) continue;
      took.insert(kernel->name);
      hold(one[0].tensor(), p.want, p.tolerance, p.all_lanes);
      run_kernel(*kernel, p.blocked, {Value(p.want)}, 3, &three, tunables);
      EXPECT_EQ(std::memcmp(one[0].tensor().data(), three[0].tensor().data(), p.want.bytes()), 0)
          << "the bits depend on the number of threads";
    }
  }
  return took;
}
void must(const Problem& p) {
  const std::set<std::string> took = check(p);
  for (Isa isa : usable_isas())
    EXPECT_TRUE(
        std::any_of(took.begin(), took.end(),
                    [&](const std::string& n) { return n.ends_with("." + std::string(name_of(isa))); }))
        << p.blocked.op << " has no kernel for " << name_of(isa);
}

OpCase in_blocks(std::string op) {
  OpCase k;
  k.op = std::move(op);
  k.domain = "lathe";
  return k;
}

struct ConvCase {
  Shape x, w;
  Ints strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  int64_t group = 1;
  bool nchw = false, bias = true;
  double tolerance = 1e-4;  // Winograd takes every case that it can
};

Problem conv(const ConvCase& k) {
  const Tensor x = randomly(k.x, 1), w = randomly(k.w, 2), b = randomly({k.w[0]}, 3);
  OpCase ordinary;
  ordinary.op = "Conv";
  Problem p{.blocked = in_blocks("BlockedConv"), .want = Tensor(), .tolerance = k.tolerance};
  for (OpCase* c : {&ordinary, &p.blocked})
    c->attribute("strides", k.strides)
        .attribute("pads", k.pads)
        .attribute("dilations", k.dilations)
        .attribute("group", k.group);
  ordinary.input(Value(x)).input(Value(w));
  p.blocked.attribute("channels", k.x[1]).attribute("nchw_input", int64_t{k.nchw});
  p.blocked.input(Value(k.nchw ? x : blocked(x, std::nanf("")))).input(Value(w)).as_constant();
  if (k.bias) {
    ordinary.input(Value(b));
    p.blocked.input(Value(b));
  }
  p.want = blocked(run_reference(ordinary)[0].tensor(), 0);
  return p;
}

TEST(Blocked, BlockAndUnblock) {
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 32, 4, 4}, Shape{1, 20, 1, 1}, Shape{2, 19, 30}}) {
    const Tensor x = randomly(shape, 4);
    Problem there{.blocked = in_blocks("Block"), .want = blocked(x, 0), .tolerance = 0};
    there.blocked.input(Value(x));
    must(there);
    Problem back{.blocked = in_blocks("Unblock"), .want = x, .tolerance = 0};
    back.blocked.input(Value(blocked(x, std::nanf("")))).attribute("channels", shape[1]);
    must(back);
  }
}

TEST(Blocked, Conv) {
  must(conv({.x = {1, 20, 9, 11}, .w = {35, 20, 1, 1}}));
  must(conv({.x = {2, 20, 9, 11}, .w = {35, 20, 3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}));
  must(conv({.x = {1, 20, 19, 11}, .w = {5, 20, 3, 3}, .pads = {2, 1, 0, 3}, .dilations = {2, 2}}));
  must(conv({.x = {1, 33, 9, 11}, .w = {16, 33, 5, 3}, .pads = {2, 1, 2, 1}, .bias = false}));
  must(
      conv({.x = {1, 3, 30, 31}, .w = {20, 3, 7, 7}, .strides = {2, 2}, .pads = {3, 3, 3, 3}, .nchw = true}));
  must(conv({.x = {2, 20, 50}, .w = {35, 20, 3}, .strides = {2}, .pads = {1, 0}, .dilations = {1}}));
  must(conv(
      {.x = {2, 2, 50}, .w = {35, 2, 9}, .strides = {1}, .pads = {4, 4}, .dilations = {1}, .nchw = true}));
}

/// The kernel of the best instruction set that would be chosen.
std::string chosen(const ConvCase& k) {
  const Problem p = conv(k);
  std::vector<KernelQuery::Operand> inputs, outputs;
  for (const Value& v : p.blocked.inputs) {
    const Tensor& t = v.tensor();
    inputs.push_back({true, t.type(), SymShape(t.shape().begin(), t.shape().end()), &t});
  }
  const Shape& y = p.want.shape();
  outputs.push_back({true, DataType::float32, SymShape(y.begin(), y.end()), nullptr});
  const Choice c =
      select_kernel(KernelCatalog::standard(), {{"cpu"}, usable_isas().back(), false}, "lathe", "BlockedConv",
                    p.blocked.attributes, {inputs, outputs, usable_isas().back()});
  return c.kernel->name.substr(0, c.kernel->name.rfind('.'));
}

TEST(Blocked, ConvAlgorithms) {
  // The kernels that take it, but for their instruction sets.
  auto kernels = [](const ConvCase& k) {
    std::set<std::string> names;
    for (const std::string& name : check(conv(k))) names.insert(name.substr(0, name.rfind('.')));
    return names;
  };
  using Names = std::set<std::string>;
  const Names all = {"blocked_conv", "blocked_conv.winograd2", "blocked_conv.winograd2.untransformed",
                     "blocked_conv.winograd4", "blocked_conv.winograd4.untransformed"};
  const ConvCase large = {.x = {2, 40, 14, 19}, .w = {33, 40, 3, 3}, .pads = {1, 1, 1, 1}};
  EXPECT_EQ(kernels(large), all);
  EXPECT_EQ(chosen(large), "blocked_conv.winograd4");
  // With so few tiles, reading weights at the points would take most of the time.
  const ConvCase small = {.x = {1, 300, 7, 7}, .w = {300, 300, 3, 3}, .pads = {1, 1, 1, 1}};
  EXPECT_EQ(kernels(small), all);
  cpu::use_amx(false);
  EXPECT_EQ(chosen(small), "blocked_conv.winograd4.untransformed");
  cpu::use_amx(true);
  const ConvCase strided = {.x = {1, 40, 9, 9}, .w = {33, 40, 3, 3}, .strides = {2, 1}};
  EXPECT_EQ(kernels(strided), Names{"blocked_conv"});
  EXPECT_EQ(chosen(strided), "blocked_conv");
  const ConvCase five = {.x = {1, 40, 12, 12}, .w = {33, 40, 5, 5}, .pads = {2, 2, 2, 2}};
  EXPECT_EQ(kernels(five),
            (Names{"blocked_conv", "blocked_conv.winograd2_5", "blocked_conv.winograd2_5.untransformed"}));
  EXPECT_EQ(chosen(five), "blocked_conv.winograd2_5");
}

// Groups that fill blocks, alone or together with their neighbors.
TEST(Blocked, ConvGrouped) {
  must(conv({.x = {2, 64, 9, 11}, .w = {64, 16, 3, 3}, .pads = {1, 1, 1, 1}, .group = 4}));
  must(conv({.x = {2, 64, 9, 11}, .w = {64, 4, 3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}, .group = 16}));
  must(conv({.x = {1, 96, 12, 12}, .w = {96, 24, 3, 3}, .pads = {1, 1, 1, 1}, .group = 4}));
  must(conv({.x = {1, 32, 7, 7}, .w = {64, 2, 3, 1}, .group = 16, .bias = false}));
  must(conv({.x = {3, 128, 1, 1}, .w = {64, 64, 1, 1}, .group = 2}));
  must(conv(
      {.x = {1, 64, 40}, .w = {64, 32, 7}, .strides = {1}, .pads = {6, 0}, .dilations = {1}, .group = 2}));
  // More zeros than numbers, and filters that fill no blocks.
  EXPECT_EQ(weight_sets(64, 64, 64 / 2, 16), 4);
  EXPECT_EQ(weight_sets(64, 64, 64, 16), 0);
  EXPECT_EQ(weight_sets(60, 60, 3, 16), 0);
  EXPECT_EQ(weight_sets(64, 32, 4, 16), 2);
}

TEST(Blocked, ConvDepthwise) {
  must(conv({.x = {2, 20, 9, 11}, .w = {20, 1, 3, 3}, .pads = {1, 1, 1, 1}, .group = 20}));
  must(
      conv({.x = {1, 48, 17, 16}, .w = {48, 1, 5, 5}, .strides = {2, 2}, .pads = {1, 2, 2, 1}, .group = 48}));
  must(conv(
      {.x = {1, 16, 40}, .w = {16, 1, 7}, .strides = {1}, .pads = {6, 0}, .dilations = {1}, .group = 16}));
}

TEST(Blocked, ConvRefusals) {
  Problem p = conv({.x = {1, 20, 9, 11}, .w = {35, 20, 1, 1}});
  p.blocked.constant[1] = false;
  EXPECT_TRUE(check(p).empty());
  p.blocked.constant[1] = true;
  p.blocked.attribute("channels", int64_t{19});
  EXPECT_TRUE(check(p).empty());
  p.blocked.attribute("channels", int64_t{20}).attribute("group", int64_t{4});
  EXPECT_TRUE(check(p).empty());
}

void pool(const std::string& op, const Shape& shape,
          std::vector<std::pair<std::string, AttributeValue>> attributes) {
  OpCase ordinary;
  ordinary.op = op;
  const Tensor x = randomly(shape, 5);
  ordinary.input(Value(x));
  Problem p{.blocked = in_blocks("Blocked" + op), .want = Tensor(), .all_lanes = false};
  p.blocked.input(Value(blocked(x, std::nanf(""))));
  for (auto& [name, value] : attributes) {
    ordinary.attribute(name, value);
    p.blocked.attribute(name, value);
  }
  p.want = blocked(run_reference(ordinary)[0].tensor(), std::nanf(""));
  must(p);
}

TEST(Blocked, Pools) {
  for (int64_t ceil : {0, 1})
    for (int64_t include : {0, 1})
      for (const std::string& op : {std::string("MaxPool"), std::string("AveragePool")}) {
        auto with = [&](Ints kernel, Ints strides, Ints pads, Ints dilations) {
          std::vector<std::pair<std::string, AttributeValue>> a = {{"kernel_shape", kernel},
                                                                   {"strides", strides},
                                                                   {"pads", pads},
                                                                   {"dilations", dilations},
                                                                   {"ceil_mode", ceil}};
          if (op == "AveragePool") a.emplace_back("count_include_pad", include);
          return a;
        };
        pool(op, {2, 20, 14, 17}, with({3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}));
        pool(op, {1, 32, 9, 8}, with({2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}));
        pool(op, {1, 16, 15, 12}, with({2, 3}, {3, 1}, {0, 1, 1, 2}, {2, 1}));
        pool(op, {1, 5, 33}, with({4}, {3}, {1, 2}, {1}));
      }
  pool("GlobalAveragePool", {2, 20, 7, 7}, {});
  pool("GlobalAveragePool", {1, 70, 31}, {});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
