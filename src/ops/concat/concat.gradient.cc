// The derivative of Concat.
#include <cstdint>
#include <vector>

#include "gradient/backward.h"

namespace lathe {
namespace {

void concat(Backward& b) {
  const Attributes axis = with("axis", b.attributes().get<int64_t>("axis", 0));
  const size_t n = b.node().inputs.size();
  const auto rank = static_cast<int64_t>(b.rank(b.x()));
  const int64_t a = b.attributes().get<int64_t>("axis", 0), at = a < 0 ? a + rank : a;
  Attributes one = with("start", at);
  one.set("end", at + 1);
  std::vector<ValueId> sizes;
  for (size_t i = 0; i < n; ++i) sizes.push_back(b.add("Shape", {b.x(i)}, one));
  const auto parts = b.add_all(
      "Split", {b.gradient(), b.add("Concat", std::move(sizes), with("axis", int64_t{0}))}, n, axis);
  for (size_t i = 0; i < n; ++i) b.give(i, parts[i]);
}

}  // namespace

void gradient_concat(GradientTable& t) { t["Concat"] = concat; }

}  // namespace lathe
