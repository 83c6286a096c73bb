// Measures the cost of the first call at a new shape: for every size of one symbol, a first call and warm
// ones.
//
//   lathe_bench_sweep MODEL.onnx SYMBOL FIRST LAST [STEP [PASSES]]
//
// Other symbols are 1. In each pass a fresh context runs every size once. Prints median, 95th percentile and
// maximum of first call / warm call: of single passes, which include the machine's noise, and of the least of
// all passes.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lathe/lathe.h"

namespace {

using Times = std::vector<double>;  // seconds, by size

struct Pass {
  Times first, warm;
};

/// Processor time, of the thread that calls: what else the machine does is not in it.
double timed(lathe::Context& context) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  context.run();
  return now() - start;
}

/// Integers are all 0: a token, a mask, a length of any model.
void bind(lathe::Context& context, const lathe::Engine& engine, const std::string& symbol, int64_t size) {
  for (const lathe::IoInfo& io : engine.inputs()) {
    lathe::Shape shape;
    for (const lathe::Dim& d : *io.shape)
      shape.push_back(d.evaluate([&](std::string_view name) -> std::optional<int64_t> {
                         return name == symbol ? size : 1;
                       }).value());
    context.bind_input(io.name, lathe::random_tensor(io.element_type, shape, 0));
  }
}

Pass pass(const lathe::Engine& engine, const std::string& symbol, const std::vector<int64_t>& sizes) {
  lathe::Context context = engine.create_context();
  Pass p;
  for (int64_t size : sizes) {
    bind(context, engine, symbol, size);
    p.first.push_back(timed(context));
    double warm[] = {timed(context), timed(context), timed(context)};
    std::sort(std::begin(warm), std::end(warm));
    p.warm.push_back(warm[1]);
  }
  return p;
}

void print(const char* what, const Pass& p, const std::vector<int64_t>& sizes) {
  std::vector<double> ratio;
  for (size_t i = 0; i < p.first.size(); ++i) ratio.push_back(p.first[i] / p.warm[i]);
  const size_t worst = static_cast<size_t>(std::max_element(ratio.begin(), ratio.end()) - ratio.begin());
  const auto over = std::count_if(ratio.begin(), ratio.end(), [](double r) { return r > 1.2; });
  std::sort(ratio.begin(), ratio.end());
  const auto at = [&](double part) {
    return ratio[static_cast<size_t>(part * static_cast<double>(ratio.size() - 1))];
  };
  std::printf("%s: median %.3f, p95 %.3f, max %.3f (at %ld: %.3f ms warm); %ld of %zu above 1.2\n", what,
              at(0.5), at(0.95), ratio.back(), static_cast<long>(sizes[worst]), 1e3 * p.warm[worst],
              static_cast<long>(over), ratio.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: lathe_bench_sweep MODEL SYMBOL FIRST LAST [STEP [PASSES]]\n"), 2;
  const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  std::vector<int64_t> sizes;
  for (int64_t n = number(3, 1); n <= number(4, 1); n += std::max(1, number(5, 1))) sizes.push_back(n);
  const std::string model = argv[1];
  const lathe::BuildOptions options{.threads = 1};
  const lathe::Engine engine =
      model.ends_with(".lathe") ? lathe::Engine::load(model, options) : lathe::Engine::build(model, options);
  pass(engine, argv[2], {sizes.front()});  // what only the first run of all pays for
  Pass least;
  for (int i = 0; i < number(6, 3); ++i) {
    const Pass p = pass(engine, argv[2], sizes);
    print("one pass", p, sizes);
    if (i == 0) least = p;
    for (size_t k = 0; k < sizes.size(); ++k) {
      least.first[k] = std::min(least.first[k], p.first[k]);
      least.warm[k] = std::min(least.warm[k], p.warm[k]);
    }
  }
  print("least of all passes", least, sizes);
}
