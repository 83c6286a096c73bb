#pragma once
// The plug-ins that the tests build, and what the fake device counts.
#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lathe::test {

/// The path of a plug-in that stands beside the tests.
inline std::filesystem::path plugin(std::string_view name) {
  return std::filesystem::path(LATHE_PLUGIN_DIR) / (std::string(name) + ".so");
}
/// Calls a counter that the fake device exports; zero if the device is not loaded.
inline size_t query_plugin(const char* name) {
  void* library = dlopen(plugin("fake_device").c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) return 0;
  const size_t n = reinterpret_cast<size_t (*)()>(dlsym(library, name))();
  dlclose(library);
  return n;
}

}  // namespace lathe::test
