// A ConvTranspose whose windows step by one pixel is a Conv with a mirrored kernel, for which there is more
// than one algorithm.
#include <algorithm>

#include "ops/conv_transpose/conv_transpose.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

bool are_all(const Ints& values, int64_t wanted) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == wanted; });
}

/// Returns the pads of the Conv that a ConvTranspose whose windows step by one is; nothing if there is none,
/// or a pad would be negative.
std::optional<Ints> mirrored_pads(const ConvTranspose& op, const Shape& w) {
  const size_t axes = w.size() - 2;
  if (!are_all(op.window.strides, 1) || !op.output_shape.empty() || !are_all(op.output_padding, 0) ||
      op.window.same() || op.group < 1 || w[0] % op.group != 0 || !op.window.counts_fit(axes))
    return std::nullopt;
  Ints pads;
  for (size_t i = 0; i < 2 * axes; ++i) {
    const int64_t given = !op.window.explicit_pads() ? 0
                          : i < axes                 ? op.window.pad_begin(i)
                                                     : op.window.pad_end(i - axes);
    pads.push_back(op.window.reach(i % axes, w[2 + i % axes]) - 1 - given);
    if (pads.back() < 0) return std::nullopt;
  }
  return pads;
}

/// Weights [C, M / group, kernel…] as those of a Conv, [M, C / group, mirrored kernel…].
ValueId mirrored_weights(Patch& p, ValueId weights, const Shape& w, int64_t group) {
  const size_t axes = w.size() - 2;
  Ints grouped{group, w[0] / group, w[1]}, perm{0, 2, 1}, joined{group * w[1], w[0] / group}, spatial;
  for (size_t i = 0; i < axes; ++i) {
    grouped.push_back(w[i + 2]);
    joined.push_back(w[i + 2]);
    perm.push_back(static_cast<int64_t>(i) + 3);
    spatial.push_back(static_cast<int64_t>(i) + 2);
  }
  Attributes transpose;
  transpose.set("perm", perm);
  const ValueId by_group = p.add("Reshape", {weights, p.add_constant("groups", ints(grouped))});
  const ValueId filters = p.add("Reshape", {p.add("Transpose", {by_group}, std::move(transpose)),
                                            p.add_constant("filters", ints(joined))});
  const ValueId last = p.add_constant("last", ints(Ints(axes, -1)));
  return p.add("Slice", {filters, last, p.add_constant("first", ints(Ints(axes, INT64_MIN))),
                         p.add_constant("axes", ints(spatial)), last});
}

std::optional<Patch> propose_transposed_conv_by_one(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Tensor* w = view.constant(n.inputs[1]);
  if (!w || w->rank() < 3 || !fits_float32(w->type()) || w->size() == 0) return std::nullopt;
  const auto op = decode<ConvTranspose>(n.attributes);
  const auto pads = mirrored_pads(op, w->shape());
  if (!pads) return std::nullopt;
  Patch p("ConvTranspose steps by one");
  Operands inputs = n.inputs;
  inputs.set(1, mirrored_weights(p, n.inputs[1], w->shape(), op.group));
  Attributes window;
  window.set("pads", *pads);
  if (!op.window.dilations.empty()) window.set("dilations", op.window.dilations);
  window.set("group", op.group);
  p.replace_uses(n.outputs[0], p.add("Conv", std::move(inputs), std::move(window)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_transposed_conv_by_one(PassList& all) {
  all.push_back({.name = "transposed-conv-by-one",
                 .description = "turns ConvTranspose whose windows step by one into Conv",
                 .level = OptimizationLevel::all,
                 .anchors = {"ConvTranspose"},
                 .propose = propose_transposed_conv_by_one});
}

}  // namespace lathe
