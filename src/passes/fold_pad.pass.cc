// A Pad in front of an operator with windows is folded into its pads, if its filling has the same effect:
// zeros for convolutions, zeros that are counted for averages, nothing above the elements for maxima.
#include <algorithm>
#include <limits>

#include "ops/window.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

/// Returns what a Pad with a constant adds to each spatial axis: beginnings, then ends. Returns nothing if it
/// removes elements, or changes the batch or the channels.
std::optional<Ints> spatial_pads(const View& view, const Node& pad) {
  const auto rank = view.rank(pad.inputs[0]);
  const auto added = view.integers(pad.inputs[1]);
  if (!rank || *rank < 3 || !added || pad.attributes.get<std::string>("mode", "constant") != "constant")
    return std::nullopt;
  const auto size = static_cast<int64_t>(*rank);
  Ints axes(*rank);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (pad.inputs.size() > 3 && pad.inputs[3] != no_id) {
    const auto given = view.integers(pad.inputs[3]);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (added->size() != 2 * axes.size()) return std::nullopt;
  Ints pads(2 * (*rank - 2), 0);
  for (size_t i = 0; i < added->size(); ++i) {
    int64_t axis = axes[i % axes.size()];
    if (axis < 0) axis += size;
    // Pads that are too large for operators with windows stay.
    if ((*added)[i] < 0 || (*added)[i] > INT32_MAX / 2 || (axis < 2 && (*added)[i] != 0) || axis >= size)
      return std::nullopt;
    if (axis >= 2) pads[(i < axes.size() ? 0 : *rank - 2) + static_cast<size_t>(axis) - 2] += (*added)[i];
  }
  return pads;
}

/// Returns the number that is filled in; nothing if it is not known.
std::optional<double> filling(const View& view, const Node& pad) {
  if (pad.inputs.size() < 3 || pad.inputs[2] == no_id) return 0;
  return view.uniform(pad.inputs[2]);
}

bool never_negative(const View& view, ValueId v) {
  for (const char* op : {"Relu", "Sigmoid", "Softplus", "Abs", "HardSigmoid", "Softmax"})
    if (view.made_by(v, op)) return true;
  const Node* clip = view.made_by(v, "Clip");
  const auto least = clip && clip->inputs.size() > 1 ? view.uniform(clip->inputs[1]) : std::nullopt;
  return least && *least >= 0;
}

/// Returns whether every window covers some element that is not padding.
bool windows_reach_in(const Windowing& w, const Ints& kernel, const Ints& pads) {
  if (kernel.size() * 2 != pads.size()) return false;
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] >= kernel[i % kernel.size()] || w.dilation(i % kernel.size()) != 1) return false;
  return true;
}

/// The anchor is the operator behind the Pad.
std::optional<Patch> propose_fold_pad(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* pad = view.made_by(n.inputs[0], "Pad");
  const auto added = pad ? spatial_pads(view, *pad) : std::nullopt;
  const auto filled = added ? filling(view, *pad) : std::nullopt;
  if (!filled) return std::nullopt;
  Windowing w;
  w.auto_pad = n.attributes.get<std::string>("auto_pad", "NOTSET");
  w.dilations = n.attributes.get<Ints>("dilations", {});
  Ints pads = n.attributes.get<Ints>("pads", {});
  if ((!w.explicit_pads() && w.auto_pad != "VALID") || !w.counts_fit(added->size() / 2)) return std::nullopt;
  if (pads.empty() || w.auto_pad == "VALID") pads.assign(added->size(), 0);
  if (pads.size() != added->size()) return std::nullopt;
  const bool padded_already = std::ranges::any_of(pads, [](int64_t x) { return x != 0; });
  for (size_t i = 0; i < pads.size(); ++i) pads[i] += (*added)[i];
  if (std::ranges::any_of(pads, [](int64_t x) { return x > INT32_MAX; })) return std::nullopt;

  Attributes attributes = n.attributes;
  if (n.op == "Conv") {
    if (*filled != 0) return std::nullopt;
  } else {
    const auto kernel = n.attributes.get<Ints>("kernel_shape", {});
    if (n.attributes.get<int64_t>("ceil_mode", 0) != 0 || !windows_reach_in(w, kernel, pads) ||
        (n.outputs.size() > 1 && n.outputs[1] != no_id))
      return std::nullopt;
    if (n.op == "AveragePool") {
      const bool counted = n.attributes.get<int64_t>("count_include_pad", 0) != 0;
      if (*filled != 0 || (padded_already && !counted)) return std::nullopt;
      attributes.set("count_include_pad", int64_t{1});
    } else if (!is_float(view.type(n.inputs[0]).elem) ||
               !(*filled == -std::numeric_limits<double>::infinity() ||
                 (*filled <= 0 && never_negative(view, pad->inputs[0])))) {
      return std::nullopt;
    }
  }
  Patch p("Pad goes into the pads of " + n.op);
  attributes.set("pads", pads);
  attributes.erase("auto_pad");
  Operands inputs = n.inputs;
  inputs.set(0, pad->inputs[0]);
  p.replace_uses(n.outputs[0], p.add(n.op, std::move(inputs), std::move(attributes)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_fold_pad(PassList& all) {
  all.push_back({.name = "fold-pad",
                 .description = "puts a Pad into the pads of the convolution or pool after it",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Conv", "AveragePool", "MaxPool"},
                 .propose = propose_fold_pad});
}

}  // namespace lathe
