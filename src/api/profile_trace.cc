// A profile as Chrome's trace format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace Event Format").
#include <algorithm>
#include <numeric>

#include "api/json_writer.h"
#include "api/profile_lanes.h"
#include "io/file.h"
#include "lathe/profile.h"
#include "lathe/version.h"

namespace lathe {
namespace {

/// The format counts microseconds. Ends are rounded, not lengths, so that nested events stay nested.
void write_time(JsonWriter& j, double start, double seconds) {
  const int64_t from = nanoseconds(start), to = nanoseconds(start + seconds);
  j.member("ts").thousandths(from);
  j.member("dur").thousandths(to - from);
}

void write_place(JsonWriter& j, uint32_t lane = 0) {
  j.member("pid").number(1);
  j.member("tid").number(1 + lane);
}

void write_name(JsonWriter& j, const char* what, const std::string& name, uint32_t lane = 0) {
  j.object();
  j.member("name").text(what);
  j.member("ph").text("M");
  write_place(j, lane);
  j.member("args").object();
  j.member("name").text(name);
  j.end().end();
}

void write_run(JsonWriter& j, const RunEvent& r) {
  j.object();
  j.member("name").text("run");
  j.member("cat").text("run");
  j.member("ph").text("X");
  write_time(j, r.start, r.seconds);
  write_place(j);
  j.end();
}

void write_step(JsonWriter& j, const Profile& p, const StepEvent& e, uint32_t lane) {
  const StepProfile& s = p.steps[e.step];
  j.object();
  j.member("name").text(s.node.empty() ? s.op : s.node);
  j.member("cat").text("step");
  j.member("ph").text("X");
  write_time(j, e.start, e.seconds);
  write_place(j, lane);
  j.member("args").object();
  j.member("operator").text(s.op);
  j.member("kernel").text(s.kernel.empty() ? "copy" : s.kernel);
  if (!s.fused.empty()) {
    j.member("fused").array();
    for (const std::string& op : s.fused) j.text(op);
    j.end();
  }
  j.member("shapes").text(p.shapes[e.shapes]);
  j.member("flops").number(e.flops);
  j.member("bytes").number(e.bytes);
  if (e.self > 0) {
    j.member("gflops_per_second").number(e.flops / e.self * 1e-9);
    j.member("gbytes_per_second").number(e.bytes / e.self * 1e-9);
  }
  j.end().end();
}

}  // namespace

std::vector<size_t> events_in_order(const Profile& p) {
  std::vector<size_t> order(p.events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](size_t i) { return std::pair(nanoseconds(p.events[i].start), p.events[i].depth); });
  return order;
}

std::string chrome_trace(const Profile& p) {
  JsonWriter j;
  j.object();
  j.member("displayTimeUnit").text("ns");
  j.member("otherData").object();
  j.member("producer").text("Lathe " + std::string(version()));
  j.member("isa").text(p.isa);
  j.member("threads").number(p.threads);
  j.member("events_lost").number(static_cast<double>(p.events_lost));
  j.end();
  j.member("traceEvents").array();
  write_name(j, "process_name", "Lathe");
  write_name(j, "thread_name", "context");
  const std::vector<size_t> order = events_in_order(p);
  const std::vector<uint32_t> lanes = lanes_of(p, order);
  for (uint32_t lane = 1; lane <= (lanes.empty() ? 0 : std::ranges::max(lanes)); ++lane)
    write_name(j, "thread_name", "branch " + std::to_string(lane), lane);
  for (const RunEvent& r : p.run_events) write_run(j, r);
  for (size_t i : order)
    if (p.events[i].step < p.steps.size() && p.events[i].shapes < p.shapes.size())
      write_step(j, p, p.events[i], lanes[i]);
  j.end().end();
  return j.take() + "\n";
}

void write_chrome_trace(const Profile& profile, const std::filesystem::path& file) {
  write_file(file, {chrome_trace(profile)});
}

}  // namespace lathe
