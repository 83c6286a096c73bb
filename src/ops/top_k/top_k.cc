#include "ops/top_k/top_k.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

void top_k_10_from_1(UpgradeContext& u) {
  const int64_t k = u.node().attributes.get<int64_t>("k", 0);
  u.node().attributes.erase("k");
  set_input(u, 1, u.add_constant(int64_vector(std::vector<int64_t>{k}), "k"));
}

bool top_k_1_from_10(RewriteContext& c) {
  const auto k = constant_ints(c, 1);
  if (!k || k->size() != 1) return false;
  c.node().attributes.set("k", k->front());
  c.node().inputs.resize(1);
  return true;
}

}  // namespace

void declare_top_k(SchemaCatalog& c) {
  c.add("TopK")
      .version(1, "(X: T) -> (Values: T, Indices: I) {axis: int = -1, k: int!} [T: @float; I: int64]")
      .version(10, "(X: T, K: int64) -> (Values: T, Indices: I) {axis: int = -1} [T: @float; I: int64]",
               top_k_10_from_1, top_k_1_from_10)
      .version(11,
               "(X: T, K: int64) -> (Values: T, Indices: I) {sorted: int = 1, largest: int = 1, axis: int = "
               "-1} [T: @number; I: int64]",
               nullptr, axes_from_front)
      .version(24,
               "(X: T, K: int64) -> (Values: T, Indices: I) {sorted: int = 1, largest: int = 1, axis: int = "
               "-1} [T: @number_13; I: int64]")
      .rule<TopK>()
      .contract({.exact = true});
}

}  // namespace lathe
