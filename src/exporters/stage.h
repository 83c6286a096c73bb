// A directory that is filled beside its target, and moved there when all went well.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unfinished.h"
#include "lathe/checkpoint.h"

namespace lathe::exporters {

/// Made by the constructor, gone with the destructor, whatever is in it.
class StagedDirectory {
 public:
  /// Throws file_write_failed.
  explicit StagedDirectory(const std::filesystem::path& target);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  const std::filesystem::path& path() const { return beside_; }
  /// Becomes the target, in one step where there is none yet. In a folder that is there files take their
  /// places one by one, replacing those of the same name, models after their weights; where one cannot, all
  /// is put back as it was. Throws file_write_failed.
  void commit();

 private:
  std::filesystem::path target_, beside_;
  std::optional<Unfinished> unfinished_;
};

/// Tokenizers, preprocessors, generation: what belongs to a model besides config.json and weights, copied
/// where it is there. Throws file_unreadable, file_write_failed.
void copy_companions(const std::filesystem::path& checkpoint, const std::filesystem::path& to);

/// config.json with other values for some keys (JSON text by key). Throws as ModelConfig::open does.
std::string config_text(const std::filesystem::path& checkpoint,
                        const std::map<std::string, std::string>& overrides);

}  // namespace lathe::exporters
