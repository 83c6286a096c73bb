// Slices: within the input one Slice; beyond it each axis is gathered at positions that are brought back.
#include <numeric>

#include "network/maker.h"

namespace lathe {
namespace {

/// Start, size and stride of a slice along one axis; scalars.
struct Range {
  ValueId start, size, stride;
};

/// The source positions of the elements along one axis: int64 [size], all within it.
ValueId positions(LayerMaker& m, const Range& r, SliceMode mode, ValueId length, ValueId* inside) {
  const ValueId zero = m.integer(0), one = m.integer(1);
  const ValueId steps = m.op("Range", {zero, r.size, one});
  const ValueId at = m.op("Add", {r.start, m.op("Mul", {steps, r.stride})});
  if (mode == SliceMode::wrap) return m.op("Mod", {at, length});
  const ValueId last = m.op("Sub", {length, one});
  if (mode == SliceMode::reflect) {
    // The period is the way there and back, whose second half is mirrored. The period of one element is one.
    const ValueId period = m.op("Max", {m.op("Add", {last, last}), one});
    const ValueId from_last = m.op("Abs", {m.op("Sub", {m.op("Mod", {at, period}), last})});
    return m.op("Sub", {last, from_last});
  }
  if (mode == SliceMode::fill)
    *inside = m.op("And", {m.op("Less", {at, length}), m.op("GreaterOrEqual", {at, zero})});
  return m.op("Max", {m.op("Min", {at, last}), zero});
}

ValueId beyond(LayerMaker& m, ValueId x, const std::vector<size_t>& axes, const std::vector<Range>& ranges,
               const SliceOptions& o) {
  const size_t rank = m.rank(x);
  const ValueId source = x;
  ValueId filled = no_id;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& d = m.shape(source)[axes[i]];
    const ValueId length = d.is_constant() ? m.integer(d.constant())
                                           : m.op("Squeeze", {m.size_of_axis(source, axes[i]), m.ints({0})});
    ValueId inside = no_id;
    const ValueId at = positions(m, ranges[i], o.mode, length, &inside);
    x = m.op("Gather", {x, at}, Attrs().number("axis", static_cast<int64_t>(axes[i])));
    if (inside == no_id) continue;
    if (axes[i] + 1 < rank) {  // a column that broadcasts over the axes behind
      std::vector<int64_t> behind(rank - axes[i] - 1);
      std::iota(behind.begin(), behind.end(), 1);
      inside = m.op("Unsqueeze", {inside, m.ints(behind)});
    }
    filled = filled == no_id ? inside : m.op("And", {filled, inside});
  }
  if (filled == no_id) return x;
  return m.op("Where", {filled, x, o.fill_value ? m.use(o.fill_value) : m.scalar(m.type(x), 0)});
}

std::vector<size_t> axes_of(LayerMaker& m, const SliceOptions& o, size_t count, size_t rank) {
  std::vector<size_t> axes;
  for (int64_t a : o.axes) axes.push_back(m.axis(a, rank));
  if (o.axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), size_t{0});
  }
  if (axes.size() != count)
    m.fail(Code::node_bad_attribute,
           "a start, a size and a stride for each of " + std::to_string(axes.size()) + " axes",
           std::to_string(count), "or say which axes they are of");
  return axes;
}

std::vector<int64_t> as_ints(const std::vector<size_t>& v) { return {v.begin(), v.end()}; }

}  // namespace

Layer Network::add_slice(const TensorRef& x, const std::vector<int64_t>& start,
                         const std::vector<int64_t>& size, const std::vector<int64_t>& stride,
                         const SliceOptions& o) {
  LayerMaker m(*this, "slice", o.name);
  m.made_by("add_slice", x, start, size, stride, o);
  const ValueId v = m.use(x);
  const std::vector<int64_t> steps = stride.empty() ? std::vector<int64_t>(start.size(), 1) : stride;
  if (size.size() != start.size() || steps.size() != start.size())
    m.fail(Code::node_bad_attribute, "as many sizes and strides as starts",
           std::to_string(size.size()) + " and " + std::to_string(steps.size()) + " for " +
               std::to_string(start.size()));
  const std::vector<size_t> axes = axes_of(m, o, start.size(), m.rank(v));
  std::vector<int64_t> ends;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (size[i] < 0) m.fail(Code::node_bad_attribute, "sizes of 0 or more", std::to_string(size[i]));
    int64_t reach = 0, end = 0, last = 0;
    if (__builtin_mul_overflow(size[i], steps[i], &reach) || __builtin_add_overflow(start[i], reach, &end) ||
        __builtin_sub_overflow(end, steps[i], &last))
      m.fail(Code::node_bad_attribute, "positions of 63 bits", "more");
    if (o.mode != SliceMode::strict) continue;
    if (steps[i] == 0) m.fail(Code::node_bad_attribute, "strides other than 0", "0");
    const Dim& d = m.shape(v)[axes[i]];
    const bool out = size[i] > 0 && (start[i] < 0 || last < 0 ||
                                     (d.is_constant() && std::max(start[i], last) >= d.constant()));
    if (out)
      m.fail(Code::node_bad_shape,
             "elements within axis " + std::to_string(axes[i]) + " of " + lathe::describe(m.shape(v)),
             "those from " + std::to_string(start[i]) + " to " + std::to_string(last),
             "choose another SliceMode for what lies beyond");
    ends.push_back(size[i] == 0 ? start[i] : end < 0 ? INT64_MIN : end);
  }
  if (o.mode == SliceMode::strict)
    return m.finish(m.op("Slice", {v, m.ints(start), m.ints(ends), m.ints(as_ints(axes)), m.ints(steps)}));
  std::vector<Range> ranges;
  for (size_t i = 0; i < axes.size(); ++i)
    ranges.push_back({m.integer(start[i]), m.integer(size[i]), m.integer(steps[i])});
  return m.finish(beyond(m, v, axes, ranges, o));
}

Layer Network::add_slice(const TensorRef& x, const TensorRef& start, const TensorRef& size,
                         const TensorRef& stride, const SliceOptions& o) {
  LayerMaker m(*this, "slice", o.name);
  m.made_by("add_slice", x, start, size, stride, o);
  const ValueId v = m.use(x), from = m.use(start), count = m.use(size);
  const SymShape& s = m.shape(from);
  if (s.size() != 1 || !s[0].is_constant())
    m.fail(Code::node_bad_shape, "a list of starts of known length", lathe::describe(s));
  const auto n = static_cast<size_t>(s[0].constant());
  const ValueId step = stride ? m.use(stride) : m.ints(std::vector<int64_t>(n, 1));
  const std::vector<size_t> axes = axes_of(m, o, n, m.rank(v));
  if (o.mode == SliceMode::strict) {
    const ValueId end = m.op("Add", {from, m.op("Mul", {count, step})});
    // An end before the first element is not one counted from the last.
    const ValueId ends = m.op("Where", {m.op("Less", {end, m.integer(0)}), m.integer(INT64_MIN), end});
    return m.finish(m.op("Slice", {v, from, ends, m.ints(as_ints(axes)), step}));
  }
  std::vector<Range> ranges;
  for (size_t i = 0; i < n; ++i) {
    auto element = [&](ValueId list) { return m.op("Gather", {list, m.integer(static_cast<int64_t>(i))}); };
    ranges.push_back({element(from), element(count), element(step)});
  }
  return m.finish(beyond(m, v, axes, ranges, o));
}

}  // namespace lathe
