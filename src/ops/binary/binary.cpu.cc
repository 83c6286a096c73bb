// Functions of two elements with broadcasting. Those of float32 are programs; those of other numbers and of
// booleans are loops.
#include "ops/binary/binary.h"

#include <algorithm>

#include "cpu/elementwise.h"
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/binary/functions.h"
#include "ops/movement.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using F = cpu::BinaryOp;
using cpu::supports_computes;
using cpu::TypedBinaryOp;

/// The same function of other numbers than float32.
constexpr TypedBinaryOp typed_op_of(F function) {
  switch (function) {
    case F::add:
      return TypedBinaryOp::add;
    case F::subtract:
      return TypedBinaryOp::subtract;
    case F::multiply:
      return TypedBinaryOp::multiply;
    case F::divide:
      return TypedBinaryOp::divide;
    case F::minimum:
      return TypedBinaryOp::minimum;
    case F::maximum:
      return TypedBinaryOp::maximum;
    default:
      return TypedBinaryOp::count;
  }
}

/// Returns whether the function is computed for this type, whatever the number of inputs.
template <F function>
Support supports_type(DataType type) {
  return type == DataType::float32 ? Support::yes() : supports_computes(typed_op_of(function), type);
}

template <class Op, F function>
Support supports(const Op&, const KernelQuery& r) {
  constexpr size_t most = Pointwise::max_operands;
  if (r.inputs.size() < 2 || r.inputs.size() > most)
    return Support::no("only from 2 to " + std::to_string(most) + " inputs");
  if (r.inputs.size() > 2 && r.inputs[0].type != DataType::float32)
    return Support::no("more than two inputs only of float32");
  return supports_type<function>(r.inputs[0].type);
}

/// Supports any number of inputs that takes more than one pass.
template <class Op, F function>
Support supports_rest(const Op& op, const KernelQuery& r) {
  if (supports<Op, function>(op, r).accepted) return Support::no("in one pass");
  return supports_type<function>(r.inputs[0].type);
}

/// The factor of a sum of `inputs` numbers.
template <class Op>
float share(size_t inputs) {
  return std::is_same_v<Op, Mean> ? 1 / static_cast<float>(inputs) : 1;
}

/// The last result of the program times a number.
Pointwise::Instruction scaled(float by, const Pointwise& p) {
  const auto last = static_cast<uint16_t>(p.operands + p.code.size() - 1);
  return {.op = static_cast<uint8_t>(cpu::UnaryOp::linear), .from = {last}, .a = by, .b = -0.0f};
}

/// Describes functions of types other than float32, but not Mean, whose sum is divided.
template <class Op>
std::optional<Pointwise> describe_others(TypedBinaryOp function, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (std::is_same_v<Op, Mean> || r.inputs.size() < 2 || !supports_computes(function, type).accepted)
    return std::nullopt;
  return Pointwise::folded(function, type, r.inputs.size());
}

template <class Op, F function>
std::optional<Pointwise> describe(const Op&, const KernelQuery& r) {
  if (r.inputs.empty() || r.inputs.size() > Pointwise::max_operands) return std::nullopt;
  if (r.inputs[0].type != DataType::float32) return describe_others<Op>(typed_op_of(function), r);
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
  cpu::apply_typed_binary(isa, typed_op_of(function), x, y, to, c);
}

template <class Op>
void take_share(Isa isa, KernelContext& c) {
  Tensor& to = c.out(0);
  if (!std::is_same_v<Op, Mean>) return;
  if (to.type() == DataType::float32)
    return cpu::apply_unary(isa, cpu::UnaryOp::linear, cpu::floats(to), cpu::floats(to), to.size(),
                            share<Op>(c.inputs()), -0.0f, c);
  auto inputs = static_cast<double>(c.inputs());
  cpu::apply_typed_binary(isa, TypedBinaryOp::divide, to, Tensor::view(DataType::float64, {}, &inputs), to,
                          c);
}

template <class Op, F function, Isa isa>
void run(const Op&, KernelContext& c) {
  if (c.inputs() > 2)
    cpu::apply_folded(isa, function, c);
  else
    combine_two<function, isa>(c.in(0), c.in(1), c.out(0), c);
  take_share<Op>(isa, c);
}

/// Combines one input after the other with the first, which is expanded to the result's shape.
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

/// Supports functions whose results are booleans or bits.
template <class Op, TypedBinaryOp op>
Support supports_typed_binary(const Op&, const KernelQuery& r) {
  return supports_computes(op, r.inputs[0].type);
}
template <class Op, TypedBinaryOp op, bool reversed, Isa isa>
void run_typed_binary(const Op&, KernelContext& c) {
  cpu::apply_typed_binary(isa, op, c.in(reversed), c.in(!reversed), c.out(0), c);
}

TypedBinaryOp function_of(const BitShift& op) {
  return op.to_left() ? TypedBinaryOp::shift_left : TypedBinaryOp::shift_right;
}
template <Isa isa>
void shift(const BitShift& op, KernelContext& c) {
  cpu::apply_typed_binary(isa, function_of(op), c.in(0), c.in(1), c.out(0), c);
}

/// Describes a function of two numbers, in this order or reversed.
template <class Op, TypedBinaryOp function, bool reversed = false>
std::optional<Pointwise> describe_typed_binary(const Op&, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (!supports_computes(function, type).accepted) return std::nullopt;
  return reversed ? Pointwise::reversed(function, type) : Pointwise::typed_binary(function, type);
}
/// Booleans and float32 are floats in programs, which have another function for them.
template <class Op, F of_floats, TypedBinaryOp of_others, bool reversed = false>
std::optional<Pointwise> describe_relation(const Op& op, const KernelQuery& r) {
  const auto is_float = [](const KernelQuery::Operand& o) {
    return o.type == DataType::float32 || o.type == DataType::boolean;
  };
  if (!std::ranges::all_of(r.inputs, is_float)) return describe_typed_binary<Op, of_others, reversed>(op, r);
  return reversed ? Pointwise::reversed(of_floats) : Pointwise::binary(of_floats);
}
std::optional<Pointwise> describe_shift(const BitShift& op, const KernelQuery& r) {
  if (!supports_computes(function_of(op), r.inputs[0].type).accepted) return std::nullopt;
  return Pointwise::typed_binary(function_of(op), r.inputs[0].type);
}

Support supports_remainder(const Mod&, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32 || type == DataType::float64) return Support::yes();
  return supports_computes(TypedBinaryOp::remainder, type);
}
F function_of(const Mod& op) { return op.fmod ? F::remainder : F::modulo; }
TypedBinaryOp of_integers(const Mod& op) {
  return op.fmod ? TypedBinaryOp::remainder : TypedBinaryOp::modulo;
}
void rest_of_doubles(const Mod& op, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  cpu::map_binary(x.as<double>().data(), x.shape(), y.as<double>().data(), y.shape(),
                  c.out(0).as<double>().data(), c, [&](double a, double b) { return modulo(a, b, op.fmod); });
}
template <Isa isa>
void run_remainder(const Mod& op, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  Tensor& to = c.out(0);
  if (x.type() == DataType::float32) return cpu::apply_binary(isa, function_of(op), x, y, to, c);
  if (x.type() == DataType::float64) return rest_of_doubles(op, c);
  if (x.size() > 0) refuse_zeros(y, c);
  cpu::apply_typed_binary(isa, of_integers(op), x, y, to, c);
}
std::optional<Pointwise> describe_remainder(const Mod& op, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32) return Pointwise::binary(function_of(op));
  if (!supports_computes(of_integers(op), type).accepted) return std::nullopt;
  return Pointwise::typed_binary(of_integers(op), type);
}

}  // namespace

void cpu_binary_power(KernelCatalog& k);

void cpu_binary(KernelCatalog& k) {
  cpu_binary_power(k);
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, F function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, function, isa>, .supports = supports<Op, function>});
      k.pointwise<Op>(op, describe<Op, function>);
    };
    add.template operator()<Add, F::add>("Add", "add");
    add.template operator()<Sub, F::subtract>("Sub", "sub");
    add.template operator()<Mul, F::multiply>("Mul", "mul");
    add.template operator()<Div, F::divide>("Div", "div");
    auto add_many = [&]<class Op, F function>(const char* op, const char* name) {
      add.template operator()<Op, function>(op, name);
      k.add<Op>({.op = op, .name = cpu::kernel_name(std::string(name) + "_of_many", isa), .isa = isa},
                {.run = run_rest<Op, function, isa>, .supports = supports_rest<Op, function>});
    };
    add_many.template operator()<Sum, F::add>("Sum", "sum");
    add_many.template operator()<Mean, F::add>("Mean", "mean");
    add_many.template operator()<Min, F::minimum>("Min", "min");
    add_many.template operator()<Max, F::maximum>("Max", "max");
    k.add<Mod>({.op = "Mod", .name = cpu::kernel_name("mod", isa), .isa = isa},
               {.run = run_remainder<isa>, .supports = supports_remainder});
    const auto typed_binary = [&]<class Op, TypedBinaryOp op, bool reversed = false>(const char* node,
                                                                                     const char* name) {
      k.add<Op>({.op = node, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run_typed_binary<Op, op, reversed, isa>, .supports = supports_typed_binary<Op, op>});
    };
    typed_binary.template operator()<Equal, TypedBinaryOp::equal>("Equal", "equal");
    typed_binary.template operator()<Less, TypedBinaryOp::less>("Less", "less");
    typed_binary.template operator()<LessOrEqual, TypedBinaryOp::less_or_equal>("LessOrEqual",
                                                                                "less_or_equal");
    typed_binary.template operator()<Greater, TypedBinaryOp::less, true>("Greater", "greater");
    typed_binary.template operator()<GreaterOrEqual, TypedBinaryOp::less_or_equal, true>("GreaterOrEqual",
                                                                                         "greater_or_equal");
    typed_binary.template operator()<And, TypedBinaryOp::both>("And", "and");
    typed_binary.template operator()<Or, TypedBinaryOp::either>("Or", "or");
    typed_binary.template operator()<Xor, TypedBinaryOp::differ>("Xor", "xor");
    typed_binary.template operator()<BitwiseAnd, TypedBinaryOp::bit_and>("BitwiseAnd", "bitwise_and");
    typed_binary.template operator()<BitwiseOr, TypedBinaryOp::bit_or>("BitwiseOr", "bitwise_or");
    typed_binary.template operator()<BitwiseXor, TypedBinaryOp::bit_xor>("BitwiseXor", "bitwise_xor");
    k.add<BitShift>(
        {.op = "BitShift", .name = cpu::kernel_name("bit_shift", isa), .isa = isa, .overwrites = true},
        {.run = shift<isa>, .supports = supports_typed_binary<BitShift, TypedBinaryOp::shift_right>});
  });
  k.pointwise<Mod>("Mod", describe_remainder);
  k.pointwise<Equal>("Equal", describe_relation<Equal, F::equal, TypedBinaryOp::equal>);
  k.pointwise<Less>("Less", describe_relation<Less, F::less, TypedBinaryOp::less>);
  k.pointwise<LessOrEqual>("LessOrEqual",
                           describe_relation<LessOrEqual, F::less_or_equal, TypedBinaryOp::less_or_equal>);
  k.pointwise<Greater>("Greater", describe_relation<Greater, F::less, TypedBinaryOp::less, true>);
  k.pointwise<GreaterOrEqual>(
      "GreaterOrEqual",
      describe_relation<GreaterOrEqual, F::less_or_equal, TypedBinaryOp::less_or_equal, true>);
  // Booleans are 0 and 1 in programs.
  k.pointwise<And>("And", describe_relation<And, F::minimum, TypedBinaryOp::both>);
  k.pointwise<Or>("Or", describe_relation<Or, F::maximum, TypedBinaryOp::either>);
  k.pointwise<Xor>("Xor", describe_relation<Xor, F::differ, TypedBinaryOp::differ>);
  k.pointwise<BitwiseAnd>("BitwiseAnd", describe_typed_binary<BitwiseAnd, TypedBinaryOp::bit_and>);
  k.pointwise<BitwiseOr>("BitwiseOr", describe_typed_binary<BitwiseOr, TypedBinaryOp::bit_or>);
  k.pointwise<BitwiseXor>("BitwiseXor", describe_typed_binary<BitwiseXor, TypedBinaryOp::bit_xor>);
  k.pointwise<BitShift>("BitShift", describe_shift);
}

}  // namespace lathe
