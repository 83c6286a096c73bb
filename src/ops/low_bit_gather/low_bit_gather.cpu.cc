#include "ops/low_bit_gather/low_bit_gather.h"

#include "cpu/quantized.h"
#include "cpu/support.h"
#include "ops/picked.h"
#include "tensor/element.h"

namespace lathe {
namespace {

Support supports(const LowBitGather&, const KernelQuery& r) {
  if (r.inputs.size() < 3 || r.outputs[0].type != DataType::float32) return Support::no("only float32");
  for (size_t i : {0u, 2u, 3u, 4u})
    if (cpu::has_input(r, i) && !r.inputs[i].constant) return Support::no("weights that are not constant");
  if (!is_low_bit(r.inputs[0].type)) return Support::no("not for " + std::string(name_of(r.inputs[0].type)));
  for (size_t i : {2u, 4u})
    if (cpu::has_input(r, i) && r.inputs[i].type != DataType::float32 && !cpu::is_f16(r.inputs[i].type))
      return Support::no("scales or minimums of " + std::string(name_of(r.inputs[i].type)));
  if (cpu::has_input(r, 3) && r.inputs[3].type != r.inputs[0].type)
    return Support::no("a zero point of another type");
  const Shape w = blocks_as_matrix(r.inputs[0].constant->shape());
  if (w.size() != 2 || w[1] * bits_of(r.inputs[0].type) % 8 != 0)
    return Support::no("rows that do not begin at bytes");
  return Support::yes();
}

/// Scales or minimums as float32.
struct BlockFloats {
  explicit BlockFloats(const Tensor* t) : tensor(t) {}
  float at(int64_t i) const {
    return tensor->type() == DataType::float32 ? cpu::floats(*tensor)[i]
                                               : static_cast<float>(load_double(*tensor, i));
  }
  const Tensor* tensor;
};

template <Isa isa>
void run(const LowBitGather& op, KernelContext& c) {
  const Tensor &w = c.in(0), &indices = c.in(1);
  const Tensor* const zeros = cpu::has_input(c, 3) ? &c.in(3) : nullptr;
  const BlockFloats scales(&c.in(2)), minimums(cpu::has_input(c, 4) ? &c.in(4) : nullptr);
  const Shape shape = blocks_as_matrix(w.shape());
  const int64_t rows = shape[0], k = shape[1], bits = bits_of(w.type()),
                blocks = (k + op.block_size - 1) / op.block_size;
  const bool is_signed = is_signed_integer(w.type());
  const auto widen = cpu::low_bit_kernels(isa).widen[bits == 2 ? 0 : bits == 4 ? 1 : 2];
  float* const to = cpu::floats(c.out(0));
  constexpr int64_t elements_worth_a_thread = 16384;
  c.parallel(indices.size(), std::max<int64_t>(1, elements_worth_a_thread / std::max<int64_t>(k, 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 c.poll();
                 const int64_t row = checked_index(c, index_at(indices, i), rows);
                 float* const y = to + i * k;
                 widen(static_cast<const uint8_t*>(w.data()) + row * k * bits / 8, y, k, is_signed);
                 for (int64_t b = 0; b < blocks; ++b) {
                   const int64_t at = row * blocks + b, last = std::min(k, (b + 1) * op.block_size);
                   const float scale = scales.at(at),
                               zero = zeros ? static_cast<float>(load_int(*zeros, at)) : 0.0f;
                   for (int64_t j = b * op.block_size; j < last; ++j) y[j] = (y[j] - zero) * scale;
                   if (!minimums.tensor) continue;
                   const float minimum = minimums.at(at);
                   for (int64_t j = b * op.block_size; j < last; ++j) y[j] += minimum;
                 }
               }
             });
}

}  // namespace

void cpu_low_bit_gather(KernelCatalog& k) {
  k.replaces("LowBitGather", {"Gather"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<LowBitGather>({.op = "LowBitGather",
                         .domain = "lathe",
                         .name = cpu::kernel_name("low_bit_gather", isa),
                         .isa = isa},
                        {.run = run<isa>, .supports = supports});
  });
}

}  // namespace lathe
