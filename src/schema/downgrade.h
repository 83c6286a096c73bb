// What downgrades between versions of operators have in common: the ways back of upgrade.h, and what only
// newer versions allow. Each leaves the node in the form of the version before, or says that there is none.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace lathe {

/// The version before means the same by what both can hold, whatever the upgrade had to do for others.
inline bool as_it_is(RewriteContext&) { return true; }

/// Why there is no way back where a constant input would lead there: the input is computed.
bool cannot_be_computed(RewriteContext& c, std::string_view input);

/// Elements of an input of integers that is a constant.
std::optional<std::vector<int64_t>> constant_ints(RewriteContext& c, size_t input);

/// Elements of a constant input of one float, where a float32 is exactly that number.
std::optional<float> constant_float(RewriteContext& c, size_t input);

/// Turns a constant input of integers into an attribute; an absent input leaves it out. Later inputs must
/// have gone already.
bool input_to_ints(RewriteContext& c, size_t input, std::string_view attribute);

/// Counts attribute `name`, an axis or several, from the front of `rank` axes.
bool count_from_front(RewriteContext& c, std::string_view name, std::optional<size_t> rank);

/// Before version 11 axes were counted from the front: attributes `axis` and `axes` of the first input.
bool axes_from_front(RewriteContext& c);

/// Before operators of many inputs broadcast.
bool inputs_of_one_shape(RewriteContext& c);

/// Rank of a value, where it is known.
inline std::optional<size_t> rank_of(const ValueType& t) {
  return t.shape ? std::optional(t.shape->size()) : std::nullopt;
}

}  // namespace lathe
