// Products with low-bit weights: kernels against sums in double, and what engines make of
// DequantizeLinear in blocks.
#include "cpu/quantized/low_bit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "lathe/lathe.h"
#include "lathe/refit.h"
#include "support/model_builder.h"
#include "support/temp_directory.h"
#include "support/worker_context.h"
#include "tensor/element.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

/// Whole numbers of any type, with their scales, zero points and minimums; W is [k, n] or transposed.
struct Weights {
  int64_t k, n, block;
  bool transposed;
  Tensor numbers, scales, zeros;
  Tensor minimums = Tensor(DataType::float32, {0});
  int64_t blocks() const { return (k + block - 1) / block; }
  Shape shape(int64_t rows) const { return transposed ? Shape{n, rows} : Shape{rows, n}; }
  int64_t row() const { return transposed ? 1 : n; }
  int64_t column(int64_t rows) const { return transposed ? rows : 1; }
  double at(int64_t i, int64_t j) const {
    const int64_t s = i / block * row() + j * column(blocks());
    const double number = load_double(numbers, i * row() + j * column(k));
    return (number - (zeros.size() > 0 ? load_double(zeros, s) : 0)) * load_double(scales, s) +
           (minimums.size() > 0 ? load_double(minimums, s) : 0);
  }
  void draw_minimums(Random& random) {
    minimums = Tensor(scales.type(), scales.shape());
    for (int64_t i = 0; i < minimums.size(); ++i) store_double(minimums, i, 0.2 * random() - 0.1);
  }
};

Weights weights(int64_t k, int64_t n, int64_t block, DataType type, bool with_zeros, bool transposed,
                Random& random, DataType scale_type = DataType::float32) {
  Weights w{k, n, block, transposed, {}, {}, Tensor(type, {0})};
  const int bits = bits_of(type);
  const auto draw = [&](Tensor& t) {
    for (int64_t i = 0; i < t.size(); ++i) {
      const auto number =
          static_cast<int64_t>((random() + 1) / 2 * static_cast<float>(1 << bits)) & ((1 << bits) - 1);
      store_int(t, i, is_signed_integer(type) ? number - (1 << (bits - 1)) : number);
    }
  };
  w.numbers = Tensor(type, w.shape(k));
  draw(w.numbers);
  w.scales = Tensor(scale_type, w.shape(w.blocks()));
  for (int64_t i = 0; i < w.scales.size(); ++i) store_double(w.scales, i, 0.02 + 0.01 * random());
  if (with_zeros) draw(w.zeros = Tensor(type, w.shape(w.blocks())));
  return w;
}

std::vector<float> multiply(Isa isa, const Weights& w, int64_t m, const float* a, bool strict, int threads) {
  WorkerContext context(threads);
  const DataType type = w.numbers.type();
  const int bits = bits_of(type);
  const auto matrix = [&](const Tensor& t, int64_t rows) {
    return cpu::BitMatrix{t.data(), bits, is_signed_integer(type), w.row(), w.column(rows)};
  };
  std::vector<uint8_t> numbers(static_cast<size_t>(cpu::packed_numbers_size(isa, w.k, w.n, bits)));
  const auto scales_size = static_cast<size_t>(cpu::packed_scales_size(isa, w.blocks(), w.n));
  std::vector<float> scales(scales_size);
  std::vector<uint8_t> zeros(scales_size);
  cpu::pack_numbers(isa, numbers.data(), matrix(w.numbers, w.k), w.k, w.n, context);
  cpu::pack_scales(isa, scales.data(), w.scales.type(), w.scales.data(), w.row(), w.column(w.blocks()),
                   w.blocks(), w.n, context);
  if (w.zeros.size() > 0)
    cpu::pack_zeros(isa, zeros.data(), matrix(w.zeros, w.blocks()), w.blocks(), w.n, context);
  std::vector<float> minimums(w.minimums.size() > 0 ? scales_size : 0);
  if (!minimums.empty())
    cpu::pack_scales(isa, minimums.data(), w.minimums.type(), w.minimums.data(), w.row(),
                     w.column(w.blocks()), w.blocks(), w.n, context);
  Fenced c(static_cast<size_t>(m * w.n));
  const cpu::LowBitProduct p{.m = m,
                             .w = {.k = w.k,
                                   .n = w.n,
                                   .block = w.block,
                                   .bits = cpu::packed_bits(bits),
                                   .numbers = numbers.data(),
                                   .scales = scales.data(),
                                   .zeros = w.zeros.size() > 0 ? zeros.data() : nullptr,
                                   .zero = is_signed_integer(type) ? 1 << (bits - 1) : 0,
                                   .has_minimums = !minimums.empty(),
                                   .minimums = minimums.empty() ? nullptr : minimums.data()},
                             .a = a,
                             .c = c.data()};
  cpu::multiply(isa, p, strict, context.workspace(cpu::multiply_workspace(isa, p, strict, threads)), context);
  EXPECT_TRUE(c.intact());
  return {c.data(), c.data() + c.size()};
}

TEST(LowBit, ProductsAgainstSumsInDouble) {
  Random random(3);
  size_t which = 0;
  for (Isa isa : usable_isas())
    for (DataType type :
         {DataType::uint4, DataType::int4, DataType::uint8, DataType::int8, DataType::uint2, DataType::int2})
      for (const auto& [m, n, k, block] : {std::array<int64_t, 4>{1, 1, 1, 16},
                                           {1, 33, 45, 16},
                                           {2, 70, 64, 64},
                                           {3, 31, 100, 32},
                                           {4, 64, 130, 19},
                                           {5, 65, 37, 16},
                                           {17, 40, 900, 128},
                                           {250, 35, 800, 32}}) {
        ++which;
        Weights w = weights(k, n, block, type, which % 2 == 0, which % 3 == 0, random,
                            which % 5 == 0   ? DataType::float16
                            : which % 7 == 0 ? DataType::bfloat16
                                             : DataType::float32);
        if (which % 4 < 2) w.draw_minimums(random);
        const Fenced a(static_cast<size_t>(m * k), random);
        const auto got = multiply(isa, w, m, a.data(), false, 1),
                   strict = multiply(isa, w, m, a.data(), true, 1);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < k; ++l) {
              const double x = a[static_cast<size_t>(i * k + l)];
              sum += x * w.at(l, j);
              // Minimums are summed apart from the scaled numbers, so both count.
              const double minimum =
                  w.minimums.size() > 0
                      ? load_double(w.minimums, l / block * w.row() + j * w.column(w.blocks()))
                      : 0;
              size += std::abs(x * (w.at(l, j) - minimum)) + std::abs(x * minimum);
            }
            const auto at = static_cast<size_t>(i * n + j);
            ASSERT_NEAR(got[at], sum, 0x1p-21 * size)
                << name_of(isa) << " " << name_of(type) << " " << m << "x" << n << "x" << k;
            ASSERT_NEAR(strict[at], sum, 0x1p-21 * size) << name_of(isa) << " " << name_of(type);
          }
        ASSERT_EQ(multiply(isa, w, m, a.data(), false, 3), got);
        ASSERT_EQ(multiply(isa, w, m, a.data(), true, 3), strict);
        // Each row as it comes out alone, and with others.
        for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{7}})
          for (int64_t first = 0; first + rows <= m; first += m > 20 ? 31 : 1) {
            const auto some = multiply(isa, w, rows, a.data() + first * k, true, 1);
            ASSERT_TRUE(std::equal(some.begin(), some.end(), strict.begin() + first * n))
                << name_of(isa) << " " << name_of(type) << " " << rows << " of " << m;
          }
      }
}

// Engines.

onnx::AttributeProto block_size(int64_t n) { return int_attribute("block_size", n); }

/// y = x W for weights of that kind, as models have it: `how` is the form of the product, and what is between
/// it and the weights.
enum class How { matmul, transposed, gemm, bias };
ModelBuilder product(const Weights& w, How how, DataType type = DataType::float32) {
  const std::string floats = type == DataType::float32 ? "float" : "float16";
  ModelBuilder b(25, 11);
  b.input("x", floats + "[m," + std::to_string(w.k) + "]").output("y");
  b.initializer(onnx::from_tensor(w.numbers, "w")).initializer(onnx::from_tensor(w.scales, "s"));
  std::vector<std::string> inputs{"w", "s"};
  if (w.zeros.size() > 0) {
    b.initializer(onnx::from_tensor(w.zeros, "z"));
    inputs.push_back("z");
  }
  b.node("DequantizeLinear", inputs, {"d"},
         {int_attribute("axis", w.transposed ? 1 : 0), block_size(w.block)});
  const std::string product_name = how == How::bias ? "p" : "y";
  if (how == How::gemm) {
    b.node("Gemm", {"x", "d"}, {product_name}, {int_attribute("transB", w.transposed)});
  } else if (w.transposed) {
    b.node("Transpose", {"d"}, {"t"}).node("MatMul", {"x", "t"}, {product_name});
  } else {
    b.node("MatMul", {"x", "d"}, {product_name});
  }
  if (how == How::bias) {
    b.initializer(onnx::from_tensor(random_tensor(type, {w.n}, 9), "b"));
    b.node("Add", {"p", "b"}, {"q"}).node("Relu", {"q"}, {"y"});
  }
  return b;
}

int64_t count_steps(const Engine& e, std::string_view op) {
  return std::ranges::count(e.steps(), op, [](const StepInfo& s) -> std::string_view { return s.op; });
}

std::vector<Value> one(const Value& x) { return {x}; }
Value run(const onnx::Model& m, const Value& x, const BuildOptions& options) {
  return Engine::build(m, options).create_context().run(one(x))[0];
}

TEST(LowBit, ModelsAreBuiltWithThem) {
  Random random(5);
  for (const bool transposed : {false, true})
    for (How how : {How::matmul, How::gemm, How::bias})
      for (DataType type : {DataType::uint4, DataType::int8}) {
        const Weights w = weights(75, 70, 16, type, how != How::gemm, transposed, random);
        const onnx::Model m = product(w, how).model;
        for (int64_t rows : {1, 7}) {
          const Value x = random_tensor(DataType::float32, {rows, 75}, 11);
          const Value want = run(m, x, {.backend = "reference", .level = OptimizationLevel::none});
          for (const char* isa : {"", "avx2", "generic"})
            for (uint64_t limit : {uint64_t{0}, uint64_t{1} << 28}) {
              const Engine e = Engine::build(m, {.isa = isa, .fold_limit = limit});
              EXPECT_EQ(count_steps(e, "LowBitMatMul"), 1);
              EXPECT_EQ(e.steps().size(), 1u);
              const Value got = e.create_context().run(one(x))[0];
              const Comparison close = compare(got, want, 1e-5, 1e-5);
              EXPECT_TRUE(close.equal) << close.reason;
            }
        }
      }
}

/// y = x W for weights whose blocks, an axis of their own, have minimums.
ModelBuilder product_with_minimums(const Weights& w, DataType type = DataType::float32) {
  const std::string k = std::to_string(w.k), floats = type == DataType::float32 ? "float" : "float16";
  ModelBuilder b(25, 11);
  b.input("x", floats + "[m," + k + "]").output("y");
  const auto in_blocks = [&](const Tensor& t, int64_t last) {
    Tensor shaped(t.type(), {w.n, w.blocks(), last});
    std::memcpy(shaped.data(), t.data(), t.bytes());
    return shaped;
  };
  b.initializer(onnx::from_tensor(in_blocks(w.numbers, w.block), "w"))
      .initializer(onnx::from_tensor(in_blocks(w.scales, 1), "s"))
      .initializer(onnx::from_tensor(in_blocks(w.minimums, 1), "least"));
  Tensor shape(DataType::int64, {2});
  shape.as<int64_t>()[0] = w.n, shape.as<int64_t>()[1] = w.k;
  b.initializer(onnx::from_tensor(shape, "shape"));
  std::vector<std::string> inputs{"w", "s"};
  if (w.zeros.size() > 0) {
    b.initializer(onnx::from_tensor(in_blocks(w.zeros, 1), "z"));
    inputs.push_back("z");
  }
  b.node("DequantizeLinear", inputs, {"d"}, {int_attribute("axis", 2), block_size(w.block)});
  b.node("Add", {"d", "least"}, {"a"}).node("Reshape", {"a", "shape"}, {"r"});
  b.node("Transpose", {"r"}, {"t"}).node("MatMul", {"x", "t"}, {"y"});
  return b;
}

TEST(LowBit, MinimumsOfBlocks) {
  Random random(12);
  for (DataType type : {DataType::uint4, DataType::uint2, DataType::int8})
    for (const bool half : {false, true}) {
      const DataType floats = half ? DataType::float16 : DataType::float32;
      Weights w = weights(96, 70, 32, type, type == DataType::int8, true, random, floats);
      w.draw_minimums(random);
      const onnx::Model m = product_with_minimums(w, floats).model;
      for (int64_t rows : {1, 7}) {
        const Value x = random_tensor(floats, {rows, 96}, 3);
        const Value want = run(m, x, {.backend = "reference", .level = OptimizationLevel::none});
        for (const char* isa : {"", "avx2", "generic"})
          for (Numerics numerics : {Numerics::normal, Numerics::strict})
            for (const bool refit : {false, true}) {
              const Engine e = Engine::build(m, {.isa = isa, .numerics = numerics, .refit = refit});
              EXPECT_EQ(count_steps(e, "LowBitMatMul"), 1) << name_of(type) << half << refit;
              EXPECT_EQ(count_steps(e, "Add"), 0);
              // The reference rounds every weight to half precision.
              const double close = half ? 1e-2 : 1e-5;
              const Comparison c = compare(e.create_context().run(one(x))[0], want, close, close);
              EXPECT_TRUE(c.equal) << c.reason;
            }
      }
    }
}

TEST(LowBit, MinimumsThatAreNotOfBlocksAreAdded) {
  Random random(13);
  Weights w = weights(96, 70, 32, DataType::uint4, false, true, random);
  w.draw_minimums(random);
  const Value x = random_tensor(DataType::float32, {3, 96}, 3);
  // A number for every element, and one for each row.
  for (const Shape& shape : {Shape{70, 3, 32}, Shape{70, 1, 1}}) {
    ModelBuilder b = product_with_minimums(w);
    b.graph().initializer[2] = onnx::from_tensor(random_tensor(DataType::float32, shape, 4), "least");
    const Engine e = Engine::build(b.model);
    EXPECT_EQ(count_steps(e, "LowBitMatMul"), 0);
    const Comparison c =
        compare(e.create_context().run(one(x))[0], run(b.model, x, {.backend = "reference"}), 1e-5, 1e-5);
    EXPECT_TRUE(c.equal) << c.reason;
  }
}

TEST(LowBit, HalfPrecisionToo) {
  Random random(6);
  const Weights w = weights(96, 70, 32, DataType::uint4, true, true, random, DataType::float16);
  const onnx::Model m = product(w, How::matmul, DataType::float16).model;
  const Value x = random_tensor(DataType::float16, {3, 96}, 2);
  const Engine e = Engine::build(m);
  EXPECT_EQ(count_steps(e, "LowBitMatMul"), 1);
  EXPECT_EQ(count_steps(e, "DequantizeLinear"), 0);
  const Comparison close =
      compare(e.create_context().run(one(x))[0],
              run(m, x, {.backend = "reference", .level = OptimizationLevel::none}), 4e-3, 4e-3);
  EXPECT_TRUE(close.equal) << close.reason;
}

TEST(LowBit, RowsOfAnyShape) {
  Random random(10);
  const Weights w = weights(96, 70, 32, DataType::uint4, true, true, random);
  for (const Shape& shape : {Shape{96}, Shape{2, 3, 96}, Shape{2, 1, 7, 96}, Shape{0, 96}}) {
    ModelBuilder b = product(w, How::matmul);
    std::string type = "float[";
    for (int64_t size : shape) type += (type.back() == '[' ? "" : ",") + std::to_string(size);
    b.graph().input[0] = make_value("x", type + "]");
    const Value x = random_tensor(DataType::float32, shape, 5);
    const Value want = run(b.model, x, {.backend = "reference"});
    for (Numerics numerics : {Numerics::normal, Numerics::strict}) {
      const Engine e = Engine::build(b.model, {.numerics = numerics});
      EXPECT_EQ(count_steps(e, "LowBitMatMul"), 1);
      const Value got = e.create_context().run(one(x))[0];
      EXPECT_EQ(got.tensor().shape(), want.tensor().shape());
      EXPECT_TRUE(compare(got, want, 1e-5, 1e-5).equal);
    }
  }
}

TEST(LowBit, OnlyBlocksAlongTheTerms) {
  Random random(7);
  Weights w = weights(64, 64, 16, DataType::uint4, true, false, random);
  ModelBuilder b = product(w, How::matmul);
  // The blocks run along the columns of the product instead.
  b.graph().initializer[1] = onnx::from_tensor(random_tensor(DataType::float32, {64, 4}, 3), "s");
  b.graph().initializer[2] = onnx::from_tensor(Tensor(DataType::uint4, {64, 4}), "z");
  b.graph().node[0].attribute[0] = int_attribute("axis", 1);
  const Engine e = Engine::build(b.model);
  EXPECT_EQ(count_steps(e, "LowBitMatMul"), 0);
  const Value x = random_tensor(DataType::float32, {2, 64}, 4);
  EXPECT_TRUE(
      compare(e.create_context().run(one(x))[0], run(b.model, x, {.backend = "reference"}), 1e-5, 1e-5)
          .equal);
  // Weights that something else reads as well become floats for both.
  ModelBuilder both = product(w, How::matmul);
  both.output("z2").node("ReduceSum", {"d"}, {"z2"});
  const Engine shared = Engine::build(both.model);
  const std::vector<Value> got = shared.create_context().run(one(x));
  const std::vector<Value> want =
      Engine::build(both.model, {.backend = "reference"}).create_context().run(one(x));
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(compare(got[i], want[i], 1e-4, 1e-4).equal);
}

TEST(LowBit, PlansKeepThemSmallAndAreExchangeable) {
  Random random(8);
  const Weights w = weights(512, 256, 32, DataType::uint4, true, true, random),
                other = weights(512, 256, 32, DataType::uint4, true, true, random);
  const onnx::Model m = product(w, How::matmul).model, changed = product(other, How::matmul).model;
  const Value x = random_tensor(DataType::float32, {2, 512}, 1);
  const Value want = run(m, x, {}), then = run(changed, x, {});
  const Engine e = Engine::build(m, {.refit = true});
  EXPECT_EQ(count_steps(e, "LowBitMatMul"), 1);
  EXPECT_TRUE(compare(e.create_context().run(one(x))[0], want, 0, 0).equal);
  // The file's four bits and the packed ones, and scales and zero points of both: not a float for each.
  EXPECT_LT(Engine::build(m).memory({{"x", {2, 512}}}).weights, 512u * 256 * 2);

  Builder().refit_engine(e, {{"w", other.numbers}, {"s", other.scales}, {"z", other.zeros}});
  EXPECT_TRUE(compare(e.create_context().run(one(x))[0], then, 0, 0).equal);

  const testing::TempDirectory directory;
  Engine::build(m).save(directory / "p.lathe");
  EXPECT_TRUE(compare(Engine::load(directory / "p.lathe").create_context().run(one(x))[0], want, 0, 0).equal);
  BuildOptions lesser;
  lesser.isa = "generic";
  EXPECT_TRUE(
      compare(Engine::load(directory / "p.lathe", lesser).create_context().run(one(x))[0], want, 1e-4, 1e-4)
          .equal);
}

TEST(LowBit, VerifyAgrees) {
  Random random(9);
  const Weights w = weights(100, 60, 32, DataType::int4, true, true, random);
  const VerifyReport report = verify(product(w, How::bias).model);
  EXPECT_FALSE(report.fault);
  EXPECT_FALSE(report.trials.empty());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
