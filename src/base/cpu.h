// Facts about the processor and the limits this process runs under.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lathe {

struct CpuFeatures {
  bool avx2 = false;    // with FMA and F16C, and the operating system saves the registers
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_vnni = false, avx512_bf16 = false;
  bool avx512_halved = false;               // AVX-512 at half its width: an instruction takes two turns
  bool avx512_divides = false;              // as fast as it multiplies two or three times
  bool streams_past_l2 = false;             // what is read once is asked for past the second-level cache
  bool amd = false;                         // made by AMD
  bool amx_int8 = false, amx_bf16 = false;  // with tiles, and the operating system saves them
  std::string name;                         // "AMD EPYC …"
  unsigned family = 0, model = 0;
};
/// The features by CPUID and XGETBV, read once; all false on other architectures.
const CpuFeatures& cpu_features();
/// Returns whether this process may use tiles. The first call requests permission from Linux. Always false if
/// the processor has none.
bool may_use_tiles();
/// For tests that emulate the instructions for tiles: from now on, all of them count as available.
void pretend_tiles();
/// "avx2", "avx512", …: those that are there.
std::vector<std::string> feature_names(const CpuFeatures& f);

/// The memory of the machine in bytes; 0 where it is not known.
struct PhysicalMemory {
  uint64_t total = 0, free = 0;
};
PhysicalMemory physical_memory();

/// How many threads to use, and why.
struct CpuLimits {
  int online = 1;      // processors of the machine
  int affinity = 1;    // processors this process may run on (cpuset, taskset)
  double quota = 0;    // cgroup CPU quota in processors; 0: none
  int threads = 1;     // min(affinity, ceil(quota))
  std::string reason;  // "2 processors in the affinity mask, no quota"
};
/// `cgroup_root` and `self` are parameters so that tests can show it other files.
CpuLimits cpu_limits(const std::filesystem::path& cgroup_root = "/sys/fs/cgroup",
                     const std::filesystem::path& self = "/proc/self/cgroup");
/// Bytes of memory that this process's control groups allow, the tightest level counting; 0: no limit.
uint64_t memory_limit(const std::filesystem::path& cgroup_root = "/sys/fs/cgroup",
                      const std::filesystem::path& self = "/proc/self/cgroup");

}  // namespace lathe
