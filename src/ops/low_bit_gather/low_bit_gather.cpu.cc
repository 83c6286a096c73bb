#include "ops/low_bit_gather/low_bit_gather.h"

#include "cpu/quantized.h"
#include "cpu/support.h"
#include "ops/picked.h"
#include "tensor/element.h"

namespace lathe {
namespace {

constexpr cpu::LowBitInputs low_bit_inputs{
    .numbers = 0, .scales = 2, .zeros = 3, .minimums = 4, .transposed = true};
constexpr int64_t elements_worth_a_thread = 16384;

Support supports(const LowBitGather& op, const KernelQuery& r) {
  if (r.outputs[0].type != DataType::float32) return Support::no("only float32");
  if (auto refusal = cpu::refuse_unless_low_bit(low_bit_inputs, r)) return *refusal;
  const Shape w = blocks_as_matrix(r.inputs[0].constant->shape());
  if (!op.packed && w[1] * bits_of(r.inputs[0].type) % 8 != 0)
    return Support::no("rows that do not begin at bytes");
  return Support::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const LowBitGather& op, const KernelQuery& r, size_t i) {
  return op.packed ? cpu::packed_low_bit_form(isa, low_bit_inputs, r, i) : std::nullopt;
}

template <Isa isa>
void pack(const LowBitGather&, const KernelQuery& r, size_t i, Tensor& to, Workers& workers) {
  cpu::pack_low_bit(isa, low_bit_inputs, r, i, to, workers);
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
void run_packed(const LowBitGather& op, KernelContext& c) {
  const Tensor& indices = c.in(1);
  cpu::LowBit w = cpu::low_bit_weights(low_bit_inputs, c.in(0).shape(), c.in(0).type(), op.block_size,
                                       cpu::has_input(c, 4));
  cpu::set_packed(low_bit_inputs, c, w);
  float* const to = cpu::floats(c.out(0));
  c.parallel(indices.size(), std::max<int64_t>(1, elements_worth_a_thread / std::max<int64_t>(w.k, 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 c.poll();
                 cpu::unpack_column(isa, w, checked_index(c, index_at(indices, i), w.n), to + i * w.k);
               }
             });
}

template <Isa isa>
void run(const LowBitGather& op, KernelContext& c) {
  if (op.packed) return run_packed<isa>(op, c);
  const Tensor &w = c.in(0), &indices = c.in(1);
  const Tensor* const zeros = cpu::has_input(c, 3) ? &c.in(3) : nullptr;
  const BlockFloats scales(&c.in(2)), minimums(cpu::has_input(c, 4) ? &c.in(4) : nullptr);
  const Shape shape = blocks_as_matrix(w.shape());
  const int64_t rows = shape[0], k = shape[1], bits = bits_of(w.type()),
                blocks = (k + op.block_size - 1) / op.block_size;
  const bool is_signed = is_signed_integer(w.type());
  const auto widen = cpu::low_bit_kernels(isa).widen[bits == 2 ? 0 : bits == 4 ? 1 : 2];
  float* const to = cpu::floats(c.out(0));
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
    k.add<LowBitGather>(
        {.op = "LowBitGather",
         .domain = "lathe",
         .name = cpu::kernel_name("low_bit_gather", isa),
         .isa = isa},
        {.run = run<isa>, .supports = supports, .packed_form = packed_form<isa>, .pack = pack<isa>});
  });
}

}  // namespace lathe
