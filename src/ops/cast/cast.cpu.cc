// Cast between numbers of whole bytes and booleans, loops that are compiled for each instruction set. Floats
// of 16 bits are converted by way of float32.
#include "ops/cast/cast.h"

#include "cpu/elementwise.h"
#include "cpu/simd/f16.h"
#include "cpu/support.h"
#include "ops/poller.h"

namespace lathe {
namespace {

template <class Op>
Support supports_f16(const Op&, const KernelQuery& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  if ((cpu::is_f16(from) && to == DataType::float32) || (from == DataType::float32 && cpu::is_f16(to)))
    return Support::yes();
  return Support::no("only between float32 and a float of 16 bits");
}

/// The numbers that a loop reads or makes: of 16 bits, those that they are widened to.
DataType as_computed(DataType t) { return cpu::is_f16(t) ? DataType::float32 : t; }
/// Though there is a float32 on the way. To bfloat16 the reference rounds twice.
bool rounds_once(DataType from, DataType to) { return from == DataType::float64 && to == DataType::float16; }

template <class Op>
Support supports(const Op& op, const KernelQuery& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  if (supports_f16(op, r).accepted) return Support::no("in one step");
  for (DataType t : {from, to})
    if (!cpu::casts(as_computed(t))) return Support::no("not for " + std::string(name_of(t)));
  return Support::yes();
}

template <class Op, Isa isa>
void run(const Op&, KernelContext& c) {
  constexpr int64_t together = 1024;  // elements that are float32 on the way
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const auto* const from = static_cast<const std::byte*>(in.data());
  auto* const to = static_cast<std::byte*>(out.data());
  const int64_t bytes = bits_of(in.type()) / 8, bytes_out = bits_of(out.type()) / 8;
  const bool widens = cpu::is_f16(in.type()), narrows = cpu::is_f16(out.type());
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

/// Describes casts. Programs hold booleans and numbers of 16 bits as float32, so these are unchanged, and a
/// program's result is rounded when it is stored.
template <class Op>
std::optional<Pointwise> describe(const Op& op, const KernelQuery& r) {
  const DataType from = r.inputs[0].type, to = r.outputs[0].type;
  const bool widens = (from == DataType::boolean || cpu::is_f16(from)) && to == DataType::float32;
  if (widens || (from == DataType::float32 && cpu::is_f16(to))) return Pointwise::unchanged();
  if (from == DataType::float32 && to == DataType::boolean) return Pointwise::unary(UnaryOp::not_zero);
  if (as_computed(from) == as_computed(to) || rounds_once(from, to) || !supports(op, r).accepted)
    return std::nullopt;
  return Pointwise::cast(as_computed(from), as_computed(to));
}

template <class Op, Isa isa>
void run_f16(const Op&, KernelContext& c) {
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
    k.add<Cast>({.op = "Cast", .name = cpu::kernel_name("cast.f16", isa), .isa = isa},
                {.run = run_f16<Cast, isa>, .supports = supports_f16<Cast>});
    k.add<CastLike>({.op = "CastLike", .name = cpu::kernel_name("cast_like.f16", isa), .isa = isa},
                    {.run = run_f16<CastLike, isa>, .supports = supports_f16<CastLike>});
    k.add<Cast>({.op = "Cast", .name = cpu::kernel_name("cast", isa), .isa = isa},
                {.run = run<Cast, isa>, .supports = supports<Cast>});
    k.add<CastLike>({.op = "CastLike", .name = cpu::kernel_name("cast_like", isa), .isa = isa},
                    {.run = run<CastLike, isa>, .supports = supports<CastLike>});
  });
  k.pointwise<Cast>("Cast", describe<Cast>);
  k.pointwise<CastLike>("CastLike", describe<CastLike>);
}

}  // namespace lathe
