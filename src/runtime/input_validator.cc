#include <algorithm>

#include "runtime/engine_impl.h"
#include "tensor/sparse.h"

namespace lathe {
namespace {

[[noreturn]] void bad(Code code, const std::string& input, std::string expected, std::string got,
                      std::string remedy = {}) {
  throw Error(code, "run", std::move(expected), std::move(got), std::move(remedy)).at("run", input, "");
}

bool fits(PlanType::Kind kind, const Value& v) {
  switch (kind) {
    case PlanType::Kind::tensor:
      return v.is_tensor() && v.tensor().defined();
    case PlanType::Kind::sparse:
      return v.is_sparse();
    case PlanType::Kind::sequence:
      return v.is_sequence();
    case PlanType::Kind::map:
      return v.is_map();
    case PlanType::Kind::optional:
    case PlanType::Kind::none:
      return true;
  }
  return false;
}

/// Whether all tensors in a sequence or an optional are of that type, however deep they are.
bool holds_only(const Value& v, DataType elem) {
  if (v.is_tensor()) return v.tensor().type() == elem;
  if (v.is_map()) return true;
  if (!v.is_sequence()) return v.empty();
  return std::ranges::all_of(*v.sequence().items,
                             [&](const Value& item) { return !item.empty() && holds_only(item, elem); });
}

bool right_elements(const PlanType& type, const Value& v) {
  switch (type.kind) {
    case PlanType::Kind::sequence:
    case PlanType::Kind::optional:
      return type.elem == DataType::undefined || holds_only(v, type.elem);
    case PlanType::Kind::sparse:
      return v.sparse().values.type() == type.elem;
    case PlanType::Kind::map:
      return v.map().keys.type() == type.elem;
    default:
      return true;
  }
}

bool within(const PlanProfile::Input& r, const Shape& shape) {
  bool inside = shape.size() == r.max.size();
  for (size_t i = 0; inside && i < shape.size(); ++i) inside = r.min[i] <= shape[i] && shape[i] <= r.max[i];
  return inside;
}

size_t alignment_of(DataType t) {
  if (t == DataType::string) return alignof(std::string);
  const auto bytes = static_cast<size_t>(bits_of(t)) / 8;
  return std::clamp<size_t>(bytes, 1, 8);
}

}  // namespace

DeclaredSums sums_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Plan::Symbol& s : plan.symbols) names.push_back(s.name);
  return declared_sums(names);
}

InputValidator::InputValidator(const Plan& plan) : profiles_(&plan.profiles) {
  for (const Plan::Symbol& s : plan.symbols) symbols_.push_back(s.name);
  sums_ = declared_sums(symbols_);
  const PlanGraph& g = plan.graphs[0];
  for (uint32_t v : g.inputs) {
    Input in{g.values[v].name, g.values[v].type, {}, {}};
    if (in.type.shape)
      for (const Dim& d : *in.type.shape) {
        Axis a;
        if (d.is_constant()) a.fixed = d.constant();
        const auto name = d.symbol_name();
        const auto at = name ? std::ranges::find(symbols_, *name) : symbols_.end();
        if (at != symbols_.end()) a.symbol = static_cast<int32_t>(at - symbols_.begin());
        in.axes.push_back(a);
      }
    inputs_.push_back(std::move(in));
  }
  for (Input& in : inputs_) in.ranges.resize(plan.profiles.size());
  for (size_t p = 0; p < plan.profiles.size(); ++p)
    for (const PlanProfile::Input& r : plan.profiles[p].inputs) inputs_[r.input].ranges[p] = &r;
}

void InputValidator::check(size_t input, const Value& v, Sizes& sizes) const {
  const Input& in = inputs_[input];
  if (!fits(in.type.kind, v) || !right_elements(in.type, v))
    bad(Code::run_bad_input, in.name, in.type.text, describe(v));
  if (in.type.kind == PlanType::Kind::sparse) {
    check_shape(input, v.sparse().shape, sizes);
    if (auto fault = sparse_fault(v.sparse()))
      bad(Code::run_bad_input, in.name, std::move(fault->expected), std::move(fault->got));
  }
  if (in.type.kind != PlanType::Kind::tensor) return;
  const Tensor& t = v.tensor();
  if (t.type() != in.type.elem)
    bad(Code::run_bad_input, in.name, "elements of type " + std::string(name_of(in.type.elem)), describe(t),
        "convert the input");
  check_shape(input, t.shape(), sizes);
  if (t.size() > 0 && !t.data()) bad(Code::run_bad_input, in.name, "memory", "a null pointer");
  if (reinterpret_cast<uintptr_t>(t.data()) % alignment_of(t.type()) != 0)
    bad(Code::run_bad_input, in.name,
        "memory aligned to " + std::to_string(alignment_of(t.type())) + " bytes", "an odd address",
        "copy the input to aligned memory");
}

void InputValidator::check_shape(size_t input, const Shape& shape, Sizes& sizes) const {
  const Input& in = inputs_[input];
  checked_count(shape, in.type.elem, in.name);
  if (!in.type.shape) return check_profiles(in, shape, sizes);
  const auto mismatch = [&](const std::string& why) {
    bad(Code::run_bad_shape, in.name, "a shape of " + describe(*in.type.shape) + why, describe(shape));
  };
  if (shape.size() != in.axes.size()) mismatch("");
  for (size_t i = 0; i < shape.size(); ++i) {
    const Axis& a = in.axes[i];
    if (a.fixed >= 0 && shape[i] != a.fixed) mismatch("");
    if (a.symbol < 0) continue;
    int64_t& size = sizes.symbols[static_cast<size_t>(a.symbol)];
    if (size >= 0 && size != shape[i])
      mismatch(" where " + symbols_[static_cast<size_t>(a.symbol)] + " is " + std::to_string(size));
    size = shape[i];
  }
  check_profiles(in, shape, sizes);
}

void InputValidator::check_profiles(const Input& in, const Shape& shape, Sizes& sizes) const {
  if (in.ranges.empty()) return;
  uint64_t left = 0;
  for (size_t p = 0; p < in.ranges.size(); ++p)
    if (sizes.profiles >> p & 1 && (!in.ranges[p] || within(*in.ranges[p], shape))) left |= uint64_t{1} << p;
  if (left == 0) {
    std::string ranges;
    for (size_t p = 0; p < in.ranges.size(); ++p)
      if (sizes.profiles >> p & 1)
        ranges += (ranges.empty() ? "" : " or ") + describe(in.ranges[p]->min) + " to " +
                  describe(in.ranges[p]->max) + " (profile '" + (*profiles_)[p].name + "')";
    bad(Code::run_bad_shape, in.name, "a shape from " + ranges, describe(shape),
        "build the engine with a profile that has room for it");
  }
  sizes.profiles = left;
}

std::optional<int64_t> InputValidator::size_of(std::string_view symbol, const Sizes& sizes) const {
  const auto at = std::ranges::find(symbols_, symbol);
  if (at == symbols_.end()) return std::nullopt;
  const int64_t size = sizes.symbols[static_cast<size_t>(at - symbols_.begin())];
  return size < 0 ? std::nullopt : std::optional(size);
}

std::optional<int64_t> InputValidator::sum_of(std::string_view symbol, const Sizes& sizes) const {
  const auto sum = sums_.find(symbol);
  if (sum == sums_.end()) return std::nullopt;
  return sum->second.evaluate([&](std::string_view name) { return size_of(name, sizes); });
}

std::string InputValidator::contradictions(const Sizes& sizes) const {
  std::string all;
  for (const Input& in : inputs_)
    for (size_t i = 0; i < in.axes.size(); ++i) {
      if (in.axes[i].symbol < 0) continue;
      const std::string& symbol = symbols_[static_cast<size_t>(in.axes[i].symbol)];
      const auto size = size_of(symbol, sizes), sum = sum_of(symbol, sizes);
      if (size && sum && *size != *sum)
        all += (all.empty() ? "" : "; ") + in.name + " has " + std::to_string(*size) + " on axis " +
               std::to_string(i) + ", where " + symbol + " is " + std::to_string(*sum);
    }
  return all;
}

Shape InputValidator::shape_from(size_t input, const Sizes& sizes) const {
  const Input& in = inputs_[input];
  if (in.type.kind != PlanType::Kind::tensor) return {};
  if (!in.type.shape)
    throw Error(Code::bad_argument, "run", "the shape of input " + in.name, "none",
                "its rank is not declared: give its shape");
  Shape shape;
  std::string missing;
  for (const Dim& d : *in.type.shape) {
    const auto size = d.evaluate([&](std::string_view name) {
      const auto own = size_of(name, sizes);
      return own ? own : sum_of(name, sizes);
    });
    if (size.value_or(-1) < 0) missing += (missing.empty() ? "" : ", ") + d.substitute(sums_).str();
    shape.push_back(size.value_or(0));
  }
  if (!missing.empty())
    throw Error(Code::bad_argument, "run", "sizes for all symbols of input " + in.name, "none for " + missing,
                "give its shape");
  return shape;
}

}  // namespace lathe
