// The derivative of MatMul.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradient/backward.h"

namespace lathe {
namespace {

ValueId transposed(Backward& b, ValueId v) {
  if (b.rank(v) < 2) b.refuse("factors of rank 1 or more", "a scalar");
  std::vector<int64_t> perm;
  for (size_t k = 0; k < b.rank(v); ++k) perm.push_back(static_cast<int64_t>(k));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.add("Transpose", {v}, with("perm", std::move(perm)));
}

void matmul(Backward& b) {
  const bool row = b.rank(b.x(0)) == 1, column = b.rank(b.x(1)) == 1;
  ValueId g = b.gradient();
  if (column) g = b.add("Unsqueeze", {g, b.ints({-1})});
  if (row) g = b.add("Unsqueeze", {g, b.ints({-2})});
  if (b.wants(0)) {
    const ValueId right = column ? b.add("Unsqueeze", {b.x(1), b.ints({0})}) : transposed(b, b.x(1));
    b.give_broadcast(0, b.add("MatMul", {g, right}));
  }
  if (b.wants(1)) {
    const ValueId left = row ? b.add("Unsqueeze", {b.x(0), b.ints({1})}) : transposed(b, b.x(0));
    ValueId product = b.add("MatMul", {left, g});
    if (column) product = b.add("Squeeze", {product, b.ints({-1})});
    b.give_broadcast(1, product);
  }
}

}  // namespace

void gradient_matmul(GradientTable& t) { t["MatMul"] = matmul; }

}  // namespace lathe
