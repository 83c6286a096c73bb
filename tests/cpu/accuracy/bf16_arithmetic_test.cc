// Products in bfloat16: kernels against sums in double of the rounded factors, and engines that were allowed
// them.
#include <gtest/gtest.h>

#include <cmath>

#include "base/cpu.h"
#include "cpu/gemm/gemm.h"
#include "lathe/lathe.h"
#include "support/temp_directory.h"
#include "support/tiles.h"
#include "support/worker_context.h"

namespace lathe {
namespace LATHE_TEST_FILE {

std::vector<float> multiply(Isa isa, int64_t m, int64_t n, int64_t k, const float* a, const BFloat16* b,
                            bool transposed, const float* bias, int threads, bool strict = false) {
  const cpu::GemmKernels& g = cpu::bf16_dot2_kernels(isa, strict);
  test::WorkerContext context(threads);
  std::vector<float> packed(static_cast<size_t>(cpu::packed_b_size(g, k / 2, n)));
  cpu::pack_bf16_pairs(g, reinterpret_cast<BFloat16*>(packed.data()),
                       {b, transposed ? 1 : n, transposed ? k : 1}, k / 2, n, context);
  cpu::Products p{.m = m, .n = n, .k = k / 2, .a = {a, k, 2}};
  p.packed_b = packed.data();
  p.start = {bias, 0, 1, 1};
  test::Fenced c(static_cast<size_t>(m * n));
  p.c = c.data();
  cpu::multiply(g, p, context.workspace(cpu::multiply_workspace(g, p)), context);
  EXPECT_TRUE(c.intact());
  return {c.data(), c.data() + c.size()};
}

TEST(Bf16Arithmetic, PairsAgainstSumsOfRoundedFactors) {
  test::Random random(11);
  for (Isa isa : test::usable_isas())
    for (int least : {0, 1, 2}) {  // with AMX, with AVX-512's instructions, without both
      if (least == 0 && isa == Isa::avx512 && !test::provide_tiles()) continue;
      cpu::use_amx(least < 1);
      cpu::use_bf16(least < 2);
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 2},
                                    {1, 100, 30},
                                    {3, 33, 32},
                                    {14, 64, 34},
                                    {5, 16, 66},
                                    {16, 47, 94},
                                    {31, 70, 800},
                                    {33, 65, 1600},
                                    {130, 40, 1400}}) {
        const bool transposed = (m + n) % 2 == 0;
        const test::Fenced a(static_cast<size_t>(m * k), random), wide(static_cast<size_t>(k * n), random),
            bias(static_cast<size_t>(n), random);
        std::vector<BFloat16> b(wide.size());
        for (size_t i = 0; i < b.size(); ++i) b[i] = to_bfloat16(wide[i]);
        const auto got = multiply(isa, m, n, k, a.data(), b.data(), transposed, bias.data(), 1);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = bias[static_cast<size_t>(j)], size = std::abs(sum);
            for (int64_t l = 0; l < k; ++l) {
              const double term =
                  static_cast<double>(to_float(to_bfloat16(a[static_cast<size_t>(i * k + l)]))) *
                  to_float(b[static_cast<size_t>(transposed ? j * k + l : l * n + j)]);
              sum += term;
              size += std::abs(term);
            }
            ASSERT_NEAR(got[static_cast<size_t>(i * n + j)], sum, 0x1p-22 * size)
                << name_of(isa) << " without " << least << " " << m << "x" << n << "x" << k;
          }
        ASSERT_EQ(multiply(isa, m, n, k, a.data(), b.data(), transposed, bias.data(), 3), got);
      }
    }
  cpu::use_bf16(true);
  cpu::use_amx(true);
}

// Strict kernels sum a row alike, however many there are.
TEST(Bf16Arithmetic, StrictRows) {
  test::Random random(12);
  const int64_t n = 40, k = 1600;
  const test::Fenced a(static_cast<size_t>(40 * k), random), wide(static_cast<size_t>(k * n), random),
      bias(static_cast<size_t>(n), random);
  std::vector<BFloat16> b(wide.size());
  for (size_t i = 0; i < b.size(); ++i) b[i] = to_bfloat16(wide[i]);
  for (Isa isa : test::usable_isas()) {
    const auto all = multiply(isa, 40, n, k, a.data(), b.data(), false, bias.data(), 1, true);
    for (int64_t m : {1, 4, 15, 33}) {
      const auto some = multiply(isa, m, n, k, a.data(), b.data(), false, bias.data(), 1, true);
      ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << name_of(isa) << " " << m << " rows";
    }
  }
}

onnx::Model model_of(const std::string& text) {
  onnx::Model m;
  m.proto = onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 22]> g " + text);
  uint64_t seed = 1;
  for (onnx::TensorProto& t : m.proto.graph->initializer) {
    const Tensor made = random_tensor(DataType::float32, Shape(t.dims.begin(), t.dims.end()), ++seed);
    for (float x : made.as<float>()) t.float_data.push_back(x / 16);
  }
  return m;
}

onnx::Model perceptron() {
  return model_of(
      "(float[n,300] x) => (float[n,90] y) "
      "<float[300,200] a = {}, float[200] b = {}, float[90,200] c = {}, float[90,90] small = {}>"
      "{ p = MatMul(x, a) q = Add(p, b) r = Relu(q) s = Gemm<transB=1>(r, c) t = MatMul(s, small) y = "
      "Softmax(t) }");
}

TEST(Bf16Arithmetic, Convolutions) {
  const onnx::Model m = model_of(
      "(float[2,75,11,13] x) => (float[2,96,6,7] y) "
      "<float[64,75,1,1] a = {}, float[64] b = {}, float[96,64,3,3] c = {}, float[96,96,3,3] d = {}>"
      "{ p = Conv(x, a, b) q = Relu(p) r = Conv<pads=[1,1,1,1], strides=[2,2]>(q, c) s = Add(r, r)"
      "  y = Conv<pads=[1,1,1,1]>(s, d) }");
  const std::vector<Value> inputs{random_tensor(DataType::float32, {2, 75, 11, 13}, 5)};
  const Engine wide = Engine::build(m);
  const Value want = wide.create_context().run(inputs)[0];
  for (const char* isa : {"", "avx2"}) {
    const Engine narrow = Engine::build(m, {.isa = isa, .precision = Precision::bfloat16});
    std::string steps;
    for (const StepInfo& s : narrow.steps()) steps += s.op + " ";
    EXPECT_EQ(steps, "Block Bf16BlockedConv Bf16BlockedConv BlockedConv Unblock ");
    const Value got = narrow.create_context().run(inputs)[0];
    const Comparison close = compare(got, want, 2e-2, 2e-2);
    EXPECT_TRUE(close.equal) << close.reason;
    EXPECT_FALSE(compare(got, want, 0, 0).equal);
    const testing::TempDirectory directory;
    narrow.save(directory / "p.lathe");
    EXPECT_TRUE(
        compare(Engine::load(directory / "p.lathe").create_context().run(inputs)[0], got, 0, 0).equal);
  }
}

TEST(Bf16Arithmetic, OnlyWhereItIsAllowed) {
  const onnx::Model m = perceptron();
  const std::vector<Value> inputs{random_tensor(DataType::float32, {21, 300}, 5)};
  BuildOptions o;
  const Engine wide = Engine::build(m, o);
  for (const StepInfo& s : wide.steps()) EXPECT_NE(s.op, "Bf16MatMul");
  const Value want = wide.create_context().run(inputs)[0];
  for (const char* isa : {"", "avx2", "generic"})
    for (OptimizationLevel level : {OptimizationLevel::all, OptimizationLevel::none}) {
      o.precision = Precision::bfloat16;
      o.isa = isa;
      o.level = level;
      const Engine narrow = Engine::build(m, o);
      size_t products = 0;
      for (const StepInfo& s : narrow.steps()) products += s.op == "Bf16MatMul";
      EXPECT_EQ(products, 3u);
      const Value got = narrow.create_context().run(inputs)[0];
      const Comparison close = compare(got, want, 2e-2, 2e-2);
      EXPECT_TRUE(close.equal) << close.reason;
      EXPECT_FALSE(compare(got, want, 0, 0).equal);
      // Sources and packed forms: six bytes an element instead of eight, at most a panel more.
      EXPECT_LT(narrow.memory({{"x", {1, 300}}}).weights, wide.memory({{"x", {1, 300}}}).weights);

      const testing::TempDirectory directory;
      narrow.save(directory / "p.lathe");
      EXPECT_TRUE(
          compare(Engine::load(directory / "p.lathe").create_context().run(inputs)[0], got, 0, 0).equal);
      BuildOptions lesser;
      lesser.isa = "generic";
      const Value there = Engine::load(directory / "p.lathe", lesser).create_context().run(inputs)[0];
      EXPECT_TRUE(compare(there, got, 1e-4, 1e-4).equal);
    }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
