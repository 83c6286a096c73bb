// Division, minimum, maximum and broadcasting of symbolic dimensions, and what can be proven of them.
#include <algorithm>
#include <numeric>

#include "base/dim_terms.h"
#include "lathe/error.h"

namespace lathe {

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) throw Error(Code::tensor_bad_shape, "shape", "a divisor other than 0", "0", {});
  if (b == -1) {
    int64_t r;
    if (__builtin_sub_overflow(int64_t{0}, a, &r))
      throw Error(Code::tensor_bad_shape, "shape", "a quotient that fits 63 bits", "an overflow", {});
    return r;
  }
  const int64_t q = a / b;
  return q - (a % b != 0 && (a % b < 0) != (b < 0));
}

int64_t mod(int64_t a, int64_t b) {
  if (b == 0) throw Error(Code::tensor_bad_shape, "shape", "a divisor other than 0", "0", {});
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t ceil_div(int64_t a, int64_t b) { return floor_div(a, b) + (mod(a, b) != 0); }

std::optional<int64_t> broadcast(int64_t a, int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  return std::nullopt;
}

namespace {

using Kind = DimAtom::Kind;
using Monomials = std::vector<DimMonomial>;

const Monomials& monomials_of(const Dim& d) {
  static const Monomials none;
  return d.terms() ? d.terms()->monomials : none;
}
int64_t constant_of(const Dim& d) { return DimAccess::constant_part(d); }
Dim polynomial(Monomials m, int64_t constant) { return DimAccess::make(std::move(m), constant); }

// ── What can be proven
// ────────────────────────────────────────────────────────────────────────────────────────────────── Every
// value of every part fits int64 (else evaluation fails), so intervals may be clamped to it.

__extension__ typedef __int128 Wide;

struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;
};
int64_t clamp(Wide v) {
  return v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : static_cast<int64_t>(v);
}
Interval product(Interval a, Interval b) {
  const Wide p[] = {static_cast<Wide>(a.low) * b.low, static_cast<Wide>(a.low) * b.high,
                    static_cast<Wide>(a.high) * b.low, static_cast<Wide>(a.high) * b.high};
  return {clamp(*std::min_element(p, p + 4)), clamp(*std::max_element(p, p + 4))};
}

Interval interval(const Dim& d);

Interval interval(const DimAtom& a) {
  if (a.kind == Kind::symbol) return {0, INT64_MAX};
  const Interval x = interval(a.args[0]);
  if (a.kind == Kind::floor) {
    const auto d = a.args[1].value();
    if (d && *d > 0) return {floor_div(x.low, *d), floor_div(x.high, *d)};
    if (x.low >= 0 && interval(a.args[1]).low >= 0) return {0, x.high};
    return {};
  }
  Interval r = x;
  for (const Dim& arg : a.args) {
    const Interval y = interval(arg);
    if (a.kind == Kind::max) r = {std::max(r.low, y.low), std::max(r.high, y.high)};
    if (a.kind == Kind::min) r = {std::min(r.low, y.low), std::min(r.high, y.high)};
    if (a.kind == Kind::broadcast) r = {std::min(r.low, y.low), std::max(r.high, y.high)};
  }
  return r;
}

Interval interval(const Dim& d) {
  Wide low = constant_of(d), high = low;
  for (const DimMonomial& m : monomials_of(d)) {
    Interval p{m.coefficient, m.coefficient};
    for (const auto& f : m.factors)
      for (int32_t i = 0; i < f.power; ++i) p = product(p, interval(*f.atom));
    low += p.low;
    high += p.high;
  }
  return {clamp(low), clamp(high)};
}

/// c·floor(a/k) with a number k > 0, alone in its monomial.
const DimAtom* lone_floor(const DimMonomial& m) {
  if (m.factors.size() != 1 || m.factors[0].power != 1) return nullptr;
  const DimAtom& a = *m.factors[0].atom;
  const bool by_number = a.kind == Kind::floor && a.args[1].value().value_or(0) > 0;
  return by_number ? &a : nullptr;
}

/// a >= 0? Intervals first; where they are too coarse, floors give way to the fractions that bound them, one
/// after another: n - 2·floor(n/2) >= n - 2·n/2 = 0.
bool surely_not_negative(const Dim& a, int budget) {
  if (interval(a).low >= 0) return true;
  if (budget == 0) return false;
  for (const bool negative : {true, false})
    for (const DimMonomial& m : monomials_of(a)) {
      const DimAtom* f = lone_floor(m);
      if (!f || (m.coefficient < 0) != negative) continue;
      const int64_t k = f->args[1].constant();
      const Dim rest = a - polynomial({m}, 0);
      const Dim bound =
          negative ? f->args[0] : f->args[0] - Dim(k - 1);  // of k·floor, from the side that matters
      return surely_not_negative(rest * k + bound * m.coefficient, budget - 1);
    }
  return false;
}

// ── Division
// ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// a / b for single monomials, where it is one.
std::optional<DimMonomial> quotient(const DimMonomial& a, const DimMonomial& b) {
  if (b.coefficient == -1 && a.coefficient == INT64_MIN) return std::nullopt;
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  DimMonomial r;
  r.coefficient = a.coefficient / b.coefficient;
  size_t j = 0;
  for (const auto& f : a.factors) {
    int32_t power = f.power;
    if (j < b.factors.size() && compare(*f.atom, *b.factors[j].atom) == 0) power -= b.factors[j++].power;
    if (power < 0) return std::nullopt;
    if (power > 0) r.factors.push_back({f.atom, power});
  }
  return j == b.factors.size() ? std::optional(std::move(r)) : std::nullopt;
}

/// Polynomial long division by a divisor that is no number: a = q·b + r, and no term of r is divided by b's
/// leading term.
struct Division {
  Dim quotient, remainder;
};
Division divide(const Dim& a, const Dim& b) {
  const DimMonomial& lead = monomials_of(b).front();
  Division result;
  Dim rest = a;
  while (!rest.is_constant()) {
    const DimMonomial top = monomials_of(rest).front();
    if (auto q = quotient(top, lead)) {
      const Dim step = q->factors.empty() ? Dim(q->coefficient) : polynomial({*q}, 0);
      result.quotient = result.quotient + step;
      rest = rest - step * b;
      if (rest.has_unknown() && !a.has_unknown() && !b.has_unknown())
        return {Dim(0), a};  // outgrew its bounds
    } else {
      const Dim step = polynomial({top}, 0);
      result.remainder = result.remainder + step;
      rest = rest - step;
    }
  }
  result.remainder = result.remainder + rest;
  return result;
}

Dim floor_atom(Dim a, Dim b) {
  DimAtom f;
  f.kind = Kind::floor;
  f.args = {std::move(a), std::move(b)};
  return DimAccess::atom(std::move(f));
}

Dim floor_div_by_number(const Dim& a, int64_t d) {
  if (a.is_constant()) return floor_div(a.constant(), d);
  if (d < 0) return floor_div_by_number(-a, -d);
  if (d == 1) return a;
  // Terms that d divides move out; coefficients of the rest are in (-d/2, d/2].
  Monomials whole, part;
  int64_t common = d;
  for (DimMonomial m : monomials_of(a)) {
    int64_t q = floor_div(m.coefficient, d), r = mod(m.coefficient, d);
    if (r > d / 2) ++q, r -= d;
    if (q) {
      m.coefficient = q;
      whole.push_back(m);
    }
    if (r) {
      m.coefficient = r;
      part.push_back(m);
      common = std::gcd(common, r);
    }
  }
  const Dim outside = polynomial(std::move(whole), floor_div(constant_of(a), d));
  if (part.empty()) return outside;
  // -floor((n + d - 1)/d) is the normal form of floor(-n/d).
  if (part.front().coefficient < 0) return -floor_div_by_number(Dim(d - 1) - a, d);
  for (DimMonomial& m : part) m.coefficient /= common;
  d /= common;
  const Dim inside = polynomial(part, mod(constant_of(a), d * common) / common);
  // floor((floor(x/k) + c)/d) = floor((x + k·c)/(k·d))
  if (part.size() == 1 && part[0].coefficient == 1)
    if (const DimAtom* f = lone_floor(part[0])) {
      const int64_t k = f->args[1].constant();
      return outside + floor_div(f->args[0] + Dim(k) * Dim(constant_of(inside)), Dim(k) * Dim(d));
    }
  if (surely_at_least(inside, 0) && surely_at_least(Dim(d - 1) - inside, 0)) return outside;
  return outside + floor_atom(inside, Dim(d));
}

/// The largest monomial that divides every term of both (its coefficient has b's leading sign).
DimMonomial common_factor(const Dim& a, const Dim& b) {
  DimMonomial g = monomials_of(b).front();
  const bool negative = g.coefficient < 0;
  auto fold = [&g](const DimMonomial& m) {
    g.coefficient = std::gcd(g.coefficient, m.coefficient);
    std::vector<DimMonomial::Factor> kept;
    for (const auto& f : g.factors)
      for (const auto& h : m.factors)
        if (compare(*f.atom, *h.atom) == 0) kept.push_back({f.atom, std::min(f.power, h.power)});
    g.factors = std::move(kept);
  };
  for (const Dim* d : {&a, &b}) {
    for (const DimMonomial& m : monomials_of(*d)) fold(m);
    if (constant_of(*d)) fold(DimMonomial{{}, constant_of(*d)});
  }
  if (negative) g.coefficient = -g.coefficient;
  return g;
}

Dim divide_exactly(const Dim& a, const DimMonomial& g) {
  if (!g.factors.empty()) return divide(a, polynomial({g}, 0)).quotient;
  Monomials m = monomials_of(a);
  for (DimMonomial& x : m) x.coefficient /= g.coefficient;
  return polynomial(std::move(m), constant_of(a) / g.coefficient);
}

// ── Minimum, maximum, broadcast
// ─────────────────────────────────────────────────────────────────────────────────────────

/// Arguments of `d` if it is an atom of that kind, else `d` itself.
std::vector<Dim> flattened(const Dim& d, Kind kind) {
  const DimAtom* a = DimAccess::as_atom(d);
  return a && a->kind == kind ? a->args : std::vector<Dim>{d};
}

Dim gathered(Kind kind, std::vector<Dim> args) {
  std::sort(args.begin(), args.end(), [](const Dim& a, const Dim& b) { return Dim::compare(a, b) < 0; });
  args.erase(std::unique(args.begin(), args.end()), args.end());
  if (args.size() == 1) return args[0];
  DimAtom atom;
  atom.kind = kind;
  atom.args = std::move(args);
  return DimAccess::atom(std::move(atom));
}

bool surely_not_less(const Dim& a, const Dim& b) {
  if (auto k = b.value()) return surely_at_least(a, *k);
  try {
    return surely_at_least(a - b, 0);
  } catch (const Error&) {
    return false;  // the difference overflows: nothing is proven
  }
}

Dim extreme(Kind kind, const Dim& a, const Dim& b) {
  std::vector<Dim> kept = flattened(a, kind);
  for (const Dim& x : flattened(b, kind)) {
    auto beats = [kind](const Dim& p, const Dim& q) {
      return kind == Kind::max ? surely_not_less(p, q) : surely_not_less(q, p);
    };
    if (std::any_of(kept.begin(), kept.end(), [&](const Dim& k) { return beats(k, x); })) continue;
    std::erase_if(kept, [&](const Dim& k) { return beats(x, k); });
    kept.push_back(x);
  }
  return gathered(kind, std::move(kept));
}

}  // namespace

bool surely_at_least(const Dim& a, int64_t bound) {
  if (interval(a).low >= bound) return true;
  if (a.is_constant()) return false;
  try {
    return surely_not_negative(a - Dim(bound), 8);
  } catch (const Error&) {
    return false;  // the proof overflows
  }
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_constant()) return floor_div_by_number(a, b.constant());
  auto [q, r] = divide(a, b);
  if (r == Dim(0)) return q;
  const DimMonomial g = common_factor(r, b);
  const Dim top = divide_exactly(r, g), bottom = divide_exactly(b, g);
  if (bottom.is_constant()) return q + floor_div_by_number(top, bottom.constant());
  if (surely_at_least(top, 0) && surely_not_less(bottom, top + Dim(1))) return q;
  return q + floor_atom(top, bottom);
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return ceil_div(a.constant(), b.constant());
  // Sizes are not negative, and 0 is no divisor.
  if (surely_at_least(b, 0)) return floor_div(a + b - Dim(1), b);
  return -floor_div(-a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return mod(a.constant(), b.constant());
  return a - b * floor_div(a, b);
}

Dim min(const Dim& a, const Dim& b) { return extreme(Kind::min, a, b); }
Dim max(const Dim& a, const Dim& b) { return extreme(Kind::max, a, b); }

/// Returns whether `a` is min(b, k) for a k of at least 2. If such sizes broadcast, they are equal.
static bool is_cut_of(const Dim& a, const Dim& b) {
  const std::vector<Dim> args = flattened(a, Kind::min);
  return args.size() > 1 &&
         std::all_of(args.begin(), args.end(),
                     [&](const Dim& x) { return x == b || surely_at_least(x, 2); }) &&
         std::find(args.begin(), args.end(), b) != args.end();
}

std::optional<Dim> broadcast(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    auto n = broadcast(a.constant(), b.constant());
    return n ? std::optional<Dim>(*n) : std::nullopt;
  }
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  // A size that is not 1 is the result. A number other than 1 is not, and neither is a size of at least 2.
  if (a.is_constant() || surely_at_least(a, 2)) return a;
  if (b.is_constant() || surely_at_least(b, 2)) return b;
  if (is_cut_of(a, b)) return b;
  if (is_cut_of(b, a)) return a;
  std::vector<Dim> all = flattened(a, Kind::broadcast);
  for (const Dim& x : flattened(b, Kind::broadcast)) all.push_back(x);
  return gathered(Kind::broadcast, std::move(all));
}

}  // namespace lathe
