// Cast between numbers of whole bytes and truths, loops that are compiled for each instruction set. Floats of
// 16 bits become float32 on the way.
#include "ops/cast/cast.h"

#include "cpu/ask.h"
#include "cpu/casts.h"
#include "cpu/elementwise.h"
#include "cpu/half.h"
#include "ops/poller.h"

namespace lathe {
namespace {

template <class Op>
Verdict ask_half(const Op&, const KernelRequest& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  if ((cpu::is_half(from) && to == DataType::float32) || (from == DataType::float32 && cpu::is_half(to)))
    return Verdict::yes();
  return Verdict::no("only between float32 and a float of 16 bits");
}

/// The numbers that a loop reads or makes: of 16 bits, those that they are widened to.
DataType as_computed(DataType t) { return cpu::is_half(t) ? DataType::float32 : t; }
/// Though there is a float32 on the way. To bfloat16 the reference rounds twice.
bool rounds_once(DataType from, DataType to) { return from == DataType::float64 && to == DataType::float16; }

template <class Op>
Verdict ask(const Op& op, const KernelRequest& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  if (ask_half(op, r).accepted) return Verdict::no("in one step");
  for (DataType t : {from, to})
    if (!cpu::casts(as_computed(t))) return Verdict::no("not for " + std::string(name_of(t)));
  return Verdict::yes();
}

template <class Op, Isa isa>
void run(const Op&, KernelContext& c) {
  constexpr int64_t together = 1024;  // elements that are float32 on the way
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const auto* const from = static_cast<const std::byte*>(in.data());
  auto* const to = static_cast<std::byte*>(out.data());
  const int64_t bytes = bits_of(in.type()) / 8, bytes_out = bits_of(out.type()) / 8;
  const bool widens = cpu::is_half(in.type()), narrows = cpu::is_half(out.type());
  const cpu::SingleRow row = rounds_once(in.type(), out.type())
                                 ? cpu::cast_kernels(isa).to_odd
                                 : cpu::cast_row(isa, as_computed(in.type()), as_computed(out.type()));
  const auto convert = [&](int64_t at, int64_t n) {
    alignas(64) float wide[together], made[together];
    const void* x = from + at * bytes;
    void* const y = to + at * bytes_out;
    if (widens) {
      cpu::widen(isa, in.type(), x, wide, n);
      x = wide;
    }
    row(x, narrows ? made : y, n);
    if (narrows) cpu::narrow(isa, out.type(), made, y, n);
  };
  const int64_t piece = widens || narrows ? together : cpu::elements_a_piece;
  c.parallel(in.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t i = begin; i < end; i += piece) {
      const int64_t n = std::min(piece, end - i);
      convert(i, n);
      poll.did(n);
    }
  });
}

/// Between numbers and truths: what a truth is as a number, it is in a program already. So is what a number
/// of 16 bits is as float32; to be rounded is what becomes of a program's result.
template <class Op>
std::optional<Pointwise> describe(const Op& op, const KernelRequest& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  const bool widens = (from == DataType::boolean || cpu::is_half(from)) && to == DataType::float32;
  if (widens || (from == DataType::float32 && cpu::is_half(to))) return Pointwise::unchanged();
  if (from == DataType::float32 && to == DataType::boolean) return Pointwise::unary(UnaryOp::truth);
  if (as_computed(from) == as_computed(to) || rounds_once(from, to) || !ask(op, r).accepted)
    return std::nullopt;
  return Pointwise::cast(as_computed(from), as_computed(to));
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
    k.add<Cast>({.op = "Cast", .name = cpu::kernel_name("cast", isa), .isa = isa},
                {.run = run<Cast, isa>, .ask = ask<Cast>});
    k.add<CastLike>({.op = "CastLike", .name = cpu::kernel_name("cast_like", isa), .isa = isa},
                    {.run = run<CastLike, isa>, .ask = ask<CastLike>});
  });
  k.pointwise<Cast>("Cast", describe<Cast>);
  k.pointwise<CastLike>("CastLike", describe<CastLike>);
}

}  // namespace lathe
