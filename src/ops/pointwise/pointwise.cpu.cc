// Pointwise programs that stand alone. Their functions are those of the operators' own kernels, so that
// results are the same bit for bit.
#include "ops/pointwise/pointwise.h"

#include "cpu/ask.h"
#include "cpu/pointwise.h"

namespace lathe {
namespace {

void run(const void* op, KernelContext& c) {
  const auto& code = *static_cast<const cpu::PointwiseCode*>(op);
  std::array<const Tensor*, Pointwise::most_operands> operands;
  for (size_t i = 0; i < code.operands(); ++i) operands[i] = &c.in(i);
  Tensor& y = c.out(0);
  cpu::PointwiseRun all(code, {operands.data(), code.operands()}, y);
  cpu::run_pointwise(all, y.size(), c);
}

Kernel kernel(std::string name, std::string backend, Isa isa) {
  Kernel k{.op = "Pointwise", .domain = "lathe", .name = std::move(name), .backend = std::move(backend)};
  k.isa = isa;
  k.overwrites = true;  // blocks go through the whole program before they are written, one after the other
  k.decode = [isa](const Attributes& a) -> std::shared_ptr<const void> {
    const auto op = decode<PointwiseOp>(a);
    return std::make_shared<const cpu::PointwiseCode>(isa, Pointwise::from(op.code, op.constants));
  };
  k.ask = [](const void* op, const KernelRequest& r) {
    for (std::span<const KernelRequest::Operand> list : {r.inputs, r.outputs})
      for (const KernelRequest::Operand& o : list)
        if (o.present && !is_number(o.type))
          return Verdict::no("only floats of up to 32 bits and bool, not " + std::string(name_of(o.type)));
    if (r.inputs.size() != static_cast<const cpu::PointwiseCode*>(op)->operands())
      return Verdict::no("another number of operands");
    return Verdict::yes();
  };
  k.run = run;
  return k;
}

}  // namespace

void cpu_pointwise(KernelCatalog& k) {
  k.add_codec(
      "Pointwise", "lathe",
      {[](const Attributes& a) -> std::shared_ptr<const void> {
         return std::make_shared<const PointwiseOp>(decode<PointwiseOp>(a));
       },
       [](const void* op, ShapeContext<int64_t>& c) { static_cast<const PointwiseOp*>(op)->shape(c); }});
  cpu::for_each_isa([&]<Isa isa>() { k.add(kernel(cpu::kernel_name("pointwise", isa), "cpu", isa)); });
}

}  // namespace lathe
