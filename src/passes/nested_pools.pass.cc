// MaxPools of one image by windows of several sizes, as in spatial pyramids: larger windows become windows
// over the results of smaller ones. With 5, 9 and 13 pixels each way 75 pixels are read instead of 275.
#include "passes/patterns.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

/// A pool that keeps the size of an image.
struct Pool {
  Ints kernel, pads;
};
std::optional<Pool> pool_of(const Node& n) {
  if (!View::is(n, "MaxPool") || n.outputs.size() != 1 ||
      n.attributes.get<std::string>("auto_pad", "NOTSET") != "NOTSET")
    return std::nullopt;
  Pool p{n.attributes.get<Ints>("kernel_shape", {}), n.attributes.get<Ints>("pads", {})};
  const size_t axes = p.kernel.size();
  if (axes == 0 || p.pads.size() != 2 * axes) return std::nullopt;
  for (const char* name : {"strides", "dilations"})
    if (n.attributes.get<Ints>(name, Ints(axes, 1)) != Ints(axes, 1)) return std::nullopt;
  for (size_t a = 0; a < axes; ++a)
    if (p.pads[a] + p.pads[axes + a] != p.kernel[a] - 1) return std::nullopt;
  return p;
}

/// Returns the pool that makes `whole` of the results of `found`; nothing if there is none.
std::optional<Pool> rest(const Pool& whole, const Pool& found) {
  if (whole.kernel.size() != found.kernel.size() || whole.kernel == found.kernel) return std::nullopt;
  Pool r = whole;
  for (size_t a = 0; a < r.kernel.size(); ++a)
    if ((r.kernel[a] -= found.kernel[a] - 1) < 1) return std::nullopt;
  for (size_t i = 0; i < r.pads.size(); ++i)
    if ((r.pads[i] -= found.pads[i]) < 0) return std::nullopt;
  return r;
}

int64_t pixels(const Pool& p) {
  int64_t n = 1;
  for (int64_t k : p.kernel) n *= k;
  return n;
}

std::optional<Patch> nest(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto whole = pool_of(n);
  if (!whole) return std::nullopt;
  std::optional<Pool> least;
  ValueId from = no_id;
  for (const Use& use : view.uses(n.inputs[0])) {
    const Node& other = view.node(use.node);
    const auto found = pool_of(other);
    const auto left = found ? rest(*whole, *found) : std::nullopt;
    if (!left || (least && pixels(*left) >= pixels(*least))) continue;
    least = left;
    from = other.outputs[0];
  }
  if (!least) return std::nullopt;
  Patch p("a window over what smaller ones have found");
  Attributes a = n.attributes;
  a.set("kernel_shape", least->kernel);
  a.set("pads", least->pads);
  p.replace_uses(n.outputs[0], p.add("MaxPool", {from}, std::move(a)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_nested_pools(PassList& all) {
  all.push_back({.name = "nested-pools",
                 .description = "takes the maxima of large windows from those of smaller ones",
                 .level = OptimizationLevel::basic,
                 .anchors = {"MaxPool"},
                 .propose = nest});
}

}  // namespace lathe
