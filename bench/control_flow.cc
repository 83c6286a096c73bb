// Measures what an iteration of Loop, Scan and SequenceMap costs beyond its kernels, and what If adds.
//
//   lathe_bench_control_flow [SECONDS]
//
// Each model is compared with one that runs the same kernels as often, one after the other: the result is the
// difference, divided by the number of iterations. One thread, processor time, in alternation, the least of
// each.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/text_model.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int iterations = 500;

/// Processor time of this thread, in microseconds: what else the machine does is not in it.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

struct Side {
  Side(const std::string& text, std::vector<lathe::Value> with)
      : engine(lathe::Engine::build(lathe::testing::model_of(text), {.threads = 1})),
        inputs(std::move(with)) {}
  void round() {
    for (int i = 0; i < 20; ++i) {
      const double start = now();
      context.run(inputs);
      least = std::min(least, now() - start);
    }
  }
  lathe::Engine engine;
  lathe::Context context = engine.create_context();
  std::vector<lathe::Value> inputs;
  double least = 1e30;
};

lathe::Tensor floats(lathe::Shape shape) { return lathe::random_tensor(lathe::DataType::float32, shape, 1); }

/// Softmax after Softmax: nothing that would be fused.
std::string chain(int length) {
  std::string text = "(float[1,16] x) => (float[1,16] y) {";
  for (int i = 0; i < length; ++i)
    text += (i + 1 == length ? "y" : "s" + std::to_string(i + 1)) + " = Softmax(" +
            (i == 0 ? "x" : "s" + std::to_string(i)) + ")\n";
  return text + "}";
}

struct Subject {
  const char* name;
  std::string text;
  int kernels;  // Softmax in each iteration
  std::vector<lathe::Value> inputs;
};

std::vector<Subject> subjects() {
  const lathe::Tensor x = floats({1, 16}), trips = lathe::Tensor::scalar<int64_t>(iterations),
                      yes = lathe::Tensor::scalar(true);
  lathe::Sequence sequence{.elem = lathe::DataType::float32};
  sequence.items->assign(iterations, x);
  std::string branches = "(float[1,16] x, bool yes) => (float[1,16] y) {";
  for (int i = 0; i < iterations; ++i)
    branches += (i + 1 == iterations ? "y" : "s" + std::to_string(i + 1)) +
                " = If (yes) <then_branch = t () => (float[1,16] t) { t = Softmax(" +
                (i == 0 ? "x" : "s" + std::to_string(i)) +
                ") }, else_branch = e () => (float[1,16] e) { e = Neg(x) }>\n";
  branches += "}";
  return {
      {"Loop, a state",
       "(float[1,16] x, int64 n, bool yes) => (float[1,16] y) { y = Loop (n, yes, x) <body = b (int64 i, "
       "bool c, "
       "float[1,16] s) => (bool c, float[1,16] next) { next = Softmax(s) }> }",
       1,
       {x, trips, yes}},
      {"Loop, its condition made by Identity",
       "(float[1,16] x, int64 n, bool yes) => (float[1,16] y) { y = Loop (n, yes, x) <body = b (int64 i, "
       "bool c, "
       "float[1,16] s) => (bool again, float[1,16] next) { again = Identity(c) next = Softmax(s) }> }",
       1,
       {x, trips, yes}},
      {"Loop, a state and a scan output",
       "(float[1,16] x, int64 n, bool yes) => (float[1,16] y, float[k,1,16] z) { y, z = Loop (n, yes, x) "
       "<body = b "
       "(int64 i, bool c, float[1,16] s) => (bool c, float[1,16] next, float[1,16] next) { next = Softmax(s) "
       "}> }",
       1,
       {x, trips, yes}},
      {"Loop, an outer value and a scan output",
       "(float[1,16] x, int64 n, bool yes) => (float[k,1,16] z) { z = Loop (n, yes) <body = b "
       "(int64 i, bool c) => (bool c, float[1,16] each) { each = Softmax(x) }> }",
       1,
       {x, trips, yes}},
      {"Scan, a state, an input, an output",
       "(float[1,16] x, float[n,1,16] all) => (float[1,16] y, float[n,1,16] z) { y, z = Scan "
       "<num_scan_inputs = 1, "
       "body = b (float[1,16] s, float[1,16] each) => (float[1,16] next, float[1,16] made) { next = "
       "Softmax(s) made = "
       "Softmax(each) }> (x, all) }",
       2,
       {x, floats({iterations, 1, 16})}},
      {"SequenceMap",
       "(seq(float[1,16]) all) => (seq(float[1,16]) y) { y = SequenceMap <body = b (float[1,16] each) => "
       "(float[1,16] "
       "made) { made = Softmax(each) }> (all) }",
       1,
       {sequence}},
      {"If", branches, 1, {x, yes}},
  };
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  for (Subject& s : subjects()) {
    Side with(s.text, std::move(s.inputs)), straight(chain(s.kernels * iterations), {floats({1, 16})});
    const auto begin = Clock::now();
    while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
      with.round();
      straight.round();
    }
    const double each = with.least / iterations, kernels = straight.least / iterations;
    std::printf(
        "%-40s %.3f us an iteration, its kernels %.3f us: %.3f us beyond, ratio %.2f (%zu and %zu steps)\n",
        s.name, each, kernels, each - kernels, each / kernels, with.engine.steps().size(),
        straight.engine.steps().size());
  }
}
