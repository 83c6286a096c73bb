// The fast kernels over the operators' own cases, and those made of products over shapes chosen for the paths
// inside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernel/facts.h"
#include "lathe/lathe.h"
#include "ops/cases.h"
#include "support/case_model.h"
#include "support/kernel_check.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

OpCase& add(CaseTable& t, std::string op, std::string name) { return t.add(std::move(op), std::move(name)); }

constexpr auto f32 = DataType::float32;

/// Every test here forces each instruction set in turn. This one reports those that the machine lacks.
TEST(CpuOperators, InstructionSetsThatAreForced) {
  const std::vector<Isa> usable = usable_isas();
  std::string others;
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    if (std::find(usable.begin(), usable.end(), isa) == usable.end())
      others += (others.empty() ? "" : ", ") + std::string(name_of(isa));
  ASSERT_EQ(usable.front(), Isa::generic);
  if (!others.empty()) GTEST_SKIP() << "not forced, this processor or build is without: " << others;
}

TEST(CpuOperators, CasesOfTheOperators) {
  CaseTable table;
  collect_all_cases(table);
  for (const OpCase& k : table.all()) {
    if (k.opset != 0 || !KernelCatalog::standard().reference_of(k.domain, k.op)) continue;
    bool tensors = true;
    for (const Value& v : k.inputs) tensors = tensors && (v.is_tensor() || v.empty());
    if (!tensors || k.inputs.empty()) continue;
    check(k);
    OpCase fixed = k;
    fixed.constant.assign(k.inputs.size(), true);
    check(fixed);
  }
}

TEST(CpuOperators, Products) {
  CaseTable t;
  for (bool constant : {false, true}) {
    const std::pair<Shape, Shape> shapes[] = {{{7, 20}, {20, 33}},
                                              {{20}, {20, 5}},
                                              {{4, 20}, {20}},
                                              {{20}, {20}},
                                              {{2, 3, 5, 8}, {8, 9}},
                                              {{2, 1, 5, 8}, {3, 8, 9}},
                                              {{5, 8}, {4, 8, 9}},
                                              {{6, 1, 8}, {6, 8, 40}},
                                              {{3, 0, 4}, {4, 5}},
                                              {{2, 3, 0}, {0, 4}},
                                              {{2, 2, 2, 3}, {2, 1, 3, 1}},
                                              {{1, 100}, {100, 530}},
                                              {{600}, {600, 512}},
                                              {{3, 2, 37}, {3, 37, 1040}},
                                              {{1, 0}, {0, 544}}};
    for (auto& [a, b] : shapes) {
      OpCase& k = add(t, "MatMul", describe(a) + describe(b)).random(f32, a).random(f32, b);
      k.constant[1] = constant;
    }
    for (int64_t ta : {0, 1})
      for (int64_t tb : {0, 1})
        for (Shape bias : {Shape{}, Shape{1}, Shape{9}, Shape{6, 1}, Shape{1, 9}, Shape{6, 9}}) {
          OpCase& k = add(t, "Gemm", describe(bias))
                          .random(f32, ta ? Shape{17, 6} : Shape{6, 17})
                          .random(f32, tb ? Shape{9, 17} : Shape{17, 9});
          k.constant[1] = constant;
          k.random(f32, bias)
              .attribute("transA", ta)
              .attribute("transB", tb)
              .attribute("alpha", 0.5f)
              .attribute("beta", 2.0f);
        }
    OpCase& plain = add(t, "Gemm", "no C").random(f32, {3, 4}).random(f32, {4, 5});
    plain.constant[1] = constant;
  }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, ProductsOfDoubles) {
  constexpr auto f64 = DataType::float64;
  CaseTable t;
  const std::pair<Shape, Shape> shapes[] = {
      {{7, 20}, {20, 33}},   {{20}, {20, 5}},           {{4, 20}, {20}},          {{20}, {20}},
      {{5, 8}, {4, 8, 9}},   {{2, 1, 5, 8}, {3, 8, 9}}, {{2, 3, 0}, {0, 4}},      {{3, 0, 4}, {4, 5}},
      {{1, 600}, {600, 70}}, {{3, 300}, {300, 530}},    {{31, 530}, {530, 1040}}, {{29, 257}, {257, 16}}};
  for (auto& [a, b] : shapes) add(t, "MatMul", describe(a) + describe(b)).random(f64, a).random(f64, b);
  for (int64_t m : {2, 40})
    for (int64_t ta : {0, 1})
      for (int64_t tb : {0, 1})
        for (Shape bias : {Shape{}, Shape{1}, Shape{9}, Shape{m, 1}, Shape{1, 9}, Shape{m, 9}})
          add(t, "Gemm", describe(bias))
              .random(f64, ta ? Shape{270, m} : Shape{m, 270})
              .random(f64, tb ? Shape{9, 270} : Shape{270, 9})
              .random(f64, bias)
              .attribute("transA", ta)
              .attribute("transB", tb)
              .attribute("alpha", 0.5f)
              .attribute("beta", 2.0f);
  add(t, "Gemm", "no C").random(f64, {3, 4}).random(f64, {4, 5});
  OpCase& odd = add(t, "MatMul", "what is not finite").random(f64, {20, 30}).random(f64, {30, 40});
  odd.inputs[0].tensor().as<double>()[33] = INFINITY;
  odd.inputs[1].tensor().as<double>()[44] = NAN;
  odd.inputs[1].tensor().as<double>()[90] = -INFINITY;
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, Convolutions) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  auto conv = [&](Shape x, Shape w) -> OpCase& {
    return add(t, "Conv", describe(x) + describe(w)).random(f32, x).random(f32, w).as_constant();
  };
  conv({2, 3, 10, 11}, {5, 3, 3, 3}).random(f32, {5}).attribute("pads", Ints{1, 1, 1, 1});
  conv({1, 4, 9, 9}, {6, 2, 3, 3}).attribute("group", int64_t{2}).attribute("strides", Ints{2, 2});
  conv({1, 6, 9, 9}, {6, 1, 3, 3})
      .attribute("group", int64_t{6})
      .attribute("auto_pad", std::string("SAME_UPPER"));
  conv({1, 6, 9, 10}, {6, 1, 5, 5})
      .attribute("group", int64_t{6})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .attribute("strides", Ints{2, 2});
  conv({1, 3, 9, 10}, {4, 3, 4, 4})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .attribute("strides", Ints{3, 3});
  conv({1, 3, 30}, {7, 3, 5}).attribute("dilations", Ints{2}).attribute("pads", Ints{3, 0});
  conv({1, 2, 5, 6, 7}, {3, 2, 3, 1, 2}).attribute("pads", Ints{1, 0, 0, 1, 0, 1});
  conv({1, 3, 4, 5, 6}, {3, 1, 1, 3, 3})
      .attribute("group", int64_t{3})
      .attribute("pads", Ints{0, 1, 1, 2, 1, 1});
  conv({2, 3, 6, 5, 4}, {3, 1, 3, 3, 3})
      .attribute("group", int64_t{3})
      .attribute("pads", Ints{1, 1, 1, 2, 1, 1})
      .attribute("strides", Ints{2, 1, 2})
      .attribute("dilations", Ints{1, 2, 1});
  conv({0, 3, 4, 4}, {2, 3, 1, 1});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, TransposedConvolutions) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  for (bool constant : {false, true}) {
    auto conv = [&](Shape x, Shape w) -> OpCase& {
      OpCase& k = add(t, "ConvTranspose", describe(x) + describe(w)).random(f32, x).random(f32, w);
      k.constant[1] = constant;
      return k;
    };
    conv({2, 3, 5, 6}, {3, 4, 2, 2}).random(f32, {4}).attribute("strides", Ints{2, 2});
    conv({1, 4, 5, 6}, {4, 2, 3, 3})
        .attribute("group", int64_t{2})
        .attribute("strides", Ints{2, 3})
        .attribute("pads", Ints{1, 0, 2, 1})
        .attribute("output_padding", Ints{1, 1});
    conv({1, 6, 7, 9}, {6, 1, 3, 5}).attribute("group", int64_t{6}).attribute("dilations", Ints{2, 1});
    conv({1, 3, 5, 4}, {3, 2, 4, 4})
        .attribute("auto_pad", std::string("SAME_UPPER"))
        .attribute("strides", Ints{2, 2});
    conv({1, 3, 20}, {3, 5, 4}).attribute("strides", Ints{3}).attribute("pads", Ints{3, 2});
    conv({2, 2, 3, 4, 5}, {2, 3, 2, 1, 3}).attribute("strides", Ints{1, 2, 2});
    conv({0, 2, 3, 4}, {2, 3, 2, 2});
  }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, EinsumsOfMatrices) {
  CaseTable t;
  auto einsum = [&](const char* equation, Shape a, Shape b) {
    add(t, "Einsum", equation).random(f32, a).random(f32, b).attribute("equation", std::string(equation));
  };
  einsum("b h i d, b h j d -> b h i j", {2, 3, 7, 5}, {2, 3, 9, 5});
  einsum("bhij,bhjd->bhid", {2, 3, 7, 9}, {2, 3, 9, 17});
  einsum("kim,kn->imn", {6, 3, 4}, {6, 5});
  einsum("ik,jk", {3, 40}, {5, 40});
  einsum("i,j->ij", {30}, {4});
  einsum("ij,ij->", {3, 4}, {3, 4});
  einsum("bik,bkj->bij", {0, 3, 4}, {0, 4, 2});
  for (const OpCase& k : t.all()) must(k);
  CaseTable others;
  std::swap(t, others);
  einsum("bij,bjk->ikb", {2, 3, 4}, {2, 4, 5});
  einsum("ii,ij->j", {3, 3}, {3, 4});
  einsum("ij,jk->ik", {3, 1}, {4, 5});
  einsum("...ij,...jk->...ik", {2, 3, 4}, {2, 4, 5});
  for (const OpCase& k : t.all()) EXPECT_TRUE(check(k).empty()) << k.name;
}

TEST(CpuOperators, Pools) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  for (std::string op : {"MaxPool", "AveragePool"}) {
    auto pool = [&](Shape x, Ints kernel) -> OpCase& {
      return add(t, op, describe(x)).random(f32, x).attribute("kernel_shape", kernel);
    };
    pool({2, 3, 12, 13}, {2, 2}).attribute("strides", Ints{2, 2});
    pool({1, 2, 7, 30}, {3, 3})
        .attribute("strides", Ints{2, 2})
        .attribute("pads", Ints{1, 1, 1, 1})
        .attribute("ceil_mode", int64_t{1});
    pool({1, 2, 8, 8}, {3, 3})
        .attribute("auto_pad", std::string("SAME_UPPER"))
        .attribute("strides", Ints{2, 2});
    pool({1, 2, 40}, {5}).attribute("strides", Ints{3}).attribute("pads", Ints{2, 2});
    pool({1, 2, 9, 9}, {2, 3}).attribute("dilations", Ints{2, 3});
    if (op == "AveragePool")
      pool({1, 2, 7, 7}, {3, 3})
          .attribute("pads", Ints{1, 1, 1, 1})
          .attribute("count_include_pad", int64_t{1})
          .attribute("ceil_mode", int64_t{1})
          .attribute("strides", Ints{2, 2});
  }
  add(t, "GlobalAveragePool", "7x7").random(f32, {2, 5, 7, 7});
  add(t, "GlobalMaxPool", "7x7").random(f32, {2, 5, 7, 7});
  for (const OpCase& k : t.all()) must(k);
}

/// Windows of many sizes over one to three axes, with positions and without.
TEST(CpuOperators, PoolsDrawn) {
  using Ints = std::vector<int64_t>;
  uint32_t state = 11;
  const auto draw = [&](int64_t n) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int64_t>(state >> 16) % n;
  };
  for (int i = 0; i < 160; ++i) {
    CaseTable t;
    const auto op = std::array{"MaxPool", "AveragePool", "LpPool", "MaxPool"}[static_cast<size_t>(i % 4)];
    const DataType types[] = {f32, f32, DataType::float64, DataType::int8, DataType::uint8};
    const DataType type = i % 4 == 3 ? types[draw(5)] : f32;
    Shape x{1 + draw(2), 1 + draw(3)};
    Ints kernel, strides, dilations, pads, ends;
    for (int64_t a = 0, axes = 1 + draw(3); a < axes; ++a) {
      kernel.push_back(1 + draw(4));
      strides.push_back(1 + draw(3));
      dilations.push_back(1 + draw(3));
      pads.push_back(draw(kernel.back()));
      ends.push_back(draw(kernel.back()));
      x.push_back((kernel.back() - 1) * dilations.back() + 1 + draw(a + 1 == axes ? 40 : 6));
    }
    pads.insert(pads.end(), ends.begin(), ends.end());
    OpCase& k = add(t, op, describe(x) + " by " + describe(Shape(kernel.begin(), kernel.end())));
    k.random(type, x, type == DataType::uint8 ? 0 : -9, 10)
        .attribute("kernel_shape", kernel)
        .attribute("strides", strides)
        .attribute("dilations", dilations)
        .attribute("pads", pads)
        .attribute("ceil_mode", draw(2));
    if (op == std::string("AveragePool")) k.attribute("count_include_pad", draw(2));
    if (i % 4 == 3)
      k.attribute("storage_order", draw(2)).outputs_wanted(1 + static_cast<size_t>(draw(3) > 0));
    if (op == std::string("LpPool"))
      EXPECT_EQ(check(k).size(), 1u) << k.name;  // one for all instruction sets
    else
      must(k);
  }
}

/// The builder chooses the kernels that the tests above compare with the reference.
TEST(CpuOperators, PoolsAreChosen) {
  const auto kernel_of = [](const char* op, Shape x, size_t outputs) {
    CaseTable t;
    OpCase& k = add(t, op, describe(x)).random(f32, x).outputs_wanted(outputs);
    k.attribute("kernel_shape", std::vector<int64_t>(x.size() - 2, 2));
    onnx::Model m;
    m.proto = testing::model_of(k);
    const Engine e = Engine::build(m, {});
    return e.steps().empty() ? "" : e.steps().back().kernel;
  };
  EXPECT_TRUE(kernel_of("MaxPool", {1, 2, 4, 5, 6}, 1).starts_with("max_pool."));
  EXPECT_TRUE(kernel_of("AveragePool", {1, 2, 4, 5, 6}, 1).starts_with("average_pool."));
  EXPECT_TRUE(kernel_of("LpPool", {1, 2, 4, 5, 6}, 1).starts_with("lp_pool."));
  for (const Shape& x : {Shape{1, 2, 6}, Shape{1, 2, 5, 6}, Shape{1, 2, 4, 5, 6}})
    EXPECT_TRUE(kernel_of("MaxPool", x, 2).starts_with("max_pool_maxima.")) << describe(x);
}

TEST(CpuOperators, Recurrent) {
  CaseTable t;
  for (std::string op : {"LSTM", "GRU"})
    for (std::string direction : {"forward", "reverse", "bidirectional"})
      for (int64_t linear : {0, 1}) {
        if (op == "LSTM" && linear) continue;
        const int64_t d = direction == "bidirectional" ? 2 : 1, gates = op == "LSTM" ? 4 : 3;
        for (auto [seq, batch, input, hidden] : {std::array<int64_t, 4>{5, 3, 7, 19},
                                                 {4, 1, 16, 32},
                                                 {1, 15, 3, 5},
                                                 {6, 2, 40, 130},
                                                 {4, 1, 8, 224},
                                                 {3, 17, 8, 200}}) {
          OpCase& k = add(t, op, direction + std::to_string(hidden) + (linear ? " linear" : ""));
          k.random(f32, {seq, batch, input}).random(f32, {d, gates * hidden, input}).as_constant();
          k.random(f32, {d, gates * hidden, hidden}).as_constant().random(f32, {d, 2 * gates * hidden});
          if (batch == 3)
            k.input<int32_t>({3}, {5, 0, 2});
          else
            k.absent();
          if (batch > 1) k.random(f32, {d, batch, hidden});
          if (batch > 1 && op == "LSTM") k.random(f32, {d, batch, hidden});
          if (batch == 2) k.attribute("clip", 0.5f);
          if (batch == 15 || batch == 3) {
            std::vector<std::string> names;
            for (int64_t i = 0; i < d; ++i)
              for (const char* f : {"HardSigmoid", "Tanh", "Tanh"})
                if (names.size() < static_cast<size_t>(d) * (op == "LSTM" ? 3 : 2)) names.push_back(f);
            if (op == "GRU" && d == 2) names = {"HardSigmoid", "Tanh", "HardSigmoid", "Tanh"};
            k.attribute("activations", names);
            if (batch == 3)
              k.attribute("activation_alpha", std::vector<float>(static_cast<size_t>(d), 0.3f))
                  .attribute("activation_beta", std::vector<float>(static_cast<size_t>(d), 0.4f));
          }
          k.attribute("hidden_size", hidden)
              .attribute("direction", direction)
              .outputs_wanted(op == "LSTM" ? 3 : 2);
          if (op == "GRU") k.attribute("linear_before_reset", linear);
        }
      }
  for (const OpCase& k : t.all()) must(k);
}

/// The batch first, weights that come with the run, and LSTM with peepholes; of so many steps that not all
/// are multiplied at once, too.
TEST(CpuOperators, RecurrentVariants) {
  CaseTable t;
  for (std::string op : {"LSTM", "GRU", "RNN"})
    for (std::string direction : {"forward", "reverse", "bidirectional"})
      for (int64_t layout : {0, 1})
        for (int64_t peeps : {0, 1}) {
          if (peeps && op != "LSTM") continue;
          const int64_t d = direction == "bidirectional" ? 2 : 1, gates = op == "LSTM"  ? 4
                                                                          : op == "GRU" ? 3
                                                                                        : 1;
          for (auto [seq, batch, input, hidden] : {std::array<int64_t, 4>{5, 3, 7, 19},
                                                   {4, 1, 16, 32},
                                                   {1, 15, 3, 5},
                                                   {9, 3, 10, 70},
                                                   {100, 6, 9, 90},
                                                   {3, 17, 8, 200}}) {
            OpCase& k = add(t, op,
                            direction + std::to_string(hidden) + (layout ? " batch first" : "") +
                                (peeps ? " with peepholes" : ""));
            k.random(f32, layout ? Shape{batch, seq, input} : Shape{seq, batch, input});
            k.random(f32, {d, gates * hidden, input}, -0.2, 0.2);
            if (batch != 17) k.as_constant();
            k.random(f32, {d, gates * hidden, hidden}, -0.2, 0.2);
            if (batch != 17 && batch != 1) k.as_constant();
            k.random(f32, {d, 2 * gates * hidden});
            if (batch == 3)
              k.input<int32_t>({3}, {5, 0, 2});
            else
              k.absent();
            for (int i = 0; i < (op == "LSTM" ? 2 : 1); ++i)
              k.random(f32, layout ? Shape{batch, d, hidden} : Shape{d, batch, hidden});
            if (peeps) k.random(f32, {d, 3 * hidden});
            if (batch == 6) k.attribute("clip", 0.5f);
            k.attribute("hidden_size", hidden)
                .attribute("direction", direction)
                .attribute("layout", layout)
                .outputs_wanted(op == "LSTM" ? 3 : 2);
          }
        }
  for (const OpCase& k : t.all()) must(k);
}

/// Many equal ones, and those that are hard to compare.
void make_odd(Tensor& t) {
  const float few[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-42f, 1.0f};
  uint32_t state = 1;
  for (float& x : t.as<float>()) x = few[(state = state * 1664525u + 1013904223u) >> 29];
}

TEST(CpuOperators, WhereTheGreatestAre) {
  CaseTable t;
  for (const auto& [shape, axis] : {std::pair(Shape{3, 1000}, -1),
                                    {{1, 1}, 1},
                                    {{2, 65}, 1},
                                    {{3, 127}, 1},
                                    {{3, 128}, 1},
                                    {{3, 129}, 1},
                                    {{1, 300000}, -1},
                                    {{2, 21, 7, 30}, 1},
                                    {{5, 3, 1}, 0},
                                    {{3000, 130}, 0},
                                    {{0, 4}, 1},
                                    {{}, 0}})
    for (DataType type : {f32, DataType::int32, DataType::int64})
      for (const char* op : {"ArgMax", "ArgMin"})
        for (int64_t last : {0, 1})
          for (bool odd : {false, true}) {
            OpCase& k = add(t, op, describe(shape) + " " + std::string(name_of(type)))
                            .random(type, shape, odd ? -2 : -1e6, odd ? 3 : 1e6)
                            .attribute("axis", int64_t{axis})
                            .attribute("select_last_index", last)
                            .attribute("keepdims", last);
            if (type == f32 && odd) make_odd(k.inputs[0].tensor());
          }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, TheGreatestOfRows) {
  struct Rows {
    Shape shape;
    int64_t axis, k;
  };
  const Rows all[] = {
      {{1, 5000}, -1, 5},  {{3, 1000}, 1, 1000},  {{2, 4100}, -1, 300},  {{7, 63}, -1, 2},
      {{2, 130, 3}, 1, 7}, {{90, 40}, 0, 90},     {{4, 1, 5}, 1, 1},     {{1, 2, 2000, 17}, 2, 3},
      {{0, 4}, 1, 2},      {{2, 3}, 1, 0},        {{5, 1025}, -1, 1024}, {{30, 20000}, -1, 50},
      {{3, 16}, 1, 16},    {{3, 70, 150}, 1, 16}, {{2, 60, 100}, 1, 17}, {{1, 5000, 33}, 1, 4}};
  CaseTable t;
  for (const Rows& r : all)
    for (DataType type : {f32, DataType::int32, DataType::int64, DataType::float16, DataType::bfloat16,
                          DataType::uint8, DataType::int8, DataType::uint16, DataType::int16})
      for (int64_t largest : {0, 1})
        for (bool odd : {false, true}) {
          const double least = type == DataType::uint8 || type == DataType::uint16 ? 0 : -120;
          const bool wide = bits_of(type) >= 32;
          OpCase& k = add(t, "TopK", describe(r.shape) + " " + std::string(name_of(type)))
                          .random(type, r.shape,
                                  odd    ? std::max(-2.0, least)
                                  : wide ? -1e6
                                         : least,
                                  odd    ? 3
                                  : wide ? 1e6
                                         : 120)
                          .input<int64_t>({1}, {r.k})
                          .attribute("axis", r.axis)
                          .attribute("largest", largest)
                          .outputs_wanted(2);
          if (type == f32 && odd) make_odd(k.inputs[0].tensor());
        }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, ProductsOfIntegers) {
  CaseTable t;
  for (DataType a : {DataType::int8, DataType::uint8})
    for (DataType b : {DataType::int8, DataType::uint8})
      for (const Shape& shape : {Shape{1, 3}, Shape{2, 5, 300}, Shape{40, 700}, Shape{3, 0}, Shape{0, 5}})
        for (int zeros = 0; zeros < 3; ++zeros) {
          const auto low = [](DataType d) { return d == DataType::int8 ? -128.0 : 0.0; };
          const int64_t n = 37;
          OpCase& k = add(t, "MatMulInteger", describe(shape) + " zero points: " + std::to_string(zeros));
          k.random(a, shape, low(a), low(a) + 256)
              .random(b, {shape.back(), n}, low(b), low(b) + 256)
              .as_constant();
          if (zeros > 0) k.random(a, zeros == 1 ? Shape{} : Shape{1}, low(a), low(a) + 256);
          if (zeros > 0) k.random(b, zeros == 1 ? Shape{} : Shape{n}, low(b), low(b) + 256).as_constant();
        }
  // The largest sums that there are, over more terms than single precision counts.
  OpCase& most = add(t, "MatMulInteger", "extremes");
  most.input<uint8_t>({1, 1000}, std::vector<uint8_t>(1000, 255));
  most.input<uint8_t>({1000, 1}, std::vector<uint8_t>(1000, 255)).as_constant();
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuOperators, ConvolutionsOfIntegers) {
  struct Problem {
    Shape x, w;
    int64_t group = 1;
    std::vector<int64_t> strides = {}, pads = {}, dilations = {};
  };
  const Problem problems[] = {
      {{2, 3, 9, 7}, {5, 3, 3, 3}, 1, {2, 1}, {1, 1, 0, 2}, {1, 2}},
      {{1, 6, 8, 8}, {36, 2, 3, 2}, 3},
      {{1, 20, 11}, {17, 20, 4}, 1, {3}, {2, 3}},
      {{1, 4, 5, 4, 3}, {4, 1, 2, 3, 1}, 4, {1, 1, 2}, {0, 1, 1, 1, 0, 0}},
      {{1, 70, 40, 40}, {3, 70, 3, 3}, 1, {}, {1, 1, 1, 1}},  // several strips
      {{0, 3, 9, 7}, {5, 3, 3, 3}},
  };
  CaseTable t;
  const auto low = [](DataType d) { return d == DataType::int8 ? -128.0 : 0.0; };
  for (const Problem& p : problems)
    for (DataType xt : {DataType::int8, DataType::uint8})
      for (DataType wt : {DataType::int8, DataType::uint8})
        for (bool linear : {false, true}) {
          OpCase& k = add(t, linear ? "QLinearConv" : "ConvInteger",
                          describe(p.x) + " by " + describe(p.w) + (xt == wt ? ", one type" : ", two types"));
          const auto number = [&](DataType d, Shape shape) {
            k.random(d, std::move(shape), low(d), low(d) + 256);
          };
          number(xt, p.x);
          if (linear) {
            k.input<float>({}, {0.0213731f});
            number(xt, {});
          }
          number(wt, p.w);
          k.as_constant();
          if (linear) {
            k.random(DataType::float32, {p.w[0]}, 0.001, 0.01);
          } else {
            number(xt, {});
          }
          number(wt, {p.w[0]});
          k.as_constant();
          if (linear) {
            k.input<float>({}, {0.7131f});
            number(DataType::int8, {});
            k.random(DataType::int32, {p.w[0]}, -3000, 3000);
          }
          k.attribute("group", p.group);
          if (!p.strides.empty()) k.attribute("strides", p.strides);
          if (!p.pads.empty()) k.attribute("pads", p.pads);
          if (!p.dilations.empty()) k.attribute("dilations", p.dilations);
        }
  for (const OpCase& k : t.all()) must(k);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
