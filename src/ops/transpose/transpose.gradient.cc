// The derivative of Transpose.
#include <cstdint>
#include <string>
#include <vector>

#include "gradient/backward.h"

namespace lathe {
namespace {

void transpose(Backward& b) {
  const auto* perm = b.attributes().get_if<std::vector<int64_t>>("perm");
  if (!perm) return b.give(0, b.add("Transpose", {b.gradient()}));  // the other way about is its own inverse
  // The rank must be known, since only then inference has checked perm.
  if (b.rank(b.x()) != perm->size()) b.refuse("a perm of all axes", std::to_string(perm->size()));
  std::vector<int64_t> back(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) back[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
  b.give(0, b.add("Transpose", {b.gradient()}, with("perm", std::move(back))));
}

}  // namespace

void gradient_transpose(GradientTable& t) { t["Transpose"] = transpose; }

}  // namespace lathe
