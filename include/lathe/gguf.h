// Reading GGUF, the file format of llama.cpp: metadata, and tensors whose elements are plain numbers or
// blocks of a few bits. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/export.h"
#include "lathe/tensor.h"

namespace lathe {

/// Names how GGUF stores a tensor: plain elements, or blocks, which are runs of elements along the last axis
/// that share scales. The numbers are those of the format.
enum class GgufType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
};

/// Describes how a GgufType stores elements.
struct GgufTypeInfo {
  std::string_view name;                 // as llama.cpp prints it: "Q4_K"
  uint32_t elements = 0;                 // elements of a block; 1 for plain elements
  uint32_t bytes = 0;                    // bytes of a block
  DataType plain = DataType::undefined;  // type of plain elements; undefined for blocks
  bool decodes = true;  // false for blocks whose elements this version cannot tell: Q1_0, Q8_1 and Q8_K
};
/// Returns what is known of a type. Throws bad_argument for a number that is none. Thread-safe.
LATHE_API const GgufTypeInfo& info_of(GgufType t);
/// Returns the type's name: "F32", "Q4_K". Throws as info_of() does.
LATHE_API std::string_view name_of(GgufType t);

/// Names the type of a metadata value. The numbers are those of the format.
enum class GgufValueType : uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};
/// Returns the name: "uint8", "float32", "bool", "string", "array".
LATHE_API std::string_view name_of(GgufValueType t);

/// A value of the metadata: a number, a boolean, a string, or an array of one of them. It refers to the file,
/// which it keeps open, and is decoded when it is asked for. Immutable; copies share; thread-safe.
class LATHE_API GgufValue {
 public:
  /// Returns the type of the value; `array` for arrays.
  GgufValueType type() const { return is_array_ ? GgufValueType::array : type_; }
  /// Returns the type of an array's elements; that of the value for others.
  GgufValueType element_type() const { return type_; }
  /// Returns the number of an array's elements; 1 for other values.
  uint64_t size() const { return count_; }

  /// Returns the value. T is bool, int64_t, uint64_t, double (which takes integers, too), std::string, or a
  /// std::vector of one of them for an array. Strings are the bytes of the file, which need not be UTF-8.
  /// Throws bad_argument, which names the key, for a value of another type or one that does not fit T;
  /// wire_malformed where the file was changed since it was opened.
  template <class T>
  T get() const;
  /// Returns the elements of an array of numbers or booleans as a tensor of one axis, in the type they have;
  /// of a single number or boolean a tensor without axes. Throws bad_argument for strings.
  Tensor tensor() const;
  /// Returns the value as one line of text for people: strings in their bytes (in arrays between
  /// quotes), arrays with their first
  /// `most` elements and their number.
  std::string text(uint64_t most = 8) const;
  /// Returns whether types and bytes are the same; keys are not compared.
  bool operator==(const GgufValue& o) const {
    return is_array_ == o.is_array_ && type_ == o.type_ && count_ == o.count_ && bytes_ == o.bytes_;
  }

 private:
  friend class GgufReader;
  std::shared_ptr<const void> file_;  // keeps bytes_ valid
  std::string_view bytes_;            // the encoded value, or all elements of the array
  std::string key_;
  uint64_t count_ = 1;
  GgufValueType type_ = GgufValueType::uint8;
  bool is_array_ = false;
};

template <>
LATHE_API bool GgufValue::get() const;
template <>
LATHE_API int64_t GgufValue::get() const;
template <>
LATHE_API uint64_t GgufValue::get() const;
template <>
LATHE_API double GgufValue::get() const;
template <>
LATHE_API std::string GgufValue::get() const;
template <>
LATHE_API std::vector<bool> GgufValue::get() const;
template <>
LATHE_API std::vector<int64_t> GgufValue::get() const;
template <>
LATHE_API std::vector<uint64_t> GgufValue::get() const;
template <>
LATHE_API std::vector<double> GgufValue::get() const;
template <>
LATHE_API std::vector<std::string> GgufValue::get() const;

/// Describes one tensor of a GGUF file.
struct GgufTensor {
  std::string name;               // unique in the file and its parts
  GgufType type = GgufType::f32;  // how the elements are stored
  Shape shape;                    // sizes, outermost first (the file has them innermost first)
  size_t part = 0;                // index into Gguf::files()
  uint64_t offset = 0;            // position of its first byte in that file
  uint64_t bytes = 0;             // bytes in the file
};

/// A tensor in blocks as whole numbers, of which `block` neighbors along the last axis share a scale. An
/// element is number * scale, rounded to float32, or number * scale + minimum, rounded after the product and
/// after the sum: DequantizeLinear with that block_size, and an Add. These are the bits of Gguf::tensor().
struct GgufNumbers {
  int64_t block = 0;  // 16, 32 or 256
  Tensor numbers;     // the tensor's shape; uint2, int2, uint4, int4 or int8
  Tensor scales;      // float32, the last axis a `block`-th as long
  Tensor minimums;    // float32, as scales; undefined where the type has none
};

/// A GGUF file of version 2 or 3, or all parts of a split one. Opening reads the metadata and the table of
/// tensors: pages with elements are loaded when they are touched. Immutable; copies share everything;
/// thread-safe.
class LATHE_API Gguf {
 public:
  /// Opens a file. Of a split one, NAME-00001-of-00003.gguf, any part may be named: all of them must be
  /// beside it, under the names that the number of parts in its metadata demands.
  ///
  /// Throws file_not_found (parts too), file_not_regular, file_unreadable; wire_malformed for a file that is
  /// not GGUF, is truncated or contradicts itself or its other parts; wire_too_large beyond a published
  /// limit; wire_bad_utf8 for a key or a tensor's name; tensor_bad_type, tensor_bad_shape, external_bad_range
  /// (also for tensors that overlap), graph_duplicate_name for what it says of a tensor or a key;
  /// not_supported for version 1, big-endian files, arrays of arrays and formats that came before GGUF.
  static Gguf open(const std::filesystem::path& path, const CheckpointOptions& options = {});

  /// Returns the paths of the file or of its parts, in order.
  const std::vector<std::filesystem::path>& files() const;
  /// Returns the version of the format, that of the first part: 2 or 3.
  uint32_t version() const;
  /// Returns the metadata in the order of the file. Keys that only later parts have follow.
  const std::vector<std::pair<std::string, GgufValue>>& metadata() const;
  /// Returns a value of the metadata; null where there is no such key. Valid as long as this or a copy lives.
  const GgufValue* find(std::string_view key) const;
  /// Returns the value of a key as GgufValue::get() does. Throws bad_argument for an absent key, with similar
  /// ones, and what get() throws.
  template <class T>
  T get(std::string_view key) const {
    return value(key).template get<T>();
  }
  /// Returns the fallback where the key is absent; a value of another type throws all the same.
  template <class T>
  T get(std::string_view key, T fallback) const {
    const GgufValue* v = find(key);
    return v ? v->get<T>() : fallback;
  }

  /// Returns the tensors in the order of the file, those of parts part by part.
  const std::vector<GgufTensor>& tensors() const;
  /// Returns whether there is a tensor of that name.
  bool contains(std::string_view name) const;
  /// Returns the description of a tensor. Throws bad_argument, with similar names.
  const GgufTensor& at(std::string_view name) const;
  /// Returns the elements. Plain ones keep their type and are the mapped bytes of the file where these are
  /// aligned for it, otherwise a copy; blocks become float32. They outlive this object and must not be
  /// written to. Throws bad_argument as at() does, not_supported for types whose GgufTypeInfo::decodes is
  /// false, run_out_of_memory.
  Tensor tensor(std::string_view name) const;
  /// Returns the elements as float32, whatever their type; float64 and integers are rounded to nearest.
  /// Throws as tensor() does.
  Tensor float32(std::string_view name) const;
  /// Returns the blocks of a tensor as whole numbers and scales. Throws bad_argument as at() does,
  /// not_supported for plain types, IQ1_S, IQ1_M and types that do not decode, run_out_of_memory.
  GgufNumbers numbers(std::string_view name) const;
  /// Returns the mapped bytes as uint8: the shape of the tensor, its last axis in bytes. Throws bad_argument
  /// as at() does.
  Tensor raw(std::string_view name) const;

 private:
  struct State;
  explicit Gguf(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const GgufValue& value(std::string_view key) const;
  std::shared_ptr<const State> state_;
};

}  // namespace lathe
