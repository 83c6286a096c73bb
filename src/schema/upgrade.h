// Common parts of upgrades between versions of operators.
#pragma once

#include <span>

#include "schema/schema.h"

namespace lathe {

/// A 1-D int64 tensor.
inline Tensor int64_vector(std::span<const int64_t> v) {
  return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v);
}

/// Makes `v` the input at `index`; inputs before it that are not there yet are left out.
inline void set_input(UpgradeContext& u, size_t index, ValueId v) {
  auto& inputs = u.node().inputs;
  if (inputs.size() <= index) inputs.resize(index + 1);
  inputs.set(index, v);
}

/// Turns an attribute of integers into the input at `index`; without the attribute the input stays absent.
inline void ints_to_input(UpgradeContext& u, std::string_view attribute, size_t index) {
  if (const auto* v = u.node().attributes.get_if<std::vector<int64_t>>(attribute))
    set_input(u, index, u.add_constant(int64_vector(*v), attribute));
  u.node().attributes.erase(attribute);
}

/// Old versions declared some functions of real numbers for integers too: those are computed in double, and
/// the result is truncated to an integer.
inline void integers_through_double(UpgradeContext& u) {
  const DataType type = u.input_type(0).elem;
  if (!is_integer(type)) return;
  Attributes to_double, back;
  to_double.set("to", static_cast<int64_t>(DataType::float64));
  back.set("to", static_cast<int64_t>(type));
  const ValueId wide = u.insert("Cast", {u.node().inputs[0]}, std::move(to_double))[0];
  u.node().inputs.set(0, wide);
  u.append(0, "Cast", {}, std::move(back));
}

/// Writes out an attribute whose default is about to change.
inline void pin_attribute(UpgradeContext& u, std::string_view name, AttributeValue fallback) {
  if (!u.node().attributes.has(name)) u.node().attributes.set(std::string(name), std::move(fallback));
}

}  // namespace lathe
