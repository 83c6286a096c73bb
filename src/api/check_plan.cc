#include "lathe/check.h"
#include "plan/plan_file.h"

namespace lathe {

std::vector<Diagnostic> check_plan(const std::filesystem::path& path) {
  try {
    return damaged_arrays(load_plan(path), path);
  } catch (const Error& e) {
    const Code c = e.code();
    if (c != Code::plan_malformed && c != Code::plan_version) throw;
    return {e.diagnostic()};
  }
}

}  // namespace lathe
