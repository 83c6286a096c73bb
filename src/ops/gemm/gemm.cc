#include "ops/gemm/gemm.h"

#include "schema/schema.h"

namespace lathe {
namespace {

/// C of one row or one column broadcasts as NumPy does it, with or without being told.
void gemm_7_from_6(UpgradeContext& u) { u.node().attributes.erase("broadcast"); }

}  // namespace

void declare_gemm(SchemaCatalog& c) {
  c.add("Gemm")
      .version(1,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, broadcast: int = 0, transB: int = 0, alpha: "
               "float = 1, transA: int = 0} [T: @float]")
      .version(6,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, broadcast: int = 0, transB: int = 0, alpha: "
               "float = 1, transA: int = 0} [T: @float]")
      .version(7,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @float]",
               gemm_7_from_6)
      .version(9,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @wide]")
      .version(11,
               "(A: T, B: T, C?: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @wide]")
      .version(13,
               "(A: T, B: T, C?: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @wide_13]")
      .rule<Gemm>()
      .contract({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
