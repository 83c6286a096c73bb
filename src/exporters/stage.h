// A directory that is filled beside its target, and moved there if all succeeded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unfinished.h"
#include "lathe/checkpoint.h"

namespace lathe::exporters {

/// The constructor makes the directory; the destructor removes it with its contents.
class StagedDirectory {
 public:
  /// Throws file_write_failed.
  explicit StagedDirectory(const std::filesystem::path& target);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  const std::filesystem::path& path() const { return staged_; }
  /// Replaces the target: in one step if there is none yet. In an existing folder files are moved one by one,
  /// replacing those of the same name, models after their weights; if one cannot be moved, all is restored.
  /// Throws file_write_failed.
  void commit();

 private:
  std::filesystem::path target_, staged_;
  std::optional<Unfinished> unfinished_;
};

/// Copies the files that belong to a model besides config.json and weights, if they exist: tokenizers,
/// preprocessors, generation settings. Throws file_unreadable, file_write_failed.
void copy_companions(const std::filesystem::path& checkpoint, const std::filesystem::path& to);

/// Returns the text of a directory's config.json. Throws as ModelConfig::open does.
std::string read_config(const std::filesystem::path& checkpoint);
/// Returns the text of a config.json with other values for some keys (JSON text by key).
std::string config_text(std::string config, const std::map<std::string, std::string>& overrides);

}  // namespace lathe::exporters
