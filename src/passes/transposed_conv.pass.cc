// A ConvTranspose whose windows are side by side, as when images grow by a whole factor, makes every pixel of
// Y from one pixel of X: it becomes a Conv of one pixel, with a filter for each pixel of a window, and
// DepthToSpace. Both stay in channel blocks, as the operators before and after do.
#include "ops/block/block.h"
#include "passes/patterns.h"
#include "passes/side_by_side.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

std::optional<Patch> propose_transposed_conv(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Tensor* w = view.constant(n.inputs[1]);
  // Filters that fill no blocks would be split between DepthToSpace and its readers.
  if (!w || w->rank() != 4 || !fits_float32(w->type()) || w->size() == 0 || w->dim(1) % block_lanes != 0 ||
      view.rank(n.inputs[0]) != 4)
    return std::nullopt;
  const bool biased = n.inputs.size() > 2 && n.inputs[2] != no_id;
  if (biased && !view.is_constant(n.inputs[2])) return std::nullopt;
  const auto size = side_by_side(n, w->shape());
  if (!size) return std::nullopt;

  Patch p("windows of ConvTranspose lie side by side");
  const int64_t pixels = *size * *size;
  Attributes transpose;
  transpose.set("perm", Ints{2, 3, 1, 0});  // a filter for each pixel and channel of Y
  const ValueId by_pixel = p.add("Transpose", {n.inputs[1]}, std::move(transpose));
  const ValueId shape =
      p.add_constant("filters", Tensor::from<int64_t>({4}, Ints{pixels * w->dim(1), w->dim(0), 1, 1}));
  std::vector<ValueId> inputs{n.inputs[0], p.add("Reshape", {by_pixel, shape})};
  if (biased) {
    const ValueId repeats = p.add_constant("pixels", Tensor::from<int64_t>({1}, Ints{pixels}));
    inputs.push_back(p.add("Tile", {n.inputs[2], repeats}));
  }
  Attributes window;
  window.set("kernel_shape", Ints{1, 1});
  Attributes block;
  block.set("blocksize", *size);
  const ValueId all = p.add("Conv", std::move(inputs), std::move(window));
  p.replace_uses(n.outputs[0], p.add("DepthToSpace", {all}, std::move(block)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_transposed_conv(PassList& all) {
  all.push_back(
      {.name = "transposed-conv",
       .description = "turns ConvTranspose whose windows lie side by side into Conv and DepthToSpace",
       .level = OptimizationLevel::all,
       .anchors = {"ConvTranspose"},
       .propose = propose_transposed_conv});
}

}  // namespace lathe
