#include "compiler/rewrites.h"

#include <algorithm>
#include <array>

namespace lathe {

std::span<const Rewrite> all_rewrites() {
  static constexpr std::array<Rewrite, static_cast<size_t>(RewriteKind::count)> all{{
      {"low-bit-matmuls", "multiplies by weights of 4 and 8 bits in blocks without widening them"},
      {"quantized-layout", "convolutions of bytes, and the nodes between them, in blocks of channels"},
      {"quantized-products", "products of bytes between QuantizeLinear and DequantizeLinear"},
      {"blocked-layout", "convolutions, and the nodes between them, in blocks of 16 channels"},
      {"conv-depthwise-fusion", "a convolution and the depthwise one behind it, strip by strip"},
      {"scaled-inputs", "factors and shifts of channels where a convolution reads its input"},
      {"f16-activations", "images that take the most memory stay in 16 bits between convolutions"},
  }};
  return all;
}

std::string rewrite_switches() {
  std::string names;
  for (const Rewrite& r : all_rewrites()) names += (names.empty() ? "" : ", ") + std::string(r.name);
  return "'-' and the name of a rewrite: " + names;
}

std::set<std::string, std::less<>> take_rewrites_left_out(std::vector<std::string>& switches) {
  std::set<std::string, std::less<>> names;
  std::erase_if(switches, [&](const std::string& s) {
    const std::string_view name = s.starts_with('-') ? std::string_view(s).substr(1) : std::string_view();
    if (std::ranges::find(all_rewrites(), name, &Rewrite::name) == all_rewrites().end()) return false;
    names.emplace(name);
    return true;
  });
  return names;
}

}  // namespace lathe
