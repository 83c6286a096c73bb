// What recording a profile costs: runs with and without, in alternation.
//
//   lathe_bench_profile MODEL.onnx [SECONDS]
//
// Prints the medians of both and of the ratio within each pair of rounds. A pair is a few milliseconds, so
// that what else the machine does weighs on both alike.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lathe/lathe.h"

namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Seconds a run. The first does not count: starting a profile sweeps the caches.
double round_of(lathe::Context& context, int runs) {
  context.run();
  const auto start = Clock::now();
  for (int i = 0; i < runs; ++i) context.run();
  return std::chrono::duration<double>(Clock::now() - start).count() / runs;
}

lathe::Context make_context(const lathe::Engine& engine) {
  lathe::Context context = engine.create_context();
  for (const lathe::IoInfo& io : engine.inputs()) {
    lathe::Shape shape;
    for (const lathe::Dim& d : *io.shape) shape.push_back(d.value().value_or(1));
    context.bind_input(io.name, lathe::random_tensor(io.element_type, shape, 0));
  }
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: lathe_bench_profile MODEL.onnx [SECONDS]\n"), 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  const lathe::Engine engine = lathe::Engine::build(argv[1], {.threads = 1});
  lathe::Context context = make_context(engine);
  context.start_profile();
  context.run();
  const int runs = std::max(1, static_cast<int>(0.002 / round_of(context, 20)));
  std::vector<double> without, with, ratio;
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    context.stop_profile();
    without.push_back(round_of(context, runs));
    context.start_profile();
    with.push_back(round_of(context, runs));
    ratio.push_back(with.back() / without.back());
  }
  std::printf(
      "%zu steps, %zu pairs of %d runs: %.2f us without, %.2f us with, ratio %.4f (medians); least %.2f, "
      "%.2f\n",
      engine.steps().size(), ratio.size(), runs, 1e6 * median(without), 1e6 * median(with), median(ratio),
      1e6 * *std::min_element(without.begin(), without.end()),
      1e6 * *std::min_element(with.begin(), with.end()));
}
