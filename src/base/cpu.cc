#include "base/cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lathe {
namespace {

#if defined(__x86_64__)
// XGETBV by its bytes, so that no target flag is needed to compile it.
uint64_t enabled_state() {
  uint32_t low, high;
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

CpuFeatures detect() {
  CpuFeatures f;
  unsigned a, b, c, d;
  char brand[49] = {};
  for (unsigned i = 0; i < 3; ++i)
    if (__get_cpuid(0x80000002u + i, &a, &b, &c, &d)) {
      const unsigned words[4] = {a, b, c, d};
      std::memcpy(brand + 16 * i, words, 16);
    }
  f.name = brand;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  const bool fma = c >> 12 & 1, f16c = c >> 29 & 1, osxsave = c >> 27 & 1;
  if (!osxsave) return f;
  const uint64_t state = enabled_state();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  f.avx2 = ymm && fma && f16c && (b >> 5 & 1);
  f.avx512 = f.avx2 && zmm && (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) && (b >> 31 & 1);
  f.avx512_vnni = f.avx512 && (c >> 11 & 1);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) f.avx512_bf16 = f.avx512 && (a >> 5 & 1);
  return f;
}
#else
CpuFeatures detect() { return {}; }
#endif

int affinity_count(int online) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return online;
}

double positive_ratio(double quota, double period) { return quota > 0 && period > 0 ? quota / period : 0; }

/// The tightest quota from the process's group up to the root: any level may limit.
double cgroup_quota(const std::filesystem::path& root, const std::filesystem::path& self) {
  double best = 0;
  auto tighten = [&](double q) {
    if (q > 0 && (best == 0 || q < best)) best = q;
  };
  auto read_v2 = [&](const std::filesystem::path& dir) {
    std::ifstream in(dir / "cpu.max");
    std::string quota;
    double period = 0;
    if (in >> quota >> period && quota != "max") tighten(positive_ratio(std::atof(quota.c_str()), period));
  };
  auto read_v1 = [&](const std::filesystem::path& dir) {
    double quota = 0, period = 0;
    std::ifstream q(dir / "cpu.cfs_quota_us"), p(dir / "cpu.cfs_period_us");
    if (q >> quota && p >> period) tighten(positive_ratio(quota, period));
  };
  read_v2(root);
  read_v1(root / "cpu");
  std::ifstream in(self);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v1 = ("," + controllers + ",").find(",cpu,") != std::string::npos;
    if (!controllers.empty() && !v1) continue;
    std::filesystem::path at = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !at.empty(); at = at.parent_path()) {
      if (v1)
        read_v1(root / "cpu" / at);
      else
        read_v2(root / at);
    }
  }
  return best;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

CpuLimits cpu_limits(const std::filesystem::path& cgroup_root, const std::filesystem::path& self) {
  CpuLimits l;
  l.online = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  l.affinity = affinity_count(l.online);
  l.quota = cgroup_quota(cgroup_root, self);
  l.threads = l.affinity;
  l.reason =
      std::to_string(l.affinity) + " of " + std::to_string(l.online) + " processors in the affinity mask";
  if (l.quota > 0) {
    const int by_quota = std::max(1, static_cast<int>(std::ceil(l.quota)));
    l.threads = std::min(l.threads, by_quota);
    char text[48];
    std::snprintf(text, sizeof text, ", a control-group quota of %.2f", l.quota);
    l.reason += text;
  } else {
    l.reason += ", no control-group quota";
  }
  return l;
}

}  // namespace lathe
