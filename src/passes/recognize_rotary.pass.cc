// RotaryEmbedding as exporters decompose it: x * cos + rotate(x) * sin, or part by part; of halves, or of
// neighbors.
#include "passes/patterns.h"
#include "tensor/alignment.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Returns an axis counted from the front.
std::optional<int64_t> from_front(const View& view, ValueId v, int64_t axis) {
  const auto rank = view.rank(v);
  if (!rank) return std::nullopt;
  return axis < 0 ? axis + static_cast<int64_t>(*rank) : axis;
}

bool last_axis(const View& view, ValueId v, int64_t axis) {
  const auto rank = view.rank(v);
  return rank && from_front(view, v, axis) == static_cast<int64_t>(*rank) - 1;
}

/// Returns the size of the last axis, if it is a number.
std::optional<int64_t> width(const View& view, ValueId v) {
  const auto& shape = view.type(v).shape;
  return shape && !shape->empty() ? shape->back().value() : std::nullopt;
}

/// Elements start, start + step, … of the last axis of x.
struct Part {
  ValueId x = no_id;
  int64_t start = 0, step = 1;
};
std::optional<Part> sliced(const View& view, ValueId v) {
  const Node* n = view.made_by(v, "Slice");
  const auto start = n ? view.integers(n->inputs[1]) : std::nullopt;
  const auto axes = n && n->inputs.size() > 3 ? view.integers(n->inputs[3]) : std::nullopt;
  const auto steps = n && n->inputs.size() > 4 && n->inputs[4] != no_id
                         ? view.integers(n->inputs[4])
                         : std::optional(std::vector<int64_t>{1});
  if (!start || !axes || !steps || start->size() != 1 || axes->size() != 1 || steps->size() != 1 ||
      !last_axis(view, v, (*axes)[0]))
    return std::nullopt;
  const auto whole = width(view, n->inputs[0]);
  if (!whole) return std::nullopt;
  return Part{n->inputs[0], (*start)[0] < 0 ? (*start)[0] + *whole : (*start)[0], (*steps)[0]};
}

/// Returns v as a part of the value that it was cut out of, by Slice or Split, once or several times; v
/// itself if nothing was cut.
Part cut(const View& view, ValueId v) {
  const NodeId at = view.producer(v);
  if (at == no_id) return {v};
  const Node& n = view.node(at);
  std::optional<Part> part;
  if (View::is(n, "Split") && last_axis(view, v, n.attributes.get<int64_t>("axis", 0))) {
    Part p{n.inputs[0]};
    for (ValueId before : n.outputs) {
      if (before == v) part = p;
      const auto size = before == no_id ? std::nullopt : width(view, before);
      if (!size) break;
      p.start += *size;
    }
  } else {
    part = sliced(view, v);
  }
  if (!part || part->step != 1) return {v};
  const Part outer = cut(view, part->x);
  return {outer.x, outer.start + part->start};
}

/// Returns whether v is (-x2, x1) of x = (x1, x2).
bool is_rotated_half(const View& view, ValueId v, ValueId x) {
  const Node* n = view.made_by(v, "Concat");
  const Node* neg = n && n->inputs.size() == 2 ? view.made_by(n->inputs[0], "Neg") : nullptr;
  if (!neg || !last_axis(view, v, n->attributes.get<int64_t>("axis", 0))) return false;
  const auto all = width(view, x), first_size = width(view, n->inputs[1]), size = width(view, neg->inputs[0]);
  if (!all || !size || first_size != size || *all != 2 * *size) return false;
  const Part whole = cut(view, x), first = cut(view, n->inputs[1]), second = cut(view, neg->inputs[0]);
  return first.x == whole.x && second.x == whole.x && first.start == whole.start &&
         second.start == whole.start + *size;
}

/// Returns x if it is (a, b), two parts of the same size; else no_id.
ValueId halves_of(const View& view, ValueId a, ValueId b) {
  const NodeId at = view.producer(a);
  if (at == no_id || !width(view, a) || width(view, a) != width(view, b)) return no_id;
  const Node& n = view.node(at);
  ValueId x = no_id;
  if (View::is(n, "Split")) {
    if (n.outputs.size() != 2 || n.outputs[0] != a || n.outputs[1] != b ||
        !last_axis(view, a, n.attributes.get<int64_t>("axis", 0)))
      return no_id;
    x = n.inputs[0];
  } else {
    const auto first = sliced(view, a), second = sliced(view, b);
    if (!first || !second || first->x != second->x || first->start != 0 || first->step != 1 ||
        second->start != *width(view, a) || second->step != 1)
      return no_id;
    x = first->x;
  }
  const auto all = width(view, x);
  return all && *all == 2 * *width(view, a) ? x : no_id;
}

/// The ways in which a row of cosines or sines holds one for each pair of numbers: once, or twice, half after
/// half or one beside the other.
enum class Row { once, halves, neighbors };

bool holds_twice(const Tensor& table, Row row_is) {
  constexpr int64_t max_elements = int64_t{1} << 22;
  if (table.rank() == 0 || table.size() > max_elements) return false;
  const Tensor t = aligned(table);
  const int64_t all = t.dim(t.rank() - 1), own = all / 2;
  if (all == 0 || all % 2 != 0) return false;
  const bool beside = row_is == Row::neighbors;
  for (int64_t row = 0; row < t.size(); row += all)
    for (int64_t i = 0; i < own; ++i)
      if (load_double(t, row + (beside ? 2 * i : i)) != load_double(t, row + (beside ? 2 * i + 1 : own + i)))
        return false;
  return true;
}

/// Returns whether `whole` is `pairs` [.., n, 2] as [.., 2 n].
bool joins_last_two(const View& view, ValueId pairs, ValueId whole) {
  const auto &from = view.type(pairs).shape, &to = view.type(whole).shape;
  if (!from || !to || from->size() != to->size() + 1 || to->empty()) return false;
  const auto n = (*from)[to->size() - 1].value(), all = to->back().value();
  return n && all && *all == 2 * *n && std::equal(to->begin(), to->end() - 1, from->begin());
}

/// Returns whether v [.., n, 2] has each number twice.
bool repeats_each_twice(const View& view, ValueId v) {
  const NodeId at = view.producer(v);
  if (at == no_id || width(view, v) != 2) return false;
  const Node& n = view.node(at);
  if (View::is(n, "Expand") || View::is(n, "Tile")) return width(view, n.inputs[0]) == 1;
  return View::is(n, "Concat") && n.inputs.size() == 2 && n.inputs[0] == n.inputs[1] &&
         last_axis(view, v, n.attributes.get<int64_t>("axis", 0));
}

/// f, if v is (f, f) along its last axis, or a transposed (f, f) whose doubled axis becomes the last one.
struct Doubled {
  ValueId half = no_id;
  std::vector<int64_t> perm;  // empty: not transposed
};
std::optional<Doubled> doubled(const View& view, ValueId v) {
  Doubled d;
  const auto rank = view.rank(v);
  if (!rank || *rank == 0) return std::nullopt;
  auto axis = static_cast<int64_t>(*rank) - 1;
  if (const Node* transpose = view.made_by(v, "Transpose")) {
    d.perm = order_of(view, *transpose);
    axis = d.perm.back();
    v = transpose->inputs[0];
  }
  const Node* n = view.made_by(v, "Concat");
  if (!n || n->inputs.size() != 2 || n->inputs[0] != n->inputs[1] ||
      from_front(view, v, n->attributes.get<int64_t>("axis", 0)) != axis)
    return std::nullopt;
  d.half = n->inputs[0];
  return d;
}

/// Returns whether the node works on each element of one operand, beside a number at most.
bool works_alone(const View& view, const Node& n) {
  if (View::is(n, "Cos") || View::is(n, "Sin") || View::is(n, "Cast")) return true;
  if (!View::is(n, "Mul") && !View::is(n, "Div")) return false;
  const auto by = with_number(view, n);
  return by && view.same_type(by->x, n.outputs[0]);
}
/// Returns the operand that is not a number.
ValueId operand(const View& view, const Node& n) {
  return n.inputs.size() == 1 ? n.inputs[0] : with_number(view, n)->x;
}

/// Returns whether the last axis holds everything twice, in the way of `row`.
bool repeats_itself(const View& view, ValueId v, Row row, int depth = 12) {
  if (const Tensor* t = view.contents(v)) return holds_twice(*t, row);
  const NodeId at = view.producer(v);
  if (at == no_id || depth == 0 || !view.rank(v)) return false;
  const Node& n = view.node(at);
  const auto further = [&](ValueId x) { return repeats_itself(view, x, row, depth - 1); };
  if (row == Row::neighbors && View::is(n, "Reshape"))
    return repeats_each_twice(view, n.inputs[0]) && joins_last_two(view, n.inputs[0], v);
  if (row == Row::halves && doubled(view, v)) return true;
  if (works_alone(view, n)) return further(operand(view, n));
  // Movements that keep the elements of the last axis, or reverse them.
  const auto wide = width(view, v), before = n.inputs.empty() ? std::nullopt : width(view, n.inputs[0]);
  if (!wide || wide != before || *wide < 2) return false;
  if (View::is(n, "Gather") && from_front(view, n.inputs[0], n.attributes.get<int64_t>("axis", 0)) != 0)
    return false;
  return (View::is(n, "Gather") || View::is(n, "Slice") || View::is(n, "Unsqueeze") ||
          View::is(n, "Squeeze")) &&
         view.rank(n.inputs[0]) > size_t{1} && further(n.inputs[0]);
}

/// Adds a row that repeats itself in the way of `row` only once: computed so if possible, else cut out.
ValueId add_once(const View& view, Patch& p, ValueId v, Row row) {
  if (row == Row::once) return v;
  if (row == Row::halves && !view.contents(v)) {
    if (const auto d = doubled(view, v))
      return d->perm.empty() ? d->half : add_transpose(p, d->half, d->perm);
    const NodeId at = view.producer(v);
    if (at != no_id && works_alone(view, view.node(at))) {
      const Node& n = view.node(at);
      const ValueId x = operand(view, n);
      const auto is_number = [&](ValueId i) { return i == x || view.rank(i) == 0 || width(view, i) == 1; };
      if (std::ranges::all_of(n.inputs, is_number)) {
        Operands inputs = n.inputs;
        std::ranges::replace(inputs, x, add_once(view, p, x, row));
        return p.add(n.op, std::move(inputs), n.attributes);
      }
    }
  }
  const int64_t all = *width(view, v);
  std::vector<ValueId> inputs{v, p.add_constant("starts", ints({0})),
                              p.add_constant("ends", ints({row == Row::halves ? all / 2 : all})),
                              p.add_constant("axes", ints({-1}))};
  if (row == Row::neighbors) inputs.push_back(p.add_constant("steps", ints({2})));
  return p.add("Slice", std::move(inputs));
}

/// Cosines or sines as RotaryEmbedding requires them: [batch, rows, half], or [positions, half] with the
/// positions [batch, rows] that are taken.
struct Angles {
  ValueId table = no_id, positions = no_id;
};

/// Returns whether these numbers are surely not negative. Gather counts negative ones from the end,
/// RotaryEmbedding refuses them.
bool surely_positions(const View& view, ValueId v) {
  for (int depth = 0; depth < 8; ++depth) {
    if (const auto known = view.integers(v))
      return std::ranges::all_of(*known, [](int64_t i) { return i >= 0; });
    const Node& n = view.node(view.producer(v));
    if (View::is(n, "Range")) {
      const auto start = view.integers(n.inputs[0]), step = view.integers(n.inputs[2]);
      return start && step && start->size() == 1 && step->size() == 1 && (*start)[0] >= 0 && (*step)[0] > 0;
    }
    if (!keeps_order(n) && !View::is(n, "Expand") && !View::is(n, "Slice") && !View::is(n, "Transpose"))
      return false;
    v = n.inputs[0];
  }
  return false;
}

/// Matches a factor of x [batch, heads, rows, size]: [batch, 1, rows, width], whose width is the size, or
/// half of it if each number is there once. Heads and rows may be exchanged.
std::optional<Angles> angles(const View& view, ValueId v, const SymShape& x, Row row, size_t heads) {
  const auto& shape = view.type(v).shape;
  const size_t rows = 3 - heads;
  if (!shape || shape->size() != 4 || !((*shape)[heads] == Dim(1)) || !((*shape)[rows] == x[rows]) ||
      !((*shape)[0] == x[0] || (*shape)[0] == Dim(1)) || (row != Row::once && !repeats_itself(view, v, row)))
    return std::nullopt;
  const Node* open = view.made_by(v, "Unsqueeze");
  const auto axes = open ? view.integers(open->inputs[1]) : std::nullopt;
  if (!axes || axes->size() != 1 || from_front(view, v, (*axes)[0]) != static_cast<int64_t>(heads))
    return Angles{v, no_id};
  const ValueId flat = open->inputs[0];
  const Node* gather = view.made_by(flat, "Gather");
  if (gather && gather->attributes.get<int64_t>("axis", 0) == 0 && view.rank(gather->inputs[0]) == 2 &&
      view.rank(gather->inputs[1]) == 2 && view.type(gather->inputs[1]).elem == DataType::int64 &&
      (*shape)[0] == x[0] && surely_positions(view, gather->inputs[1]))
    return Angles{gather->inputs[0], gather->inputs[1]};
  return Angles{flat, no_id};
}

ValueId add_table(const View& view, Patch& p, const Angles& a, ValueId x, Row row, size_t heads) {
  const SymShape& of = *view.type(x).shape;
  const SymShape& have = *view.type(a.table).shape;
  ValueId v = add_once(view, p, a.table, row);
  if (have.size() == 4)
    v = p.add("Squeeze", {v, p.add_constant("axes", ints({static_cast<int64_t>(heads)}))});
  if (a.positions != no_id || have[0] == of[0]) return v;
  Attributes first;
  first.set("end", int64_t{1});
  Attributes along;
  along.set("axis", int64_t{0});
  const ValueId batch = p.add("Shape", {x}, std::move(first));
  return p.add("Expand",
               {v, p.add("Concat", {batch, p.add_constant("ones", ints({1, 1}))}, std::move(along))});
}

/// x [batch, rows, heads, size] as [batch, rows, heads * size], which the operator takes as well.
ValueId add_side_by_side(Patch& p, ValueId x, const SymShape& shape) {
  const int64_t all = shape[2].constant() * shape[3].constant();
  return p.add("Reshape", {x, p.add_constant("side_by_side", ints({0, 0, all}))});
}

std::optional<Patch> rotary(const View& view, ValueId x, ValueId y, ValueId cosines, ValueId sines,
                            bool interleaved, Row row) {
  const auto& shape = view.type(x).shape;
  if (!shape || shape->size() != 4 || !shape->back().is_constant() || !view.same_type(x, y) ||
      !fits_float32(view.type(x).elem))
    return std::nullopt;
  const int64_t wanted = row == Row::once ? shape->back().constant() / 2 : shape->back().constant();
  for (size_t heads : {size_t{1}, size_t{2}}) {
    const auto cosine = angles(view, cosines, *shape, row, heads),
               sine = angles(view, sines, *shape, row, heads);
    if (!cosine || !sine || cosine->positions != sine->positions) continue;
    if (width(view, cosine->table) != wanted || width(view, sine->table) != wanted) continue;
    const bool rows_first = heads == 2;
    if (rows_first && !((*shape)[2].is_constant() && (*shape)[2].constant() > 0)) continue;
    Patch p("a chain that computes RotaryEmbedding");
    std::vector<ValueId> inputs{rows_first ? add_side_by_side(p, x, *shape) : x,
                                add_table(view, p, *cosine, x, row, heads),
                                add_table(view, p, *sine, x, row, heads)};
    if (cosine->positions != no_id) inputs.push_back(cosine->positions);
    Attributes a;
    if (interleaved) a.set("interleaved", int64_t{1});
    if (rows_first) a.set("num_heads", (*shape)[2].constant());
    ValueId rotated = p.add("RotaryEmbedding", std::move(inputs), std::move(a));
    if (rows_first)
      rotated = p.add(
          "Reshape",
          {rotated, p.add_constant("heads", ints({0, 0, (*shape)[2].constant(), shape->back().constant()}))});
    p.replace_uses(y, rotated);
    return p;
  }
  return std::nullopt;
}

/// Returns x if v is x[..., which::2], by Slice, or by a last axis of pairs that is split or gathered from.
ValueId every_second(const View& view, ValueId v, int64_t which) {
  if (const auto part = sliced(view, v)) {
    const auto all = width(view, part->x), own = width(view, v);
    return part->step == 2 && part->start == which && all && own && *all == 2 * *own ? part->x : no_id;
  }
  ValueId pairs = no_id;
  if (const Node* gather = view.made_by(v, "Gather")) {
    const auto index = view.integers(gather->inputs[1]);
    if (!index || view.rank(gather->inputs[1]) != 0 || index->size() != 1 ||
        ((*index)[0] != which && (*index)[0] != which - 2) ||
        !last_axis(view, gather->inputs[0], gather->attributes.get<int64_t>("axis", 0)))
      return no_id;
    pairs = gather->inputs[0];
  } else if (const Node* squeeze = view.made_by(v, "Squeeze")) {
    const NodeId at = view.producer(squeeze->inputs[0]);
    if (at == no_id || width(view, squeeze->inputs[0]) != 1 || view.rank(v) != 4) return no_id;
    const Node& n = view.node(at);
    if (View::is(n, "Split") && n.outputs.size() == 2 &&
        last_axis(view, n.inputs[0], n.attributes.get<int64_t>("axis", 0)) &&
        n.outputs[static_cast<size_t>(which)] == squeeze->inputs[0])
      pairs = n.inputs[0];
    else if (const auto part = sliced(view, squeeze->inputs[0]); part && part->start == which)
      pairs = part->x;
  }
  const Node* split = pairs == no_id ? nullptr : view.made_by(pairs, "Reshape");
  if (!split || width(view, pairs) != 2) return no_id;
  const auto &x = view.type(split->inputs[0]).shape, &y = view.type(pairs).shape;
  if (!x || !y || x->size() != 4 || y->size() != 5) return no_id;
  for (size_t i = 0; i < 3; ++i)
    if (!((*x)[i] == (*y)[i])) return no_id;
  return split->inputs[0];
}

/// Returns whether v is (-b, a) for every pair of neighbors (a, b) of x.
bool is_rotated_pairs(const View& view, ValueId v, ValueId x) {
  const Node* whole = view.made_by(v, "Reshape");
  const Node* n = whole ? view.made_by(whole->inputs[0], "Concat") : nullptr;
  if (!n || n->inputs.size() != 2 || !joins_last_two(view, whole->inputs[0], v) ||
      !last_axis(view, whole->inputs[0], n->attributes.get<int64_t>("axis", 0)))
    return false;
  const Node *left = view.made_by(n->inputs[0], "Unsqueeze"),
             *right = view.made_by(n->inputs[1], "Unsqueeze");
  if (!left || !right || width(view, n->inputs[0]) != 1 || width(view, n->inputs[1]) != 1) return false;
  const Node* neg = view.made_by(left->inputs[0], "Neg");
  return neg && every_second(view, neg->inputs[0], 1) == x && every_second(view, right->inputs[0], 0) == x;
}

/// x * cos + rotate(x) * sin, of halves or of neighbors; the anchor is the Add.
std::optional<Patch> of_whole(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node *plain = view.made_by(n.inputs[i], "Mul"), *rotated = view.made_by(n.inputs[1 - i], "Mul");
    if (!plain || !rotated || !view.read_once(n.inputs[0]) || !view.read_once(n.inputs[1]))
      return std::nullopt;
    for (size_t j : {size_t{0}, size_t{1}})
      for (size_t k : {size_t{0}, size_t{1}}) {
        const ValueId x = plain->inputs[k];
        const bool pairs = is_rotated_pairs(view, rotated->inputs[j], x);
        if (!pairs && !is_rotated_half(view, rotated->inputs[j], x)) continue;
        auto p = rotary(view, x, n.outputs[0], plain->inputs[1 - k], rotated->inputs[1 - j], pairs,
                        pairs ? Row::neighbors : Row::halves);
        if (p) p->remove(id);
        return p;
      }
  }
  return std::nullopt;
}

/// (a cos - b sin, b cos + a sin) of the halves of x = (a, b); the anchor is the Concat.
std::optional<Patch> by_halves(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() != 2 || !last_axis(view, n.outputs[0], n.attributes.get<int64_t>("axis", 0)))
    return std::nullopt;
  const Node *sub = view.made_by(n.inputs[0], "Sub"), *add = view.made_by(n.inputs[1], "Add");
  if (!sub || !add || !view.read_once(n.inputs[0]) || !view.read_once(n.inputs[1])) return std::nullopt;
  // Returns the other factor of a product with a half: cosines or sines.
  const auto factors = [&](ValueId v, ValueId half) -> ValueId {
    const Node* mul = view.made_by(v, "Mul");
    if (!mul || !view.read_once(v)) return no_id;
    return mul->inputs[0] == half ? mul->inputs[1] : mul->inputs[1] == half ? mul->inputs[0] : no_id;
  };
  const Node *first = view.made_by(sub->inputs[0], "Mul"), *second = view.made_by(sub->inputs[1], "Mul");
  if (!first || !second) return std::nullopt;
  for (ValueId a : first->inputs)
    for (ValueId b : second->inputs) {
      const ValueId x = halves_of(view, a, b);
      if (x == no_id) continue;
      const ValueId cosines = factors(sub->inputs[0], a), sines = factors(sub->inputs[1], b);
      for (size_t i : {size_t{0}, size_t{1}})
        if (cosines != no_id && sines != no_id && factors(add->inputs[i], b) == cosines &&
            factors(add->inputs[1 - i], a) == sines) {
          auto p = rotary(view, x, n.outputs[0], cosines, sines, false, Row::once);
          if (p) p->remove(id);
          return p;
        }
    }
  return std::nullopt;
}

/// A product of every second element of x with something.
struct RotaryProduct {
  ValueId x = no_id, by = no_id;
  int64_t which = 0;
};
std::optional<RotaryProduct> rotary_product(const View& view, ValueId v) {
  const Node* mul = view.made_by(v, "Mul");
  if (!mul || !view.read_once(v)) return std::nullopt;
  for (size_t i : {size_t{0}, size_t{1}})
    for (int64_t which : {0, 1})
      if (const ValueId x = every_second(view, mul->inputs[i], which); x != no_id)
        return RotaryProduct{x, mul->inputs[1 - i], which};
  return std::nullopt;
}

/// The pairs (a * cos - b * sin, a * sin + b * cos), joined; the anchor is the Reshape that joins them.
std::optional<Patch> by_pairs(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* join = view.made_by(n.inputs[0], "Concat");
  if (!join || join->inputs.size() != 2 || view.rank(n.inputs[0]) != 5 ||
      !last_axis(view, n.inputs[0], join->attributes.get<int64_t>("axis", 0)))
    return std::nullopt;
  const Node *left = view.made_by(join->inputs[0], "Unsqueeze"),
             *right = view.made_by(join->inputs[1], "Unsqueeze");
  if (!left || !right || width(view, join->inputs[0]) != 1 || width(view, join->inputs[1]) != 1)
    return std::nullopt;
  const Node *sub = view.made_by(left->inputs[0], "Sub"), *add = view.made_by(right->inputs[0], "Add");
  if (!sub || !add) return std::nullopt;
  const auto a = rotary_product(view, sub->inputs[0]), b = rotary_product(view, sub->inputs[1]);
  auto c = rotary_product(view, add->inputs[0]), d = rotary_product(view, add->inputs[1]);
  if (!a || !b || !c || !d) return std::nullopt;
  if (c->which == 1) std::swap(c, d);
  if (a->which != 0 || b->which != 1 || c->which != 0 || d->which != 1 || a->x != b->x || a->x != c->x ||
      a->x != d->x || a->by != d->by || b->by != c->by)
    return std::nullopt;
  auto p = rotary(view, a->x, n.outputs[0], a->by, b->by, true, Row::once);
  if (p) p->remove(id);
  return p;
}

/// A head of which only the first part is rotated; the anchor is the Concat with the rest.
std::optional<Patch> first_part(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* inner = n.inputs.size() == 2 ? view.made_by(n.inputs[0], "RotaryEmbedding") : nullptr;
  if (!inner || !view.read_once(n.inputs[0]) || inner->attributes.has("rotary_embedding_dim") ||
      view.rank(n.inputs[0]) != 4 || !last_axis(view, n.outputs[0], n.attributes.get<int64_t>("axis", 0)))
    return std::nullopt;
  const auto rotated = width(view, n.inputs[0]), kept = width(view, n.inputs[1]);
  const auto part = sliced(view, inner->inputs[0]), rest = sliced(view, n.inputs[1]);
  const auto all = part ? width(view, part->x) : std::nullopt;
  if (!rotated || !kept || !rest || !all || *all != *rotated + *kept || part->x != rest->x ||
      part->start != 0 || part->step != 1 || rest->start != *rotated || rest->step != 1)
    return std::nullopt;
  Patch p("RotaryEmbedding of a part of each head");
  Operands inputs = inner->inputs;
  inputs.set(0, part->x);
  Attributes a = inner->attributes;
  a.set("rotary_embedding_dim", *rotated);
  p.replace_uses(n.outputs[0], p.add("RotaryEmbedding", std::move(inputs), std::move(a)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_recognize_rotary(PassList& all) {
  all.push_back({.name = "recognize-rotary",
                 .description = "finds x * cos + rotate(x) * sin, of halves or of neighbors",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Add"},
                 .propose = of_whole});
  all.push_back({.name = "recognize-rotary-pairs",
                 .description = "finds RotaryEmbedding of neighbors",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Reshape"},
                 .propose = by_pairs});
  all.push_back({.name = "recognize-rotary-halves",
                 .description = "finds RotaryEmbedding of halves that are rotated one by one",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Concat"},
                 .propose = by_halves});
  all.push_back({.name = "recognize-rotary-part",
                 .description = "finds RotaryEmbedding of the first part of each head",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Concat"},
                 .propose = first_part});
}

}  // namespace lathe
