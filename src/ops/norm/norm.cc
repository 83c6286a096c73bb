#include "ops/norm/norm.h"

#include <array>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Before version 7 the number of outputs decided whether a node trains, unless is_test disabled it.
void batch_norm_7_from_6(UpgradeContext& u) {
  Node& node = u.node();
  if (node.attributes.get<int64_t>("is_test", 0) != 0 && node.outputs.size() > 1) node.outputs.resize(1);
  node.attributes.erase("is_test");
}

/// Statistics for each activation instead of each channel: every activation becomes a channel.
void batch_norm_9_from_7(UpgradeContext& u) {
  Node& node = u.node();
  const bool per_activation = node.attributes.get<int64_t>("spatial", 1) == 0;
  node.attributes.erase("spatial");
  if (!per_activation) return;
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_id)
      throw Error(Code::node_cannot_convert, "import", "one output of BatchNormalization with spatial = 0",
                  "a node for training");
  const ValueId x = node.inputs[0];
  const ValueId shape = u.insert("Shape", {x}, {})[0];
  const ValueId row = u.add_constant(int64_vector(std::array<int64_t, 1>{-1}), "row");
  Attributes axis;
  axis.set("axis", int64_t{1});
  u.node().inputs.set(0, u.insert("Flatten", {x}, axis)[0]);
  for (size_t i = 1; i <= 4; ++i)
    u.node().inputs.set(i, u.insert("Reshape", {u.node().inputs[i], row}, {})[0]);
  Attributes zeros_stay;
  zeros_stay.set("allowzero", int64_t{1});
  u.append(0, "Reshape", {shape}, zeros_stay);
}

/// Before version 14 a node of more than one output trains. The saved mean and variance, which only gradients
/// read, are dropped.
void batch_norm_14_from_9(UpgradeContext& u) {
  Node& node = u.node();
  bool training = false;
  for (size_t i = 1; i < node.outputs.size(); ++i) training = training || node.outputs[i] != no_id;
  if (node.outputs.size() > 3) node.outputs.resize(3);
  if (training) node.attributes.set("training_mode", int64_t{1});
}

/// ONNX Runtime wrote this operator into models before the standard had it, and lets X be of another type
/// than the other inputs and Y. Since it does not check the attributes of its own operators, some models
/// misspell one, to no effect.
void layer_norm_17_from_1(UpgradeContext& u) {
  u.ignore_attribute("epsion", "did you mean 'epsilon'? It has its default, as in ONNX Runtime");
  const DataType x = u.input_type(0).elem, scale = u.input_type(1).elem;
  if (x == scale || scale == DataType::undefined) return;
  Attributes to;
  to.set("to", static_cast<int64_t>(scale));
  u.node().inputs.set(0, u.insert("Cast", {u.node().inputs[0]}, to)[0]);
}

/// Scale and bias of each group become those of its channels.
void group_norm_21_from_18(UpgradeContext& u) {
  const auto groups = u.node().attributes.get<int64_t>("num_groups", 0);
  const ValueType x = u.input_type(0);
  const auto channels = x.shape && x.shape->size() >= 2 ? known((*x.shape)[1]) : std::nullopt;
  if (groups < 1 || (channels && *channels % groups != 0))
    throw Error(Code::node_cannot_convert, "import",
                "a number of channels that num_groups " + std::to_string(groups) + " divides", x.str());
  using namespace node_builder;
  const ValueId wide =
      channels
          ? ints(u, {groups, *channels / groups})
          : concat(u,
                   {ints(u, {groups}), one(u, "Div", {length(u, u.node().inputs[0], 1), ints(u, {groups})})},
                   0);
  for (size_t i : {1, 2}) {
    const ValueId copies = one(u, "Expand", {reshaped(u, u.node().inputs[i], {-1, 1}), wide});
    u.node().inputs.set(i, reshaped(u, copies, {-1}));
  }
}

/// The type of the statistics, from stash_type.
DataType stash_type(const Node& node, std::span<const ValueType>) {
  return static_cast<DataType>(node.attributes.get<int64_t>("stash_type", 1));
}

constexpr ToleranceSpec statistics{.epsilons = 8, .per_reduced = true};

bool batch_norm_9_from_14(RewriteContext& c) {
  Node& n = c.node();
  if (n.attributes.get<int64_t>("training_mode", 0) != 0)
    return c.cannot("older ones have no 'training_mode'");
  if (n.outputs.size() != 1) return c.cannot("more outputs than one mean something else in older ones");
  n.attributes.erase("training_mode");
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// float64 if the data or its statistics are, else float32.
DataType statistics_type(DataType data, int64_t stash_type) {
  const auto stash = static_cast<DataType>(stash_type);
  return data == DataType::float64 || stash == DataType::float64 ? DataType::float64 : DataType::float32;
}

/// The axes from `axis` on.
std::vector<int64_t> axes_from(DecomposeContext& c, ValueId x, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t a = axis, end = axis < 0 ? 0 : rank_of(c, x); a < end; ++a) axes.push_back(a);
  return axes;
}

ValueId mean_of_squares(DecomposeContext& c, ValueId x, const std::vector<int64_t>& axes) {
  return reduced(c, "ReduceMean", one(c, "Mul", {x, x}), axes);
}

/// 1 / sqrt(variance + epsilon)
ValueId inverse_deviation(DecomposeContext& c, ValueId variance, float epsilon) {
  return one(c, "Reciprocal", {one(c, "Sqrt", {plus(c, variance, static_cast<double>(epsilon))})});
}

struct Normalized {
  ValueId y, mean, variance, inverse;
};
/// (x - mean) / deviation over some axes.
Normalized normalized(DecomposeContext& c, ValueId x, const std::vector<int64_t>& axes, float epsilon) {
  const ValueId mean = reduced(c, "ReduceMean", x, axes), centered = one(c, "Sub", {x, mean});
  const ValueId variance = mean_of_squares(c, centered, axes);
  const ValueId inverse = inverse_deviation(c, variance, epsilon);
  return {one(c, "Mul", {centered, inverse}), mean, variance, inverse};
}

std::vector<ValueId> layer_normalization(DecomposeContext& c) {
  const auto op = decode<LayerNormalization>(c.node().attributes);
  const DataType type = elem_of(c, input(c, 0)), wide = statistics_type(type, op.stash_type);
  const ValueId x = cast(c, input(c, 0), wide);
  const Normalized n = normalized(c, x, axes_from(c, x, op.axis), op.epsilon);
  ValueId y = one(c, "Mul", {n.y, cast(c, input(c, 1), wide)});
  if (has(c, 2)) y = one(c, "Add", {y, cast(c, input(c, 2), wide)});
  std::vector<ValueId> outputs{cast(c, y, type)};
  for (size_t i = 1; i < c.node().outputs.size(); ++i)
    outputs.push_back(wants(c, i) ? cast(c, i == 1 ? n.mean : n.inverse, static_cast<DataType>(op.stash_type))
                                  : no_id);
  return outputs;
}

std::vector<ValueId> rms_normalization(DecomposeContext& c) {
  const auto op = decode<RmsNormalization>(c.node().attributes);
  const DataType wide = statistics_type(elem_of(c, input(c, 0)), op.stash_type);
  const ValueId x = cast(c, input(c, 0), wide);
  const ValueId inverse = inverse_deviation(c, mean_of_squares(c, x, axes_from(c, x, op.axis)), op.epsilon);
  const ValueId y = one(c, "Mul", {one(c, "Mul", {x, inverse}), cast(c, input(c, 1), wide)});
  return {cast(c, y, elem_of(c, input(c, 1)))};
}

/// One number for each channel, as it broadcasts to [N, C, …].
ValueId of_channels(DecomposeContext& c, ValueId v, int64_t rank, DataType type) {
  std::vector<int64_t> spatial;
  for (int64_t a = 1; a + 1 < rank; ++a) spatial.push_back(a);
  v = cast(c, v, type);
  return spatial.empty() ? v : unsqueezed(c, v, spatial);
}

std::vector<ValueId> group_normalization(DecomposeContext& c) {
  const auto op = decode<GroupNormalization>(c.node().attributes);
  const DataType type = elem_of(c, input(c, 0)), wide = statistics_type(type, op.stash_type);
  const ValueId x = cast(c, input(c, 0), wide);
  const int64_t rank = rank_of(c, x);
  const Normalized n = normalized(c, reshaped(c, x, {0, op.num_groups, -1}), {-1}, op.epsilon);
  const ValueId back = one(c, "Reshape", {n.y, one(c, "Shape", {x})});
  const ValueId scaled = one(c, "Mul", {back, of_channels(c, input(c, 1), rank, wide)});
  return {cast(c, one(c, "Add", {scaled, of_channels(c, input(c, 2), rank, wide)}), type)};
}

/// In training the statistics are those of the batch.
std::vector<ValueId> batch_normalization(DecomposeContext& c) {
  const auto op = decode<BatchNormalization>(c.node().attributes);
  if (!op.training_mode) return in_wider_types(c);
  const DataType type = elem_of(c, input(c, 0)), wide = statistics_type(type, 1);
  const ValueId x = cast(c, input(c, 0), wide);
  const int64_t rank = rank_of(c, x);
  std::vector<int64_t> axes{0};
  for (int64_t a = 2; a < rank; ++a) axes.push_back(a);
  const Normalized n = normalized(c, x, axes, op.epsilon);
  const ValueId scaled = one(c, "Mul", {n.y, of_channels(c, input(c, 1), rank, wide)});
  std::vector<ValueId> outputs{
      cast(c, one(c, "Add", {scaled, of_channels(c, input(c, 2), rank, wide)}), type)};
  const auto momentum = static_cast<double>(op.momentum);
  for (size_t i = 1; i < c.node().outputs.size(); ++i) {
    const ValueId now = reshaped(c, i == 1 ? n.mean : n.variance, {-1});
    const ValueId before = cast(c, input(c, i + 2), wide);
    const ValueId both = one(c, "Add", {times(c, before, momentum), times(c, now, 1 - momentum)});
    outputs.push_back(wants(c, i) ? cast(c, both, elem_of(c, input(c, i + 2))) : no_id);
  }
  return outputs;
}

/// Subtracts the mean and divides by the deviation.
std::vector<ValueId> mean_variance(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  const ValueId given = input(c, 0), x = widened(c, given);
  const auto axes = decode<MeanVarianceNormalization>(c.node().attributes).axes;
  const ValueId apart = one(c, "Sub", {x, reduced(c, "ReduceMean", x, axes)});
  const ValueId variance = reduced(c, "ReduceMean", one(c, "Mul", {apart, apart}), axes);
  const ValueId deviation = plus(c, one(c, "Sqrt", {variance}), 1e-9);
  return {cast(c, one(c, "Div", {apart, deviation}), elem_of(c, given))};
}

}  // namespace
}  // namespace decomposition

void declare_norm(SchemaCatalog& c) {
  c.add("BatchNormalization")
      .version(1,
               "(X: T, scale: T, B: T, mean: T, var: T) -> (Y: T, mean?: T, var?: T, saved_mean?: T, "
               "saved_var?: T) {consumed_inputs: ints!, momentum: float = 0.8999999761581421, epsilon: float "
               "= 9.999999747378752e-06, is_test: int = 0, spatial: int = 1} [T: @float]")
      .version(6,
               "(X: T, scale: T, B: T, mean: T, var: T) -> (Y: T, mean?: T, var?: T, saved_mean?: T, "
               "saved_var?: T) {momentum: float = 0.8999999761581421, epsilon: float = "
               "9.999999747378752e-06, is_test: int = 0, spatial: int = 1} [T: @float]")
      .version(7,
               "(X: T, scale: T, B: T, mean: T, var: T) -> (Y: T, mean?: T, var?: T, saved_mean?: T, "
               "saved_var?: T) {momentum: float = 0.8999999761581421, epsilon: float = "
               "9.999999747378752e-06, spatial: int = 1} [T: @float]",
               batch_norm_7_from_6)
      .version(
          9,
          "(X: T, scale: T, B: T, mean: T, var: T) -> (Y: T, mean?: T, var?: T, saved_mean?: T, saved_var?: "
          "T) {momentum: float = 0.8999999761581421, epsilon: float = 9.999999747378752e-06} [T: @float]",
          batch_norm_9_from_7, as_it_is)
      .version(14,
               "(X: T, scale: T, B: T, input_mean: U, input_var: U) -> (Y: T, running_mean?: U, "
               "running_var?: U) {training_mode: int = 0, momentum: float = 0.8999999761581421, epsilon: "
               "float = 9.999999747378752e-06} [T: @float_13; U: @float_13]",
               batch_norm_14_from_9, batch_norm_9_from_14)
      .version(15,
               "(X: T, scale: T1, B: T1, input_mean: T2, input_var: T2) -> (Y: T, running_mean?: T2, "
               "running_var?: T2) {training_mode: int = 0, momentum: float = 0.8999999761581421, epsilon: "
               "float = 9.999999747378752e-06} [T: @float_13; T1: @float_13; T2: @float_13]")
      .rule<BatchNormalization>()
      .decompose(decomposition::batch_normalization)
      .tolerance(statistics);
  c.add("InstanceNormalization")
      .version(1,
               "(input: T, scale: T, B: T) -> (output: T) {epsilon: float = 9.999999747378752e-06, "
               "consumed_inputs: ints} [T: @float]")
      .version(
          6, "(input: T, scale: T, B: T) -> (output: T) {epsilon: float = 9.999999747378752e-06} [T: @float]")
      .version(
          22,
          "(input: T, scale: T, B: T) -> (output: T) {epsilon: float = 9.999999747378752e-06} [T: @float_13]")
      .rule<InstanceNormalization>()
      .decompose(node_builder::in_wider_types)
      .tolerance(statistics);
  c.add("LayerNormalization")
      .version(1,
               "(X: T, Scale: V, B?: V) -> (Y: V, Mean?: U, InvStdDev?: U) {epsion: float, stash_type: int = "
               "1, epsilon: float = 9.999999747378752e-06, axis: int = -1} [T: @float_13; V: @float_13; U: "
               "float bfloat16]")
      .version(17,
               "(X: T, Scale: T, B?: T) -> (Y: T, Mean?: U, InvStdDev?: U) {stash_type: int = 1, epsilon: "
               "float = 9.999999747378752e-06, axis: int = -1} [T: @float_13; U: float bfloat16]",
               layer_norm_17_from_1)
      .rule<LayerNormalization>()
      .decompose(decomposition::layer_normalization)
      .output_type(stash_type, 1)
      .output_type(stash_type, 2)
      .tolerance(statistics);
  c.add("GroupNormalization")
      .version(18,
               "(X: T, scale: T, bias: T) -> (Y: T) {num_groups: int!, epsilon: float = "
               "9.999999747378752e-06} [T: @float_13]")
      .version(21,
               "(X: T, scale: T, bias: T) -> (Y: T) {stash_type: int = 1, num_groups: int!, epsilon: float = "
               "9.999999747378752e-06} [T: @float_13]",
               group_norm_21_from_18)
      .rule<GroupNormalization>()
      .decompose(decomposition::group_normalization)
      .tolerance(statistics);
  c.add("RMSNormalization")
      .version(23,
               "(X: T, scale: V) -> (Y: V) {stash_type: int = 1, epsilon: float = 9.999999747378752e-06, "
               "axis: int = -1} [T: @float_13; V: @float_13]")
      .rule<RmsNormalization>()
      .decompose(decomposition::rms_normalization)
      .tolerance(statistics);
  c.add("LRN")
      .version(1,
               "(X: T) -> (Y: T) {bias: float = 1, beta: float = 0.75, alpha: float = 9.999999747378752e-05, "
               "size: int!} [T: @float]")
      .version(13,
               "(X: T) -> (Y: T) {bias: float = 1, beta: float = 0.75, alpha: float = 9.999999747378752e-05, "
               "size: int!} [T: @float_13]")
      .rule<Lrn>()
      .tolerance(statistics);
  c.add("LpNormalization")
      .version(1, "(input: T) -> (output: T) {p: int = 2, axis: int = -1} [T: @float]")
      .version(22, "(input: T) -> (output: T) {p: int = 2, axis: int = -1} [T: @float_13]")
      .rule<LpNormalization>()
      .decompose(node_builder::in_wider_types)
      .tolerance(statistics);
  c.add("MeanVarianceNormalization")
      .version(9, "(X: T) -> (Y: T) {axes: ints = [0,2,3]} [T: @float]")
      .version(13, "(X: T) -> (Y: T) {axes: ints = [0,2,3]} [T: @float_13]")
      .rule<MeanVarianceNormalization>()
      .decompose(decomposition::mean_variance)
      .tolerance(statistics);
}

}  // namespace lathe
