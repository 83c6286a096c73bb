#include "base/declared_sums.h"

#include <algorithm>
#include <optional>
#include <set>

#include "lathe/error.h"

namespace lathe {
namespace {

std::optional<Dim> expression(const std::string& text) {
  try {
    Dim d = Dim::parse(text);
    return d.is_constant() || d.symbol_name() ? std::nullopt : std::optional(std::move(d));
  } catch (const Error&) {
    return std::nullopt;  // any text is a name
  }
}

}  // namespace

DeclaredSums declared_sums(const std::vector<std::string>& names) {
  const std::set<std::string_view> all(names.begin(), names.end());
  DeclaredSums sums;
  for (const std::string& name : names) {
    const auto d = expression(name);
    if (!d) continue;
    const std::vector<std::string> over = d->symbols();
    if (std::ranges::all_of(over, [&](const std::string& s) { return s != name && all.contains(s); }))
      sums.emplace(name, *d);
  }
  return sums;
}

Dim of_its_own(const Dim& declared) {
  return declared.is_constant() || declared.symbol_name() ? declared : Dim::symbol(declared.str());
}

}  // namespace lathe
