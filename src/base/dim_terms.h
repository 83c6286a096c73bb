// The normal form of symbolic dimensions: a polynomial is a sorted list of monomials over structurally
// compared atoms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lathe/dim.h"

namespace lathe {

/// An indivisible factor in polynomials. Arguments of min, max and broadcast are sorted, distinct and not
/// nested in the same function.
struct DimAtom {
  enum class Kind : uint8_t { symbol, floor, min, max, broadcast };
  Kind kind = Kind::symbol;
  std::string name;       // symbol; "?7" is an unknown
  std::vector<Dim> args;  // floor: numerator and denominator
  uint32_t size = 1;      // nodes of the expression tree
};
using DimAtomRef = std::shared_ptr<const DimAtom>;

struct DimMonomial {
  struct Factor {
    DimAtomRef atom;
    int32_t power = 1;
  };
  std::vector<Factor> factors;  // sorted by atom
  int64_t coefficient = 0;
  int64_t degree() const {
    int64_t d = 0;
    for (const Factor& f : factors) d += f.power;
    return d;
  }
};

/// Highest degree first (graded lexicographic), no coefficient zero, never empty; the constant is kept in the
/// Dim.
struct Dim::Terms {
  std::vector<DimMonomial> monomials;
  uint32_t size = 0;
};

/// Expressions that grow beyond this become an unknown: it bounds time, memory and recursion on hostile
/// models.
inline constexpr uint32_t max_dim_size = 400;

struct DimAccess {
  static Dim make(std::vector<DimMonomial> monomials, int64_t constant);
  static Dim atom(DimAtom a);
  static int64_t constant_part(const Dim& d) { return d.constant_; }
  static uint32_t size(const Dim& d) { return d.terms_ ? d.terms_->size + 1 : 1; }
  /// The atom when the expression is nothing else.
  static const DimAtom* as_atom(const Dim& d);
};

int compare(const DimAtom& a, const DimAtom& b);

}  // namespace lathe
