#include "base/component.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <vector>

#include "lathe/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::string_view name, option, packages;
};
constexpr Known known[] = {
    {"images", "LATHE_IMAGES",
     "libjpeg-dev, libpng-dev, libwebp-dev, libtiff-dev and libopenjp2-7-dev, or some of them"},
    {"regex", "LATHE_REGEX", "libre2-dev"},
};
/// Seen from the directory above a program's.
constexpr const char* library_directory =
#include "generated/library_dir.inc"
    ;
constexpr std::array<std::string_view, std::size(known)> names{known[0].name, known[1].name};

const Known* find(std::string_view name) {
  for (const Known& k : known)
    if (k.name == name) return &k;
  return nullptr;
}

/// The folder of the library or the program that this code was linked into.
fs::path own_directory() {
  Dl_info info{};
  fs::path file;
  if (dladdr(reinterpret_cast<const void*>(&own_directory), &info) && info.dli_fname) file = info.dli_fname;
  std::error_code bad;
  // For a program, dladdr gives the name by which it was called.
  if (!file.is_absolute() || !fs::exists(file, bad)) file = fs::read_symlink("/proc/self/exe", bad);
  const fs::path whole = fs::weakly_canonical(file, bad);
  return (bad ? file : whole).parent_path();
}

std::vector<fs::path> directories() {
  if (const char* variable = secure_getenv("LATHE_COMPONENTS")) return {fs::path(variable)};
  const fs::path own = own_directory();
  return {own, own / "lathe", own.parent_path() / library_directory / "lathe"};
}

Component open(std::string_view name) {
  Component c;
  c.name = name;
  const std::string file = "liblathe_" + c.name + ".so";
  for (const fs::path& directory : directories()) {
    const fs::path path = directory / file;
    std::error_code bad;
    c.missing += (c.missing.empty() ? "" : "; ") + path.string();
    // A name without a directory is looked for in all the system: not here.
    if (!path.is_absolute() || !fs::is_regular_file(path, bad)) {
      c.missing += ": not there";
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      c.missing += std::string(": ") + (why ? why : "cannot be opened");
      continue;
    }
    using Entry = const ComponentTable* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, component_entry));
    const ComponentTable* table = entry ? entry() : nullptr;
    if (table && table->abi == component_abi && table->name == name) {
      c.path = path;
      c.table = table;
      c.missing.clear();
      return c;  // open for good: what it gave out may be in use
    }
    c.missing += table ? ": of another version of Lathe" : ": not a component";
    dlclose(library);
  }
  return c;
}

}  // namespace

std::span<const std::string_view> component_names() { return names; }

const Component& component(std::string_view name) {
  static std::array<std::once_flag, std::size(known)> once;
  static std::array<Component, std::size(known)> all;
  for (size_t i = 0; i < std::size(known); ++i) {
    if (known[i].name != name) continue;
    std::call_once(once[i], [&] { all[i] = open(name); });
    return all[i];
  }
  throw Error(Code::internal, "run", "a component that is known", "'" + std::string(name) + "'");
}

std::string component_remedy(std::string_view name) {
  const Known* k = find(name);
  return k ? "install " + std::string(k->packages) + " and build with -D" + std::string(k->option) +
                 "=ON, or say where the component is with LATHE_COMPONENTS"
           : std::string();
}

const ComponentTable& require_component(std::string_view name) {
  const Component& c = component(name);
  if (!c.table)
    throw Error(Code::component_absent, "build", "the optional component '" + c.name + "'",
                "none: " + c.missing, component_remedy(name));
  return *c.table;
}

}  // namespace lathe
