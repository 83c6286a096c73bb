// Moves a Transpose down through operators that do not depend on axes, or can be adapted, until it meets
// another one: both become one, or none. If two transposed values come together, one Transpose after them
// does for both.

#include "ops/resize/resize.h"
#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The most operators between two transpositions.
constexpr size_t longest_chain = 12;
/// Constants that others read too are transposed the other way only up to this many elements.
constexpr int64_t max_copied = 4096;

bool along_axis(const Node& n) { return View::is(n, "Softmax") || View::is(n, "LogSoftmax"); }

/// A value that is an elementwise function of a transposed one. The chain leads from the end to the
/// Transpose.
struct Lifted {
  ValueId from = no_id;  // the input of the Transpose
  std::vector<int64_t> perm;
  std::vector<NodeId> chain;  // without the Transpose
  std::vector<ValueId> way;   // the results of these and of the Transpose
};

class Sink {
 public:
  explicit Sink(const View& view) : view_(view) {}

  /// The values of the chain that others may read as well: none, `v` itself, or all.
  enum class Shared { nothing, end, anything };
  std::optional<Lifted> lift(ValueId v, Shared shared = Shared::nothing) const {
    Lifted l;
    while (l.chain.size() <= longest_chain) {
      const NodeId at = view_.producer(v);
      const bool may_be_shared = shared == Shared::anything || (shared == Shared::end && l.chain.empty());
      if (at == no_id || !(view_.read_once(v) || may_be_shared)) return std::nullopt;
      l.way.push_back(v);
      const Node& n = view_.node(at);
      if (View::is(n, "Transpose")) {
        l.from = n.inputs[0];
        l.perm = order_of(view_, n);
        return l.perm.empty() || !others_take(l) ? std::nullopt : std::optional(l);
      }
      const ValueId next = moving_input(n);
      if (next == no_id) return std::nullopt;
      l.chain.push_back(at);
      v = next;
    }
    return std::nullopt;
  }

  /// Returns whether only these chains and `end` read the values of the chains. So x · sigmoid(x) has one
  /// transposition for both.
  bool read_within(std::span<const std::optional<Lifted>> ways, NodeId end) const {
    std::set<NodeId> within{end};
    for (const auto& l : ways)
      if (l) within.insert(l->chain.begin(), l->chain.end());
    const auto stays = [&](ValueId v) {
      return !view_.is_output(v) &&
             std::ranges::all_of(view_.uses(v), [&](const Use& u) { return within.contains(u.node); });
    };
    return std::ranges::all_of(ways, [&](const auto& l) { return !l || std::ranges::all_of(l->way, stays); });
  }

  /// Adds the same function of the value that is not transposed to the patch.
  ValueId rebuild(Patch& p, const Lifted& l) const {
    ValueId v = l.from;
    for (auto at = l.chain.rbegin(); at != l.chain.rend(); ++at) {
      const Node& n = view_.node(*at);
      Operands inputs = n.inputs;
      Attributes a = n.attributes;
      if (along_axis(n)) {
        a.set("axis", source_axis(a.get<int64_t>("axis", -1), l.perm));
      } else if (by_axes(n)) {
        const auto axes = axes_of(n);
        inputs.resize(std::max<size_t>(inputs.size(), 4));
        std::vector<int64_t> from;
        for (int64_t axis : *axes) from.push_back(source_axis(axis, l.perm));
        inputs.set(3, p.add_constant("axes", of_type(axes_type(n), from)));
      } else if (View::is(n, "Resize")) {
        std::vector<int64_t> back(l.perm.size());
        for (size_t i = 0; i < back.size(); ++i)
          back[static_cast<size_t>(l.perm[i])] = static_cast<int64_t>(i);
        for (size_t i = 2; i < inputs.size(); ++i)
          if (inputs[i] != no_id && view_.constant(inputs[i])->size() == 0)
            inputs.set(i, no_id);  // as well as left out
          else if (inputs[i] != no_id)
            inputs.set(i, p.add("Gather", {inputs[i], p.add_constant("order", ints(back))}));
        inputs.set(1, no_id);
      } else if (broadcasts(n)) {
        const ValueId moving = moving_input(n);
        for (ValueId& x : inputs)
          if (x != moving) x = transposed(p, x, l.perm);
      }
      inputs.set(static_cast<size_t>(std::ranges::find(n.inputs, moving_input(n)) - n.inputs.begin()), v);
      v = p.add(n.op, std::move(inputs), std::move(a));
    }
    return v;
  }

  /// Returns a constant operand for a value that is not transposed any more. It is aligned at the back, and
  /// gets all axes first.
  ValueId transposed(Patch& p, ValueId v, const std::vector<int64_t>& perm) const {
    const Tensor& t = *view_.constant(v);
    if (t.size() == 1 && t.rank() <= perm.size()) return v;
    std::vector<int64_t> shape(perm.size() - t.rank(), 1), back(perm.size());
    shape.insert(shape.end(), t.shape().begin(), t.shape().end());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    return add_transpose(p, p.add("Reshape", {v, p.add_constant("shape", ints(shape))}), std::move(back));
  }

  /// Returns whether v is a constant that can be transposed for a value of this many axes.
  bool transposable(ValueId v, size_t rank) const {
    const Tensor* t = view_.constant(v);
    return t && t->rank() <= rank && t->size() > 0 && (view_.read_once(v) || t->size() <= max_copied);
  }

 private:
  /// The type of the operator's input of axes, or of its other lists.
  DataType axes_type(const Node& n) const {
    if (n.inputs.has(3)) return view_.type(n.inputs[3]).elem;
    return View::is(n, "Slice") ? view_.type(n.inputs[1]).elem : DataType::int64;
  }
  static Tensor of_type(DataType type, const std::vector<int64_t>& list) {
    Tensor t(type, {static_cast<int64_t>(list.size())});
    for (size_t i = 0; i < list.size(); ++i) store_int(t, static_cast<int64_t>(i), list[i]);
    return t;
  }
  static int64_t source_axis(int64_t axis, const std::vector<int64_t>& perm) {
    return perm[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(perm.size()) : axis)];
  }
  /// True for Pad and Slice, which name axes in their fourth input.
  static bool by_axes(const Node& n) { return View::is(n, "Pad") || View::is(n, "Slice"); }
  /// Returns these axes; all in order if none are named. Returns nothing if they are not known.
  std::optional<std::vector<int64_t>> axes_of(const Node& n) const {
    if (n.inputs.size() > 3 && n.inputs[3] != no_id) return view_.integers(n.inputs[3]);
    const auto& numbers = view_.type(n.inputs[1]).shape;
    if (!numbers || numbers->size() != 1 || !(*numbers)[0].is_constant()) return std::nullopt;
    std::vector<int64_t> axes(static_cast<size_t>((*numbers)[0].constant()) / (n.op == "Pad" ? 2 : 1));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    return axes;
  }
  /// True for Resize by constants, one for each axis, of the whole image.
  bool by_sizes(const Node& n) const {
    if (!View::is(n, "Resize") || n.inputs.size() < 3 || n.attributes.has("axes") ||
        n.attributes.get<std::string>("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
      return false;
    return std::all_of(n.inputs.begin() + 2, n.inputs.end(),
                       [&](ValueId v) { return v == no_id || view_.is_constant(v); });
  }
  /// Returns whether Resize may have a scale other than 1 along this axis.
  bool resizes(const Node& n, size_t axis) const {
    if (n.inputs[2] != no_id && view_.type(n.inputs[2]).shape != SymShape{Dim(0)}) {
      const Tensor* scales = view_.contents(n.inputs[2]);
      return !scales || load_double(*scales, static_cast<int64_t>(axis)) != 1;
    }
    const auto &from = view_.type(n.inputs[0]).shape, &to = view_.type(n.outputs[0]).shape;
    return !from || !to || !((*from)[axis] == (*to)[axis]);
  }
  /// Returns whether other runtimes accept a Resize along the axes that result, as ONNX Runtime does: for
  /// nearest neighbors the outermost two axes must stay, or, for linear ones of four axes, the first and
  /// last.
  bool others_take(const Lifted& l) const {
    return !view_.for_others() || std::ranges::all_of(l.chain, [&](NodeId id) {
      const Node& n = view_.node(id);
      if (!View::is(n, "Resize")) return true;
      const Resize op = decode<Resize>(n.attributes);
      const size_t rank = l.perm.size();
      if (op.mode == "nearest" || (op.mode == "linear" && rank <= 3) || rank <= 2) return true;
      std::vector<bool> resized(rank);
      for (size_t i = 0; i < rank; ++i) resized[static_cast<size_t>(l.perm[i])] = resizes(n, i);
      return !resized[0] && (!resized[1] || (op.mode == "linear" && rank == 4 && !resized[3]));
    });
  }
  /// Returns the input that is transposed, if any, and if the others can be adapted.
  ValueId moving_input(const Node& n) const {
    if (n.outputs.size() != 1 || n.inputs.empty()) return no_id;
    if ((is_elementwise(n) && n.inputs.size() == 1) || along_axis(n) || View::is(n, "Clip") ||
        (by_axes(n) && axes_of(n)) || by_sizes(n))
      return n.inputs[0];
    const auto& shape = view_.type(n.outputs[0]).shape;
    if (!broadcasts(n) || !shape) return no_id;
    for (ValueId v : n.inputs) {
      const auto can_transpose = [&](ValueId other) {
        return other == v || transposable(other, shape->size());
      };
      const auto& own = view_.type(v).shape;
      if (!transposable(v, shape->size()) && own && *own == *shape && std::ranges::count(n.inputs, v) == 1 &&
          std::ranges::all_of(n.inputs, can_transpose))
        return v;
    }
    return no_id;
  }

  const View& view_;
};

/// Transpose, elementwise operators, Transpose; the anchor is the second one. Other readers of the operator
/// before it get a Transpose behind it, which may meet another one.
std::optional<Patch> meet(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Sink sink(view);
  const auto l = sink.lift(n.inputs[0], Sink::Shared::end);
  const std::vector<int64_t> then = order_of(view, n);
  if (!l || l->chain.empty() || then.size() != l->perm.size()) return std::nullopt;
  std::vector<int64_t> perm;
  for (int64_t axis : then) perm.push_back(l->perm[static_cast<size_t>(axis)]);
  Patch p("transpositions meet behind " + view.node(l->chain.front()).op);
  const ValueId rebuilt = sink.rebuild(p, *l);
  p.replace_uses(n.outputs[0], add_transpose(p, rebuilt, std::move(perm)));
  p.remove(id);
  if (!view.read_once(n.inputs[0])) p.replace_uses(n.inputs[0], add_transpose(p, rebuilt, l->perm));
  return p;
}

/// Operands that are transposed alike; the anchor is the operator that reads them.
std::optional<Patch> join(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() < 2 || n.outputs.size() != 1) return std::nullopt;
  const Sink sink(view);
  std::vector<std::optional<Lifted>> operands;
  const Lifted* first = nullptr;
  size_t transposed = 0;
  for (ValueId v : n.inputs) {
    operands.push_back(sink.lift(v, Sink::Shared::anything));
    transposed += operands.back() ? 1 : 0;
  }
  for (const auto& l : operands)
    if (l && !first) first = &*l;
  if (transposed < 2 || !sink.read_within(operands, id)) return std::nullopt;
  const size_t rank = first->perm.size();
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] ? operands[i]->perm != first->perm
                    : n.op == "Concat" || !sink.transposable(n.inputs[i], rank))
      return std::nullopt;
  Patch p(n.op + " of values that are transposed alike");
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(operands[i] ? sink.rebuild(p, *operands[i])
                                 : sink.transposed(p, n.inputs[i], first->perm));
  Attributes a = n.attributes;
  if (n.op == "Concat") {
    const auto axis = a.get<int64_t>("axis", 0);
    a.set("axis", first->perm[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)]);
  }
  p.replace_uses(n.outputs[0], add_transpose(p, p.add(n.op, std::move(inputs), std::move(a)), first->perm));
  p.remove(id);
  return p;
}

/// After a reduction there is less to transpose, whatever else reads the Transpose; if nothing does, Squeeze
/// leaves it fewer axes. The anchor is the reduction or Squeeze.
std::optional<Patch> reduce(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* transpose = view.made_by(n.inputs[0], "Transpose");
  if (!transpose || n.inputs.size() < 2 || (n.op == "Squeeze" && !view.read_once(n.inputs[0])))
    return std::nullopt;
  const auto axes = view.integers(n.inputs[1]);
  const std::vector<int64_t> perm = order_of(view, *transpose);
  if (!axes || axes->empty() || perm.empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(perm.size());
  std::vector<int64_t> from;
  for (int64_t axis : *axes) from.push_back(perm[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
  std::ranges::sort(from);
  std::vector<int64_t> left;  // the axes that are left, in the required order
  const bool keeps = n.op != "Squeeze" && n.attributes.get<int64_t>("keepdims", 1) != 0;
  for (int64_t axis : perm)
    if (keeps)
      left.push_back(axis);
    else if (!std::ranges::binary_search(from, axis))
      left.push_back(axis - (std::ranges::lower_bound(from, axis) - from.begin()));
  Patch p(n.op + " before the transposition");
  const ValueId reduced =
      p.add(n.op, {transpose->inputs[0], p.add_constant("axes", ints(std::move(from)))}, n.attributes);
  p.replace_uses(n.outputs[0], add_transpose(p, reduced, std::move(left)));
  p.remove(id);
  return p;
}

/// Moves a Split before the transposition, if all its parts are transposed again; the anchor is the Split.
std::optional<Patch> sink_below_split(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* transpose = view.made_by(n.inputs[0], "Transpose");
  const std::vector<int64_t> perm = transpose ? order_of(view, *transpose) : std::vector<int64_t>();
  if (perm.empty() || !view.read_once(n.inputs[0])) return std::nullopt;
  for (ValueId v : n.outputs)
    if (v == no_id || view.is_output(v) || view.uses(v).empty() ||
        !std::ranges::all_of(view.uses(v),
                             [&](const Use& u) { return View::is(view.node(u.node), "Transpose"); }))
      return std::nullopt;
  Patch p("Split before the transposition");
  const auto axis = n.attributes.get<int64_t>("axis", 0);
  Attributes a = n.attributes;
  a.set("axis", perm[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(perm.size()) : axis)]);
  Operands inputs = n.inputs;
  inputs.set(0, transpose->inputs[0]);
  const std::vector<ValueId> parts = p.add_node("Split", std::move(inputs), n.outputs.size(), std::move(a));
  for (size_t i = 0; i < parts.size(); ++i) p.replace_uses(n.outputs[i], add_transpose(p, parts[i], perm));
  p.remove(id);
  return p;
}

}  // namespace

void pass_sink_transposes(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "sink-transposes",
                 .description = "brings transpositions together through elementwise operators",
                 .level = level,
                 .anchors = {"Transpose"},
                 .propose = meet});
  all.push_back(
      {.name = "join-transposes",
       .description = "transposes once after an operator, not each of its operands",
       .level = level,
       .anchors = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Where", "PRelu", "Concat"},
       .propose = join});
  all.push_back({.name = "reduce-before-transpose",
                 .description = "transposes what a reduction or Squeeze leaves",
                 .level = level,
                 .anchors = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                             "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "Squeeze"},
                 .propose = reduce});
  all.push_back({.name = "split-before-transpose",
                 .description = "splits before a transposition that each part undoes or changes",
                 .level = level,
                 .anchors = {"Split"},
                 .propose = sink_below_split});
}

}  // namespace lathe
