// Constant low-bit weights as inputs of an operator: what LowBitMatMul and LowBitGather have in common.
#pragma once

#include <optional>

#include "cpu/quantized/low_bit.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// Says which inputs of an operator are the numbers of weights [k, n] (or transposed, [n, k]) and the
/// parameters of their blocks. The latter two may be left out.
struct LowBitInputs {
  size_t numbers, scales, zeros, minimums;
  bool transposed = false;
};

/// Makes the weights without their addresses. `shape`: of the numbers.
LowBit low_bit_weights(const LowBitInputs& inputs, const Shape& shape, DataType type, int64_t block,
                       bool has_minimums);
/// Returns why kernels cannot read the weights; nothing if they can.
std::optional<Support> refuse_unless_low_bit(const LowBitInputs& inputs, const KernelQuery& r);
/// The hooks of that name, for these inputs. Operators that read the same weights share what is packed.
std::optional<PackedForm> packed_low_bit_form(Isa isa, const LowBitInputs& inputs, const KernelQuery& r,
                                              size_t i);
void pack_low_bit(Isa isa, const LowBitInputs& inputs, const KernelQuery& r, size_t i, Tensor& to,
                  Workers& workers);
/// Sets the addresses of what was packed.
void set_packed(const LowBitInputs& inputs, const KernelContext& c, LowBit& w);

}  // namespace lathe::cpu
