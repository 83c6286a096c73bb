// `lathe bench`: the time of loading, building and running, and the memory meanwhile.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "command.h"
#include "generation_bench.h"
#include "input_options.h"
#include "json.h"
#include "mapped_fault.h"
#include "progress.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct BenchArguments {
  ModelOptions model;
  EngineOptions engine;
  InputOptions input;
  double seconds = 3;
  bool profile = false;
  GenerationBench generation;
  std::string kv_type;
};

/// The time of all steps of one kernel in all runs.
struct KernelTime {
  uint64_t steps = 0;
  double seconds = 0;
};

struct Measurements {
  double load = 0, build = 0, first_run = 0;
  std::vector<double> runs;  // sorted
  double total = 0;
  uint64_t peak_resident = 0;
  double idle_cpu = 0;  // processors in use between calls
  int threads = 0;
  MemoryInfo memory;
  std::vector<std::string> assumed;
  std::vector<std::pair<std::string, KernelTime>> kernels;  // of the profiled runs, worst first
  uint64_t profiled_runs = 0;
  std::optional<double> strict_cost;  // time of a run over that with normal numerics

  double percentile(double p) const {
    const auto at = static_cast<size_t>(p * static_cast<double>(runs.size() - 1) + 0.5);
    return runs[std::min(at, runs.size() - 1)];
  }
  double mean() const {
    double sum = 0;
    for (double t : runs) sum += t;
    return sum / static_cast<double>(runs.size());
  }
};

double processor_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

/// The peak memory of this program. That of getrusage() is at least what its parent had when it started it.
uint64_t peak_resident() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view label = "VmHWM:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(label)) return std::strtoull(line.c_str() + label.size(), nullptr, 10) * 1024;
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return static_cast<uint64_t>(u.ru_maxrss) * 1024;  // Linux counts KiB
}

/// Measures the processors used between calls, with six calls a second, as a camera or a microphone makes.
template <class Call>
double idle_processors(Call call) {
  double between = 0, waited = 0;
  for (int i = 0; i < 6; ++i) {
    call();
    const double used = processor_seconds();
    const auto start = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(160));
    between += processor_seconds() - used;
    waited += seconds_since(start);
  }
  return between / waited;
}

/// Runs once more with a profile; `lathe profile` tells more of it.
template <class Run>
void profile(Context& context, const Run& run, double seconds, Measurements& m) {
  context.start_profile();
  const auto begin = Clock::now();
  do run();
  while (seconds_since(begin) < seconds);
  context.stop_profile();
  const Profile p = context.profile();
  m.profiled_runs = p.runs;
  std::map<std::string, KernelTime> by_kernel;
  for (const StepProfile& s : p.steps) {
    if (s.count == 0) continue;
    KernelTime& kernel = by_kernel[s.kernel];
    kernel.steps += s.count;
    kernel.seconds += s.seconds;
  }
  m.kernels.assign(by_kernel.begin(), by_kernel.end());
  std::ranges::stable_sort(m.kernels, std::greater{}, [](const auto& k) { return k.second.seconds; });
}

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Alternates short rounds with an engine of normal numerics; the ratio of the medians.
template <class Run>
double cost_of_strict(const onnx::Model& model, BuildOptions build, const Run& strict, NamedValues inputs,
                      double seconds) {
  build.numerics = Numerics::normal;
  const Engine engine = Engine::build(model, build);
  Context context = engine.create_context();
  BoundStates states(engine, context, inputs);
  for (const auto& [name, v] : inputs) context.bind_input(name, v);
  const auto normal = [&] {
    states.reset();
    context.run();
  };
  normal();
  std::vector<double> times[2];
  const auto begin = Clock::now();
  do
    for (int which : {0, 1}) {
      const auto round = Clock::now();
      do {
        const auto start = Clock::now();
        which ? strict() : normal();
        times[which].push_back(seconds_since(start));
      } while (seconds_since(round) < 0.02);
    }
  while (seconds_since(begin) < seconds);
  return median(times[1]) / median(times[0]);
}

Json kernels_json(const Measurements& m) {
  Json list = Json::array();
  const auto runs = static_cast<double>(m.profiled_runs);
  for (const auto& [kernel, t] : m.kernels)
    list.push_back(
        {{"kernel", kernel}, {"steps", static_cast<double>(t.steps) / runs}, {"seconds", t.seconds / runs}});
  return list;
}

void print_kernels(const Measurements& m) {
  double total = 0;
  for (const auto& [kernel, t] : m.kernels) total += t.seconds;
  const auto runs = static_cast<double>(m.profiled_runs);
  Table t;
  t.add({"kernel", "steps", "time", "share"});
  for (const auto& [kernel, k] : m.kernels)
    t.add({kernel.empty() ? "copy" : kernel, fmt::format("{:.4g}", static_cast<double>(k.steps) / runs),
           time_text(k.seconds / runs), fmt::format("{:.1f} %", 100 * k.seconds / total)});
  fmt::print("time in kernels, a run ({} with a clock around every step)\n", counted(m.profiled_runs, "run"));
  t.print();
}

Measurements measure(const BenchArguments& o) {
  Measurements m;
  Progress progress("loading " + o.model.model.string());
  BuildOptions build = o.engine.build_options(o.model);
  build.progress = [&](std::string_view stage, double fraction) {
    progress.stage(stage, fraction);
    return true;
  };
  auto start = Clock::now();
  const bool plan = o.model.is_plan();
  const onnx::Model model = plan ? onnx::Model() : o.model.load();
  m.load = seconds_since(start);
  progress.now("building " + o.model.model.string());
  start = Clock::now();
  const Engine engine = plan ? Engine::load(o.model.model, build) : Engine::build(model, build);
  m.build = seconds_since(start);
  m.threads = engine.threads();

  NamedValues inputs = o.input.values(engine, m.assumed);
  NamedShapes shapes;
  for (const auto& [name, v] : inputs)
    if (v.is_tensor()) shapes[name] = v.tensor().shape();
  m.memory = InputOptions::with_sizes(m.assumed, [&] { return engine.memory(shapes); });

  progress.now("running " + o.model.model.string());
  Context context = engine.create_context();
  const NamedValues given = inputs;
  BoundStates states(engine, context, inputs);
  for (const auto& [name, v] : inputs) context.bind_input(name, v);
  const auto run = [&] {
    states.reset();
    context.run();
  };
  start = Clock::now();
  InputOptions::with_sizes(m.assumed, run);
  m.first_run = seconds_since(start);
  const auto begin = Clock::now();
  do {
    states.reset();
    start = Clock::now();
    context.run();
    m.runs.push_back(seconds_since(start));
  } while (seconds_since(begin) < o.seconds);
  m.total = seconds_since(begin);
  std::sort(m.runs.begin(), m.runs.end());
  m.idle_cpu = idle_processors(run);
  if (!plan && engine.numerics() == Numerics::strict)
    m.strict_cost = cost_of_strict(model, build, run, given, o.seconds);
  if (o.profile) profile(context, run, o.seconds, m);
  m.peak_resident = peak_resident();
  return m;
}

/// A language model, with the options of builds that generators have.
int bench_generator(const BenchArguments& o, bool json) {
  GeneratorArguments model;
  model.model = o.model.model;
  model.threads = o.engine.threads;
  model.isa = o.engine.isa;
  model.untrusted = o.model.untrusted;
  model.kv_type = o.kv_type;
  GenerationBench how = o.generation;
  if (how.prompt == 0 && how.generate == 0) how = {.prompt = 512, .generate = 128, .fits = true};
  how.seconds = o.seconds;
  return run_generation_bench(model, how, json);
}

int run_bench(const BenchArguments& o, bool json) {
  if (o.generation.prompt > 0 || o.generation.generate > 0 ||
      (o.input.shape.shapes.empty() && is_language_model_or_plan(o.model.model)))
    return bench_generator(o, json);
  report_mapped_faults(o.model.model, json);
  const Measurements m = measure(o);
  const double throughput = static_cast<double>(m.runs.size()) / m.total;
  if (json) {
    Json j({{"model", o.model.model.string()},
            {"threads", m.threads},
            {"load_seconds", m.load},
            {"build_seconds", m.build},
            {"first_run_seconds", m.first_run},
            {"runs", m.runs.size()},
            {"latency_seconds",
             {{"min", m.runs.front()},
              {"p50", m.percentile(0.5)},
              {"p90", m.percentile(0.9)},
              {"p99", m.percentile(0.99)},
              {"max", m.runs.back()},
              {"mean", m.mean()}}},
            {"runs_per_second", throughput},
            {"peak_resident_bytes", m.peak_resident},
            {"planned_bytes", m.memory.total()},
            {"idle_cpu", m.idle_cpu},
            {"assumed_one", m.assumed}});
    if (m.strict_cost) j["strict_over_normal"] = *m.strict_cost;
    if (o.profile) j["kernels"] = kernels_json(m);
    print(j);
    return success;
  }
  Table t("");
  t.add({"load", time_text(m.load)});
  t.add({"build", time_text(m.build)});
  t.add({"first run", time_text(m.first_run)});
  t.add({"latency",
         fmt::format("{} median, {} min, {} p90, {} p99, {} max ({}, {})", time_text(m.percentile(0.5)),
                     time_text(m.runs.front()), time_text(m.percentile(0.9)), time_text(m.percentile(0.99)),
                     time_text(m.runs.back()), counted(m.runs.size(), "run"), counted(m.threads, "thread"))});
  t.add({"throughput", fmt::format("{:.1f} runs a second", throughput)});
  t.add({"memory", fmt::format("{} resident at most, {} planned", bytes_text(m.peak_resident),
                               bytes_text(m.memory.total()))});
  t.add({"idle", fmt::format("{:.2f} % of a processor between calls", 100 * m.idle_cpu)});
  if (m.strict_cost)
    t.add({"strict", fmt::format("{:.3f} times the time with normal numerics (medians, in alternation)",
                                 *m.strict_cost)});
  t.print();
  if (o.profile) print_kernels(m);
  if (!m.assumed.empty()) fmt::print("sizes taken as 1 (--shape changes them): {}\n", join(m.assumed, ", "));
  return success;
}

}  // namespace

void add_bench(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "bench", "Measure a model: load, build, latency, throughput, memory, idling",
              "  lathe bench model.onnx --seconds 1\n"
              "  lathe bench model.onnx --seconds 1 --profile\n"
              "  lathe bench decoder --prompt 32 --generate 16 --seconds 1\n"
              "  lathe bench model.onnx --threads 1 --shape batch=4 --seconds 1 --json\n");
  auto o = std::make_shared<BenchArguments>();
  o->model.add_to(sub, true);
  sub->get_option("MODEL")->description(
      "An .onnx file, ONNX text (.onnxtxt), or a .lathe plan; a language model: a .gguf, or a directory with "
      "a checkpoint or an exported decoder");
  o->input.add_to(sub);
  sub->add_option("--seconds", o->seconds, "How long to run")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  sub->add_flag("--profile", o->profile, "Also tell the time by kernel, in runs of their own");
  sub->add_option("--prompt", o->generation.prompt,
                  "Of a language model: tokens of prompts to read, 512 if nothing is said")
      ->check(not_negative)
      ->type_name("N");
  sub->add_option("--generate", o->generation.generate,
                  "Of a language model: tokens to generate behind them, 128")
      ->check(not_negative)
      ->type_name("N");
  add_kv_type(sub, o->kv_type);
  o->engine.add_to(sub);
  sub->callback([&command, o] { command.run = [&command, o] { return run_bench(*o, command.json); }; });
}

}  // namespace lathe::cli
