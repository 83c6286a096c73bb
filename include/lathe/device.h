// Facts about devices, for people and for messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lathe/export.h"
#include "lathe/types.h"

namespace lathe {

/// Describes a device.
struct DeviceFacts {
  std::string description = {};      // "NVIDIA H200"; empty: unknown
  std::vector<DataType> types = {};  // element types that its kernels take; empty: all of fixed width
  std::vector<std::string> instruction_sets = {};                 // worst first: "generic", "avx2", "avx512"
  std::vector<std::pair<std::string, std::string>> details = {};  // other facts: "compute capability", "9.0"
};

/// Tells the memory of a device, in bytes; 0: not known.
struct DeviceMemory {
  uint64_t total = 0;  // bytes that there are
  uint64_t free = 0;   // bytes that nobody holds
};

/// Describes a device that engines can be built for.
struct DeviceInfo {
  std::string name;     // name for BuildOptions::backend: "cpu", or what a plug-in registered
  DeviceFacts facts;    // facts that do not change
  DeviceMemory memory;  // memory at the moment
};

/// Returns the devices of this machine: the CPU, then those that plug-ins (shared libraries, see
/// lathe/backend.h) bring, in their order. Throws build_plugin_failed where one cannot be loaded.
/// Thread-safe.
LATHE_API std::vector<DeviceInfo> devices(const std::vector<std::filesystem::path>& plugins = {});

}  // namespace lathe
