#include "runtime/growth.h"

#include <algorithm>
#include <bit>
#include <set>

namespace lathe {
namespace {

constexpr int64_t least_length = 256;

}  // namespace

int64_t rounded_length(int64_t length) {
  if (length > INT64_MAX / 2) return length;
  return std::max(least_length, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))));
}

Growth::Growth(const Plan& plan) {
  const PlanGraph& main = plan.graphs[0];
  symbols_ = plan.symbols;
  std::set<std::string> lengths;
  for (const PlanState& s : plan.states) {
    if (s.axis < 0) continue;
    const auto name =
        (*main.values[main.inputs[s.input]].type.shape)[static_cast<size_t>(s.axis)].symbol_name();
    if (name) lengths.insert(*name);
  }
  if (lengths.empty()) return;
  std::vector<std::string> names;
  for (const Plan::Symbol& s : plan.symbols) names.push_back(s.name);
  const DeclaredSums sums = declared_sums(names);
  const auto grows = [&](const Dim& d) {
    return std::ranges::any_of(d.substitute(sums).symbols(),
                               [&](const auto& s) { return lengths.contains(s); });
  };
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    const PlanType& type = main.values[main.inputs[i]].type;
    if (!type.is_tensor() || !type.shape) continue;
    for (size_t a = 0; a < type.shape->size(); ++a)
      if (const Dim& d = (*type.shape)[a]; grows(d)) axes_.push_back({i, a, d.substitute(sums)});
  }
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (lengths.contains(symbols_[i].name)) lengths_.push_back(i);
  for (const PlanValue& v : main.values) {
    const bool fixed =
        v.role == ValueRole::constant ||
        (v.type.is_tensor() && v.type.shape &&
         std::ranges::none_of(*v.type.shape, [&](const Dim& d) { return d.has_unknown() || grows(d); }));
    varies_.push_back(!fixed);
  }
}

void Growth::read(const std::vector<int64_t>& key, Sizes& sizes) const {
  sizes.first.clear();
  for (size_t at = 0; at < key.size(); at += 1 + static_cast<size_t>(std::max<int64_t>(key[at], 0)))
    sizes.first.push_back(at + 1);
  sizes.now.assign(symbols_.size(), -1);
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const size_t first = sizes.first[symbols_[i].input];
    if (key[first - 1] > static_cast<int64_t>(symbols_[i].axis)) sizes.now[i] = key[first + symbols_[i].axis];
  }
}

std::optional<int64_t> Growth::evaluate(const Dim& d, const std::vector<int64_t>& sizes) const {
  if (const auto number = d.value()) return number;
  return d.evaluate([&sizes, this](std::string_view name) -> std::optional<int64_t> {
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (symbols_[i].name == name) return sizes[i] < 0 ? std::nullopt : std::optional(sizes[i]);
    return std::nullopt;
  });
}

bool Growth::round_up(std::vector<int64_t>& key, Sizes& sizes) const {
  if (empty()) return false;
  read(key, sizes);
  sizes.greater = sizes.now;
  bool any = false;
  for (size_t i : lengths_) {
    any |= sizes.now[i] > 0;
    sizes.greater[i] = rounded_length(sizes.now[i]);
  }
  if (!any) return false;
  const auto place = [&](const Axis& a) { return sizes.first[a.input] + a.axis; };
  for (const Axis& a : axes_)
    if (key[sizes.first[a.input] - 1] <= static_cast<int64_t>(a.axis) ||
        evaluate(a.size, sizes.now) != key[place(a)] || !evaluate(a.size, sizes.greater))
      return false;
  for (const Axis& a : axes_) key[place(a)] = *evaluate(a.size, sizes.greater);
  return true;
}

}  // namespace lathe
