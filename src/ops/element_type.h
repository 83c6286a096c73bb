// Attributes that name an element type by its number in the format.
#pragma once

#include <string>
#include <string_view>

#include "lathe/error.h"
#include "lathe/types.h"

namespace lathe {

/// The element type of number `code`; node_bad_attribute when there is none.
inline DataType element_type(int64_t code, std::string_view attribute) {
  if (code <= 0 || code >= data_type_count)
    throw Error(
        Code::node_bad_attribute, "infer",
        std::string(attribute) + " to be an element type, 1 to " + std::to_string(data_type_count - 1),
        std::to_string(code));
  return static_cast<DataType>(code);
}

}  // namespace lathe
