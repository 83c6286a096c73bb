// `lathe profile`: the time of a run, step by step, compared with the limits of the machine.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <optional>

#include "command.h"
#include "input_options.h"
#include "json.h"
#include "mapped_fault.h"
#include "output.h"
#include "progress.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct ProfileArguments {
  ModelOptions model;
  EngineOptions engine;
  InputOptions input;
  std::filesystem::path page, trace;
  int runs = 0;
  double seconds = 1;
  size_t events = size_t{1} << 16, rows = 30;
  double peak_gflops = 0, bandwidth = 0;
};

/// The time of some steps or kernels together, with the time that the roofline allows.
struct Row {
  uint64_t count = 0;
  double seconds = 0, flops = 0, bytes = 0, least = 0;

  void add(const StepProfile& s, const Roofline& roof) {
    if (s.count == 0) return;
    const auto n = static_cast<double>(s.count);
    count += s.count;
    seconds += s.seconds;
    flops += s.flops;
    bytes += s.bytes;
    least += n * roof.least_seconds(s.flops / n, s.bytes / n);
  }
  double flops_rate() const { return seconds > 0 ? flops / seconds : 0; }
  double bytes_rate() const { return seconds > 0 ? bytes / seconds : 0; }
  double roof_share() const { return seconds > 0 ? least / seconds : 0; }
};

struct Result {
  Profile profile;
  Roofline roofline;
  std::vector<std::string> assumed;
  double total = 0;  // in steps, of all runs

  double per_run(double x) const { return profile.runs ? x / static_cast<double>(profile.runs) : 0; }
  double share(double seconds) const { return total > 0 ? seconds / total : 0; }
};

/// The measured roofline, with the numbers that the options give in place of measured ones.
Roofline roofline(const ProfileArguments& o, int threads) {
  Roofline r;
  if (o.peak_gflops <= 0 || o.bandwidth <= 0) r = measure_roofline(threads);
  if (o.peak_gflops > 0) r.flops = o.peak_gflops * 1e9;
  if (o.bandwidth > 0) {
    std::erase_if(r.levels, [](const Roofline::Level& l) { return l.holds == 0; });
    r.levels.push_back({"memory", 0, o.bandwidth * 1e9});
  }
  return r;
}

/// The first run makes memory plans and touches memory: it is not part of the profile.
void record(Context& context, BoundStates& states, const ProfileArguments& o) {
  context.run();
  context.start_profile(o.events);
  const auto begin = Clock::now();
  for (int done = 0; o.runs ? done < o.runs : done == 0 || seconds_since(begin) < o.seconds; ++done) {
    states.reset();
    context.run();
  }
  context.stop_profile();
}

Result measure(const ProfileArguments& o) {
  Result r;
  Progress progress("building " + o.model.model.string());
  BuildOptions build = o.engine.build_options(o.model);
  build.progress = [&](std::string_view stage, double fraction) {
    progress.stage(stage, fraction);
    return true;
  };
  const Engine engine = make_engine(o.model, build);
  NamedValues inputs = o.input.values(engine, r.assumed);
  progress.now("measuring this machine");
  r.roofline = roofline(o, engine.threads());
  progress.now("running " + o.model.model.string());
  Context context = engine.create_context();
  BoundStates states(engine, context, inputs);
  for (const auto& [name, v] : inputs) context.bind_input(name, v);
  InputOptions::with_sizes(r.assumed, [&] { record(context, states, o); });
  r.profile = context.profile();
  for (const StepProfile& s : r.profile.steps) r.total += s.seconds;
  return r;
}

ProfileLabels labels(const ProfileArguments& o) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return {o.model.model.filename().string(), system_info().cpu, fmt::format("{:%Y-%m-%d %H:%M} UTC", utc)};
}

using KernelRows = std::vector<std::pair<std::string, Row>>;

KernelRows by_kernel(const Result& r) {
  std::map<std::string, Row> sums;
  for (const StepProfile& s : r.profile.steps)
    if (s.count) sums[s.kernel.empty() ? "copy" : s.kernel].add(s, r.roofline);
  KernelRows rows(sums.begin(), sums.end());
  std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.second.seconds; });
  return rows;
}

std::vector<const StepProfile*> by_time(const Result& r) {
  std::vector<const StepProfile*> rows;
  for (const StepProfile& s : r.profile.steps)
    if (s.count) rows.push_back(&s);
  std::ranges::stable_sort(rows, std::greater{}, [](const StepProfile* s) { return s->seconds; });
  return rows;
}

Json row_json(const Row& row, const Result& r) {
  return {{"executions_per_run", r.per_run(static_cast<double>(row.count))},
          {"seconds", r.per_run(row.seconds)},
          {"share", r.share(row.seconds)},
          {"flops", r.per_run(row.flops)},
          {"bytes", r.per_run(row.bytes)},
          {"gflops_per_second", row.flops_rate() * 1e-9},
          {"gbytes_per_second", row.bytes_rate() * 1e-9},
          {"roof_share", row.roof_share()}};
}

Json step_json(const StepProfile& s, const Result& r) {
  Json j{{"node", s.node},
         {"operator", s.op},
         {"kernel", s.kernel.empty() ? "copy" : s.kernel},
         {"fused", s.fused},
         {"origin", s.origin},
         {"graph", s.graph},
         {"shapes", r.profile.shapes[s.shapes]}};
  Row row;
  row.add(s, r.roofline);
  j.update(row_json(row, r));
  j["least_seconds"] = s.least;
  return j;
}

Json as_json(const Result& r, const ProfileArguments& o) {
  Json levels = Json::array(), steps = Json::array(), kernels = Json::array();
  for (const Roofline::Level& l : r.roofline.levels)
    levels.push_back({{"name", l.name}, {"holds_bytes", l.holds}, {"bytes_per_second", l.bandwidth}});
  for (const StepProfile* s : by_time(r)) steps.push_back(step_json(*s, r));
  for (const auto& [kernel, row] : by_kernel(r)) {
    Json j{{"kernel", kernel}};
    j.update(row_json(row, r));
    kernels.push_back(std::move(j));
  }
  return {{"model", o.model.model.string()},
          {"threads", r.profile.threads},
          {"isa", r.profile.isa},
          {"runs", r.profile.runs},
          {"runs_passed_over", r.profile.runs_passed_over},
          {"run_seconds", r.per_run(r.profile.run_seconds)},
          {"step_seconds", r.per_run(r.total)},
          {"roofline", {{"flops_per_second", r.roofline.flops}, {"levels", levels}}},
          {"steps", steps},
          {"kernels", kernels},
          {"assumed_one", r.assumed}};
}

std::vector<std::string> cells(const Row& row, const Result& r) {
  const auto rate = [](double x) { return x > 0 ? fmt::format("{:.1f}", x * 1e-9) : std::string("-"); };
  return {fmt::format("{:.4g}", r.per_run(static_cast<double>(row.count))),
          time_text(r.per_run(row.seconds)),
          fmt::format("{:.1f} %", 100 * r.share(row.seconds)),
          rate(row.flops_rate()),
          rate(row.bytes_rate()),
          row.least > 0 ? fmt::format("{:.0f} %", 100 * row.roof_share()) : "-"};
}

/// Names in a model may be any bytes and of any length; a terminal gets those that can be printed.
std::string plain(const std::string& name, size_t most = 40) {
  std::string text;
  for (char c : name) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() <= most) return text;
  size_t from = text.size() - most + 3;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
  return "..." + text.substr(from);
}

void print_steps(const Result& r, size_t most) {
  const std::vector<const StepProfile*> rows = by_time(r);
  Table t;
  t.add({"step", "operator", "kernel", "a run", "time", "share", "GFLOP/s", "GB/s", "of roof"});
  for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const StepProfile& s = *rows[i];
    Row row;
    row.add(s, r.roofline);
    std::vector<std::string> line{plain(s.node),
                                  plain(join(s.fused, "+").empty() || s.op == "Pointwise"
                                            ? (s.fused.empty() ? s.op : join(s.fused, "+"))
                                            : s.op + "+" + join(s.fused, "+"),
                                        32),
                                  plain(s.kernel.empty() ? "copy" : s.kernel)};
    std::ranges::move(cells(row, r), std::back_inserter(line));
    t.add(std::move(line));
  }
  fmt::print("steps by time, a run\n");
  t.print();
  if (rows.size() > most) fmt::print("  … and {} more (--rows)\n", rows.size() - most);
}

void print_kernels(const Result& r) {
  Table t;
  t.add({"kernel", "a run", "time", "share", "GFLOP/s", "GB/s", "of roof"});
  for (const auto& [kernel, row] : by_kernel(r)) {
    std::vector<std::string> line{plain(kernel)};
    std::ranges::move(cells(row, r), std::back_inserter(line));
    t.add(std::move(line));
  }
  fmt::print("kernels by time, a run\n");
  t.print();
}

void print_roofline(const Result& r) {
  std::string text = fmt::format("{:.0f} GFLOP/s", r.roofline.flops * 1e-9);
  for (const Roofline::Level& l : r.roofline.levels)
    text += fmt::format(", {} {:.1f} GB/s", l.name, l.bandwidth * 1e-9);
  fmt::print("roof: {}\n", text);
}

int run_profile(const ProfileArguments& o, bool json) {
  report_mapped_faults(o.model.model, json);
  if (!o.page.empty() && !o.trace.empty() &&
      weakly_canonical(absolute(o.page)) == weakly_canonical(absolute(o.trace)))
    refuse_argument("two files, for the page and for the trace", o.page.string() + " for both");
  std::optional<OutputFile> page, trace;
  if (!o.page.empty()) page.emplace(o.page);
  if (!o.trace.empty()) trace.emplace(o.trace);
  const Result r = measure(o);
  if (page) write_profile_page(r.profile, r.roofline, labels(o), page->path());
  if (trace) write_chrome_trace(r.profile, trace->path());
  if (json) {
    print(as_json(r, o));
    return success;
  }
  Row all;
  for (const StepProfile& s : r.profile.steps) all.add(s, r.roofline);
  fmt::print("{}: {} a run, {} in steps ({}, {}, {}), {:.4g} MFLOP, {:.1f} GFLOP/s\n", o.model.model.string(),
             time_text(r.per_run(r.profile.run_seconds)), time_text(r.per_run(r.total)),
             counted(r.profile.runs, "run"), counted(r.profile.threads, "thread"), r.profile.isa,
             r.per_run(all.flops) * 1e-6, all.flops_rate() * 1e-9);
  print_roofline(r);
  print_steps(r, o.rows);
  print_kernels(r);
  if (!r.assumed.empty()) fmt::print("sizes taken as 1 (--shape changes them): {}\n", join(r.assumed, ", "));
  if (page) fmt::print("page: {}\n", page->name());
  if (trace) fmt::print("trace: {}\n", trace->name());
  return success;
}

}  // namespace

void add_profile(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "profile",
                          "Where the time of a run goes: each step beside what the machine can do",
                          "  lathe profile model.onnx\n"
                          "  lathe profile model.onnx --shape batch=4 --runs 20 -o profile.html\n"
                          "  lathe profile model.onnx --threads 1 --seconds 0.2 --trace trace.json --json\n");
  auto o = std::make_shared<ProfileArguments>();
  o->model.add_to(sub, true);
  o->input.add_to(sub);
  sub->add_option("-o,--output", o->page, "Write one HTML page: timeline, roofline and table")
      ->type_name("FILE.html");
  sub->add_option("--trace", o->trace, "Write the executions in Chrome's trace format (Perfetto reads it)")
      ->type_name("FILE.json");
  CLI::Option* runs = sub->add_option("--runs", o->runs, "How many runs, after one that does not count")
                          ->check(CLI::Range(1, 1000000000));
  sub->add_option("--seconds", o->seconds, "How long to run")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0))
      ->excludes(runs);
  sub->add_option("--rows", o->rows, "How many steps to print")->capture_default_str();
  sub->add_option("--events", o->events, "How many executions to keep for page and trace, the latest")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1} << 26));
  sub->add_option("--peak-gflops", o->peak_gflops, "Peak arithmetic of the machine, instead of measuring it")
      ->check(positive);
  sub->add_option("--bandwidth", o->bandwidth, "Memory bandwidth in GB/s, instead of measuring it")
      ->check(positive);
  o->engine.add_to(sub);
  sub->callback([&command, o] { command.run = [&command, o] { return run_profile(*o, command.json); }; });
}

}  // namespace lathe::cli
