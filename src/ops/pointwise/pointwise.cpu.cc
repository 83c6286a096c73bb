// Pointwise programs that stand alone. Their functions are those of the operators' own kernels, so that
// results are the same bit for bit.
#include "ops/pointwise/pointwise.h"

#include <variant>

#include "cpu/ask.h"
#include "cpu/mixed_pointwise.h"
#include "cpu/pointwise.h"

namespace lathe {
namespace {

/// A program, and what runs it: of float32 alone, or of values of any type.
struct Prepared {
  Prepared(Isa isa, Pointwise p)
      : types(*p.types()), made(p.code.back().made()), operands(p.operands), code(code_of(isa, p)) {}
  static std::variant<cpu::PointwiseCode, cpu::MixedCode> code_of(Isa isa, const Pointwise& p) {
    if (p.is_of_floats()) return cpu::PointwiseCode(isa, p);
    return cpu::MixedCode(isa, p);
  }
  std::vector<DataType> types;
  DataType made;
  size_t operands;
  std::variant<cpu::PointwiseCode, cpu::MixedCode> code;
};

void run(const void* op, KernelContext& c) {
  const auto& program = *static_cast<const Prepared*>(op);
  std::array<const Tensor*, Pointwise::most_operands> list;
  for (size_t i = 0; i < program.operands; ++i) list[i] = &c.in(i);
  const std::span<const Tensor* const> operands(list.data(), program.operands);
  Tensor& y = c.out(0);
  if (const auto* floats = std::get_if<cpu::PointwiseCode>(&program.code)) {
    cpu::PointwiseRun all(*floats, operands, y);
    return cpu::run_pointwise(all, y.size(), c);
  }
  cpu::MixedRun all(std::get<cpu::MixedCode>(program.code), operands, y);
  cpu::run_pointwise(all, y.size(), c);
}

Verdict ask(const void* op, const KernelRequest& r) {
  const auto& program = *static_cast<const Prepared*>(op);
  if (r.inputs.size() != program.operands || r.outputs.size() != 1)
    return Verdict::no("another number of operands");
  const auto refusal = [](DataType value, const KernelRequest::Operand& o) -> std::optional<Verdict> {
    if (lies_as(value, o.type)) return std::nullopt;
    return Verdict::no((value == DataType::float32 ? "only floats of up to 32 bits and bool"
                                                   : "only " + std::string(name_of(value))) +
                       ", not " + std::string(name_of(o.type)));
  };
  for (size_t i = 0; i < program.operands; ++i)
    if (const auto no = refusal(program.types[i], r.inputs[i])) return *no;
  if (const auto no = refusal(program.made, r.outputs[0])) return *no;
  return Verdict::yes();
}

Kernel kernel(std::string name, std::string backend, Isa isa) {
  Kernel k{.op = "Pointwise", .domain = "lathe", .name = std::move(name), .backend = std::move(backend)};
  k.isa = isa;
  k.overwrites = true;  // blocks go through the whole program before they are written, one after the other
  k.decode = [isa](const Attributes& a) -> std::shared_ptr<const void> {
    const auto op = decode<PointwiseOp>(a);
    return std::make_shared<const Prepared>(isa, Pointwise::from(op.code, op.constants));
  };
  k.ask = ask;
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
