// LSTM, GRU and RNN for float32.
#include "ops/rnn/rnn.h"

#include "cpu/recurrent.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::Cell;
using cpu::floats;

template <class Op>
constexpr Cell cell_of = std::is_same_v<Op, Lstm>  ? Cell::lstm
                         : std::is_same_v<Op, Gru> ? Cell::gru
                                                   : Cell::rnn;

bool linear_before_reset(const Gru& op) { return op.linear_before_reset; }
bool linear_before_reset(const Recurrent&) { return false; }

bool input_forget(const Lstm& op) { return op.input_forget; }
bool input_forget(const Recurrent&) { return false; }

/// Weights that do not fit together are for the shape rule to name; packing must not read past their end.
template <class Op>
std::optional<Support> refuse_shapes(const Tensor& w, const Tensor& r) {
  constexpr int64_t gates = cpu::gates_of(cell_of<Op>);
  if (w.rank() != 3 || r.rank() != 3 || w.dim(0) > 2 || w.dim(1) % gates != 0 || r.dim(0) != w.dim(0) ||
      r.dim(1) != w.dim(1) || r.dim(2) * gates != w.dim(1))
    return Support::no("weights that do not fit together");
  return std::nullopt;
}

/// Weights that are known only in a run are packed there (`packs`).
template <class Op, bool packs>
Support supports(const Op&, const KernelQuery& r) {
  const Tensor *const w = cpu::constant_input(r, 1), *const recurrent = cpu::constant_input(r, 2);
  if (packs == (w && recurrent))
    return Support::no(packs ? "the weights are constant" : "the weights are not constant");
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const bool weights = (i == 1 || i == 2) && !packs && cpu::is_f16(r.inputs[i].type);
    const DataType wanted = i == 4 ? DataType::int32 : DataType::float32;
    if (r.inputs[i].present && r.inputs[i].type != wanted && !weights) return Support::no("only float32");
  }
  if (r.inputs[1].type != r.inputs[2].type) return Support::no("weights of two types");
  if constexpr (!packs)
    if (auto refusal = refuse_shapes<Op>(*w, *recurrent)) return *refusal;
  return Support::yes();
}

/// The gates of all steps need memory; there may be any number of steps without inputs.
template <class Op>
cpu::RecurrentShape shape_of(const Op& op, const Shape& x, const Shape& w) {
  checked_count(Shape{x[0], x[1], w[0], w[1]}, DataType::float32, "gates of all steps");
  const int64_t hidden = w[1] / cpu::gates_of(cell_of<Op>);
  return {.cell = cell_of<Op>,
          .steps = x[op.batch_first ? 1 : 0],
          .batch = x[op.batch_first ? 0 : 1],
          .input = w[2],
          .hidden = hidden,
          .directions = w[0],
          .batch_first = op.batch_first};
}

template <class Op>
cpu::RecurrentShape weights_shape(const Op& op, const KernelQuery& r) {
  return shape_of(op, {0, 0, 0}, r.inputs[1].constant->shape());
}

template <class Op, Isa isa>
std::optional<PackedForm> packed_form(const Op& op, const KernelQuery& r, size_t i) {
  if (i != 1 && i != 2) return std::nullopt;
  const auto size = i == 1 ? cpu::packed_input_weights_size : cpu::packed_recurrent_weights_size;
  return PackedForm{r.inputs[i].type, {size(cpu::gemm_kernels(isa), weights_shape(op, r))}};
}

template <class Op, Isa isa>
void pack(const Op& op, const KernelQuery& r, size_t i, Tensor& to, Workers& workers) {
  const auto pack_weights = i == 1 ? cpu::pack_input_weights : cpu::pack_recurrent_weights;
  pack_weights(cpu::gemm_kernels(isa), weights_shape(op, r), to.type(), r.inputs[i].constant->data(),
               to.data(), workers);
}

/// Floats of scratch for weights that are packed in a run, in whole cache lines.
struct PackedWeights {
  int64_t input = 0, all = 0;
  PackedWeights(const cpu::GemmKernels& g, const cpu::RecurrentShape& s)
      : input(lines(cpu::packed_input_weights_size(g, s))),
        all(input + lines(cpu::packed_recurrent_weights_size(g, s))) {}
  static int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }
};

template <class Op, Isa isa, bool packs>
size_t workspace(const Op& op, std::span<const Shape> inputs, int) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  cpu::RecurrentShape s = shape_of(op, inputs[0], inputs[1]);
  s.own_lengths = inputs.size() > 4 && !inputs[4].empty();
  return cpu::recurrence_workspace(g, s) +
         (packs ? static_cast<size_t>(PackedWeights(g, s).all) * sizeof(float) : 0);
}

float* wanted(KernelContext& c, size_t i) {
  return i < c.outputs() && c.wants(i) ? floats(c.out(i)) : nullptr;
}

const int32_t* lengths(KernelContext& c, int64_t steps) {
  if (!cpu::has_input(c, 4)) return nullptr;
  for (int32_t n : c.in(4).as<int32_t>())
    if (n < 0 || n > steps)
      c.fail(Code::run_bad_value, "sequence_lens in [0, " + std::to_string(steps) + "]", std::to_string(n));
  return c.in(4).as<int32_t>().data();
}

template <class Op, Isa isa, bool packs>
void run(const Op& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  cpu::Recurrence r;
  r.shape = shape_of(op, c.in(0).shape(), c.in(1).shape());
  r.backward = op.backward(0);
  r.linear_before_reset = linear_before_reset(op);
  r.input_forget = input_forget(op);
  if (op.clip) r.clip = *op.clip;
  const RecurrentActivations functions = op.functions();
  r.functions = functions.data();
  r.x = floats(c.in(0));
  r.bias = floats(c, 3);
  r.lengths = lengths(c, r.shape.steps);
  r.shape.own_lengths = r.lengths != nullptr;
  r.initial_h = floats(c, 5);
  r.y = wanted(c, 0);
  r.last_h = wanted(c, 1);
  if (cell_of<Op> == Cell::lstm) {
    r.initial_c = floats(c, 6);
    r.peepholes = floats(c, 7);
    r.last_c = wanted(c, 2);
  }
  if (r.shape.batch == 0 || r.shape.hidden == 0) return;  // no results, however many steps there are
  const PackedWeights packed(g, r.shape);
  const size_t own = cpu::recurrence_workspace(g, r.shape);
  auto* scratch =
      static_cast<float*>(c.workspace(own + (packs ? static_cast<size_t>(packed.all) * sizeof(float) : 0)));
  if constexpr (packs) {
    cpu::pack_input_weights(g, r.shape, r.weights, c.in(1).data(), scratch, c);
    cpu::pack_recurrent_weights(g, r.shape, r.weights, c.in(2).data(), scratch + packed.input, c);
    r.w = scratch;
    r.r = scratch + packed.input;
    scratch += packed.all;
  } else {
    r.w = c.packed(1)->data();
    r.r = c.packed(2)->data();
    r.weights = c.packed(1)->type();
  }
  cpu::run_recurrence(isa, r, scratch, c);
}

template <class Op, Isa isa>
void add(KernelCatalog& k, const std::string& op, const std::string& name) {
  k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .strict = cpu::strict_products},
            {.run = run<Op, isa, false>,
             .supports = supports<Op, false>,
             .packed_form = packed_form<Op, isa>,
             .pack = pack<Op, isa>,
             .workspace = workspace<Op, isa, false>});
  k.add<Op>(
      {.op = op,
       .name = cpu::kernel_name(name + "_packing", isa),
       .isa = isa,
       .strict = cpu::strict_products},
      {.run = run<Op, isa, true>, .supports = supports<Op, true>, .workspace = workspace<Op, isa, true>});
}

}  // namespace

void cpu_rnn(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add<Lstm, isa>(k, "LSTM", "lstm");
    add<Gru, isa>(k, "GRU", "gru");
    add<Rnn, isa>(k, "RNN", "rnn");
  });
}

}  // namespace lathe
