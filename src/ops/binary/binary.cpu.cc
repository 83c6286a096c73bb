// Functions of two elements with broadcasting. Those of float32 are programs; of other numbers and of truths
// they are loops.
#include "ops/binary/binary.h"

#include <algorithm>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "cpu/move.h"
#include "cpu/numbers.h"
#include "ops/binary/functions.h"
#include "ops/movement.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using F = cpu::BinaryOp;
using cpu::ask_computes;
using cpu::PairOp;

/// The same function of other numbers than float32.
constexpr PairOp pair_of(F function) {
  switch (function) {
    case F::add:
      return PairOp::add;
    case F::subtract:
      return PairOp::subtract;
    case F::multiply:
      return PairOp::multiply;
    case F::divide:
      return PairOp::divide;
    case F::minimum:
      return PairOp::minimum;
    case F::maximum:
      return PairOp::maximum;
    default:
      return PairOp::count;
  }
}

/// Is it computed at all, of however many inputs?
template <F function>
Verdict ask_type(DataType type) {
  return type == DataType::float32 ? Verdict::yes() : ask_computes(pair_of(function), type);
}

template <class Op, F function>
Verdict ask(const Op&, const KernelRequest& r) {
  constexpr size_t most = Pointwise::most_operands;
  if (r.inputs.size() < 2 || r.inputs.size() > most)
    return Verdict::no("only from 2 to " + std::to_string(most) + " inputs");
  if (r.inputs.size() > 2 && r.inputs[0].type != DataType::float32)
    return Verdict::no("more than two inputs only of float32");
  return ask_type<function>(r.inputs[0].type);
}

/// Of any number of inputs.
template <class Op, F function>
Verdict ask_rest(const Op& op, const KernelRequest& r) {
  if (ask<Op, function>(op, r).accepted) return Verdict::no("in one pass");
  return ask_type<function>(r.inputs[0].type);
}

/// What a sum of so many is multiplied by.
template <class Op>
float share(size_t inputs) {
  return std::is_same_v<Op, Mean> ? 1 / static_cast<float>(inputs) : 1;
}

/// What the program has come to, times a number.
Pointwise::Instruction scaled(float by, const Pointwise& p) {
  const auto last = static_cast<uint16_t>(p.operands + p.code.size() - 1);
  return {.op = static_cast<uint8_t>(cpu::UnaryOp::linear), .from = {last}, .a = by, .b = -0.0f};
}

/// Of other numbers than float32. Their mean is a sum that is divided.
template <class Op>
std::optional<Pointwise> describe_others(PairOp function, const KernelRequest& r) {
  const DataType type = r.inputs[0].type;
  if (std::is_same_v<Op, Mean> || r.inputs.size() < 2 || !ask_computes(function, type).accepted)
    return std::nullopt;
  return Pointwise::folded(function, type, r.inputs.size());
}

template <class Op, F function>
std::optional<Pointwise> describe(const Op&, const KernelRequest& r) {
  if (r.inputs.empty() || r.inputs.size() > Pointwise::most_operands) return std::nullopt;
  if (r.inputs[0].type != DataType::float32) return describe_others<Op>(pair_of(function), r);
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  // One number stays what it is, -0 too.
  if (r.inputs.size() < 2) return Pointwise::unchanged();
  Pointwise p = Pointwise::folded(function, r.inputs.size());
  if (std::is_same_v<Op, Mean>) p.code.push_back(scaled(share<Op>(r.inputs.size()), p));
  return p;
}

void refuse_zeros(const Tensor& divisors, KernelContext& c) {
  const auto* const list = static_cast<const std::byte*>(divisors.data());
  const auto bytes = static_cast<int64_t>(cpu::element_bytes(divisors));
  c.parallel(divisors.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    c.poll();
    cpu::refuse_zeros(divisors.type(), list + begin * bytes, end - begin);
  });
}

/// to = function(x, y).
template <F function, Isa isa>
void combine_two(const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c) {
  if (x.type() == DataType::float32) return cpu::apply_binary(isa, function, x, y, to, c);
  if (function == F::divide && is_integer(x.type()) && x.size() > 0) refuse_zeros(y, c);
  cpu::apply_pairs(isa, pair_of(function), x, y, to, c);
}

template <class Op>
void take_share(Isa isa, KernelContext& c) {
  Tensor& to = c.out(0);
  if (!std::is_same_v<Op, Mean>) return;
  if (to.type() == DataType::float32)
    return cpu::apply_unary(isa, cpu::UnaryOp::linear, cpu::floats(to), cpu::floats(to), to.size(),
                            share<Op>(c.inputs()), -0.0f, c);
  auto inputs = static_cast<double>(c.inputs());
  cpu::apply_pairs(isa, PairOp::divide, to, Tensor::view(DataType::float64, {}, &inputs), to, c);
}

template <class Op, F function, Isa isa>
void run(const Op&, KernelContext& c) {
  if (c.inputs() > 2)
    cpu::apply_folded(isa, function, c);
  else
    combine_two<function, isa>(c.in(0), c.in(1), c.out(0), c);
  take_share<Op>(isa, c);
}

/// One input after the other goes into what the first has become in the result's shape.
template <class Op, F function, Isa isa>
void run_rest(const Op&, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& to = c.out(0);
  Shape strides = row_major(x.shape());
  for (size_t a = 0; a < x.rank(); ++a)
    if (x.dim(a) == 1) strides[a] = 0;
  while (strides.size() < to.rank()) strides.insert(strides.begin(), 0);
  cpu::move({x.data(), strides}, to.data(), row_major(to.shape()), to.shape(), cpu::element_bytes(to), c);
  for (size_t i = 1; i < c.inputs(); ++i) combine_two<function, isa>(to, c.in(i), to, c);
  take_share<Op>(isa, c);
}

/// A truth, or bits.
template <class Op, PairOp op>
Verdict ask_pair(const Op&, const KernelRequest& r) {
  return ask_computes(op, r.inputs[0].type);
}
template <class Op, PairOp op, bool reversed, Isa isa>
void run_pair(const Op&, KernelContext& c) {
  cpu::apply_pairs(isa, op, c.in(reversed), c.in(!reversed), c.out(0), c);
}

PairOp function_of(const BitShift& op) { return op.to_left() ? PairOp::shift_left : PairOp::shift_right; }
template <Isa isa>
void shift(const BitShift& op, KernelContext& c) {
  cpu::apply_pairs(isa, function_of(op), c.in(0), c.in(1), c.out(0), c);
}

/// Of two numbers, in this order or the other.
template <class Op, PairOp function, bool reversed = false>
std::optional<Pointwise> describe_pair(const Op&, const KernelRequest& r) {
  const DataType type = r.inputs[0].type;
  if (!ask_computes(function, type).accepted) return std::nullopt;
  return reversed ? Pointwise::reversed(function, type) : Pointwise::pair(function, type);
}
/// Truths and float32 are numbers of programs, of which there is another function.
template <class Op, F of_floats, PairOp of_others, bool reversed = false>
std::optional<Pointwise> describe_relation(const Op& op, const KernelRequest& r) {
  const auto is_float = [](const KernelRequest::Operand& o) {
    return o.type == DataType::float32 || o.type == DataType::boolean;
  };
  if (!std::ranges::all_of(r.inputs, is_float)) return describe_pair<Op, of_others, reversed>(op, r);
  return reversed ? Pointwise::reversed(of_floats) : Pointwise::binary(of_floats);
}
std::optional<Pointwise> describe_shift(const BitShift& op, const KernelRequest& r) {
  if (!ask_computes(function_of(op), r.inputs[0].type).accepted) return std::nullopt;
  return Pointwise::pair(function_of(op), r.inputs[0].type);
}

Verdict ask_remainder(const Mod&, const KernelRequest& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32 || type == DataType::float64) return Verdict::yes();
  return ask_computes(PairOp::remainder, type);
}
F function_of(const Mod& op) { return op.fmod ? F::remainder : F::modulo; }
PairOp of_integers(const Mod& op) { return op.fmod ? PairOp::remainder : PairOp::modulo; }
void rest_of_doubles(const Mod& op, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  cpu::map_pairs(x.as<double>().data(), x.shape(), y.as<double>().data(), y.shape(),
                 c.out(0).as<double>().data(), c, [&](double a, double b) { return modulo(a, b, op.fmod); });
}
template <Isa isa>
void run_remainder(const Mod& op, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  Tensor& to = c.out(0);
  if (x.type() == DataType::float32) return cpu::apply_binary(isa, function_of(op), x, y, to, c);
  if (x.type() == DataType::float64) return rest_of_doubles(op, c);
  if (x.size() > 0) refuse_zeros(y, c);
  cpu::apply_pairs(isa, of_integers(op), x, y, to, c);
}
std::optional<Pointwise> describe_remainder(const Mod& op, const KernelRequest& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32) return Pointwise::binary(function_of(op));
  if (!ask_computes(of_integers(op), type).accepted) return std::nullopt;
  return Pointwise::pair(of_integers(op), type);
}

}  // namespace

void cpu_binary_power(KernelCatalog& k);

void cpu_binary(KernelCatalog& k) {
  cpu_binary_power(k);
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, F function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, function, isa>, .ask = ask<Op, function>});
      k.pointwise<Op>(op, describe<Op, function>);
    };
    add.template operator()<Add, F::add>("Add", "add");
    add.template operator()<Sub, F::subtract>("Sub", "sub");
    add.template operator()<Mul, F::multiply>("Mul", "mul");
    add.template operator()<Div, F::divide>("Div", "div");
    auto add_many = [&]<class Op, F function>(const char* op, const char* name) {
      add.template operator()<Op, function>(op, name);
      k.add<Op>({.op = op, .name = cpu::kernel_name(std::string(name) + "_of_many", isa), .isa = isa},
                {.run = run_rest<Op, function, isa>, .ask = ask_rest<Op, function>});
    };
    add_many.template operator()<Sum, F::add>("Sum", "sum");
    add_many.template operator()<Mean, F::add>("Mean", "mean");
    add_many.template operator()<Min, F::minimum>("Min", "min");
    add_many.template operator()<Max, F::maximum>("Max", "max");
    k.add<Mod>({.op = "Mod", .name = cpu::kernel_name("mod", isa), .isa = isa},
               {.run = run_remainder<isa>, .ask = ask_remainder});
    const auto pair = [&]<class Op, PairOp op, bool reversed = false>(const char* node, const char* name) {
      k.add<Op>({.op = node, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run_pair<Op, op, reversed, isa>, .ask = ask_pair<Op, op>});
    };
    pair.template operator()<Equal, PairOp::equal>("Equal", "equal");
    pair.template operator()<Less, PairOp::less>("Less", "less");
    pair.template operator()<LessOrEqual, PairOp::less_or_equal>("LessOrEqual", "less_or_equal");
    pair.template operator()<Greater, PairOp::less, true>("Greater", "greater");
    pair.template operator()<GreaterOrEqual, PairOp::less_or_equal, true>("GreaterOrEqual",
                                                                          "greater_or_equal");
    pair.template operator()<And, PairOp::both>("And", "and");
    pair.template operator()<Or, PairOp::either>("Or", "or");
    pair.template operator()<Xor, PairOp::differ>("Xor", "xor");
    pair.template operator()<BitwiseAnd, PairOp::bit_and>("BitwiseAnd", "bitwise_and");
    pair.template operator()<BitwiseOr, PairOp::bit_or>("BitwiseOr", "bitwise_or");
    pair.template operator()<BitwiseXor, PairOp::bit_xor>("BitwiseXor", "bitwise_xor");
    k.add<BitShift>(
        {.op = "BitShift", .name = cpu::kernel_name("bit_shift", isa), .isa = isa, .overwrites = true},
        {.run = shift<isa>, .ask = ask_pair<BitShift, PairOp::shift_right>});
  });
  k.pointwise<Mod>("Mod", describe_remainder);
  k.pointwise<Equal>("Equal", describe_relation<Equal, F::equal, PairOp::equal>);
  k.pointwise<Less>("Less", describe_relation<Less, F::less, PairOp::less>);
  k.pointwise<LessOrEqual>("LessOrEqual",
                           describe_relation<LessOrEqual, F::less_or_equal, PairOp::less_or_equal>);
  k.pointwise<Greater>("Greater", describe_relation<Greater, F::less, PairOp::less, true>);
  k.pointwise<GreaterOrEqual>(
      "GreaterOrEqual", describe_relation<GreaterOrEqual, F::less_or_equal, PairOp::less_or_equal, true>);
  // Of 0 and 1.
  k.pointwise<And>("And", describe_relation<And, F::minimum, PairOp::both>);
  k.pointwise<Or>("Or", describe_relation<Or, F::maximum, PairOp::either>);
  k.pointwise<Xor>("Xor", describe_relation<Xor, F::differ, PairOp::differ>);
  k.pointwise<BitwiseAnd>("BitwiseAnd", describe_pair<BitwiseAnd, PairOp::bit_and>);
  k.pointwise<BitwiseOr>("BitwiseOr", describe_pair<BitwiseOr, PairOp::bit_or>);
  k.pointwise<BitwiseXor>("BitwiseXor", describe_pair<BitwiseXor, PairOp::bit_xor>);
  k.pointwise<BitShift>("BitShift", describe_shift);
}

}  // namespace lathe
