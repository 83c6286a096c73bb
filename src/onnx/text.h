// The words of the ONNX text format (onnx/docs/Syntax.md), shared by printer and parser.
//
// Beyond that grammar, so that everything the messages hold in these places can be said: operators, domains
// and attributes whose names are no identifiers are quoted, and a sparse tensor is its dense type and name
// followed by its parts, `sparse_tensor(float[3,4]) w = {float[2] {1,2}, int64[2] {0,5}}`.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "lathe/types.h"

namespace lathe::onnx::text {

/// Indexed by AttributeProto::Type.
inline constexpr std::array<std::string_view, 15> attribute_types = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};

inline constexpr std::string_view sequence = "seq", map = "map", optional = "optional",
                                  sparse_tensor = "sparse_tensor", opaque = "opaque";

/// Returns the element type of that name in this format; nothing for other words.
inline std::optional<DataType> element_type(std::string_view word) {
  for (int i = 1; i < data_type_count; ++i)
    if (onnx_name_of(static_cast<DataType>(i)) == word) return static_cast<DataType>(i);
  return std::nullopt;
}

/// Returns whether the word begins a type: as a name, such a word is quoted.
inline bool begins_type(std::string_view word) {
  return word == sequence || word == map || word == optional || word == sparse_tensor || word == opaque ||
         element_type(word);
}

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline bool is_identifier(std::string_view s) {
  if (s.empty() || !is_letter(s[0])) return false;
  for (char c : s)
    if (!is_letter(c) && !is_digit(c)) return false;
  return true;
}

/// "inf", "infinity" and "nan" in any case are numbers where a value is expected.
inline bool is_number_word(std::string_view s) {
  constexpr std::array<std::string_view, 3> words = {"inf", "infinity", "nan"};
  for (std::string_view w : words) {
    bool same = s.size() == w.size();
    for (size_t i = 0; same && i < w.size(); ++i) same = (s[i] | 0x20) == w[i];
    if (same) return true;
  }
  return false;
}

}  // namespace lathe::onnx::text
