#include "ops/optimizer_step/optimizer_step.h"

#include "schema/schema.h"

namespace lathe {
namespace {

/// Each output has the type of its tensor or of its state.
template <class Op, size_t output>
DataType type_of_output(const Node& n, std::span<const ValueType> inputs) {
  const size_t trained = inputs.size() < 2 ? 0 : (inputs.size() - 2) / Op::groups;
  const size_t from = Op::source(output, trained);
  return trained > 0 && from < inputs.size() ? inputs[from].elem : DataType::undefined;
}

/// Declares the types of as many outputs as a node is expected to have.
template <class Op, size_t... output>
void type_outputs(OpSchema& schema, std::index_sequence<output...>) {
  (schema.output_type(type_of_output<Op, output>, output), ...);
}

template <class Op>
void declare(SchemaCatalog& c, const char* name, const char* signature) {
  OpSchema& schema = c.add("ai.onnx.preview.training", name);
  schema.version(1, signature).rule<Op>().tolerance({.epsilons = 32});
  type_outputs<Op>(schema, std::make_index_sequence<64>());
}

}  // namespace

void declare_optimizer_step(SchemaCatalog& c) {
  declare<Adagrad>(
      c, "Adagrad",
      "(R: T1, T: T2, inputs~1: T3) -> (outputs~1: T3) {decay_factor: float = 0, epsilon: float = "
      "9.999999974752427e-07, norm_coefficient: float = 0} [T1: float double; T2: int64; T3: float double]");
  declare<Momentum>(
      c, "Momentum",
      "(R: T1, T: T2, inputs~1: T3) -> (outputs~1: T3) {alpha: float!, beta: float!, mode: string!, "
      "norm_coefficient: float!} [T1: float double; T2: int64; T3: float double]");
  declare<Adam>(
      c, "Adam",
      "(R: T1, T: T2, inputs~1: T3) -> (outputs~1: T3) {alpha: float = 0.8999999761581421, beta: float = "
      "0.9990000128746033, epsilon: float = 9.999999974752427e-07, norm_coefficient: float = 0, "
      "norm_coefficient_post: float = 0} [T1: float double; T2: int64; T3: float double]");
}

}  // namespace lathe
