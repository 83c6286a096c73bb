// Functions of numbers of every type: against the reference, bit for bit, for every instruction set, and that
// engines take them.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lathe/engine.h"
#include "ops/cases.h"
#include "support/case_model.h"
#include "support/kernel_check.h"
#include "support/worker_context.h"
#include "tensor/element.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

OpCase& add(CaseTable& t, std::string op, std::string name) { return t.add(std::move(op), std::move(name)); }

constexpr DataType integers[] = {DataType::int8,  DataType::int16,  DataType::int32,  DataType::int64,
                                 DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64};
constexpr auto f32 = DataType::float32, f64 = DataType::float64;

/// All bits, in turn with what is at the edge of something.
Tensor numbers_of(DataType type, const Shape& shape, uint64_t seed, bool zero = true) {
  Tensor t(type, shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  const double odd[] = {0.0,
                        -0.0,
                        0.5,
                        -0.5,
                        1.5,
                        2.5,
                        -3.7,
                        255,
                        1e300,
                        -1e9,
                        3e18,
                        -9e18,
                        1e19,
                        0x1p31,
                        0x1p63,
                        INFINITY,
                        -INFINITY,
                        NAN,
                        0x1.00200000001p0,
                        65519.99999999,
                        -0x1.00000001p-25,
                        1e-50};
  for (int64_t i = 0; i < t.size(); ++i) {
    const uint64_t bits = next() >> 1, which = next() >> 40;
    if (is_float(type)) {
      const double any = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-58;
      store_double(t, i, which % 2 == 0 ? any : odd[which / 2 % std::size(odd)]);
      continue;
    }
    const int size = bits_of(type);
    const uint64_t sign = uint64_t{1} << (size - 1);
    const uint64_t edges[] = {0, 1, ~uint64_t{0}, sign, sign - 1, 7, static_cast<uint64_t>(size), 3};
    const uint64_t v = which % 2 == 0 ? bits * 2 : edges[which / 2 % std::size(edges)];
    store_int(t, i, static_cast<int64_t>(v));
    if (!zero && load_int(t, i) == 0) store_int(t, i, 5);
  }
  return t;
}

const std::pair<Shape, Shape> pairs_of_shapes[] = {{{3, 331}, {3, 331}},
                                                   {{331}, {}},
                                                   {{}, {331}},
                                                   {{5, 1, 70}, {3, 1}},
                                                   {{2, 3, 1, 9}, {3, 5, 1}},
                                                   {{4100}, {1}},
                                                   {{2, 1}, {2, 2500}},
                                                   {{0, 4}, {4}},
                                                   {{700, 3}, {700, 1}},
                                                   {{3}, {9, 40, 3}},
                                                   {{2, 1, 5, 1, 24}, {3, 1, 7, 1}}};

TEST(CpuTypedElementwise, PairsOfNumbersOfEveryType) {
  const auto both = [](const char* op, DataType type, bool zero = true) {
    for (const auto& [x, y] : pairs_of_shapes) {
      OpCase k;
      k.op = op;
      k.name = std::string(name_of(type)) + describe(x) + describe(y);
      k.input(numbers_of(type, x, 1)).input(numbers_of(type, y, 2, zero));
      if (k.op == "BitShift") {
        for (const char* direction : {"LEFT", "RIGHT"})
          must(k.attribute("direction", std::string(direction)));
      } else if (k.op == "Mod") {
        for (int64_t fmod : {0, 1}) must(k.attribute("fmod", fmod));
      } else {
        must(k);
      }
    }
  };
  for (const char* op : {"Add", "Sub", "Mul", "Min", "Max", "Equal", "Less", "LessOrEqual", "Greater",
                         "GreaterOrEqual", "Div", "Mod"}) {
    const std::string name = op;
    for (DataType type : integers) both(op, type, name != "Div" && name != "Mod");
    if (name != "Mod") both(op, f64);
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"})
    for (DataType type : integers) both(op, type);
  for (const char* op : {"And", "Or", "Xor", "Equal"}) both(op, DataType::boolean);
}

TEST(CpuTypedElementwise, MoreThanTwoNumbersOfEveryType) {
  CaseTable t;
  const auto three = [&](const char* op, DataType type) {
    OpCase& k = add(t, op, std::string(name_of(type)));
    for (const Shape& shape : {Shape{5, 1}, {3, 1, 37}, {}})
      k.input(numbers_of(type, shape, k.inputs.size()));
  };
  for (const char* op : {"Min", "Max"}) {
    for (DataType type : integers) three(op, type);
    three(op, f64);
  }
  for (const char* op : {"Sum", "Mean"}) three(op, f64);
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuTypedElementwise, PowersOfNumbers) {
  CaseTable t;
  for (DataType type : {f32, f64, DataType::int32, DataType::int64})
    for (DataType of : {f32, f64, DataType::int32, DataType::int64}) {
      const double least = is_float(type) ? 0.25 : -5;
      add(t, "Pow", std::string(name_of(type)) + std::string(name_of(of)))
          .random(type, {3, 7, 5}, least, 6)
          .random(of, {7, 1}, is_float(type) ? -3 : 0, 5);
      for (double e : {2.0, 3.0, 1.0, -1.0}) {
        if (e < 0 && !is_float(type)) continue;
        OpCase& k = add(t, "Pow", "one exponent " + std::to_string(e));
        k.random(type, {133}, least, 6).random(of, {1}, e, e);
      }
    }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuTypedElementwise, DivisionByZeroIsRefused) {
  for (DataType type : integers)
    for (const char* op : {"Div", "Mod"})
      for (bool all : {false, true}) {
        OpCase k;
        k.op = op;
        Tensor by = numbers_of(type, {all ? 40 : 1}, 3, false);
        store_int(by, all ? 39 : 0, 0);
        k.input(numbers_of(type, {40}, 1)).input(std::move(by));
        const std::vector<Value> like{Value(k.inputs[0])};
        for (const auto& kernel : KernelCatalog::standard().all()) {
          if (kernel->op != op || kernel->backend != "cpu" || !usable(*kernel)) continue;
          std::vector<Value> got;
          EXPECT_THROW(run_kernel(*kernel, k, like, 2, &got), Error) << kernel->name << name_of(type);
        }
      }
}

TEST(CpuTypedElementwise, SingleNumbersOfEveryType) {
  const auto one = [](const char* op, DataType type, const std::vector<Tensor>& bounds = {}) {
    for (const Shape& shape : {Shape{3, 331}, {1}, {0, 2}, {40000}}) {
      OpCase k;
      k.op = op;
      k.name = std::string(name_of(type)) + describe(shape);
      k.input(numbers_of(type, shape, 4));
      for (const Tensor& b : bounds) b.size() == 0 ? k.absent() : k.input(b);
      must(k);
    }
  };
  for (const char* op : {"Abs", "Neg", "Sign", "Relu", "Clip", "BitwiseNot"})
    for (DataType type : integers)
      if (is_signed_integer(type) || (std::string(op) != "Neg" && std::string(op) != "Relu")) one(op, type);
  for (DataType type : integers) {
    Tensor low(type, {}), high(type, {});
    store_int(low, 0, 5), store_int(high, 0, 90);
    one("Clip", type, {low, high});
    one("Clip", type, {Tensor(type, {0}), high});
    one("Clip", type, {high, low});
  }
  Tensor bound(f64, {});
  store_double(bound, 0, 0.75);
  one("Clip", f64, {bound});
  for (const char* op :
       {"Abs", "Neg", "Sign", "Relu", "Clip", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round"})
    one(op, f64);
  one("Not", DataType::boolean);
}

TEST(CpuTypedElementwise, CastsBetweenAllNumbers) {
  std::vector<DataType> types(std::begin(integers), std::end(integers));
  for (DataType more : {f32, f64, DataType::boolean, DataType::float16, DataType::bfloat16})
    types.push_back(more);
  for (DataType from : types)
    for (DataType to : types) {
      if (from == to) continue;
      for (const Shape& shape : {Shape{3, 331}, {1}, {20000}}) {
        OpCase k;
        k.op = "Cast";
        k.name = std::string(name_of(from)) + " to " + std::string(name_of(to));
        k.input(numbers_of(from, shape, 6)).attribute("to", static_cast<int64_t>(to));
        must(k);
      }
    }
}

TEST(CpuTypedElementwise, QuantizedNumbers) {
  struct QuantCase {
    Shape shape, scales;
    int64_t axis, block;
  };
  // Whole bytes of elements: what is left of the last one may be anything.
  const QuantCase quant_cases[] = {{{3, 700}, {}, 1, 0},           {{3, 700}, {3}, 0, 0},
                                   {{4, 5, 37}, {5}, 1, 0},        {{4, 37}, {37}, -1, 0},
                                   {{6, 70}, {6, 5}, 1, 16},       {{72, 33}, {3, 33}, 0, 32},
                                   {{4, 50, 7}, {4, 4, 7}, 1, 16}, {{4, 7}, {4, 7}, 1, 1}};
  CaseTable t;
  for (DataType type : {DataType::int16, DataType::uint16, DataType::int8, DataType::uint8, DataType::int4,
                        DataType::uint4, DataType::int2, DataType::uint2})
    for (const QuantCase& g : quant_cases)
      for (bool zeros : {false, true}) {
        const bool has_sign = is_signed_integer(type);
        const double most = std::exp2(bits_of(type) - has_sign), least = has_sign ? -most : 0;
        const auto add_to = [&](const char* op) -> OpCase& {
          return add(t, op, std::string(name_of(type)) + describe(g.shape) + describe(g.scales))
              .attribute("axis", g.axis)
              .attribute("block_size", g.block);
        };
        OpCase& back = add_to("DequantizeLinear").random(type, g.shape, least, most);
        back.random(f32, g.scales, 0.01, 0.1);
        if (zeros) back.random(type, g.scales, least, most);
        OpCase& k = add_to("QuantizeLinear").random(f32, g.shape, -0.1 * most, 0.1 * most);
        for (float odd : {NAN, INFINITY, -INFINITY, 1e30f, 0.5f})
          k.inputs[0].tensor().as<float>()[static_cast<size_t>(odd < 1 ? 3 : odd < 1e31 ? 5 : 7)] = odd;
        k.random(f32, g.scales, 0.01, 0.1);
        if (zeros)
          k.random(type, g.scales, least, most);
        else
          k.attribute("output_dtype", static_cast<int64_t>(type));
      }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuTypedElementwise, NumbersOfAByteThatIsNotFull) {
  for (DataType type : {DataType::int4, DataType::uint4, DataType::int2, DataType::uint2})
    for (int64_t n : {1, 2, 3, 2049, 2051}) {
      OpCase k;
      k.op = "QuantizeLinear";
      k.random(f32, {n}, -9, 9).input<float>({}, {1}).attribute("output_dtype", static_cast<int64_t>(type));
      const std::vector<Value> want = run_reference(k);
      for (const auto& kernel : KernelCatalog::standard().all()) {
        std::vector<Value> got;
        if (kernel->op != k.op || kernel->backend != "cpu" || !usable(*kernel) ||
            !run_kernel(*kernel, k, want, 2, &got))
          continue;
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(load_int(got[0].tensor(), i), load_int(want[0].tensor(), i)) << kernel->name << i;
      }
    }
}

// That they are taken where an engine chooses.
TEST(CpuTypedElementwise, EnginesTakeThemForEveryType) {
  const auto chosen = [](const OpCase& k) {
    onnx::Model m;
    m.proto = testing::model_of(k);
    return Engine::build(m).steps().at(0).kernel;
  };
  for (DataType type : integers) {
    OpCase sum, cast;
    sum.op = "Add";
    cast.op = "Cast";
    sum.input(numbers_of(type, {9}, 1)).input(numbers_of(type, {9}, 2));
    cast.input(numbers_of(type, {9}, 1)).attribute("to", static_cast<int64_t>(f64));
    EXPECT_TRUE(chosen(sum).starts_with("add.")) << chosen(sum);
    EXPECT_TRUE(chosen(cast).starts_with("cast.")) << chosen(cast);
  }
}

// The sign of zero, which no comparison of numbers shows.
TEST(CpuTypedElementwise, PowersKeepTheSignOfZero) {
  for (const float exponent : {1.0f, 3.0f}) {
    OpCase k;
    k.op = "Pow";
    k.input<float>({2}, {-0.0f, 0.0f}).input<float>({}, {exponent}).as_constant();
    onnx::Model m;
    m.proto = testing::model_of(k);
    const auto y = Engine::build(m).create_context().run(testing::inputs_of(k));
    EXPECT_TRUE(std::signbit(y[0].tensor().as<float>()[0])) << exponent;
    EXPECT_FALSE(std::signbit(y[0].tensor().as<float>()[1])) << exponent;
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
