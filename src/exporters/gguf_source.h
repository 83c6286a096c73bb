// GGUF files as the folders that transformers would have of the same models: a config.json, and weights under
// the names and in the order of rows that modules expect.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/unfinished.h"
#include "lathe/checkpoint.h"
#include "lathe/gguf.h"

namespace lathe::exporters {

/// Returns the text of config.json for the model of a GGUF file. Throws not_supported for architectures other
/// than llama and qwen2, and for what their metadata says that the modules cannot do; bad_argument for
/// metadata that are missing.
std::string config_of_gguf(const Gguf& file);

/// Returns the tensors of a GGUF file under the names of transformers. Those in blocks are widened when they
/// are asked for; rows of queries and keys that llama.cpp has in another order are put back. Throws
/// not_supported for a tensor that no module has.
Checkpoint weights_of_gguf(const Gguf& file);

/// A GGUF file that is exported: a temporary folder with its config.json, and its weights.
class GgufSource {
 public:
  /// Throws what Gguf::open and the functions above throw; file_write_failed.
  GgufSource(const std::filesystem::path& file, const CheckpointOptions& options);
  ~GgufSource();
  GgufSource(const GgufSource&) = delete;
  GgufSource& operator=(const GgufSource&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const Checkpoint& weights() const { return *weights_; }

  /// Returns whether the file has any tensor as whole numbers with scales, or the one of that name, which is
  /// transformers'; and whether some of the numbers have 2 bits.
  bool has_numbers() const { return !in_blocks_.empty(); }
  bool has_numbers(const std::string& name) const { return in_blocks_.contains(name); }
  bool has_two_bits() const;
  /// Returns these numbers, with rows in transformers' order.
  GgufNumbers numbers(const std::string& name) const;

 private:
  struct InBlocks {
    std::string name;   // in the file
    int64_t heads = 0;  // whose rows are put back into their order; 0: none
    GgufType type;
  };
  std::optional<Gguf> gguf_;
  std::map<std::string, InBlocks> in_blocks_;
  std::filesystem::path folder_;
  std::optional<Unfinished> unfinished_;
  std::optional<Checkpoint> weights_;
};

/// Returns whether the path is a file that begins as GGUF does.
bool is_gguf(const std::filesystem::path& path);

}  // namespace lathe::exporters
