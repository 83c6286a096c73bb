// This machine and this build of the library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// Describes an optional component: a shared library of Lathe's that brings third-party libraries along.
struct ComponentInfo {
  std::string name;                    // "images"
  std::vector<std::string> operators;  // names of the operators that need it
  std::filesystem::path path;          // file that was found; empty: there is none
  std::string has, lacks;              // features that it has, and that it was built without
  std::string missing;  // for one that is not there: where it was looked for, and what installs it
};

/// Describes this machine and what the library makes of it.
struct SystemInfo {
  std::string version;  // version of the library
  std::string cpu;      // name that the processor gives itself
  std::string isa;      // best instruction set that kernels are chosen for: "generic", "avx2", "avx512"
  std::vector<std::string> features;            // "avx2", "avx512", "avx512_vnni", "amx_int8", …
  int processors_online = 1;                    // processors of the machine
  int processors_allowed = 1;                   // processors that cpuset and affinity allow
  double cpu_quota = 0;                         // cgroup quota in processors; 0: none
  uint64_t memory_total = 0;                    // bytes of the machine; 0: not known
  uint64_t memory_limit = 0;                    // bytes that this process's cgroups allow; 0: no limit
  int threads = 1;                              // number of threads that engines use by default
  std::string threads_reason;                   // why it is that many
  int newest_opset = 0, newest_ir_version = 0;  // that the library reads
  std::vector<ComponentInfo> components = {};   // all optional components
};

/// Returns facts about this machine. Thread-safe.
LATHE_API SystemInfo system_info();

}  // namespace lathe
