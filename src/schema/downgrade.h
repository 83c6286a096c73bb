// Common parts of downgrades between versions of operators: inverses of upgrade.h, and features that only
// newer versions have. Each leaves the node in the form of the version before, or refuses.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace lathe {

/// The node stays as it is: whatever both versions can express means the same in both.
inline bool as_it_is(RewriteContext&) { return true; }

/// Refuses since an input that would have to be a constant is computed.
bool cannot_be_computed(RewriteContext& c, std::string_view input);

/// Returns the elements of an input of integers, if it is a constant.
std::optional<std::vector<int64_t>> constant_ints(RewriteContext& c, size_t input);

/// Returns the element of a constant input of one float, if a float32 is exactly that number.
std::optional<float> constant_float(RewriteContext& c, size_t input);

/// Turns a constant input of integers into an attribute; an absent input leaves it out. Later inputs must
/// have gone already.
bool input_to_ints(RewriteContext& c, size_t input, std::string_view attribute);

/// Counts attribute `name`, an axis or several, from the front of `rank` axes.
bool count_from_front(RewriteContext& c, std::string_view name, std::optional<size_t> rank);

/// Counts attributes `axis` and `axes` of the first input from the front, as versions before 11 require.
bool axes_from_front(RewriteContext& c);

/// Returns whether all inputs have one shape: the version before does not broadcast.
bool inputs_of_one_shape(RewriteContext& c);

/// Returns the rank of a value, if it is known.
inline std::optional<size_t> rank_of(const ValueType& t) {
  return t.shape ? std::optional(t.shape->size()) : std::nullopt;
}

}  // namespace lathe
