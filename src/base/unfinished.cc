#include "base/unfinished.h"

#include <set>

namespace lathe {
namespace {

/// Never destroyed: a signal may come while the process exits.
struct Ledger {
  std::recursive_mutex mutex;
  std::multiset<std::filesystem::path> paths;
};
Ledger& ledger() {
  static auto* const made = new Ledger;
  return *made;
}

}  // namespace

Unfinished::Unfinished(std::filesystem::path path) : path_(std::move(path)) {
  const OneStep step;
  ledger().paths.insert(path_);
}

Unfinished::~Unfinished() {
  const OneStep step;
  if (const auto at = ledger().paths.find(path_); at != ledger().paths.end()) ledger().paths.erase(at);
}

OneStep::OneStep() { ledger().mutex.lock(); }
OneStep::~OneStep() { ledger().mutex.unlock(); }

void remove_all_unfinished() {
  ledger().mutex.lock();  // for good
  for (const std::filesystem::path& path : ledger().paths) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace lathe
