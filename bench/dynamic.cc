// A model whose sizes are free beside the same model with fixed ones, in alternation.
//
//   lathe_bench_dynamic STATIC.onnx DYNAMIC.onnx [SECONDS]
//
// Both get inputs of the static model's shapes, where sizes are free 1; one thread. Prints the least and the
// median of each and their ratios, in processor time. With "strict" in place of the second model the first
// one is built twice, with normal and with strict numerics.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lathe/lathe.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Processor time of this thread, in seconds: what else the machine does is not in it.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// One engine with a context that is bound to inputs of these shapes.
struct Side {
  Side(const std::string& model, const lathe::BuildOptions& options)
      : engine(lathe::Engine::build(model, options)) {}
  void bind(const std::vector<lathe::Tensor>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) context.bind_input(engine.inputs()[i].name, inputs[i]);
    for (int i = 0; i < 3; ++i) context.run();
  }
  void round(double seconds) {
    const auto begin = Clock::now();
    do {
      const double start = now();
      context.run();
      times.push_back(now() - start);
    } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  }
  double least() const { return *std::min_element(times.begin(), times.end()); }
  double median() {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  }

  lathe::Engine engine;
  lathe::Context context = engine.create_context();
  std::vector<double> times;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: lathe_bench_dynamic STATIC.onnx DYNAMIC.onnx|strict [SECONDS]\n"), 2;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 5;
  lathe::BuildOptions options{.threads = 1};
  Side fixed(argv[1], options);
  const bool strict = std::string(argv[2]) == "strict";
  if (strict) options.numerics = lathe::Numerics::strict;
  Side other(strict ? argv[1] : argv[2], options);
  std::vector<lathe::Tensor> inputs;
  for (const lathe::IoInfo& io : fixed.engine.inputs()) {
    lathe::Shape shape;
    for (const lathe::Dim& d : *io.shape) shape.push_back(d.value().value_or(1));
    inputs.push_back(lathe::random_tensor(io.element_type, shape, 0));
  }
  fixed.bind(inputs);
  other.bind(inputs);
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    fixed.round(0.05);
    other.round(0.05);
  }
  std::printf("%s: %.4f ms, %s %.4f ms, ratio %.3f; medians %.4f, %.4f, %.3f; %zu and %zu steps\n", argv[1],
              1e3 * fixed.least(), strict ? "strict" : "dynamic", 1e3 * other.least(),
              other.least() / fixed.least(), 1e3 * fixed.median(), 1e3 * other.median(),
              other.median() / fixed.median(), fixed.engine.steps().size(), other.engine.steps().size());
}
