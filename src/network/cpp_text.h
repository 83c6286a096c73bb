// Values as C++ writes them.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tensor/attributes.h"

namespace lathe::cpp_text {

/// "\"a\\\"b\"": bytes beyond ASCII as octal escapes.
std::string literal(std::string_view s);
std::string number(int64_t i);
std::string number(float f);
std::string number(double d);
/// An expression of type lathe::Tensor; `uses_bytes` is set where it calls from_bytes, which `helper`
/// defines.
std::string tensor(const Tensor& t, bool& uses_bytes);
std::string attribute(const AttributeValue& v, bool& uses_bytes);
extern const char* const helper;
/// Names that a variable of the source cannot have: keywords, common macros, and names that the source uses
/// itself.
std::set<std::string> reserved();

}  // namespace lathe::cpp_text
