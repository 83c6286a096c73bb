// One page to look at a profile: profile_page.html with the numbers put in.
#include <algorithm>

#include "api/json_writer.h"
#include "api/profile_lanes.h"
#include "io/file.h"
#include "lathe/profile.h"
#include "lathe/version.h"

namespace lathe {
namespace {

constexpr std::string_view page =
#include "generated/profile_page.inc"
    ;

/// The timeline is for looking at: more events make the page heavy, not clear.
constexpr size_t max_events = 20000;

void write_roofline(JsonWriter& j, const Roofline& r) {
  j.object();
  j.member("flops").number(r.flops);
  j.member("levels").array();
  for (const Roofline::Level& l : r.levels) {
    j.object();
    j.member("name").text(l.name);
    j.member("holds").number(static_cast<double>(l.holds));
    j.member("bandwidth").number(l.bandwidth);
    j.end();
  }
  j.end().end();
}

void write_step(JsonWriter& j, const Profile& p, const StepProfile& s, const Roofline& r) {
  j.object();
  j.member("node").text(s.node);
  j.member("op").text(s.op);
  j.member("kernel").text(s.kernel.empty() ? "copy" : s.kernel);
  j.member("fused").array();
  for (const std::string& op : s.fused) j.text(op);
  j.end();
  j.member("origin").array();
  for (const std::string& node : s.origin) j.text(node);
  j.end();
  const auto count = static_cast<double>(s.count);
  j.member("graph").number(s.graph);
  j.member("count").number(count);
  j.member("seconds").number(s.seconds);
  j.member("least").number(s.least);
  j.member("flops").number(s.flops);
  j.member("bytes").number(s.bytes);
  j.member("shapes").text(s.shapes < p.shapes.size() ? p.shapes[s.shapes] : "");
  // The least time of one execution by the roofline, times their number.
  j.member("roof").number(s.count ? count * r.least_seconds(s.flops / count, s.bytes / count) : 0);
  const Roofline::Level* level = s.count ? r.level_for(s.bytes / count) : nullptr;
  j.member("level").text(level ? level->name : "");
  j.end();
}

void write_events(JsonWriter& j, const Profile& p) {
  const size_t begin = p.events.size() - std::min(p.events.size(), max_events);
  const double from = p.events.empty() ? 0 : p.events[begin].start;
  const std::vector<uint32_t> lanes = lanes_of(p, events_in_order(p));
  j.member("events").array();
  for (size_t i = begin; i < p.events.size(); ++i) {
    const StepEvent& e = p.events[i];
    if (e.step >= p.steps.size()) continue;
    // Steps that ran side by side are shown one below the other.
    j.array()
        .number(e.step)
        .number(e.depth + lanes[i])
        .number(e.start)
        .number(e.seconds)
        .number(e.self)
        .end();
  }
  j.end();
  j.member("runEvents").array();
  for (const RunEvent& r : p.run_events)
    if (r.start + r.seconds >= from) j.array().number(r.start).number(r.seconds).end();
  j.end();
}

std::string data_of(const Profile& p, const Roofline& r, const ProfileLabels& labels) {
  JsonWriter j;
  j.object();
  j.member("model").text(labels.model);
  j.member("machine").text(labels.machine);
  j.member("date").text(labels.date);
  j.member("version").text(version());
  j.member("isa").text(p.isa);
  j.member("threads").number(p.threads);
  j.member("runs").number(static_cast<double>(p.runs));
  j.member("runSeconds").number(p.run_seconds);
  write_roofline(j.member("roofline"), r);
  j.member("steps").array();
  for (const StepProfile& s : p.steps) write_step(j, p, s, r);
  j.end();
  write_events(j, p);
  j.end();
  return j.take();
}

}  // namespace

void write_profile_page(const Profile& profile, const Roofline& roofline, const ProfileLabels& labels,
                        const std::filesystem::path& file) {
  constexpr std::string_view mark = "{{profile}}";
  const size_t at = page.find(mark);
  static_assert(page.find(mark) != std::string_view::npos);
  write_file(file, {page.substr(0, at), data_of(profile, roofline, labels), page.substr(at + mark.size())});
}

}  // namespace lathe
