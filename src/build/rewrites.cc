#include "build/rewrites.h"

#include <algorithm>
#include <array>

namespace lathe {

std::span<const std::string_view> rewrite_names() {
  static constexpr std::array<std::string_view, 7> names{
      "few-bits-products", "quantized-layout", "quantized-products", "blocked-layout",
      "convolution-pairs", "scaled-inputs",    "short-images"};
  return names;
}

std::set<std::string, std::less<>> take_rewrites_left_out(std::vector<std::string>& switches) {
  std::set<std::string, std::less<>> names;
  std::erase_if(switches, [&](const std::string& s) {
    const std::string_view name = s.starts_with('-') ? std::string_view(s).substr(1) : std::string_view();
    return std::ranges::find(rewrite_names(), name) != rewrite_names().end() && names.emplace(name).second;
  });
  return names;
}

}  // namespace lathe
