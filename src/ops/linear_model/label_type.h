// The type of the labels that classifiers of ai.onnx.ml give.
#pragma once

#include "schema/schema.h"

namespace lathe {

/// Strings if there are any, else integers.
inline DataType label_type(const Node& n, std::span<const ValueType>) {
  return n.attributes.get<std::vector<std::string>>("classlabels_strings", {}).empty() ? DataType::int64
                                                                                       : DataType::string;
}

}  // namespace lathe
