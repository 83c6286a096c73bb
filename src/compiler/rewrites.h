// What the builder does to a graph for this machine's plan alone, after the passes: by name, so that each can
// be left out.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// In the order in which they are done.
enum class RewriteKind : uint8_t {
  low_bit_matmuls,
  quantized_layout,
  quantized_products,
  blocked_layout,
  conv_depthwise_fusion,
  scaled_inputs,
  f16_activations,
  count
};
struct Rewrite {
  std::string_view name, description;
};
/// By kind.
std::span<const Rewrite> all_rewrites();

/// "'-' and the name of a rewrite: low-bit-matmuls, …".
std::string rewrite_switches();
/// Of switches of passes, "-name" of rewrites; each is taken out of `switches`.
std::set<std::string, std::less<>> take_rewrites_left_out(std::vector<std::string>& switches);

}  // namespace lathe
