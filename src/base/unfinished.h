// What is being written and has not its name yet: known to the whole process, so that a signal can remove it.
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

/// While this lives nothing is removed: several files that get their names under it get all of them or none.
/// A thread may hold several.
class OneStep {
 public:
  OneStep();
  ~OneStep();
  OneStep(const OneStep&) = delete;
  OneStep& operator=(const OneStep&) = delete;
};

/// Removes what is unfinished, and has every thread wait that would begin or finish a file from now on: for a
/// process that is about to end.
void remove_all_unfinished();

}  // namespace lathe
