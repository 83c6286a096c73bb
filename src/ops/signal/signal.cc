#include "ops/signal/signal.h"

#include "ops/element_type.h"
#include "schema/downgrade.h"
#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The axis was an attribute, and 1 where it was left out.
void dft_20_from_17(UpgradeContext& u) {
  const int64_t axis = u.node().attributes.get<int64_t>("axis", 1);
  u.node().attributes.erase("axis");
  set_input(u, 2, u.add_constant(Tensor::from<int64_t>({}, std::span(&axis, 1)), "axis"));
}

bool dft_17_from_20(RewriteContext& c) {
  Node& n = c.node();
  int64_t axis = -2;
  if (n.inputs.size() > 2 && n.inputs[2] != no_id) {
    const Tensor* given = c.constant(n.inputs[2]);
    if (!given || given->size() != 1) return false;
    axis = load_int(*given, 0);
  }
  n.inputs.resize(n.inputs.size() > 1 && n.inputs[1] != no_id ? 2 : 1);
  n.attributes.set("axis", axis);
  return true;
}

DataType wanted_type(const Node& n, std::span<const ValueType>) {
  return element_type(n.attributes.get<int64_t>("output_datatype", 1), "output_datatype");
}

}  // namespace

void declare_signal(SchemaCatalog& c) {
  c.add("DFT")
      .version(17,
               "(input: T1, dft_length?: T2) -> (output: T1) {axis: int = 1, inverse: int = 0, onesided: int "
               "= 0} [T1: @float_13; T2: @index]")
      .version(20,
               "(input: T1, dft_length?: T2, axis?: int64) -> (output: T1) {inverse: int = 0, onesided: int "
               "= 0} [T1: @float_13; T2: @index]",
               dft_20_from_17, dft_17_from_20)
      .rule<Dft>()
      .contract({.epsilons = 64});
  c.add("STFT")
      .version(17,
               "(signal: T1, frame_step: T2, window?: T1, frame_length?: T2) -> (output: T1) {onesided: int "
               "= 1} [T1: @float_13; T2: @index]")
      .rule<ShortTimeDft>()
      .contract({.epsilons = 64});
  for (const char* name : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    c.add(name)
        .version(17,
                 "(size: T1) -> (output: T2) {output_datatype: int = 1, periodic: int = 1} [T1: @index; T2: "
                 "@number_13]")
        .rule<Window>()
        .output_type(wanted_type)
        .contract({.epsilons = 8});
  c.add("MelWeightMatrix")
      .version(17,
               "(num_mel_bins: T1, dft_length: T1, sample_rate: T1, lower_edge_hertz: T2, upper_edge_hertz: "
               "T2) -> (output: T3) {output_datatype: int = 1} [T1: @index; T2: @float_13; T3: @number_13]")
      .rule<MelWeightMatrix>()
      .output_type(wanted_type)
      .contract({.epsilons = 8});
}

}  // namespace lathe
