// The share of the roofline that each kernel reaches, on one thread: every operator's cases, and some of the
// sizes that networks have, are built and run, and of each kernel the case counts that has the most to do.
//
//   lathe_bench_kernels [--reasons bench/kernel_reasons.md] [WORD...]    kernels whose names contain a word
//
// Prints a table in Markdown, the least share first (of the least time of all runs); beside those under half,
// why, as that file says of their family ("| softmax | why |"). Kernels whose cases are too small to tell
// are named below it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/lathe.h"
#include "network_sizes.h"
#include "support/case_model.h"

namespace {

using namespace lathe;
using Clock = std::chrono::steady_clock;

struct Result {
  std::string problem;
  double seconds = 0, flops = 0, bytes = 0, least = 0;  // least: what the roofline allows
  double share() const { return least / seconds; }
};
using Results = std::map<std::string, Result>;

/// Returns whether the problem is large enough that the measurement is not of the call itself. A problem that
/// the roofline allows in less may still take long.
bool is_worth_measuring(const Result& r) { return r.least >= 1e-6 || r.seconds >= 3e-6; }

void take(const Profile& p, const OpCase& c, const Roofline& roof, Results& all) {
  for (const StepProfile& s : p.steps) {
    if (s.count == 0 || s.kernel.empty() || s.kernel.ends_with(".ref")) continue;
    const auto n = static_cast<double>(s.count);
    const Result r{c.op + ", " + c.name, s.least, s.flops / n, s.bytes / n,
                   roof.least_seconds(s.flops / n, s.bytes / n)};
    Result& known = all[s.kernel];
    if (r.least > known.least) known = r;
  }
}

/// Measures some 30 ms of runs; cases that cannot be built or run alone are left out.
void measure(const OpCase& c, const Roofline& roof, Results& all) try {
  onnx::Model model;
  model.proto = testing::model_of(c);
  const Engine engine = Engine::build(model, {.threads = 1});
  Context context = engine.create_context();
  const std::vector<Value> inputs = testing::inputs_of(c);
  context.run(inputs);
  context.start_profile();
  const auto begin = Clock::now();
  for (int i = 0; i < 5000 && Clock::now() - begin < std::chrono::milliseconds(30); ++i) context.run(inputs);
  take(context.profile(), c, roof, all);
} catch (const Error&) {
}

/// Rows of two columns, by the first.
std::map<std::string, std::string> reasons_in(const char* file) {
  std::map<std::string, std::string> reasons;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (std::count(line.begin(), line.end(), '|') != 3 || !line.starts_with("| ")) continue;
    const size_t middle = line.find(" | "), end = line.rfind(" |");
    if (middle < end) reasons[line.substr(2, middle - 2)] = line.substr(middle + 3, end - middle - 3);
  }
  return reasons;
}
constexpr const char* unknown = "not known";
/// Returns the reason of the longest family: a kernel's name, or its beginning up to a point.
std::string reason_of(const std::string& kernel, const std::map<std::string, std::string>& reasons) {
  for (std::string name = kernel;; name.resize(name.rfind('.'))) {
    if (const auto at = reasons.find(name); at != reasons.end()) return at->second;
    if (name.rfind('.') == std::string::npos) return unknown;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> reasons;
  std::vector<std::string_view> words;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--reasons" && i + 1 < argc)
      reasons = reasons_in(argv[++i]);
    else
      words.push_back(argv[i]);
  }
  const Roofline roof = measure_roofline(1);
  CaseTable table;
  collect_all_cases(table);
  add_network_sizes(table);
  Results all;
  for (const OpCase& c : table.all())
    if (c.opset == 0) measure(c, roof, all);

  std::vector<std::pair<std::string, Result>> rows;
  std::string small;
  for (const auto& [kernel, r] : all) {
    const bool wanted = words.empty() || std::any_of(words.begin(), words.end(), [&](std::string_view w) {
                          return kernel.find(w) != std::string::npos;
                        });
    if (wanted && is_worth_measuring(r))
      rows.emplace_back(kernel, r);
    else if (wanted)
      small += (small.empty() ? "" : ", ") + kernel;
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.share() < b.second.share(); });
  std::printf("%.1f GFLOP/s", roof.flops / 1e9);
  for (const Roofline::Level& l : roof.levels)
    std::printf(", %s %.1f GB/s", l.name.c_str(), l.bandwidth / 1e9);
  std::printf("\n\n| kernel | case | us | GFLOP/s | GB/s | share of the roofline | why under half |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  int unexplained = 0;
  for (const auto& [kernel, r] : rows) {
    const std::string why = r.share() < 0.5 ? reason_of(kernel, reasons) : "";
    unexplained += why == unknown;
    std::printf("| %s | %s | %.1f | %.1f | %.1f | %.0f %% | %s |\n", kernel.c_str(), r.problem.c_str(),
                r.seconds * 1e6, r.flops / r.seconds / 1e9, r.bytes / r.seconds / 1e9, 100 * r.share(),
                why.c_str());
  }
  if (!small.empty()) std::printf("\nWithout a case that takes long enough to tell: %s.\n", small.c_str());
  // If reasons were given, missing ones are a failure.
  return !reasons.empty() && unexplained ? 1 : 0;
}
