#include "ops/dropout/dropout.h"

#include "schema/downgrade.h"
#include "schema/node_builder.h"
#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

// Versions 1 and 6 have an attribute that disables training; from 7 on the operator itself is for inference,
// and runtimes for inference treat the older ones alike.
void dropout_7_from_6(UpgradeContext& u) {
  u.node().attributes.erase("is_test");
  u.node().attributes.erase("consumed_inputs");
}

// The mask had the type of the data.
void dropout_10_from_7(UpgradeContext& u) {
  const auto& outputs = u.node().outputs;
  if (outputs.size() < 2 || outputs[1] == no_id) return;
  Attributes to;
  to.set("to", static_cast<int64_t>(u.input_type(0).elem));
  u.append(1, "Cast", {}, std::move(to));
}

void dropout_12_from_10(UpgradeContext& u) {
  const float ratio = u.node().attributes.get<float>("ratio", 0.5f);
  u.node().attributes.erase("ratio");
  set_input(u, 1, u.add_constant(Tensor::scalar(ratio), "ratio"));
  // Older versions do not define the mask outside of training. ONNX Runtime, which the models were run by,
  // gives zeros, while version 12 marks all elements as kept.
  if (u.node().outputs.has(1)) u.append(1, "Not", {}, {});
}

/// The older mask is useless for inference, because its contents are not defined.
bool dropout_10_from_12(RewriteContext& c) {
  Node& n = c.node();
  if (n.outputs.size() > 1 && n.outputs[1] != no_id)
    return c.cannot("what output 'mask' holds older ones do not say");
  if (n.inputs.size() > 2 && n.inputs[2] != no_id) {
    const Tensor* training = c.constant(n.inputs[2]);
    if (!training) return cannot_be_computed(c, "training_mode");
    if (training->type() != DataType::boolean || training->size() != 1 || load_int(*training, 0) != 0)
      return c.cannot("older ones do not train, and 'training_mode' is not false");
  }
  if (n.inputs.size() > 1 && n.inputs[1] != no_id) {
    const auto ratio = constant_float(c, 1);
    if (!ratio && c.constant(n.inputs[1])) return c.cannot("in older ones 'ratio' is a number of float");
    if (!ratio) return cannot_be_computed(c, "ratio");
    n.attributes.set("ratio", *ratio);
  }
  n.inputs.resize(1);
  n.attributes.erase("seed");  // of numbers that are not drawn
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Outside of training all elements are kept, and the mask is true.
std::vector<ValueId> dropout(DecomposeContext& c) {
  if (c.opset() >= 12) return in_wider_types(c);
  const ValueId x = input(c, 0);
  if (has(c, 2)) {
    const Tensor* training = c.constant(input(c, 2));
    if (!training || training->size() != 1 || load_int(*training, 0) != 0)
      unsupported("'training_mode' to be a constant and false",
                  training ? "true" : "one that a run computes");
  }
  std::vector<ValueId> made{one(c, "Identity", {x})};
  if (wants(c, 1))
    made.push_back(
        one(c, "ConstantOfShape", {one(c, "Shape", {x})}, with("value", Tensor::scalar(true).reshaped({1}))));
  return made;
}

}  // namespace
}  // namespace decomposition

void declare_dropout(SchemaCatalog& c) {
  c.add("Dropout")
      .version(
          1,
          "(data: T) -> (output: T, mask?: T) {is_test: int = 0, consumed_inputs: ints, ratio: float = 0.5} "
          "[T: @float]")
      .version(6, "(data: T) -> (output: T, mask?: T) {is_test: int = 0, ratio: float = 0.5} [T: @float]")
      .version(7, "(data: T) -> (output: T, mask?: T) {ratio: float = 0.5} [T: @float]", dropout_7_from_6)
      .version(10, "(data: T) -> (output: T, mask?: T1) {ratio: float = 0.5} [T: @float; T1: bool]",
               dropout_10_from_7, as_it_is)
      .version(
          12,
          "(data: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T2) {seed: int} [T: @float; T1: "
          "@float; T2: bool]",
          dropout_12_from_10, dropout_10_from_12)
      .version(
          13,
          "(data: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T2) {seed: int} [T: @float_13; "
          "T1: @float; T2: bool]")
      .version(
          22,
          "(data: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T2) {seed: int} [T: @float_13 "
          "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T1: @float_13 float8e4m3fn float8e4m3fnuz "
          "float8e5m2 float8e5m2fnuz; T2: bool]")
      .rule<Dropout>()
      .decompose(decomposition::dropout)
      .tolerance({.epsilons = 1});
}

}  // namespace lathe
