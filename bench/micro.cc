// GFLOP/s of the matrix products and convolutions, one thread, for every instruction set of this machine.
// "fma" is what the registers alone reach: the peak to compare with.
#include <benchmark/benchmark.h>

#include "cpu/conv/conv.h"
#include "support/worker_context.h"

namespace lathe {
namespace {

std::vector<float> ones(int64_t n) { return std::vector<float>(static_cast<size_t>(n), 1.0f); }

void report(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

/// Tiles whose operands stay in the first-level cache: close to the peak of the arithmetic.
void fma(benchmark::State& state, Isa isa) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const int64_t k = 64;
  const std::vector<float> a = ones(g.MR * k), b = ones(k * g.NR);
  std::vector<float> c = ones(g.MR * g.NR);
  const cpu::Tile tile{
      .a = a.data(), .b = b.data(), .b_row = g.NR, .c = c.data(), .c_row = g.NR, .k = k, .columns = g.NR};
  for (auto _ : state) {
    g.run(g.MR, tile);
    benchmark::DoNotOptimize(c.data());
  }
  report(state, 2.0 * static_cast<double>(g.MR * g.NR * k));
}

void product(benchmark::State& state, Isa isa, bool packed, int64_t m, int64_t n, int64_t k) {
  test::WorkerContext context;
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const std::vector<float> a = ones(m * k), b = ones(k * n);
  std::vector<float> c = ones(m * n), weights = ones(cpu::packed_b_size(g, k, n));
  cpu::pack_whole_b(g, weights.data(), {b.data(), n, 1}, k, n, context);
  cpu::Products p{.m = m, .n = n, .k = k};
  p.a = {a.data(), k, 1};
  p.b = {b.data(), n, 1};
  p.c = c.data();
  if (packed) p.packed_b = weights.data();
  void* scratch = context.workspace(cpu::multiply_workspace(g, p));
  for (auto _ : state) cpu::multiply(g, p, scratch, context);
  report(state, 2.0 * static_cast<double>(m) * static_cast<double>(n * k));
}

void convolution(benchmark::State& state, Isa isa, int64_t in, int64_t out, int64_t groups, int64_t size,
                 int64_t kernel, int64_t stride) {
  test::WorkerContext context;
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  cpu::ConvShape s{.groups = groups, .in_channels = in, .out_channels = out};
  for (int a : {1, 2}) {
    s.in[a] = size;
    s.kernel[a] = kernel;
    s.stride[a] = stride;
    s.pad[a] = kernel / 2;
    s.out[a] = (size + 2 * s.pad[a] - kernel) / stride + 1;
  }
  const std::vector<float> x = ones(in * s.in_pixels()), w = ones(out * s.depth());
  std::vector<float> y = ones(out * s.out_pixels()), packed = ones(cpu::packed_conv_weights_size(g, s));
  cpu::pack_conv_weights(g, s, w.data(), packed.data(), context);
  void* scratch = context.workspace(cpu::conv_workspace(g, s, false, 1));
  for (auto _ : state) cpu::conv(isa, s, x.data(), {packed.data()}, nullptr, y.data(), scratch, context);
  report(state, 2.0 * static_cast<double>(out * s.out_pixels()) * static_cast<double>(s.depth()));
}

void register_all() {
  using benchmark::RegisterBenchmark;
  for (Isa isa : test::usable_isas()) {
    const std::string suffix = "." + std::string(name_of(isa));
    RegisterBenchmark(("fma" + suffix).c_str(), fma, isa);
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 4096, 4096},
                           {16, 3072, 768},
                           {128, 768, 768},
                           {128, 3072, 768},
                           {128, 768, 3072},
                           {1024, 1024, 1024}}) {
      const std::string shape = "/" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
      RegisterBenchmark(("constant" + suffix + shape).c_str(), product, isa, true, m, n, k);
      RegisterBenchmark(("variable" + suffix + shape).c_str(), product, isa, false, m, n, k);
    }
    for (auto [in, out, groups, size, kernel, stride] : {std::array<int64_t, 6>{3, 64, 1, 224, 7, 2},
                                                         {64, 64, 1, 56, 3, 1},
                                                         {256, 64, 1, 56, 1, 1},
                                                         {256, 256, 1, 14, 3, 1},
                                                         {512, 512, 1, 7, 3, 1},
                                                         {144, 144, 144, 56, 3, 1}})
      RegisterBenchmark(
          ("conv" + suffix + "/" + std::to_string(in) + "->" + std::to_string(out) + " " +
           std::to_string(size) + " kernel " + std::to_string(kernel) + " stride " + std::to_string(stride))
              .c_str(),
          convolution, isa, in, out, groups, size, kernel, stride);
  }
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  lathe::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
