// Helpers that the operators' support checks and registrations share.
#pragma once

#include <optional>
#include <string>

#include "cpu/simd/f16.h"
#include "cpu/simd/isa.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

inline bool is_eight_bits(DataType t) { return t == DataType::int8 || t == DataType::uint8; }

/// Returns yes for elements of these types.
template <class... T>
Support supports_type(DataType type, Types<T...>) {
  return ((type == type_of<T>) || ...) ? Support::yes()
                                       : Support::no("not for " + std::string(name_of(type)));
}

/// Returns a refusal unless the first `inputs` inputs (all by default) that are present, and the outputs, are
/// float32.
inline std::optional<Support> refuse_unless_float32(const KernelQuery& r, size_t inputs = SIZE_MAX) {
  for (size_t i = 0; i < r.inputs.size() && i < inputs; ++i)
    if (r.inputs[i].present && r.inputs[i].type != DataType::float32)
      return Support::no("only float32, input " + std::to_string(i) + " is " +
                         std::string(name_of(r.inputs[i].type)));
  for (size_t i = 0; i < r.outputs.size(); ++i)
    if (r.outputs[i].present && r.outputs[i].type != DataType::float32)
      return Support::no("only float32, output " + std::to_string(i) + " is " +
                         std::string(name_of(r.outputs[i].type)));
  return std::nullopt;
}

/// The same, but that input `weights` may be floats of 16 bits if it is a constant: such weights stay as
/// small as they are in the file, and the kernel widens them where it uses them. No operator allows the
/// mixture; the builder makes it.
inline std::optional<Support> refuse_unless_float32_with_weights(const KernelQuery& r, size_t weights) {
  if (weights >= r.inputs.size() || !r.inputs[weights].constant || !is_f16(r.inputs[weights].type))
    return refuse_unless_float32(r);
  std::vector<KernelQuery::Operand> inputs(r.inputs.begin(), r.inputs.end());
  inputs[weights].present = false;
  return refuse_unless_float32({inputs, r.outputs, r.isa});
}

/// The same for elementwise operators that compute numbers and take bools for numbers too.
inline std::optional<Support> refuse_unless_float32_or_bool(const KernelQuery& r) {
  for (const KernelQuery::Operands& list : {r.inputs, r.outputs})
    for (const KernelQuery::Operand& o : list)
      if (o.present && o.type != DataType::float32 && o.type != DataType::boolean)
        return Support::no("only float32 and bool, not " + std::string(name_of(o.type)));
  return std::nullopt;
}

/// Returns whether the first input or the first output is an image of 16 bits, and the other one is too, or
/// is float32. No operator allows the mixture; the builder makes it.
inline bool has_f16_activations(const KernelQuery& r) {
  if (r.inputs.empty() || r.outputs.empty()) return false;
  const DataType x = r.inputs[0].type, y = r.outputs[0].type;
  const auto fits = [](DataType t) { return t == DataType::float32 || is_f16(t); };
  return fits(x) && fits(y) && (is_f16(x) || is_f16(y));
}

/// The support check of kernels that only need float32.
template <class Op>
Support supports_float32(const Op&, const KernelQuery& r) {
  if (auto refusal = refuse_unless_float32(r)) return *refusal;
  return Support::yes();
}

/// The support check of kernels that only move elements, which must be whole bytes.
inline Support refuse_unless_movable(const KernelQuery& r) {
  return bits_of(r.inputs[0].type) < 8 ? Support::no("elements are not of whole bytes") : Support::yes();
}

inline bool has_input(const KernelQuery& r, size_t i) { return i < r.inputs.size() && r.inputs[i].present; }
inline bool has_input(const KernelContext& c, size_t i) { return i < c.inputs() && c.has(i); }
inline const Tensor* constant_input(const KernelQuery& r, size_t i) {
  return has_input(r, i) ? r.inputs[i].constant : nullptr;
}

inline const float* floats(const Tensor& t) { return static_cast<const float*>(t.data()); }
inline float* floats(Tensor& t) { return static_cast<float*>(t.data()); }
/// An input's elements, or null when it was left out.
inline const float* floats(const KernelContext& c, size_t i) {
  return has_input(c, i) ? floats(c.in(i)) : nullptr;
}

/// The name of a kernel, for example "matmul.avx512".
inline std::string kernel_name(std::string_view name, Isa isa) {
  return std::string(name) + "." + std::string(name_of(isa));
}

/// The number of rows of input 0, where its sizes are known or likely: the product of all but the last.
inline std::optional<int64_t> likely_rows(const KernelQuery& r) {
  if (!r.inputs[0].shape || r.inputs[0].shape->empty()) return std::nullopt;
  int64_t m = 1;
  for (size_t i = 0; i + 1 < r.inputs[0].shape->size(); ++i) {
    const auto size = r.likely_size((*r.inputs[0].shape)[i]);
    if (!size) return std::nullopt;
    m *= *size;
  }
  return m;
}

}  // namespace lathe::cpu
