// Cast between float32 and the common integers, plain loops, which compilers turn into vectors; and between
// float32 and the floats of 16 bits.
#include "ops/cast/cast.h"

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "cpu/half.h"
#include "tensor/element.h"

namespace lathe {
namespace {

inline constexpr Types<float, int32_t, int64_t, int8_t, uint8_t, bool> cast_types;

/// What x86 makes of a float that no integer holds, as the reference does; bools are true for all but 0.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_integral_v<From> || std::is_same_v<To, float>)
    return static_cast<To>(x);
  else if constexpr (std::is_same_v<To, int64_t>)
    return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? static_cast<int64_t>(x) : INT64_MIN;
  else
    return static_cast<To>(x >= -2147483648.0f && x < 2147483648.0f ? static_cast<int32_t>(x) : INT32_MIN);
}

template <class Op>
Verdict ask(const Op&, const KernelRequest& r) {
  const Verdict from = cpu::ask_type(r.inputs[0].type, cast_types);
  return from.accepted ? cpu::ask_type(r.outputs[0].type, cast_types) : from;
}

template <class Op>
void run(const Op&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  for_type(in.type(), cast_types, [&]<class From> {
    for_type(out.type(), cast_types, [&]<class To> {
      const From* from = in.as<From>().data();
      To* to = out.as<To>().data();
      c.parallel(in.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
        c.poll();
        for (int64_t i = begin; i < end; ++i) to[i] = converted<To>(from[i]);
      });
    });
  });
}

/// Between numbers and truths: what a truth is as a number, it is in a program already. So is what a number
/// of 16 bits is as float32; to be rounded is what becomes of a program's result.
template <class Op>
std::optional<Pointwise> describe(const Op&, const KernelRequest& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  const bool widens = (from == DataType::boolean || cpu::is_half(from)) && to == DataType::float32;
  if (widens || (from == DataType::float32 && cpu::is_half(to))) return Pointwise::unchanged();
  if (from == DataType::float32 && to == DataType::boolean) return Pointwise::unary(UnaryOp::truth);
  return std::nullopt;
}

template <class Op>
Verdict ask_half(const Op&, const KernelRequest& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  if ((cpu::is_half(from) && to == DataType::float32) || (from == DataType::float32 && cpu::is_half(to)))
    return Verdict::yes();
  return Verdict::no("only between float32 and a float of 16 bits");
}

template <class Op, Isa isa>
void run_half(const Op&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const auto at = [](auto* data, int64_t i) { return static_cast<uint16_t*>(data) + i; };
  c.parallel(in.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    c.poll();
    if (in.type() == DataType::float32)
      cpu::narrow(isa, out.type(), cpu::floats(in) + begin, at(out.data(), begin), end - begin);
    else
      cpu::widen(isa, in.type(), at(const_cast<void*>(in.data()), begin), cpu::floats(out) + begin,
                 end - begin);
  });
}

}  // namespace

void cpu_cast(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Cast>({.op = "Cast", .name = cpu::kernel_name("cast.half", isa), .isa = isa},
                {.run = run_half<Cast, isa>, .ask = ask_half<Cast>});
    k.add<CastLike>({.op = "CastLike", .name = cpu::kernel_name("cast_like.half", isa), .isa = isa},
                    {.run = run_half<CastLike, isa>, .ask = ask_half<CastLike>});
  });
  k.add<Cast>({.op = "Cast", .name = cpu::kernel_name("cast", Isa::generic)},
              {.run = run<Cast>, .ask = ask<Cast>});
  k.pointwise<Cast>("Cast", describe<Cast>);
  k.add<CastLike>({.op = "CastLike", .name = cpu::kernel_name("cast_like", Isa::generic)},
                  {.run = run<CastLike>, .ask = ask<CastLike>});
}

}  // namespace lathe
