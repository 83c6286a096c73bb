// What tools ask besides running a model: what is supported, and facts about this machine. The `lathe`
// command and the Python module are thin over this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// One operator of the registry.
struct OperatorInfo {
  struct VersionInfo {
    int since = 1;
    std::string signature;  // "(input: T) -> (output: T) {axis: int = -1} [T: float double]"
    bool deprecated = false;
    /// Type variable and the types it stands for ("float", "seq(int64)").
    std::vector<std::pair<std::string, std::vector<std::string>>> types = {};
  };
  struct KernelInfo {
    std::string name, backend, isa;
  };
  std::string domain, name;                // "" is ai.onnx
  std::vector<VersionInfo> versions = {};  // oldest first
  std::vector<KernelInfo> kernels = {};    // in the order they are asked; the reference last
};

/// The operators whose name fits the shell pattern, sorted by domain and name. Thread-safe.
LATHE_API std::vector<OperatorInfo> operators(std::string_view pattern = "*");

/// Facts about this machine and what the library makes of them.
struct SystemInfo {
  std::string version;
  std::string cpu;                    // the processor's own name for itself
  std::string isa;                    // the best that kernels are chosen for: "generic", "avx2", "avx512"
  std::vector<std::string> features;  // "avx2", "avx512", "avx512_vnni", "avx512_bf16"
  int processors_online = 1;          // of the machine
  int processors_allowed = 1;         // by cpuset and affinity
  double cpu_quota = 0;               // cgroup quota in processors; 0: none
  uint64_t memory_total = 0;          // bytes of the machine; 0: not known
  uint64_t memory_limit = 0;          // bytes this process's cgroups allow; 0: none
  int threads = 1;                    // used when none are asked for
  std::string threads_reason;         // why that many
  int newest_opset = 0, newest_ir_version = 0;
};
LATHE_API SystemInfo system_info();

}  // namespace lathe
