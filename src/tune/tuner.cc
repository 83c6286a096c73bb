#include "tune/tuner.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "tune/stopwatch.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

/// The choice of a rule of thumb is replaced only by a tactic that is faster by more than noise.
constexpr double worth_a_change = 0.97;

/// Rounds to hundredths of a microsecond, as files have them, so that decisions are the same with a file.
double rounded(double microseconds) { return std::max(std::round(microseconds * 100) / 100, 0.01); }

/// Returns whether the path can be read: devices and pipes that are written to cannot.
bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) || std::filesystem::is_directory(path, ignored);
}

}  // namespace

bool Tuner::wanted(const BuildOptions& o) {
  const bool has_cache = !o.timing_cache.empty() || o.timings;
  if (o.timing_cache_pinned && !has_cache)
    throw Error(Code::build_bad_option, "build", "a timing cache to be pinned to", "none",
                "name one, or do without pinning");
  if (std::isnan(o.tune_seconds) || o.tune_seconds < 0)
    throw Error(Code::build_bad_option, "build", "tune_seconds of 0 or more", std::to_string(o.tune_seconds));
  return o.effort != TuningEffort::none || has_cache;
}

Tuner::Tuner(const BuildOptions& options, const Extensions& extensions, TuneSizes sizes, bool streamed)
    : options_(options), extensions_(extensions), sizes_(std::move(sizes)), streamed_(streamed) {
  const std::filesystem::path& file = options.timing_cache;
  const bool must_exist = options.timing_cache_pinned || options.effort == TuningEffort::none;
  if (!file.empty() && (must_exist || is_there(file))) cache_ = TimingCache::load(file);
  if (options.timings) cache_.combine(*options.timings);
  if (!file.empty() && !must_exist) AtomicFile::require_writable(file);  // told before there is work
}

std::optional<TuningTask> Tuner::task(Tactic usual, std::string_view domain, std::string_view op,
                                      const Attributes& attributes, const KernelQuery& query,
                                      std::string node) const {
  if (usual.kernel->backend == "reference" || usual.kernel->memory != host_memory) return std::nullopt;
  auto problem = problem_of(domain, op, attributes, query, sizes_, streamed_);
  if (!problem) return std::nullopt;
  // All are listed whatever the effort: a timing cache may have been made with more of it.
  const Isa isa = usual.kernel->isa;
  std::vector<Tactic> list = tactics_for(extensions_.kernels(), usual.kernel->backend,
                                         std::min(isa, Isa::avx2), domain, op, attributes, query);
  std::ranges::stable_partition(list, [&](const Tactic& t) { return t.text() == usual.text(); });
  if (list.empty() || list[0].text() != usual.text()) return std::nullopt;
  const auto lesser =
      std::ranges::stable_partition(list, [&](const Tactic& t) { return t.kernel->isa >= isa; });
  const size_t wanted = list.size() - (options_.effort == TuningEffort::high ? 0 : lesser.size());
  return TuningTask{std::move(*problem), std::move(list), wanted, std::move(node)};
}

bool Tuner::is_open(const TuningTask& q) const {
  const TimingCache::Timings* t = timings(q);
  return q.wanted > 1 || (t && t->microseconds.size() > 1);
}

void Tuner::measure_all(const std::vector<TuningTask>& tasks) {
  std::vector<std::pair<const TuningTask*, std::string>> open;
  for (const TuningTask& q : tasks) {
    std::string text = q.problem.text();
    if (!counted_.insert(text).second) continue;
    ++report_.problems;
    if (options_.timing_cache_pinned) require_pinned(q, text);
    if (is_known(q, text))
      ++report_.cached;
    else
      open.emplace_back(&q, std::move(text));
  }
  const Clock::time_point start = Clock::now();
  if (!open.empty() && started_ == Clock::time_point()) started_ = start;
  for (size_t i = 0; i < open.size(); ++i) {
    const auto& [q, text] = open[i];
    if (can_time() && measure(*q, text, i, open.size())) {
      ++report_.timed;
    } else {
      ++report_.untimed;
      if (!cache_.query(text)) cache_.update(text, {q->tactics[0].text(), {}});
    }
    decided_.insert(text);
  }
  report_.seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns whether the cache has all times that this build would measure.
bool Tuner::is_known(const TuningTask& q, const std::string& text) const {
  const TimingCache::Timings* t = cache_.query(text);
  if (!t || t->microseconds.empty() || !find(q, t->chosen)) return false;
  return !can_time() || std::ranges::all_of(wanted(q), [&](const Tactic& tactic) {
    return t->microseconds.contains(tactic.text());
  });
}

void Tuner::require_pinned(const TuningTask& q, const std::string& text) const {
  const auto refuse = [&](std::string expected, std::string got) {
    throw Error(Code::build_untimed, "build", std::move(expected), std::move(got),
                "tune again without pinning, on this machine and with this version")
        .at("build", q.node, q.problem.op);
  };
  const TimingCache::Timings* t = cache_.query(text);
  if (!t)
    refuse("an answer in " +
               (options_.timing_cache.empty() ? "the timing cache" : options_.timing_cache.string()) +
               " for " + TimingCache::Machine::here().cpu,
           "none to " + text);
  if (!find(q, t->chosen)) refuse("one of the tactics that there are", "'" + t->chosen + "' for " + text);
}

const Tactic* Tuner::find(const TuningTask& q, const std::string& tactic) {
  const auto at = std::ranges::find(q.tactics, tactic, &Tactic::text);
  return at == q.tactics.end() ? nullptr : &*at;
}

bool Tuner::can_time() const {
  return options_.effort != TuningEffort::none && !options_.timing_cache_pinned;
}

bool Tuner::time_left() const {
  return std::chrono::duration<double>(Clock::now() - started_).count() < options_.tune_seconds;
}

void Tuner::report_progress(const TuningTask& q, size_t index, size_t count) const {
  if (options_.control) options_.control->check();
  const std::string what = "tune " + q.problem.op + (q.node.empty() ? "" : " " + q.node) + ", " +
                           std::to_string(index + 1) + " of " + std::to_string(count);
  if (options_.progress && !options_.progress(what, static_cast<double>(index) / static_cast<double>(count)))
    throw Error(Code::cancelled, "build", "to go on", "cancelled by the caller");
}

bool Tuner::measure(const TuningTask& q, const std::string& text, size_t index, size_t count) {
  report_progress(q, index, count);
  if (!time_left()) return false;
  const bool high = options_.effort == TuningEffort::high;
  const auto times = time_tactics(q.problem, wanted(q), extensions_,
                                  {.rounds = high ? 30 : 10,
                                   .seconds = high ? 0.25 : 0.05,
                                   .memory_limit = options_.memory_limit,
                                   .control = options_.control,
                                   .go_on = [this] { return time_left(); }});
  // A comparison that the time limit cut short is not fair to all tactics and is not recorded.
  const bool whole = time_left() || std::ranges::all_of(times, [](const auto& t) { return t.has_value(); });
  if (!times[0] || !whole) return false;
  TimingCache::Timings made;
  size_t best = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    if (!times[i]) continue;
    made.microseconds[q.tactics[i].text()] = rounded(*times[i]);
    if (*times[i] < (best ? *times[best] : worth_a_change * *times[0])) best = i;
  }
  made.chosen = q.tactics[best].text();
  cache_.update(text, std::move(made));
  return true;
}

std::span<const Tactic> Tuner::wanted(const TuningTask& q) { return std::span(q.tactics).first(q.wanted); }

const TimingCache::Timings* Tuner::timings(const TuningTask& q) const {
  return cache_.query(q.problem.text());
}

const Tactic& Tuner::choice(const TuningTask& q) const {
  const TimingCache::Timings* t = timings(q);
  if (!t) return q.tactics[0];
  if (const Tactic* chosen = find(q, t->chosen)) return *chosen;
  // The recorded choice no longer exists.
  const Tactic* best = &q.tactics[0];
  double least = INFINITY;
  for (const Tactic& tactic : q.tactics)
    if (const auto at = t->microseconds.find(tactic.text());
        at != t->microseconds.end() && at->second < least)
      best = &tactic, least = at->second;
  return *best;
}

std::optional<double> Tuner::time(const TuningTask& q) const {
  const TimingCache::Timings* t = timings(q);
  if (!t) return std::nullopt;
  const auto at = t->microseconds.find(choice(q).text());
  return at == t->microseconds.end() ? std::nullopt : std::optional(at->second);
}

/// Adds the problems that were decided here, and leaves the others.
void Tuner::add_to(TimingCache& known) const {
  for (const std::string& text : decided_) {
    const TimingCache::Timings& mine = *cache_.query(text);
    if (!mine.microseconds.empty() || !known.query(text)) known.update(text, mine);
  }
}

void Tuner::save() {
  if (!can_time()) return;
  if (options_.timings) add_to(*options_.timings);
  const std::filesystem::path& path = options_.timing_cache;
  if (!path.empty() && !(is_there(path) && decided_.empty())) {
    // Others may have written meanwhile.
    TimingCache file = is_there(path) ? TimingCache::load(path) : TimingCache();
    add_to(file);
    file.save(path);
  }
  decided_.clear();
}

}  // namespace lathe
