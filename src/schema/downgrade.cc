#include "schema/downgrade.h"

#include <algorithm>

#include "tensor/element.h"

namespace lathe {
namespace {

bool has_input(RewriteContext& c, size_t input) {
  const auto& inputs = c.node().inputs;
  return input < inputs.size() && inputs[input] != no_id;
}

}  // namespace

bool cannot_be_computed(RewriteContext& c, std::string_view input) {
  const std::string name = "'" + std::string(input) + "'";
  return c.cannot("in older ones " + name + " has to be a constant", "make " + name + " a constant");
}

std::optional<std::vector<int64_t>> constant_ints(RewriteContext& c, size_t input) {
  const Tensor* t = has_input(c, input) ? c.constant(c.node().inputs[input]) : nullptr;
  if (!t || (t->type() != DataType::int64 && t->type() != DataType::int32)) return std::nullopt;
  std::vector<int64_t> v;
  for (int64_t i = 0; i < t->size(); ++i) v.push_back(load_int(*t, i));
  return v;
}

std::optional<float> constant_float(RewriteContext& c, size_t input) {
  const Tensor* t = has_input(c, input) ? c.constant(c.node().inputs[input]) : nullptr;
  if (!t || t->size() != 1 || !is_float(t->type())) return std::nullopt;
  const double wanted = load_double(*t, 0);
  const auto rounded = static_cast<float>(wanted);
  return static_cast<double>(rounded) == wanted ? std::optional(rounded) : std::nullopt;
}

bool input_to_ints(RewriteContext& c, size_t input, std::string_view attribute) {
  if (has_input(c, input)) {
    auto v = constant_ints(c, input);
    if (!v) return cannot_be_computed(c, attribute);
    c.node().attributes.set(std::string(attribute), std::move(*v));
  }
  auto& inputs = c.node().inputs;
  if (inputs.size() > input) inputs.resize(input);
  return true;
}

bool count_from_front(RewriteContext& c, std::string_view name, std::optional<size_t> rank) {
  Attributes& attributes = c.node().attributes;
  auto front = [&](int64_t axis) {
    if (axis < 0 && rank) axis += static_cast<int64_t>(*rank);
    return axis;
  };
  const auto unknown = [&] {
    const std::string counted = "'" + std::string(name) + "'";
    return c.cannot("in older ones " + counted + " is counted from the front, and the rank is not known",
                    "count " + counted + " from the front");
  };
  if (const auto* axis = attributes.get_if<int64_t>(name)) {
    const int64_t at = front(*axis);
    if (at < 0) return unknown();
    attributes.set(std::string(name), at);
  }
  if (const auto* axes = attributes.get_if<std::vector<int64_t>>(name)) {
    std::vector<int64_t> all = *axes;
    std::ranges::transform(all, all.begin(), front);
    if (std::ranges::any_of(all, [](int64_t a) { return a < 0; })) return unknown();
    attributes.set(std::string(name), std::move(all));
  }
  return true;
}

bool axes_from_front(RewriteContext& c) {
  const auto rank = rank_of(c.input_type(0));
  return count_from_front(c, "axis", rank) && count_from_front(c, "axes", rank);
}

bool inputs_of_one_shape(RewriteContext& c) {
  const auto& first = c.input_type(0).shape;
  for (size_t i = 1; i < c.node().inputs.size(); ++i) {
    const auto& shape = c.input_type(i).shape;
    if (!first || !shape || *first != *shape)
      return c.cannot("in older ones inputs have to be of one shape, and these need not be");
  }
  return true;
}

}  // namespace lathe
