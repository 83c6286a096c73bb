#include "cpu/quantized/low_bit_weights.h"

#include "cpu/support.h"
#include "tensor/low_bit.h"

namespace lathe::cpu {
namespace {

/// The sizes and strides of the weights, or of the parameters of their blocks.
struct Matrix {
  Matrix(bool transposed, const Shape& shape) {
    const Shape s = transposed ? blocks_as_matrix(shape) : shape;
    rows = s[transposed ? 1 : 0];
    columns = s[transposed ? 0 : 1];
    row = transposed ? 1 : s[1];
    column = transposed ? s[1] : 1;
  }
  int64_t rows, columns, row, column;
};

}  // namespace

LowBit low_bit_weights(const LowBitInputs& inputs, const Shape& shape, DataType type, int64_t block,
                       bool has_minimums) {
  const Matrix m(inputs.transposed, shape);
  return {.k = m.rows,
          .n = m.columns,
          .block = block,
          .bits = packed_bits(bits_of(type)),
          .zero = is_signed_integer(type) ? 1 << (bits_of(type) - 1) : 0,
          .has_minimums = has_minimums};
}

std::optional<Support> refuse_unless_low_bit(const LowBitInputs& inputs, const KernelQuery& r) {
  for (const size_t i : {inputs.numbers, inputs.scales, inputs.zeros, inputs.minimums}) {
    if (!r.inputs[i].present && (i == inputs.zeros || i == inputs.minimums)) continue;
    if (!r.inputs[i].constant) return Support::no("weights that are not constant");
    const Shape& s = r.inputs[i].constant->shape();
    if ((inputs.transposed ? blocks_as_matrix(s) : s).size() != 2)
      return Support::no("weights that are no matrices");
  }
  const DataType type = r.inputs[inputs.numbers].type;
  if (!is_low_bit(type)) return Support::no("not for " + std::string(name_of(type)));
  for (const size_t i : {inputs.scales, inputs.minimums})
    if (r.inputs[i].present && r.inputs[i].type != DataType::float32 && !is_f16(r.inputs[i].type))
      return Support::no("scales or minimums of " + std::string(name_of(r.inputs[i].type)));
  if (r.inputs[inputs.zeros].present && r.inputs[inputs.zeros].type != type)
    return Support::no("a zero point of another type");
  if (r.inputs[inputs.numbers].constant->size() == 0) return Support::no("no weights");
  return std::nullopt;
}

std::optional<PackedForm> packed_low_bit_form(Isa isa, const LowBitInputs& inputs, const KernelQuery& r,
                                              size_t i) {
  if (i != inputs.numbers && i != inputs.scales && i != inputs.zeros && i != inputs.minimums)
    return std::nullopt;
  const Tensor& t = *r.inputs[i].constant;
  const Matrix m(inputs.transposed, t.shape());
  const std::string arrangement =
      "low_bit." + std::string(name_of(isa)) + (inputs.transposed ? ".transposed" : "");
  if (i == inputs.numbers)
    return PackedForm{DataType::uint8,
                      {packed_numbers_size(isa, m.rows, m.columns, bits_of(t.type()))},
                      arrangement + ".numbers"};
  return PackedForm{i == inputs.zeros ? DataType::uint8 : DataType::float32,
                    {packed_scales_size(isa, m.rows, m.columns)},
                    arrangement + ".parameters"};
}

void pack_low_bit(Isa isa, const LowBitInputs& inputs, const KernelQuery& r, size_t i, Tensor& to,
                  Workers& workers) {
  const Tensor& t = *r.inputs[i].constant;
  const Matrix m(inputs.transposed, t.shape());
  if (i == inputs.scales || i == inputs.minimums)
    return pack_scales(isa, floats(to), t.type(), t.data(), m.row, m.column, m.rows, m.columns, workers);
  const BitMatrix numbers{t.data(), bits_of(t.type()), is_signed_integer(t.type()), m.row, m.column};
  (i == inputs.numbers ? pack_numbers : pack_zeros)(isa, to.as<uint8_t>().data(), numbers, m.rows, m.columns,
                                                    workers);
}

void set_packed(const LowBitInputs& inputs, const KernelContext& c, LowBit& w) {
  w.numbers = c.packed(inputs.numbers)->as<uint8_t>().data();
  w.scales = floats(*c.packed(inputs.scales));
  if (has_input(c, inputs.zeros)) w.zeros = c.packed(inputs.zeros)->as<uint8_t>().data();
  if (w.has_minimums) w.minimums = floats(*c.packed(inputs.minimums));
}

}  // namespace lathe::cpu
