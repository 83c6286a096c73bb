// Inputs for a verification: sizes for the symbols, and values of several kinds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/io_info.h"

namespace lathe {

/// Shapes of all inputs that are tensors, with a label: "batch=2, seq=2".
struct ShapeSet {
  std::string label;
  std::vector<std::optional<Shape>> shapes;  // by input; nothing: no tensor, or left to its default
};

/// Kinds of floats. Integers are small enough for indices in all of them.
enum class ValueClass : uint8_t { ordinary, zeros, ones, large, uneven, tiny, negative, non_finite };
inline constexpr ValueClass value_classes[] = {ValueClass::ordinary, ValueClass::zeros,     ValueClass::ones,
                                               ValueClass::large,    ValueClass::uneven,    ValueClass::tiny,
                                               ValueClass::negative, ValueClass::non_finite};
std::string_view name_of(ValueClass c);

/// Symbols that `sizes` and `given` leave free are 1, then 2, 3 and 17; then one of several is 3 (or 2), the
/// others as recorded, else 1. One set where none is free. Throws bad_argument for an input whose rank
/// nothing tells.
std::vector<ShapeSet> shape_sets(const std::vector<IoInfo>& inputs,
                                 const std::map<std::string, int64_t>& sizes, const NamedShapes& given,
                                 const std::vector<std::vector<Value>>& recorded = {});
/// The shapes of recorded inputs.
ShapeSet shapes_of(const std::vector<IoInfo>& inputs, const std::vector<Value>& recorded, std::string label);

/// How integers, booleans and strings are made: each way is more careful than the one before.
enum class Care : uint8_t {
  as_recorded,  // drawn from recorded inputs where there are some; 8 and 16 bits: any value
  small,        // 0 and 1
  one,          // which anything can be divided by
  zero
};

/// How far floats keep from values that formulas cannot compute with: not at all, or by being closer to one.
/// Ordinary numbers become positive, then more than one; large ones less large; tiny ones larger than
/// denormal, and then so large that a few of them can be multiplied.
enum class Gentleness : uint8_t { none, some, most };
inline constexpr Gentleness all_gentleness[] = {Gentleness::none, Gentleness::some, Gentleness::most};

/// Returns values by input; empty: left to its default. Nothing if one is neither a tensor nor recorded.
std::optional<std::vector<Value>> synthetic_inputs(const std::vector<IoInfo>& inputs, const ShapeSet& shapes,
                                                   ValueClass kind, Care care, uint64_t seed,
                                                   const std::vector<std::vector<Value>>& recorded,
                                                   Gentleness gentleness = Gentleness::none);

}  // namespace lathe
