// Tells on standard error what takes long: silent for the first second, then a line that is kept up to date
// on a terminal, or one line every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace lathe::cli {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Progress {
 public:
  /// "loading model.onnx"
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a stage; called from any thread. `fraction` is negative if it is not known.
  void stage(std::string_view name, double fraction = -1);
  /// Shows another activity.
  void now(std::string what);

 private:
  void watch();
  void show(double seconds);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string what_, stage_;
  double fraction_ = -1;
  bool done_ = false, shown_ = false, terminal_;
  std::thread thread_;
};

}  // namespace lathe::cli
