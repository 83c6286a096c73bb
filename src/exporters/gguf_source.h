// GGUF files as the checkpoints that transformers would have of the same models: a config.json, and weights
// under the names and in the order of rows that modules expect.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "lathe/checkpoint.h"
#include "lathe/gguf.h"

namespace lathe::exporters {

/// The model of a GGUF file. Immutable.
class GgufSource {
 public:
  /// Throws what Gguf::open throws; not_supported for architectures other than gemma3, llama and qwen2, for
  /// what their metadata say that the modules cannot do, and for tensors that no module has; bad_argument for
  /// metadata that are missing.
  GgufSource(const std::filesystem::path& file, const CheckpointOptions& options);

  /// Returns the file.
  const Gguf& file() const { return gguf_; }
  /// Returns the text of the config.json.
  const std::string& config() const { return config_; }
  /// Returns the tensors under the names of transformers. Those in blocks are widened when they are asked
  /// for; rows of queries and keys that llama.cpp has in another order are put back.
  const Checkpoint& weights() const { return weights_; }
  /// Returns the same, but of tensors that have numbers() the type and shape alone: their elements are zeros
  /// that take no memory. A module is bound to them whose weights numbers() replaces afterwards.
  const Checkpoint& placeholders() const { return placeholders_; }
  /// Returns whether the address is in such a tensor.
  bool is_placeholder(const void* element) const;

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
  Gguf gguf_;
  std::string config_;
  Checkpoint weights_;
  size_t zero_bytes_;            // of all placeholders
  std::shared_ptr<void> zeros_;  // their memory; null: they are what weights_ has
  Checkpoint placeholders_;
  std::map<std::string, InBlocks> in_blocks_;
};

/// Returns whether the path is a file that begins as GGUF does.
bool is_gguf(const std::filesystem::path& path);

}  // namespace lathe::exporters
