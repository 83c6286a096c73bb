// The key of an operator in tables: its domain ("" for ai.onnx) and its name.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace lathe {

using OpKey = std::pair<std::string, std::string>;
using OpKeyView = std::pair<std::string_view, std::string_view>;

/// Orders keys and views of keys alike, so that a look-up makes no strings.
struct OpKeyLess {
  using is_transparent = void;
  static OpKeyView view(const OpKey& k) { return {k.first, k.second}; }
  static OpKeyView view(const OpKeyView& k) { return k; }
  bool operator()(const auto& a, const auto& b) const { return view(a) < view(b); }
};

/// "ai.onnx" is the long name of "".
inline std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace lathe
