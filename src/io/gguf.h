// The parts of a GGUF file as the reader finds them, and how blocks become numbers.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "io/stored_tensor.h"
#include "lathe/gguf.h"

namespace lathe {

/// One file, whose every number has been verified.
struct GgufPart {
  std::shared_ptr<const FileBytes> file;
  uint32_t version = 0;
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;

  const GgufValue* find(std::string_view key) const;
};

/// Returns whether the bytes begin as a GGUF file does, or as one of the formats before it.
bool begins_as_gguf(std::string_view bytes);
/// Reads one file, without looking for other parts.
GgufPart read_gguf_part(const std::shared_ptr<const FileBytes>& file);

using FileOpener = std::function<std::shared_ptr<const FileBytes>(const std::filesystem::path&)>;
/// Reads a file and, if it is a part of a split one, all others, which `open` opens.
std::vector<GgufPart> read_gguf_parts(const std::shared_ptr<const FileBytes>& file, const FileOpener& open);
/// The same as tensors of a checkpoint, for each file.
std::vector<std::pair<std::filesystem::path, CheckpointContents>> read_gguf(
    const std::shared_ptr<const FileBytes>& file, const FileOpener& open);

/// The bytes of a tensor, and its elements as float32.
Tensor gguf_raw(const GgufTensor& t, const std::shared_ptr<const FileBytes>& file);
Tensor gguf_float32(const GgufTensor& t, const std::shared_ptr<const FileBytes>& file);

/// An error about a key of the metadata.
Error error_about_gguf(Code code, const std::string& key, std::string expected, std::string got);

/// Returns what is known of a type by its number in the file; null for numbers that are none.
const GgufTypeInfo* gguf_type_info(uint32_t number);
/// Writes the elements of whole blocks as float32. The type is one that decodes; nothing need be aligned.
void decode_gguf(GgufType type, const void* blocks, size_t count, float* to);

/// Returns the type of the numbers that split_gguf() makes; undefined for types that it does not take.
DataType number_type_of(GgufType type);
/// Splits whole blocks of a tensor of that shape.
GgufNumbers split_gguf(GgufType type, const void* blocks, const Shape& shape);

/// The points of a lattice by which the IQ types are decoded, in the order of their indices. The values are
/// those of a row of `width` elements.
struct GgufGrid {
  size_t width = 0;
  std::vector<int8_t> values;
  const int8_t* row(size_t index) const { return values.data() + index * width; }
};
enum class GgufGridName : uint8_t { iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq1 };
/// Returns a grid, which is made when it is asked for the first time. Thread-safe.
const GgufGrid& gguf_grid(GgufGridName name);

}  // namespace lathe
