// Slices of slices, slices of values that were concatenated just before, and slices that are put together
// again.
#include <limits>

#include "ops/slice/slice.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

/// The ranges that a Slice by known numbers takes along some axes, which are counted from the front.
struct Ranges {
  ValueId x = no_id;
  std::vector<int64_t> starts, ends, axes, steps;
};
std::optional<Ranges> ranges(const View& view, const Node& n) {
  const auto rank = view.rank(n.inputs[0]);
  const auto list = [&](size_t i) { return n.inputs.size() > i ? view.integers(n.inputs[i]) : std::nullopt; };
  const auto starts = list(1), ends = list(2);
  auto axes = list(3), steps = list(4);
  const auto left_out = [&](size_t i) { return n.inputs.size() <= i || n.inputs[i] == no_id; };
  if (!rank || !starts || !ends || (!axes && !left_out(3)) || (!steps && !left_out(4))) return std::nullopt;
  Ranges r{n.inputs[0], *starts, *ends, {}, {}};
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    r.axes.push_back(axis < 0 ? axis + static_cast<int64_t>(*rank) : axis);
    r.steps.push_back(steps ? (*steps)[i] : 1);
  }
  return r;
}

std::optional<int64_t> size_of(const View& view, ValueId v, int64_t axis) {
  const auto& shape = view.type(v).shape;
  return shape ? (*shape)[static_cast<size_t>(axis)].value() : std::nullopt;
}

ValueId add_slice(Patch& p, const Ranges& r) {
  return p.add("Slice", {r.x, p.add_constant("starts", ints(r.starts)), p.add_constant("ends", ints(r.ends)),
                         p.add_constant("axes", ints(r.axes)), p.add_constant("steps", ints(r.steps))});
}

/// Makes the range of a range: both forwards, along an axis of `size` elements.
void narrow(Ranges& r, size_t at, int64_t size, int64_t start, int64_t end, int64_t step) {
  const SliceRange first = slice_range(size, r.starts[at], r.ends[at], r.steps[at]);
  const SliceRange then = slice_range(first.count, start, end, step);
  r.starts[at] = first.start + then.start * first.step;
  r.steps[at] = first.step * then.step;
  r.ends[at] = then.count == 0 ? r.starts[at] : r.starts[at] + (then.count - 1) * r.steps[at] + 1;
}

std::optional<Patch> slice_of_slice(const View& view, NodeId id) {
  const Node& outer = view.node(id);
  const Node* inner = view.made_by(outer.inputs[0], "Slice");
  auto merged = inner ? ranges(view, *inner) : std::nullopt;
  const auto then = merged ? ranges(view, outer) : std::nullopt;
  if (!then) return std::nullopt;
  constexpr int64_t max_step = int64_t{1} << 20;
  for (size_t i = 0; i < then->axes.size(); ++i) {
    const auto at = std::ranges::find(merged->axes, then->axes[i]);
    if (at == merged->axes.end()) {
      merged->starts.push_back(then->starts[i]);
      merged->ends.push_back(then->ends[i]);
      merged->axes.push_back(then->axes[i]);
      merged->steps.push_back(then->steps[i]);
      continue;
    }
    const auto k = static_cast<size_t>(at - merged->axes.begin());
    const auto size = size_of(view, inner->inputs[0], then->axes[i]);
    if (!size || merged->steps[k] < 1 || merged->steps[k] > max_step || then->steps[i] < 1 ||
        then->steps[i] > max_step)
      return std::nullopt;
    narrow(*merged, k, *size, then->starts[i], then->ends[i], then->steps[i]);
  }
  Patch p("two slices are one");
  p.replace_uses(outer.outputs[0], add_slice(p, *merged));
  p.remove(id);
  return p;
}

/// Returns where the parts of a Concat begin, as far as sizes are numbers; one more than parts if all are.
std::vector<int64_t> beginnings(const View& view, const std::vector<ValueId>& parts, int64_t axis) {
  std::vector<int64_t> at{0};
  for (ValueId v : parts) {
    const auto size = size_of(view, v, axis);
    if (!size) break;
    at.push_back(at.back() + *size);
  }
  return at;
}

std::optional<int64_t> axis_of(const View& view, const Node& n, ValueId of) {
  const auto rank = view.rank(of);
  if (!rank) return std::nullopt;
  const auto axis = n.attributes.get<int64_t>("axis", 0);
  return axis < 0 ? axis + static_cast<int64_t>(*rank) : axis;
}

std::optional<Patch> slice_of_concat(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* concat = view.made_by(n.inputs[0], "Concat");
  const auto axis = concat ? axis_of(view, *concat, n.inputs[0]) : std::nullopt;
  auto r = axis ? ranges(view, n) : std::nullopt;
  if (!r || r->axes != std::vector<int64_t>{*axis} || r->steps[0] != 1) return std::nullopt;
  const std::vector<int64_t> at = beginnings(view, concat->inputs, *axis);
  const bool all_known = at.size() == concat->inputs.size() + 1;
  int64_t start = r->starts[0], end = r->ends[0];
  if (all_known) {
    const SliceRange range = slice_range(at.back(), start, end, 1);
    start = range.start;
    end = range.start + range.count;
  }
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    if (start < at[i] || end > at[i + 1] || start >= end) continue;
    const ValueId part = concat->inputs[i];
    if (start == at[i] && end == at[i + 1]) return forward(view, id, part, "a part of what was concatenated");
    Patch p("a slice of one part of what was concatenated");
    r->x = part;
    r->starts[0] = start - at[i];
    r->ends[0] = end - at[i];
    p.replace_uses(n.outputs[0], add_slice(p, *r));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> split_of_concat(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* concat = view.made_by(n.inputs[0], "Concat");
  const auto axis = concat ? axis_of(view, *concat, n.inputs[0]) : std::nullopt;
  if (!axis || axis_of(view, n, n.inputs[0]) != axis || concat->inputs.size() != n.outputs.size())
    return std::nullopt;
  Patch p("what was concatenated is split again");
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    // A part that nothing reads has no known size.
    if (n.outputs[i] == no_id) return std::nullopt;
    if (!view.same_type(concat->inputs[i], n.outputs[i]) || view.is_output(n.outputs[i])) return std::nullopt;
    p.replace_uses(n.outputs[i], concat->inputs[i]);
  }
  p.remove(id);
  return p;
}

/// Parts of one value that follow each other become one slice; all of them are the value itself.
std::optional<Patch> concat_of_slices(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto axis = axis_of(view, n, n.outputs[0]);
  if (!axis || n.inputs.size() < 2) return std::nullopt;
  if (const NodeId split = view.producer(n.inputs[0]); split != no_id) {
    const Node& s = view.node(split);
    if (View::is(s, "Split") && s.outputs == n.inputs && axis_of(view, s, s.inputs[0]) == axis &&
        view.same_type(s.inputs[0], n.outputs[0]))
      return forward(view, id, s.inputs[0], "what was split is put together again");
  }
  std::optional<Ranges> whole;
  int64_t next = 0;
  for (ValueId v : n.inputs) {
    const Node* slice = view.made_by(v, "Slice");
    const auto r = slice ? ranges(view, *slice) : std::nullopt;
    if (!r || r->axes != std::vector<int64_t>{*axis} || r->steps[0] != 1) return std::nullopt;
    const auto size = size_of(view, r->x, *axis);
    if (!size || (whole && r->x != whole->x)) return std::nullopt;
    const SliceRange range = slice_range(*size, r->starts[0], r->ends[0], 1);
    if (whole && range.start != next) return std::nullopt;
    if (!whole) {
      whole = *r;
      whole->starts[0] = range.start;
    }
    next = whole->ends[0] = range.start + range.count;
  }
  if (view.same_type(whole->x, n.outputs[0]))
    if (auto p = forward(view, id, whole->x, "all slices of one value")) return p;
  Patch p("slices that follow each other");
  p.replace_uses(n.outputs[0], add_slice(p, *whole));
  p.remove(id);
  return p;
}

}  // namespace

void pass_slices(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "merge-slices",
                 .description = "turns two slices in a row into one",
                 .level = level,
                 .anchors = {"Slice"},
                 .propose = slice_of_slice});
  all.push_back({.name = "slice-of-concat",
                 .description = "takes the part itself where a slice lies within one part of a Concat",
                 .level = level,
                 .anchors = {"Slice"},
                 .propose = slice_of_concat});
  all.push_back({.name = "split-of-concat",
                 .description = "takes the parts themselves where a Split undoes a Concat",
                 .level = level,
                 .anchors = {"Split"},
                 .propose = split_of_concat});
  all.push_back({.name = "concat-of-slices",
                 .description = "puts together slices that follow each other, or the outputs of a Split",
                 .level = level,
                 .anchors = {"Concat"},
                 .propose = concat_of_slices});
}

}  // namespace lathe
