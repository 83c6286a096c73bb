// Tensors as they are stored in a checkpoint's files: the results of the readers of all formats.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "lathe/checkpoint.h"

namespace lathe {

/// The place of a tensor's elements. A reader has verified that all of them are inside the file.
struct StoredTensor {
  CheckpointTensor info;
  std::shared_ptr<const FileBytes> file;
  uint64_t offset = 0;           // of the first element in the file
  std::vector<int64_t> strides;  // in elements, none negative; empty: row-major
  std::function<Tensor()> load;  // where the file's bytes are not the elements: compressed, swapped, …
  std::function<Tensor()> load_blocks;  // where info.blocks names some
  uint64_t packed = 0;  // bytes in the file, where they are not elements but tell tensors of one kind apart

  const char* data() const { return file->view().data() + offset; }
};

struct CheckpointContents {
  CheckpointFormat format = CheckpointFormat::safetensors;
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Returns a checkpoint of tensors that are made when they are asked for: `file` of each is null, and
/// `offset` another number. Throws graph_duplicate_name.
Checkpoint checkpoint_of(CheckpointContents contents, std::vector<std::filesystem::path> files);

/// Sets the fields that follow from the others: bytes, file, mapped. `type` and `shape` are set and checked.
void complete(StoredTensor& t);
/// Returns the elements; if info.mapped, they are a view of the file.
Tensor load(const StoredTensor& t);

/// Opens a regular file as the options say. Throws file_not_found, file_not_regular, file_unreadable.
std::shared_ptr<const FileBytes> open_checkpoint_file(const std::filesystem::path& path,
                                                      const CheckpointOptions& options);

/// An error about a file of a checkpoint and, where that is known, one of its tensors.
Error checkpoint_error(Code code, const std::filesystem::path& file, std::string_view tensor,
                       std::string expected, std::string got, std::string remedy = "download the file again");
/// Returns the number of elements; errors name the file and the tensor.
int64_t checked_elements(const Shape& shape, DataType type, const std::filesystem::path& file,
                         std::string_view tensor);
/// Returns a name for a message: names in files may be long and of any bytes.
std::string in_quotes(std::string_view name);

CheckpointContents read_safetensors(const std::shared_ptr<const FileBytes>& file);
CheckpointContents read_npy(const std::shared_ptr<const FileBytes>& file);
/// Reads a zip file, whose members decide which of its two formats it has.
CheckpointContents read_zip_checkpoint(const std::shared_ptr<const FileBytes>& file);

}  // namespace lathe
