#include "ops/signal/signal.h"

#include <limits>
#include <numbers>

#include "ops/element_type.h"
#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// In version 17 the axis was an attribute, by default 1.
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
    if (!given || given->size() != 1) return cannot_be_computed(c, "axis");
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

namespace decomposition {
using namespace node_builder;
namespace {

/// 2π i j / n for positions i and frequencies j, [positions, frequencies]; `length` is a list of one.
ValueId angles(DecomposeContext& c, ValueId places, ValueId frequencies, ValueId length, DataType type) {
  const ValueId steps = one(c, "Mod", {one(c, "Mul", {unsqueezed(c, places, {1}), frequencies}), length});
  return times(c, one(c, "Div", {cast(c, steps, type), cast(c, length, type)}), 2 * std::numbers::pi);
}

/// The weight of a frequency in a one-sided spectrum: those between the first and the middle count twice.
ValueId shares(DecomposeContext& c, ValueId places, ValueId length, DataType type) {
  const ValueId twice = times(c, places, 2);
  const ValueId single = one(c, "Equal", {one(c, "Mod", {twice, length}), int_scalar(c, 0)});
  return unsqueezed(c, one(c, "Where", {single, number(c, 1, type), number(c, 2, type)}), {1});
}

/// Transforms along a known axis, by products with cosines and sines.
ValueId dft_along(DecomposeContext& c, std::span<const ValueId> operands, int64_t axis) {
  const auto op = decode<Dft>(c.node().attributes);
  const bool to_real = op.inverse && op.onesided;
  const ValueId given = operands[0], last = ints(c, {std::numeric_limits<int64_t>::max()});
  const auto parts = known(size_of(c, given, -1));
  if (!parts) unsupported("signals that are known to be real or complex", c.type(given).str());
  const DataType type = DataType::float64;
  ValueId length_of = operands.size() > 1 ? operands[1] : no_id;
  if (length_of != no_id)
    length_of = one(c, "Reshape", {cast(c, length_of, DataType::int64), ints(c, {1})});
  else
    length_of = to_real ? times(c, plus(c, length(c, given, axis), -1), 2) : length(c, given, axis);
  const auto half = [&] { return plus(c, one(c, "Div", {length_of, int_scalar(c, 2)}), 1); };

  // Transposes to [parts, …, positions].
  const int64_t rank = rank_of(c, given);
  std::vector<int64_t> there{rank - 1}, back(static_cast<size_t>(rank));
  for (int64_t a = 0; a + 1 < rank; ++a)
    if (a != axis) there.push_back(a);
  there.push_back(axis);
  for (int64_t a = 0; a < rank; ++a) back[static_cast<size_t>(there[static_cast<size_t>(a)])] = a;
  const ValueId x = transposed(c, cast(c, given, type), there);
  const ValueId used = sliced(c, x, ints(c, {0}), to_real ? half() : length_of, -1);
  const auto part = [&](int64_t i) { return sliced(c, used, ints(c, {i}), i == 0 ? ints(c, {1}) : last, 0); };

  const ValueId places = count_up(c, length(c, used, -1));
  const ValueId frequencies = count_up(c, op.onesided && !op.inverse ? half() : length_of);
  const ValueId angle = angles(c, places, frequencies, length_of, type);
  ValueId cosine = one(c, "Cos", {angle}), sine = one(c, "Sin", {angle});
  if (op.inverse) {
    const ValueId n = cast(c, length_of, type);
    ValueId weight =
        to_real ? one(c, "Div", {shares(c, places, length_of, type), n}) : one(c, "Reciprocal", {n});
    cosine = one(c, "Mul", {cosine, weight});
    sine = one(c, "Neg", {one(c, "Mul", {sine, weight})});
  }
  // (a + bi)(cos - i sin)
  const auto product = [&](int64_t i, ValueId by) { return one(c, "MatMul", {part(i), by}); };
  ValueId real = product(0, cosine), imaginary = no_id;
  if (*parts == 2) real = one(c, "Add", {real, product(1, sine)});
  if (!to_real) {
    imaginary = one(c, "Neg", {product(0, sine)});
    if (*parts == 2) imaginary = one(c, "Add", {imaginary, product(1, cosine)});
  }
  const ValueId both = to_real ? real : concat(c, {real, imaginary}, 0);
  return cast(c, transposed(c, both, back), elem_of(c, given));
}

/// The operator with an axis that is known. One of size 1 is no half of a spectrum unless its length is
/// given: the run has another axis then.
ValueId dft_again(DecomposeContext& c, std::span<const ValueId> operands, int64_t axis) {
  const auto op = decode<Dft>(c.node().attributes);
  const bool empty = op.inverse && op.onesided && known(size_of(c, operands[0], axis)) == 1;
  const ValueId length_of = operands[1] == no_id && empty ? int_scalar(c, 1) : operands[1];
  return one(c, "DFT", {operands[0], length_of, int_scalar(c, axis)}, c.node().attributes);
}

std::vector<ValueId> dft(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  const std::vector<ValueId> operands{x, input(c, 1)};
  const int64_t rank = rank_of(c, x);
  if (!has(c, 2)) return {dft_along(c, operands, rank - 2)};
  if (const Tensor* axis = c.constant(input(c, 2)))
    return {dft_along(c, operands, from_front(c, x, load_int(*axis, 0)))};
  return {for_computed_axis(c, input(c, 2), rank - 1, operands, dft_again)};
}

struct Cosines {
  double a, b, d;
};

/// a - b cos(2πx) + d cos(4πx)
std::vector<ValueId> window(DecomposeContext& c, const Cosines& cosines) {
  const auto op = decode<Window>(c.node().attributes);
  const DataType wanted = elem_of(c, c.node().outputs[0]);
  const DataType type =
      wanted == DataType::float64 || is_integer(wanted) ? DataType::float64 : DataType::float32;
  const ValueId count = one(c, "Reshape", {cast(c, input(c, 0), DataType::int64), ints(c, {1})});
  ValueId period = cast(c, count, type);
  if (!op.periodic) period = plus(c, period, -1);
  const ValueId place = one(c, "Div", {cast(c, count_up(c, count), type), period});
  const auto cosine = [&](double turns, double factor) {
    return times(c, one(c, "Cos", {times(c, place, turns * 2 * std::numbers::pi)}), factor);
  };
  ValueId sum = plus(c, cosine(1, -cosines.b), cosines.a);
  if (cosines.d != 0) sum = one(c, "Add", {sum, cosine(2, cosines.d)});
  return {cast(c, sum, wanted)};
}
std::vector<ValueId> hann(DecomposeContext& c) { return window(c, {0.5, 0.5, 0}); }
std::vector<ValueId> hamming(DecomposeContext& c) { return window(c, {25.0 / 46, 21.0 / 46, 0}); }
std::vector<ValueId> blackman(DecomposeContext& c) { return window(c, {0.42, 0.5, 0.08}); }

}  // namespace
}  // namespace decomposition

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
      .decompose(decomposition::dft)
      .tolerance({.epsilons = 64});
  c.add("STFT")
      .version(17,
               "(signal: T1, frame_step: T2, window?: T1, frame_length?: T2) -> (output: T1) {onesided: int "
               "= 1} [T1: @float_13; T2: @index]")
      .rule<ShortTimeDft>()
      .tolerance({.epsilons = 64});
  const std::pair<const char*, Decomposition> windows[] = {{"HannWindow", decomposition::hann},
                                                           {"HammingWindow", decomposition::hamming},
                                                           {"BlackmanWindow", decomposition::blackman}};
  for (const auto& [name, in_older] : windows)
    c.add(name)
        .version(17,
                 "(size: T1) -> (output: T2) {output_datatype: int = 1, periodic: int = 1} [T1: @index; T2: "
                 "@number_13]")
        .rule<Window>()
        .decompose(in_older)
        .output_type(wanted_type)
        .tolerance({.epsilons = 8});
  c.add("MelWeightMatrix")
      .version(17,
               "(num_mel_bins: T1, dft_length: T1, sample_rate: T1, lower_edge_hertz: T2, upper_edge_hertz: "
               "T2) -> (output: T3) {output_datatype: int = 1} [T1: @index; T2: @float_13; T3: @number_13]")
      .rule<MelWeightMatrix>()
      .output_type(wanted_type)
      .tolerance({.epsilons = 8});
}

}  // namespace lathe
