// If outputs are bound and shapes follow from the inputs, a run allocates nothing and takes no lock, for any
// model.
#include "support/allocations.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "support/locks.h"
#include "support/shared_data.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Counts what a run must not do, and tells why it may.
struct Sample {
  std::string skipped = {};  // why the promise does not hold for it
  std::map<std::string, long> by_kernel = {};
  long total = 0;
  long locks = 0;
};

/// Allocates all the same: it reads the text of its equation at every run.
constexpr std::string_view excused = "Einsum.ref";

bool only_tensors(const Engine& e) {
  const auto tensor = [](const IoInfo& io) {
    return io.element_type != DataType::undefined && io.element_type != DataType::string;
  };
  return std::ranges::all_of(e.inputs(), tensor) && std::ranges::all_of(e.outputs(), tensor);
}

/// One run, counted by kernel. The listener of the steps itself allocates nothing.
Sample counted_run(Context& context) {
  struct Counted {
    std::string_view kernel;
    long allocations = 0;
  };
  std::vector<Counted> steps(100000);
  size_t used = 0;
  long last = 0;
  context.on_step([&](const StepRun& s) {
    const long now = test::allocations;
    if (now != last && used < steps.size()) steps[used++] = {s.kernel, now - last};
    last = now;
  });
  const long before = last = test::allocations, locked = test::locks;
  context.run();
  Sample sample{.total = test::allocations - before, .locks = test::locks - locked};
  for (size_t i = 0; i < used; ++i) sample.by_kernel[std::string(steps[i].kernel)] += steps[i].allocations;
  return sample;
}

/// The third run of one data set.
Sample third_run(const ConformanceCase& c, const BuildOptions& options) {
  const Engine engine = Engine::build(c.model, options);
  if (!only_tensors(engine)) return {.skipped = "inputs or outputs that are not tensors of numbers"};
  Context context = engine.create_context();
  NamedShapes shapes;
  for (const IoInfo& io : engine.inputs()) {
    const auto file = c.sets.at(0).inputs.find(io.name);
    if (file == c.sets[0].inputs.end()) continue;
    const Value v = load_case_value(file->second, io.type);
    shapes[io.name] = v.tensor().shape();
    context.bind_input(io.name, v);
  }
  const NamedShapes known = engine.output_shapes(shapes);
  for (const IoInfo& io : engine.outputs()) {
    const auto shape = known.find(io.name);
    if (shape == known.end()) return {.skipped = "the shape of '" + io.name + "' depends on the data"};
    context.bind_output(io.name, Tensor(io.element_type, shape->second));
  }
  context.run();
  context.run();

  // Several threads take scratch memory at once or one after the other, as it happens: how much there has to
  // be is known after some runs.
  const int max_runs = options.threads == 1 ? 1 : 30;
  Sample sample = counted_run(context);
  for (int run = 1; sample.total > 0 && run < max_runs; ++run) sample = counted_run(context);
  return sample;
}

void expect_no_allocations(const BuildOptions& options) {
  LATHE_NEEDS_SHARED(shared);
  const char* only = std::getenv("LATHE_CASE");
  size_t quiet = 0;
  for (const ConformanceCase& c : model_cases(shared, false)) {
    if (only && c.name.find(only) == std::string::npos) continue;
    Sample s;
    try {
      s = third_run(c, options);
    } catch (const Error& e) {
      s.skipped = e.what();  // operators that are missing are the conformance test's business
    }
    if (!s.skipped.empty()) {
      std::printf("%-40s not counted: %s\n", c.name.c_str(), s.skipped.c_str());
      continue;
    }
    if (const auto at = s.by_kernel.find(std::string(excused)); at != s.by_kernel.end())
      s.total -= at->second;
    EXPECT_EQ(s.total, 0) << c.name;
    EXPECT_EQ(s.locks, 0) << c.name;
    quiet += s.total == 0;
    if (s.total) std::printf("%-40s %ld allocations\n", c.name.c_str(), s.total);
    for (const auto& [kernel, n] : s.by_kernel) std::printf("    %6ld %s\n", n, kernel.c_str());
  }
  std::printf("%zu models allocate nothing\n", quiet);
  EXPECT_GT(quiet, only ? 0u : 20u);
}

TEST(Locks, AreCounted) {
  if (!test::counts_locks) GTEST_SKIP() << "sanitizers look at the same calls";
  const long before = test::locks;
  std::mutex m;
  { const std::lock_guard lock(m); }
  std::shared_mutex s;
  { const std::shared_lock lock(s); }
  EXPECT_EQ(test::locks - before, 2);
  std::timed_mutex timed;
  const auto now = std::chrono::steady_clock::now();
  if (timed.try_lock_until(now)) timed.unlock();
  EXPECT_EQ(test::locks - before, 3);
  std::condition_variable changed;
  std::unique_lock lock(m);
  changed.wait_until(lock, now);  // takes the mutex again inside the C library
  EXPECT_EQ(test::locks - before, 5);
  sem_t signal;
  ASSERT_EQ(sem_init(&signal, 0, 1), 0);
  EXPECT_EQ(sem_wait(&signal), 0);
  EXPECT_EQ(test::locks - before, 6);
  sem_destroy(&signal);
}

TEST(Allocations, NoneInFastKernels) { expect_no_allocations({.threads = 1}); }
TEST(Allocations, NoneOnTwoThreads) { expect_no_allocations({.threads = 2}); }
TEST(Allocations, NoneInReferences) { expect_no_allocations({.threads = 1, .backend = "reference"}); }

/// Allocations of a run with that many iterations, when such a run is nothing new.
long in_a_run(Context& context, const std::vector<Value>& inputs) {
  for (int i = 0; i < 3; ++i) context.run(inputs);
  const long before = test::allocations;
  context.run(inputs);
  return test::allocations - before;
}

/// Bodies of fixed shapes: a long run allocates as often as a short one.
TEST(Allocations, NoneInIterations) {
  const Tensor x = random_tensor(DataType::float32, {1, 16}, 1), yes = Tensor::scalar(true);
  const auto trips = [](int64_t n) { return Tensor::scalar(n); };
  const auto rows = [](int64_t n) { return random_tensor(DataType::float32, {n, 1, 16}, 2); };
  const auto sequence = [&](size_t n) {
    Sequence s{.elem = DataType::float32};
    s.items->assign(n, x);
    return s;
  };
  const struct {
    const char* text;
    std::vector<Value> few, many;
  } loops[] = {
      {"(float[1,16] x, int64 n, bool yes) => (float[1,16] y, float[k,1,16] z, int64[k] counted) { y, z, "
       "counted = "
       "Loop (n, yes, x) <body = b (int64 i, bool c, float[1,16] s) => (bool c, float[1,16] next, "
       "float[1,16] next, "
       "int64 i) { d = Softmax(s) next = Add(d, s) }> }",
       {x, trips(10), yes},
       {x, trips(1000), yes}},
      {"(float[1,16] x, int64 n, bool yes) => (float[1,16] y) { y = Loop (n, yes, x) <body = b (int64 i, "
       "bool c, "
       "float[1,16] s) => (bool again, float[1,16] next) { again = Identity(c) outer = Softmax(x) next = "
       "Add(s, outer) "
       "}> }",
       {x, trips(10), yes},
       {x, trips(1000), yes}},
      {"(float[1,16] x, float[n,1,16] all) => (float[1,16] y, float[n,1,16] z) { y, z = Scan "
       "<num_scan_inputs = 1, "
       "body = b (float[1,16] s, float[1,16] each) => (float[1,16] next, float[1,16] made) { next = Add(s, "
       "each) made "
       "= Softmax(each) }> (x, all) }",
       {x, rows(10)},
       {x, rows(1000)}},
      {"(seq(float[1,16]) all) => (seq(float[1,16]) y) { y = SequenceMap <body = b (float[1,16] each) => "
       "(float[1,16] made) { made = Softmax(each) }> (all) }",
       {sequence(10)},
       {sequence(1000)}},
      {"(float[1,16] x, float[1,16,n] all) => (float[1,16] y, float[1,n,16] z) { y, z = Scan "
       "<num_scan_inputs = 1, "
       "scan_input_axes = [2], scan_output_axes = [1], scan_input_directions = [1], body = b (float[1,16] s, "
       "float[1,16] each) => (float[1,16] each, float[1,16] made) { made = Sub(s, each) }> (x, all) }",
       {x, random_tensor(DataType::float32, {1, 16, 10}, 2)},
       {x, random_tensor(DataType::float32, {1, 16, 1000}, 2)}},
  };
  for (const char* backend : {"cpu", "reference"})
    for (const auto& loop : loops) {
      const Engine engine = Engine::build(model_of(loop.text), {.threads = 1, .backend = backend});
      Context context = engine.create_context();
      EXPECT_EQ(in_a_run(context, loop.few), in_a_run(context, loop.many)) << backend << ": " << loop.text;
    }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
