// Measures the cost of recording a profile: runs of a context that records and of one that does not, in
// alternation.
//
//   lathe_bench_profile MODEL.onnx [SECONDS]
//
// Prints the medians of both and of the ratio within each pair of rounds. A pair is a few milliseconds, so
// that other load of the machine affects both alike. The address of a context affects only one of them, so
// half of the pairs use a second couple, in which the other context records. The first thousand runs of a
// profile, all of which are recorded, do not count.
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

/// Seconds a run. The first does not count.
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
  // In the first couple the second context records, in the other the first.
  std::vector<lathe::Context> contexts;
  for (int i = 0; i < 4; ++i) contexts.push_back(make_context(engine));
  const int runs = std::max(1, static_cast<int>(0.002 / round_of(contexts[0], 20)));
  for (const size_t recorder : {1, 2}) {
    contexts[recorder].start_profile(4096);
    for (int i = 0; i < 1000; ++i) contexts[recorder].run();
  }
  std::vector<double> without, with, ratio;
  const auto begin = Clock::now();
  for (size_t pair = 0; std::chrono::duration<double>(Clock::now() - begin).count() < seconds; ++pair) {
    without.push_back(round_of(contexts[pair % 2 ? 3 : 0], runs));
    with.push_back(round_of(contexts[pair % 2 ? 2 : 1], runs));
    ratio.push_back(with.back() / without.back());
  }
  std::printf(
      "%zu steps, %zu pairs of %d runs: %.2f us without, %.2f us with, ratio %.4f (medians); least %.2f, "
      "%.2f\n",
      engine.steps().size(), ratio.size(), runs, 1e6 * median(without), 1e6 * median(with), median(ratio),
      1e6 * *std::min_element(without.begin(), without.end()),
      1e6 * *std::min_element(with.begin(), with.end()));
}
