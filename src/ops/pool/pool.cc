#include "ops/pool/pool.h"

#include <cmath>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// p became a whole number.
void lp_pool_2_from_1(UpgradeContext& u) {
  const float p = u.node().attributes.get<float>("p", 2);
  if (!(p >= 1 && p <= 1e6f) || p != std::trunc(p))
    throw Error(Code::node_cannot_convert, "import", "p that is a whole number of at least 1",
                std::to_string(p));
  u.node().attributes.set("p", static_cast<int64_t>(p));
}

/// Before version 22, windows that begin in the padding at the end counted, which ceil_mode can cause. Sizes
/// that only a run knows must exclude such a window.
bool pool_before_22(RewriteContext& c) {
  const auto pool = decode<Pooling>(c.node().attributes);
  const Windowing& window = pool.window;
  if (!window.ceil_mode || !window.explicit_pads()) return true;
  const auto x = c.input_type(0).shape, y = c.type(c.node().outputs[0]).shape;
  for (size_t i = 0; i < pool.kernel_shape.size(); ++i) {
    const int64_t reach = window.reach(i, pool.kernel_shape[i]);
    if (window.pad_end(i) + window.stride(i) <= reach) continue;
    const char* why =
        "in older ones windows that begin in the padding at the end count, and there may be some";
    if (!x || !y) return c.cannot(why);
    const Dim padded = (*x)[i + 2] + Dim(window.pad_begin(i) + window.pad_end(i));
    if (!(ceil_div(padded - Dim(reach), Dim(window.stride(i))) + Dim(1) == (*y)[i + 2])) return c.cannot(why);
  }
  return true;
}

constexpr ToleranceSpec sums{.epsilons = 4, .per_reduced = true};

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Integers of 8 bits are pooled as float32.
std::vector<ValueId> max_pool(DecomposeContext& c) {
  const Node node = c.node();
  const DataType type = elem_of(c, input(c, 0));
  if (!is_integer(type) || c.opset() >= 12) return in_wider_types(c);
  const ValueId x = cast(c, input(c, 0), DataType::float32);
  std::vector<ValueId> made = c.insert("MaxPool", {x}, node.attributes, node.outputs.size());
  // A window of padding alone has the maximum -infinity, which becomes the least integer.
  const double least = type == DataType::int8 ? -128 : 0;
  made[0] = cast(c, one(c, "Clip", {made[0], number(c, least, DataType::float32)}), type);
  return made;
}

}  // namespace
}  // namespace decomposition

void declare_pool(SchemaCatalog& c) {
  c.add("MaxPool")
      .version(1,
               "(X: T) -> (Y: T) {pads: ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: "
               "ints!} [T: @float]")
      .version(8,
               "(X: T) -> (Y: T, Indices?: I) {storage_order: int = 0, pads: ints, auto_pad: string = "
               "'NOTSET', strides: ints, kernel_shape: ints!} [T: @float; I: int64]")
      .version(
          10,
          "(X: T) -> (Y: T, Indices?: I) {storage_order: int = 0, dilations: ints, ceil_mode: int = 0, pads: "
          "ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float; I: int64]")
      .version(
          11,
          "(X: T) -> (Y: T, Indices?: I) {storage_order: int = 0, dilations: ints, ceil_mode: int = 0, pads: "
          "ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float; I: int64]")
      .version(12,
               "(X: T) -> (Y: T, Indices?: I) {storage_order: int = 0, dilations: ints, ceil_mode: int = 0, "
               "pads: ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: float16 "
               "float double int8 uint8; I: int64]")
      .version(22,
               "(X: T) -> (Y: T, Indices?: I) {storage_order: int = 0, dilations: ints, ceil_mode: int = 0, "
               "pads: ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float_13 "
               "int8 uint8; I: int64]",
               nullptr, pool_before_22)
      .rule<MaxPool>()
      .decompose(decomposition::max_pool)
      .tolerance({.exact = true});
  c.add("AveragePool")
      .version(1,
               "(X: T) -> (Y: T) {pads: ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: "
               "ints!} [T: @float]")
      .version(7,
               "(X: T) -> (Y: T) {count_include_pad: int = 0, pads: ints, auto_pad: string = 'NOTSET', "
               "strides: ints, kernel_shape: ints!} [T: @float]")
      .version(10,
               "(X: T) -> (Y: T) {count_include_pad: int = 0, ceil_mode: int = 0, pads: ints, auto_pad: "
               "string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float]")
      .version(11,
               "(X: T) -> (Y: T) {count_include_pad: int = 0, ceil_mode: int = 0, pads: ints, auto_pad: "
               "string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float]")
      .version(19,
               "(X: T) -> (Y: T) {count_include_pad: int = 0, dilations: ints, ceil_mode: int = 0, pads: "
               "ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float]")
      .version(22,
               "(X: T) -> (Y: T) {count_include_pad: int = 0, dilations: ints, ceil_mode: int = 0, pads: "
               "ints, auto_pad: string = 'NOTSET', strides: ints, kernel_shape: ints!} [T: @float_13]",
               nullptr, pool_before_22)
      .rule<AveragePool>()
      .tolerance(sums);
  c.add("LpPool")
      .version(1,
               "(X: T) -> (Y: T) {p: float = 2, pads: ints, auto_pad: string = 'NOTSET', strides: ints, "
               "kernel_shape: ints} [T: @float]")
      .version(2,
               "(X: T) -> (Y: T) {p: int = 2, pads: ints, auto_pad: string = 'NOTSET', strides: ints, "
               "kernel_shape: ints!} [T: @float]",
               lp_pool_2_from_1)
      .version(11,
               "(X: T) -> (Y: T) {p: int = 2, pads: ints, auto_pad: string = 'NOTSET', strides: ints, "
               "kernel_shape: ints!} [T: @float]")
      .version(18,
               "(X: T) -> (Y: T) {p: int = 2, pads: ints, auto_pad: string = 'NOTSET', ceil_mode: int = 0, "
               "dilations: ints, strides: ints, kernel_shape: ints!} [T: @float]")
      .version(22,
               "(X: T) -> (Y: T) {p: int = 2, pads: ints, auto_pad: string = 'NOTSET', ceil_mode: int = 0, "
               "dilations: ints, strides: ints, kernel_shape: ints!} [T: @float_13]",
               nullptr, pool_before_22)
      .rule<LpPool>()
      .tolerance(sums);
  c.add("GlobalAveragePool")
      .version(1, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<GlobalPool>()
      .tolerance(sums);
  c.add("GlobalMaxPool")
      .version(1, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<GlobalPool>()
      .tolerance({.exact = true});
  c.add("GlobalLpPool")
      .version(1, "(X: T) -> (Y: T) {p: float = 2} [T: @float]")
      .version(2, "(X: T) -> (Y: T) {p: int = 2} [T: @float]", lp_pool_2_from_1)
      .version(22, "(X: T) -> (Y: T) {p: int = 2} [T: @float_13]")
      .rule<GlobalLpPool>()
      .tolerance(sums);
  c.add("MaxUnpool")
      .version(9,
               "(X: T1, I: T2, output_shape?: T2) -> (output: T1) {pads: ints, strides: ints, kernel_shape: "
               "ints!} [T1: @float; T2: int64]")
      .version(11,
               "(X: T1, I: T2, output_shape?: T2) -> (output: T1) {pads: ints, strides: ints, kernel_shape: "
               "ints!} [T1: @float; T2: int64]")
      .version(22,
               "(X: T1, I: T2, output_shape?: T2) -> (output: T1) {pads: ints, strides: ints, kernel_shape: "
               "ints!} [T1: @float_13; T2: int64]")
      .rule<MaxUnpool>()
      .tolerance({.exact = true});
}

}  // namespace lathe
