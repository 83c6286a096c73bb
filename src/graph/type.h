// The type of a value in a graph: kind, element type, symbolic shape.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lathe/dim.h"
#include "lathe/types.h"

namespace lathe {

struct ValueType {
  enum class Kind : uint8_t { none, tensor, sparse, sequence, map, optional };
  Kind kind = Kind::none;                  // none: not known (yet), or an absent optional input
  DataType elem = DataType::undefined;     // tensor and sparse: the elements; map: the keys
  std::optional<SymShape> shape;           // tensor and sparse; nothing: rank unknown
  std::shared_ptr<const ValueType> inner;  // sequence, optional: the element; map: the value

  static ValueType tensor(DataType t, std::optional<SymShape> s = std::nullopt) {
    return {Kind::tensor, t, std::move(s), nullptr};
  }
  static ValueType sequence(ValueType of) {
    return {Kind::sequence, DataType::undefined, std::nullopt,
            std::make_shared<const ValueType>(std::move(of))};
  }
  static ValueType optional(ValueType of) {
    return {Kind::optional, DataType::undefined, std::nullopt,
            std::make_shared<const ValueType>(std::move(of))};
  }
  static ValueType map(DataType key, ValueType value) {
    return {Kind::map, key, std::nullopt, std::make_shared<const ValueType>(std::move(value))};
  }
  bool known() const { return kind != Kind::none; }
  bool is_tensor() const { return kind == Kind::tensor; }

  /// "float[N,3]", "seq(float)": as in the signature language, with the shape if it is known and wanted.
  std::string str(bool with_shape = true) const;
  /// Reads what str() prints. Throws Code::text_syntax.
  static ValueType parse(std::string_view text);
  friend bool operator==(const ValueType& a, const ValueType& b);
};

/// Returns the more precise of both, or nothing when they contradict (kind, element type, rank, or a number
/// against another number).
std::optional<ValueType> unify(const ValueType& a, const ValueType& b);
/// Returns a type that includes both: differing dimensions become unknown, differing ranks unranked. For If
/// branches and loop states.
std::optional<ValueType> join(const ValueType& a, const ValueType& b);

}  // namespace lathe
