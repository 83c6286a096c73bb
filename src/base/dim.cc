#include "lathe/dim.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "base/dim_terms.h"
#include "lathe/error.h"

namespace lathe {
namespace {

using Monomials = std::vector<DimMonomial>;

[[noreturn]] void overflow() {
  throw Error(Code::tensor_bad_shape, "shape", "sizes whose arithmetic fits 63 bits", "an overflow",
              "use smaller sizes");
}
int64_t checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) overflow();
  return r;
}
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) overflow();
  return r;
}

const Monomials& monomials_of(const Dim& d) {
  static const Monomials none;
  return d.terms() ? d.terms()->monomials : none;
}
int64_t constant_of(const Dim& d) { return DimAccess::constant_part(d); }

/// Graded lexicographic order of the variables alone: negative where `a` comes first.
int compare_variables(const DimMonomial& a, const DimMonomial& b) {
  const int64_t da = a.degree(), db = b.degree();
  if (da != db) return da > db ? -1 : 1;
  for (size_t i = 0; i < a.factors.size() && i < b.factors.size(); ++i) {
    if (int c = compare(*a.factors[i].atom, *b.factors[i].atom)) return c;
    if (a.factors[i].power != b.factors[i].power) return a.factors[i].power > b.factors[i].power ? -1 : 1;
  }
  return 0;
}

uint32_t size_of(const Monomials& m) {
  uint64_t n = 0;
  for (const DimMonomial& x : m) {
    ++n;
    for (const auto& f : x.factors) n += f.atom->size * static_cast<uint64_t>(f.power);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX));
}

void sort_and_merge(Monomials& m) {
  std::sort(m.begin(), m.end(), [](const auto& a, const auto& b) { return compare_variables(a, b) < 0; });
  size_t kept = 0;
  for (size_t i = 0; i < m.size();) {
    size_t j = i + 1;
    for (; j < m.size() && compare_variables(m[i], m[j]) == 0; ++j)
      m[i].coefficient = checked_add(m[i].coefficient, m[j].coefficient);
    if (m[i].coefficient) {
      if (kept != i) m[kept] = std::move(m[i]);
      ++kept;
    }
    i = j;
  }
  m.resize(kept);
}

DimMonomial times(const DimMonomial& a, const DimMonomial& b) {
  DimMonomial r;
  r.coefficient = checked_mul(a.coefficient, b.coefficient);
  size_t i = 0, j = 0;
  while (i < a.factors.size() || j < b.factors.size()) {
    const int c = i == a.factors.size()   ? 1
                  : j == b.factors.size() ? -1
                                          : compare(*a.factors[i].atom, *b.factors[j].atom);
    if (c == 0) {
      r.factors.push_back({a.factors[i].atom, a.factors[i].power + b.factors[j].power});
      ++i, ++j;
    } else {
      r.factors.push_back(c < 0 ? a.factors[i++] : b.factors[j++]);
    }
  }
  return r;
}

Dim sum(const Dim& a, const Dim& b, int64_t sign) {
  Monomials m = monomials_of(a);
  m.reserve(m.size() + monomials_of(b).size());
  for (DimMonomial x : monomials_of(b)) {
    x.coefficient = checked_mul(x.coefficient, sign);
    m.push_back(std::move(x));
  }
  const int64_t b0 = constant_of(b);
  int64_t c;
  if (sign > 0 ? __builtin_add_overflow(constant_of(a), b0, &c)
               : __builtin_sub_overflow(constant_of(a), b0, &c))
    overflow();
  sort_and_merge(m);
  return DimAccess::make(std::move(m), c);
}

template <class F>
void each_symbol(const Dim& d, F&& f) {
  for (const DimMonomial& m : monomials_of(d))
    for (const auto& factor : m.factors) {
      if (factor.atom->kind == DimAtom::Kind::symbol) f(factor.atom->name);
      for (const Dim& a : factor.atom->args) each_symbol(a, f);
    }
}

std::atomic<uint64_t> next_unknown{1};

bool is_unknown_name(std::string_view s) {
  return s.size() > 1 && s.size() < 20 && s[0] == '?' &&
         std::all_of(s.begin() + 1, s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Dim DimAccess::make(Monomials monomials, int64_t constant) {
  Dim d(constant);
  if (monomials.empty()) return d;
  const uint32_t size = size_of(monomials);
  if (size > max_dim_size) return Dim::unknown();
  d.terms_ = std::make_shared<const Dim::Terms>(Dim::Terms{std::move(monomials), size});
  return d;
}

Dim DimAccess::atom(DimAtom a) {
  uint64_t n = 1;
  for (const Dim& x : a.args) n += size(x);
  if (n > max_dim_size) return Dim::unknown();
  a.size = static_cast<uint32_t>(n);
  DimMonomial m;
  m.coefficient = 1;
  m.factors.push_back({std::make_shared<const DimAtom>(std::move(a)), 1});
  Monomials one;
  one.push_back(std::move(m));
  return make(std::move(one), 0);
}

const DimAtom* DimAccess::as_atom(const Dim& d) {
  if (!d.terms_ || d.constant_ != 0 || d.terms_->monomials.size() != 1) return nullptr;
  const DimMonomial& m = d.terms_->monomials[0];
  if (m.coefficient != 1 || m.factors.size() != 1 || m.factors[0].power != 1) return nullptr;
  return m.factors[0].atom.get();
}

int compare(const DimAtom& a, const DimAtom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (int c = a.name.compare(b.name)) return c < 0 ? -1 : 1;
  if (a.args.size() != b.args.size()) return a.args.size() < b.args.size() ? -1 : 1;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (int c = Dim::compare(a.args[i], b.args[i])) return c;
  return 0;
}

Dim Dim::symbol(std::string_view name) {
  if (is_unknown_name(name)) {
    // Read back from text: numbers made from now on must not meet it.
    const uint64_t id = std::stoull(std::string(name.substr(1)));
    for (uint64_t now = next_unknown.load(); now <= id && !next_unknown.compare_exchange_weak(now, id + 1);) {
    }
  }
  DimAtom a;
  a.name = name;
  return DimAccess::atom(std::move(a));
}

Dim Dim::unknown() { return symbol("?" + std::to_string(next_unknown.fetch_add(1))); }

bool Dim::has_unknown() const {
  bool found = false;
  each_symbol(*this, [&](const std::string& s) { found |= is_unknown_name(s); });
  return found;
}

std::optional<std::string> Dim::symbol_name() const {
  const DimAtom* a = DimAccess::as_atom(*this);
  if (!a || a->kind != DimAtom::Kind::symbol) return std::nullopt;
  return a->name;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  each_symbol(*this, [&](const std::string& s) { names.insert(s); });
  return {names.begin(), names.end()};
}

Dim operator+(const Dim& a, const Dim& b) { return sum(a, b, 1); }
Dim operator-(const Dim& a, const Dim& b) { return sum(a, b, -1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_mul(a.constant(), b.constant());
  const Monomials &ma = monomials_of(a), &mb = monomials_of(b);
  // No result of this many products is small enough to be kept.
  if (ma.size() * mb.size() > size_t{8} * max_dim_size) return Dim::unknown();
  Monomials m;
  m.reserve((ma.size() + 1) * (mb.size() + 1));
  for (const DimMonomial& x : ma)
    for (const DimMonomial& y : mb) m.push_back(times(x, y));
  auto scale = [&m](const Monomials& by, int64_t c) {
    if (c == 0) return;
    for (DimMonomial x : by) {
      x.coefficient = checked_mul(x.coefficient, c);
      m.push_back(std::move(x));
    }
  };
  scale(ma, constant_of(b));
  scale(mb, constant_of(a));
  sort_and_merge(m);
  return DimAccess::make(std::move(m), checked_mul(constant_of(a), constant_of(b)));
}

bool operator==(const Dim& a, const Dim& b) { return Dim::compare(a, b) == 0; }

int Dim::compare(const Dim& a, const Dim& b) {
  const Monomials &ma = monomials_of(a), &mb = monomials_of(b);
  if (ma.size() != mb.size()) return ma.size() < mb.size() ? -1 : 1;
  if (a.terms_ != b.terms_)
    for (size_t i = 0; i < ma.size(); ++i) {
      if (int c = compare_variables(ma[i], mb[i])) return c;
      if (ma[i].coefficient != mb[i].coefficient) return ma[i].coefficient < mb[i].coefficient ? -1 : 1;
    }
  return a.constant_ == b.constant_ ? 0 : a.constant_ < b.constant_ ? -1 : 1;
}

namespace {

using SizeOf = std::function<std::optional<int64_t>(std::string_view)>;

std::optional<int64_t> evaluate_atom(const DimAtom& a, const SizeOf& size_of) {
  if (a.kind == DimAtom::Kind::symbol) return size_of(a.name);
  std::optional<int64_t> r;
  for (const Dim& arg : a.args) {
    auto x = arg.evaluate(size_of);
    if (!x) return std::nullopt;
    if (!r) {
      r = x;
      continue;
    }
    switch (a.kind) {
      case DimAtom::Kind::floor:
        if (*x == 0) return std::nullopt;
        r = floor_div(*r, *x);
        break;
      case DimAtom::Kind::min:
        r = std::min(*r, *x);
        break;
      case DimAtom::Kind::max:
        r = std::max(*r, *x);
        break;
      case DimAtom::Kind::broadcast:
        r = broadcast(*r, *x);
        if (!r) return std::nullopt;
        break;
      case DimAtom::Kind::symbol:
        break;
    }
  }
  return r;
}

}  // namespace

std::optional<int64_t> Dim::evaluate(const SizeOf& size_of) const {
  int64_t total = constant_;
  for (const DimMonomial& m : monomials_of(*this)) {
    int64_t product = m.coefficient;
    for (const auto& f : m.factors) {
      auto x = evaluate_atom(*f.atom, size_of);
      if (!x) return std::nullopt;
      for (int32_t i = 0; i < f.power; ++i) product = checked_mul(product, *x);
    }
    total = checked_add(total, product);
  }
  return total;
}

std::optional<int64_t> Dim::evaluate(const std::map<std::string, int64_t, std::less<>>& sizes) const {
  return evaluate(SizeOf([&](std::string_view name) -> std::optional<int64_t> {
    auto it = sizes.find(name);
    if (it == sizes.end()) return std::nullopt;
    return it->second;
  }));
}

namespace {

Dim substitute_atom(const DimAtom& a, const DimAtomRef& self,
                    const std::map<std::string, Dim, std::less<>>& by) {
  if (a.kind == DimAtom::Kind::symbol) {
    auto it = by.find(a.name);
    if (it != by.end()) return it->second;
    DimMonomial m;
    m.coefficient = 1;
    m.factors.push_back({self, 1});
    return DimAccess::make({m}, 0);
  }
  Dim r = a.args[0].substitute(by);
  for (size_t i = 1; i < a.args.size(); ++i) {
    const Dim x = a.args[i].substitute(by);
    switch (a.kind) {
      case DimAtom::Kind::floor:
        r = floor_div(r, x);
        break;
      case DimAtom::Kind::min:
        r = min(r, x);
        break;
      case DimAtom::Kind::max:
        r = max(r, x);
        break;
      case DimAtom::Kind::broadcast: {
        auto b = broadcast(r, x);
        if (!b)
          throw Error(Code::tensor_bad_shape, "shape", "sizes that broadcast", r.str() + " and " + x.str(),
                      {});
        r = *b;
        break;
      }
      case DimAtom::Kind::symbol:
        break;
    }
  }
  return r;
}

}  // namespace

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& by) const {
  if (is_constant() || by.empty()) return *this;
  Dim total = constant_;
  for (const DimMonomial& m : monomials_of(*this)) {
    Dim product = m.coefficient;
    for (const auto& f : m.factors) {
      const Dim x = substitute_atom(*f.atom, f.atom, by);
      for (int32_t i = 0; i < f.power; ++i) product = product * x;
    }
    total = total + product;
  }
  return total;
}

}  // namespace lathe
