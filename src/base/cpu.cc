#include "base/cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lathe {
namespace {

#ifdef LATHE_WITHOUT_AVX512
constexpr bool with_avx512 = false;  // nothing here may ask for kernels that are not there
#else
constexpr bool with_avx512 = true;
#endif

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
  char brand[49] = {}, vendor[12] = {};
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    const unsigned words[3] = {b, d, c};
    std::memcpy(vendor, words, sizeof vendor);
  }
  for (unsigned i = 0; i < 3; ++i)
    if (__get_cpuid(0x80000002u + i, &a, &b, &c, &d)) {
      const unsigned words[4] = {a, b, c, d};
      std::memcpy(brand + 16 * i, words, 16);
    }
  f.name = brand;
  f.amd = std::memcmp(vendor, "AuthenticAMD", sizeof vendor) == 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  f.family = (a >> 8 & 0xf) + ((a >> 8 & 0xf) == 0xf ? a >> 20 & 0xff : 0);
  f.model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
  const bool fma = c >> 12 & 1, f16c = c >> 29 & 1, osxsave = c >> 27 & 1;
  if (!osxsave) return f;
  const uint64_t state = enabled_state();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  f.avx2 = ymm && fma && f16c && (b >> 5 & 1);
  f.avx512 = with_avx512 && f.avx2 && zmm && (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) && (b >> 31 & 1);
  // CPUID has no flag for this. Zen 4 is all of this family that has AVX-512.
  f.avx512_halved = f.avx512 && f.amd && f.family == 0x19;
  // Zen 5 divides a vector in 2.5 cycles, others in 10 to 24. CPUID has no flag for this either.
  f.avx512_divides = f.avx512 && f.amd && f.family >= 0x1a;
  // Measured there alone.
  f.streams_past_l2 = f.avx512_divides;
  f.avx512_vnni = f.avx512 && (c >> 11 & 1);
  const bool tiles = f.avx512 && (state >> 17 & 3) == 3 && (d >> 24 & 1);
  f.amx_int8 = tiles && (d >> 25 & 1);
  f.amx_bf16 = tiles && (d >> 22 & 1);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) f.avx512_bf16 = f.avx512 && (a >> 5 & 1);
  return f;
}
#else
CpuFeatures detect() { return {}; }
#endif

/// Requests permission to use tiles: Linux allocates memory to save them only for processes that ask for it.
bool request_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

CpuFeatures& features() {
  static CpuFeatures all = detect();
  return all;
}
bool pretended = false;  // that there are tiles

int affinity_count(int online) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return online;
}

double positive_ratio(double quota, double period) { return quota > 0 && period > 0 ? quota / period : 0; }

/// Calls visit(directory, v1) for every control group of `controller` this process is in, up to the root: any
/// level may limit.
template <class Visit>
void visit_groups(const std::filesystem::path& root, const std::filesystem::path& self,
                  const std::string& controller, Visit visit) {
  visit(root, false);
  visit(root / controller, true);
  std::ifstream in(self);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v1 = ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
    if (!controllers.empty() && !v1) continue;
    std::filesystem::path at = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !at.empty(); at = at.parent_path()) visit(v1 ? root / controller / at : root / at, v1);
  }
}

double cgroup_quota(const std::filesystem::path& root, const std::filesystem::path& self) {
  double best = 0;
  auto tighten = [&](double q) {
    if (q > 0 && (best == 0 || q < best)) best = q;
  };
  visit_groups(root, self, "cpu", [&](const std::filesystem::path& dir, bool v1) {
    double quota = 0, period = 0;
    if (v1) {
      std::ifstream q(dir / "cpu.cfs_quota_us"), p(dir / "cpu.cfs_period_us");
      if (q >> quota && p >> period) tighten(positive_ratio(quota, period));
    } else {
      std::ifstream in(dir / "cpu.max");
      std::string text;
      if (in >> text >> period && text != "max") tighten(positive_ratio(std::atof(text.c_str()), period));
    }
  });
  return best;
}

}  // namespace

std::vector<std::string> feature_names(const CpuFeatures& f) {
  std::vector<std::string> names;
  for (const auto& [there, name] : {std::pair{f.avx2, "avx2"},
                                    {f.avx512, "avx512"},
                                    {f.avx512_vnni, "avx512_vnni"},
                                    {f.avx512_bf16, "avx512_bf16"},
                                    {f.amx_int8, "amx_int8"},
                                    {f.amx_bf16, "amx_bf16"}})
    if (there) names.emplace_back(name);
  return names;
}

const CpuFeatures& cpu_features() { return features(); }

bool may_use_tiles() {
  static const bool may = (cpu_features().amx_int8 || cpu_features().amx_bf16) && request_tiles();
  return may || pretended;
}

void pretend_tiles() { features().amx_int8 = features().amx_bf16 = pretended = true; }

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

PhysicalMemory physical_memory() {
  PhysicalMemory m;
#if defined(__linux__)
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  m = {.total = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page,
       .free = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page};
#endif
  return m;
}

uint64_t memory_limit(const std::filesystem::path& cgroup_root, const std::filesystem::path& self) {
  // Version 1 writes "no limit" as a huge number.
  constexpr uint64_t unlimited = uint64_t{1} << 60;
  uint64_t best = unlimited;
  visit_groups(cgroup_root, self, "memory", [&](const std::filesystem::path& dir, bool v1) {
    std::ifstream in(dir / (v1 ? "memory.limit_in_bytes" : "memory.max"));
    uint64_t bytes = 0;
    if (in >> bytes && bytes > 0) best = std::min(best, bytes);
  });
  return best == unlimited ? 0 : best;
}

}  // namespace lathe
