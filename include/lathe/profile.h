// Profiles of runs: the time of every step, what it computed and moved, and what the machine can do at most.
//
//   context.start_profile();
//   for (int i = 0; i < 20; ++i) context.run();
//   lathe::Profile p = context.profile();
//   lathe::write_chrome_trace(p, "trace.json");
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// The limits of a machine against which steps are measured (the roofline model of Williams, Waterman and
/// Patterson). Plain data; callers who know their machine better fill it in themselves.
struct LATHE_API Roofline {
  /// Describes one level of the memory hierarchy.
  struct Level {
    std::string name;      // "L2", "L3", "memory"
    uint64_t holds = 0;    // bytes that fit; 0: any number
    double bandwidth = 0;  // bytes per second that all threads together read
  };
  double flops = 0;           // float32 operations per second of all threads together; 0: not known
  std::vector<Level> levels;  // levels, the fastest and smallest first; empty: not known

  /// Returns the smallest level that so many bytes fit into, or else the last; null where none is known.
  const Level* level_for(double bytes) const;
  /// Returns the seconds that a step of so much arithmetic and traffic takes at least; 0 where the limits are
  /// not known.
  double least_seconds(double flops, double bytes) const;
};
/// Measures this machine on `threads` threads at once (at least 1): multiplications and additions in
/// registers, and reading of arrays that fit each level. Takes about 0.1 s; only as exact as the machine is
/// quiet. Thread-safe.
LATHE_API Roofline measure_roofline(int threads);

/// Sums up all executions of one step of a plan.
struct StepProfile {
  std::string node, op, kernel;            // `kernel` is empty for a copy between devices
  std::vector<std::string> origin, fused;  // as in StepInfo
  uint32_t graph = 0;                      // 0: the main graph; other numbers are bodies of control flow
  uint64_t count = 0;                      // number of executions
  double seconds = 0;   // wall time of all of them, without the steps of bodies, which have their own entries
  double least = 0;     // wall time of the shortest one
  double flops = 0;     // operations of all of them, as in ModelSummary
  double bytes = 0;     // bytes of all of them: operands read, weights as they are packed, results written
  uint32_t shapes = 0;  // index into Profile::shapes for the last execution
};

/// One execution of a step.
struct StepEvent {
  uint32_t step = 0;            // index into Profile::steps
  uint32_t depth = 0;           // 0: in the main graph; 1: in a body of one of its steps; …
  double start = 0;             // seconds from the begin of the profile
  double seconds = 0;           // wall time, the steps of its bodies included
  double self = 0;              // wall time without these
  double flops = 0, bytes = 0;  // as in StepProfile
  uint32_t shapes = 0;          // index into Profile::shapes
};

/// One run of the context, from the checked inputs to the outputs.
struct RunEvent {
  double start = 0, seconds = 0;  // as in StepEvent
};

/// The records of a context between start_profile() and profile(). Plain data.
struct Profile {
  std::vector<StepProfile> steps;    // all steps of the plan, graph by graph, in order of execution
  std::vector<StepEvent> events;     // the latest ones, in the order in which they ended
  std::vector<RunEvent> run_events;  // the latest ones
  /// Texts such as "float32[1,3,8,8] float32[4,3,3,3] -> float32[1,4,6,6]"; entry 0 is empty.
  std::vector<std::string> shapes;
  uint64_t events_lost = 0;  // number of steps and runs that did not fit: the earliest ones
  uint64_t runs = 0;         // number of runs that were recorded and did not fail
  /// Number of runs that were not recorded, so that recording takes less than 2 % of the time.
  uint64_t runs_passed_over = 0;
  double run_seconds = 0;  // wall time of all recorded runs
  int threads = 1;         // that the runs used
  std::string isa;         // best instruction set that the kernels may use
};

/// Titles of a profile page for people who read it later; empty ones are left out.
struct ProfileLabels {
  std::string model, machine, date;  // free texts
};

/// Writes the events in Chrome's trace format (chrome://tracing, Perfetto): complete events, bodies nested in
/// their steps, with operator, kernel, shapes, bytes and FLOPs as arguments. Always valid JSON in UTF-8:
/// other bytes in names are replaced. Throws file_write_failed.
LATHE_API void write_chrome_trace(const Profile& profile, const std::filesystem::path& file);
/// Returns what write_chrome_trace() writes.
LATHE_API std::string chrome_trace(const Profile& profile);

/// Writes one HTML page with a timeline, the roofline and a table; it needs nothing else, neither network nor
/// files. Throws file_write_failed.
LATHE_API void write_profile_page(const Profile& profile, const Roofline& roofline,
                                  const ProfileLabels& labels, const std::filesystem::path& file);

}  // namespace lathe
