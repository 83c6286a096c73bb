// Parts of a tensor that follow each other in it along an axis: inputs of Concat, outputs of Split.
#pragma once

#include "kernel/kernel.h"
#include "lathe/types.h"

namespace lathe {

inline size_t bytes_of_element(const Fact<int64_t>& f) { return static_cast<size_t>(bits_of(f.type)) / 8; }

/// The offsets of the parts; nothing if one is not contiguous (there is more than one index in front of the
/// axis), or if they do not fill the whole.
inline std::optional<SubviewOffsets> subviews_along(int64_t axis, const Fact<int64_t>& whole,
                                                    std::span<const Fact<int64_t>> subviews) {
  const auto rank = static_cast<int64_t>(whole.shape.size());
  const int64_t along = axis < 0 ? axis + rank : axis;
  if (along < 0 || along >= rank) return std::nullopt;
  for (int64_t a = 0; a < along; ++a)
    if (whole.shape[static_cast<size_t>(a)] != 1) return std::nullopt;
  size_t row = bytes_of_element(whole);  // of one index along the axis
  for (int64_t a = along + 1; a < rank; ++a) row *= static_cast<size_t>(whole.shape[static_cast<size_t>(a)]);
  SubviewOffsets offsets;
  int64_t at = 0;
  for (const Fact<int64_t>& part : subviews) {
    if (!part.present || part.type != whole.type || part.shape.size() != whole.shape.size())
      return std::nullopt;
    offsets.push_back(static_cast<size_t>(at) * row);
    at += part.shape[static_cast<size_t>(along)];
    if (at > whole.shape[static_cast<size_t>(along)]) return std::nullopt;
  }
  return at == whole.shape[static_cast<size_t>(along)] ? std::optional(std::move(offsets)) : std::nullopt;
}

}  // namespace lathe
