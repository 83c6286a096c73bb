// Where the time of a run goes: every step with what it took, computed and moved, beside what the machine can
// do.
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

/// What a machine can do at most: the roof that steps are measured against. Plain data; callers who know
/// their machine better fill it in themselves.
struct LATHE_API Roofline {
  struct Level {
    std::string name;      // "L2", "L3", "memory"
    uint64_t holds = 0;    // bytes of data that fit; 0: any
    double bandwidth = 0;  // bytes a second that all threads together read
  };
  double flops = 0;           // float32 operations a second, all threads together; 0: not known
  std::vector<Level> levels;  // the fastest and smallest first; empty: not known

  /// The level that so many bytes fit into; null where none is known.
  const Level* level_for(double bytes) const;
  /// Seconds that a step of so much arithmetic and traffic takes at least; 0 where the roof is not known.
  double least_seconds(double flops, double bytes) const;
};
/// Measures this machine on so many threads (from 1) at once: multiplications and additions in registers, and
/// reading of arrays that fit each level. Takes some 0.1 s; as exact as the machine is quiet. Thread-safe.
LATHE_API Roofline measure_roofline(int threads);

/// A step of a plan, all of its executions together.
struct StepProfile {
  std::string node, op, kernel;  // no kernel: a copy between memory spaces
  std::vector<std::string> origin, fused;
  uint32_t graph = 0;   // 0: the main graph, others are bodies of control flow
  uint64_t count = 0;   // executions
  double seconds = 0;   // of all of them; without the steps of its bodies, which are told on their own
  double least = 0;     // the shortest one
  double flops = 0;     // of all of them: two for every term that a contraction sums, one for every element
                        // of other arithmetic, nothing for movement and comparisons; see ModelSummary
  double bytes = 0;     // of all of them: operands read, weights as they are packed, and results written
  uint32_t shapes = 0;  // of the last one: index into Profile::shapes
};

/// One execution of a step.
struct StepEvent {
  uint32_t step = 0;   // index into Profile::steps
  uint32_t depth = 0;  // 0: in the main graph; 1: in a body of one of its steps; …
  double start = 0;    // seconds since the profile began
  double seconds = 0;  // to its end, the steps of its bodies included
  double self = 0;     // without those
  double flops = 0, bytes = 0;
  uint32_t shapes = 0;  // index into Profile::shapes
};

/// One run of the context, from the checked inputs to the outputs.
struct RunEvent {
  double start = 0, seconds = 0;  // as of StepEvent
};

/// What a context recorded between start_profile() and profile(). Plain data.
struct Profile {
  std::vector<StepProfile> steps;    // every step of the plan, graph by graph, in order of execution
  std::vector<StepEvent> events;     // the latest, in the order in which they ended
  std::vector<RunEvent> run_events;  // the latest
  std::vector<std::string> shapes;   // "float32[1,3,8,8] float32[4,3,3,3] -> float32[1,4,6,6]"; 0 is empty
  uint64_t events_lost = 0;          // steps and runs for which there was no room: the earliest
  uint64_t runs = 0;                 // those that were recorded and ended well
  uint64_t runs_passed_over = 0;     // those that were not recorded, so that it takes less than 2 % of the time
  double run_seconds = 0;            // of all of them
  int threads = 1;
  std::string isa;  // the best that its kernels may use
};

/// What a profile is of, for people who read it later. All optional.
struct ProfileLabels {
  std::string model, machine, date;
};

/// The events as Chrome's trace format (chrome://tracing, Perfetto): complete events, bodies nested in their
/// steps, with operator, kernel, shapes, bytes and FLOPs as arguments. Always valid JSON in UTF-8: other
/// bytes in names are replaced. Throws file_write_failed.
LATHE_API void write_chrome_trace(const Profile& profile, const std::filesystem::path& file);
LATHE_API std::string chrome_trace(const Profile& profile);

/// One HTML page with a timeline, the roofline and a table, that needs nothing else: no network, no files.
/// Throws file_write_failed.
LATHE_API void write_profile_page(const Profile& profile, const Roofline& roofline,
                                  const ProfileLabels& labels, const std::filesystem::path& file);

}  // namespace lathe
