// Pointwise programs that stand alone. Their functions are those of the operators' own kernels, so that
// results are the same bit for bit.
#include "ops/pointwise/pointwise.h"

#include <variant>

#include "cpu/elementwise.h"
#include "cpu/support.h"

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
  std::array<const Tensor*, Pointwise::max_operands> list;
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

Support supports(const void* op, const KernelQuery& r) {
  const auto& program = *static_cast<const Prepared*>(op);
  if (r.inputs.size() != program.operands || r.outputs.size() != 1)
    return Support::no("another number of operands");
  const auto refusal = [](DataType value, const KernelQuery::Operand& o) -> std::optional<Support> {
    if (may_be_in_memory_as(value, o.type)) return std::nullopt;
    return Support::no((value == DataType::float32 ? "only floats of up to 32 bits and bool"
                                                   : "only " + std::string(name_of(value))) +
                       ", not " + std::string(name_of(o.type)));
  };
  for (size_t i = 0; i < program.operands; ++i)
    if (const auto no = refusal(program.types[i], r.inputs[i])) return *no;
  if (const auto no = refusal(program.made, r.outputs[0])) return *no;
  return Support::yes();
}

Kernel kernel(std::string name, std::string backend, Isa isa) {
  Kernel k{.op = "Pointwise", .domain = "lathe", .name = std::move(name), .backend = std::move(backend)};
  k.isa = isa;
  k.overwrites = true;  // a block goes through the whole program before it is written
  k.decode = [isa](const Attributes& a) -> std::shared_ptr<const void> {
    const auto op = decode<PointwiseOp>(a);
    return std::make_shared<const Prepared>(isa, Pointwise::from(op.code, op.constants));
  };
  k.supports = supports;
  k.run = run;
  return k;
}

}  // namespace

void cpu_pointwise(KernelCatalog& k) {
  k.replaces_described("Pointwise");
  k.add_codec(
      "Pointwise", "lathe",
      {[](const Attributes& a) -> std::shared_ptr<const void> {
         return std::make_shared<const PointwiseOp>(decode<PointwiseOp>(a));
       },
       [](const void* op, ShapeContext<int64_t>& c) { static_cast<const PointwiseOp*>(op)->shape(c); }});
  cpu::for_each_isa([&]<Isa isa>() { k.add(kernel(cpu::kernel_name("pointwise", isa), "cpu", isa)); });
  k.compiles_epilogues(cpu::compile_epilogue);
}

}  // namespace lathe
