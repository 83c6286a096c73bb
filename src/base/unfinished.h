// Files that are being written and do not have their final names yet. The whole process knows them, so that
// they can be removed on a signal.
#pragma once

#include <filesystem>
#include <mutex>

namespace lathe {

/// A file or a folder that is to be removed if the process is ended while this lives. Its destructor leaves
/// it alone. Thread-safe.
class Unfinished {
 public:
  explicit Unfinished(std::filesystem::path path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  std::filesystem::path path_;
};

/// While this exists nothing is removed, so that several files get their names together or not at all. A
/// thread may hold several.
class OneStep {
 public:
  OneStep();
  ~OneStep();
  OneStep(const OneStep&) = delete;
  OneStep& operator=(const OneStep&) = delete;
};

/// Removes all unfinished files, and blocks every thread that begins or finishes a file from now on. It is
/// for a process that is about to end.
void remove_all_unfinished();

}  // namespace lathe
