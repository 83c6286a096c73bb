#include "lathe/timing_cache.h"

#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "base/json.h"
#include "io/file.h"
#include "lathe/error.h"
#include "lathe/version.h"

namespace lathe {
namespace {

using Timings = TimingCache::Timings;
using Machine = TimingCache::Machine;

constexpr const char* format_name = "lathe timing cache";
constexpr int format_version = 1;
constexpr size_t largest_file = size_t{64} << 20;
constexpr size_t deepest = 8;

[[noreturn]] void malformed(std::string expected, std::string got) {
  throw Error(Code::json_malformed, "read timing cache", std::move(expected), std::move(got),
              "delete the file, or give another");
}

const Json& member(const Json& j, const char* name, Json::Type type) {
  if (!j.is_object()) malformed("an object", j.type_name());
  const Json* at = j.find(name);
  if (!at || at->type() != type)
    malformed("'" + std::string(name) + "' of type " + Json::name_of(type), at ? at->type_name() : "nothing");
  return *at;
}
std::string text(const Json& j, const char* name) {
  return member(j, name, Json::Type::string).get<std::string>();
}

Json parsed(std::string_view text) {
  try {
    return Json::parse(text, deepest);
  } catch (const JsonFault& e) {
    if (e.too_deep()) malformed("nesting of at most " + std::to_string(deepest), "deeper");
    malformed("JSON", std::string(text.substr(0, 40)));
  }
}

double positive(const Json& j) {
  if (!j.is_number()) malformed("a number of microseconds", j.type_name());
  const double x = j.get<double>();
  if (!std::isfinite(x) || x <= 0) malformed("a positive number of microseconds", j.dump());
  return x;
}

Timings timings_from(const Json& j) {
  Timings t{text(j, "chosen"), {}};
  for (const auto& [tactic, time] : member(j, "microseconds", Json::Type::object).items())
    t.microseconds[tactic] = positive(time);
  if (!t.microseconds.empty() && !t.microseconds.contains(t.chosen))
    malformed("a time for the tactic that was chosen", t.chosen);
  return t;
}

Machine machine_from(const Json& j) {
  Machine m{text(j, "cpu"), {}, text(j, "lathe")};
  for (const Json& f : member(j, "features", Json::Type::array)) {
    if (!f.is_string()) malformed("names of features", f.type_name());
    m.features.push_back(f.get<std::string>());
  }
  return m;
}

Json json_of(const Timings& t) {
  Json times = Json::object();
  for (const auto& [tactic, time] : t.microseconds) times[tactic] = time;
  return {{"chosen", t.chosen}, {"microseconds", std::move(times)}};
}

void merge_into(Timings& mine, const Timings& other) {
  if (other.microseconds.empty()) return;
  if (mine.microseconds.empty()) {
    mine = other;
    return;
  }
  for (const auto& [tactic, time] : other.microseconds) {
    const auto [at, fresh] = mine.microseconds.emplace(tactic, time);
    if (!fresh) at->second = std::min(at->second, time);
  }
  if (mine.chosen != other.chosen)
    mine.chosen =
        std::ranges::min_element(mine.microseconds, {}, [](const auto& t) { return t.second; })->first;
}

}  // namespace

const TimingCache::Machine& TimingCache::Machine::here() {
  static const Machine machine = [] {
    const CpuFeatures& f = cpu_features();
    return Machine{f.name + ", family " + std::to_string(f.family) + ", model " + std::to_string(f.model),
                   feature_names(f), std::string(lathe::version())};
  }();
  return machine;
}

TimingCache TimingCache::deserialize(std::string_view text) {
  if (text.size() > largest_file)
    malformed("at most " + std::to_string(largest_file) + " bytes", std::to_string(text.size()));
  const Json j = parsed(text);
  if (lathe::text(j, "format") != format_name) malformed(format_name, lathe::text(j, "format"));
  const Json* version = j.find("version");
  if (!version || !version->is_number_integer() || version->get<int64_t>() != format_version)
    malformed("version " + std::to_string(format_version), version ? version->dump() : "none");
  TimingCache cache;
  for (const Json& m : member(j, "machines", Json::Type::array)) {
    TimingCache one;
    Problems& problems = one.machines_[machine_from(m)];
    for (const auto& [problem, timings] : member(m, "problems", Json::Type::object).items())
      problems[problem] = timings_from(timings);
    cache.combine(one);
  }
  return cache;
}

TimingCache TimingCache::load(const std::filesystem::path& path) {
  try {
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(path, failed);
    if (!failed && bytes > largest_file)
      malformed("at most " + std::to_string(largest_file) + " bytes", std::to_string(bytes));
    return deserialize(read_file(path));
  } catch (const Error& e) {
    throw e.at("", path.string(), "");
  }
}

std::string TimingCache::serialize() const {
  Json machines = Json::array();
  for (const auto& [m, problems] : machines_) {
    Json list = Json::object();
    for (const auto& [problem, t] : problems) list[problem] = json_of(t);
    machines.push_back(
        {{"cpu", m.cpu}, {"features", m.features}, {"lathe", m.version}, {"problems", std::move(list)}});
  }
  const Json all{{"format", format_name}, {"version", format_version}, {"machines", std::move(machines)}};
  return all.dump(1) + "\n";
}

void TimingCache::save(const std::filesystem::path& path) const { write_file(path, {serialize()}); }

std::vector<std::string> TimingCache::query_keys(const Machine& machine) const {
  std::vector<std::string> keys;
  if (const auto of = machines_.find(machine); of != machines_.end())
    for (const auto& [problem, timings] : of->second) keys.push_back(problem);
  return keys;
}

const Timings* TimingCache::query(const std::string& problem, const Machine& machine) const {
  const auto of = machines_.find(machine);
  if (of == machines_.end()) return nullptr;
  const auto at = of->second.find(problem);
  return at == of->second.end() ? nullptr : &at->second;
}

void TimingCache::update(const std::string& problem, Timings t, const Machine& machine) {
  for (const auto& [tactic, time] : t.microseconds)
    if (!std::isfinite(time) || time <= 0)
      throw Error(Code::bad_argument, "timing cache", "a positive number of microseconds of " + tactic,
                  std::to_string(time));
  if (t.chosen.empty() || (!t.microseconds.empty() && !t.microseconds.contains(t.chosen)))
    throw Error(Code::bad_argument, "timing cache", "a time for the tactic that is chosen",
                "none for '" + t.chosen + "'");
  machines_[machine][problem] = std::move(t);
}

void TimingCache::pin(const std::string& problem, const std::string& tactic, const Machine& machine) {
  const Timings* known = query(problem, machine);
  if (!known)
    throw Error(Code::bad_argument, "timing cache", "a problem that it has", "'" + problem + "'",
                "query_keys() lists them");
  Timings t = *known;
  t.chosen = tactic;
  update(problem, std::move(t), machine);
}

void TimingCache::combine(const TimingCache& other) {
  for (const auto& [machine, problems] : other.machines_)
    for (const auto& [problem, timings] : problems) {
      const auto [at, fresh] = machines_[machine].try_emplace(problem, timings);
      if (!fresh) merge_into(at->second, timings);
    }
}

}  // namespace lathe
