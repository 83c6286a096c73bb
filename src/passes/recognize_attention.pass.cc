// Attention as exporters decompose it: softmax(scale * Q K' + mask) V, for one head or for all of them.
//
// Chains are read from the last MatMul backwards. Scores may be scaled before or after the first MatMul, on
// one side or on both; masks may be added, or chosen by Where; key heads may be repeated for groups of query
// heads. If minus infinity masks all keys, the chain makes NaN and Attention 0, and so does a Where that
// tests for NaN: for finite Q, K and V that is the only difference.
#include <cmath>
#include <numeric>

#include "ops/softmax/softmax.h"
#include "passes/attention_masks.h"

namespace lathe {
namespace {

struct Decomposed {
  ValueId q = no_id, keys = no_id, products = no_id;  // keys: as the MatMul takes them, transposed
  double scale = 1, softcap = 0;
  std::vector<Masking> masks;  // in their order
  DataType precision = DataType::undefined;
};

/// Reads the chain that ends in a softmax, from its end.
class Reader {
 public:
  explicit Reader(const View& view) : view_(view) {}

  /// `v`: the probabilities that the last MatMul takes.
  std::optional<Decomposed> read(ValueId v) {
    const DataType type = view_.type(v).elem;
    v = without_nan_guard(v);
    DataType precision = DataType::undefined;
    if (const Node* back = view_.made_by(v, "Cast"); back && view_.read_once(v)) {
      v = without_nan_guard(back->inputs[0]);
      precision = view_.type(v).elem;
    }
    const Node* softmax = view_.made_by(v, "Softmax");
    const auto rank = view_.rank(v);
    if (!softmax || !rank || !alone(v)) return std::nullopt;
    const int64_t axis = decode<Softmax>(softmax->attributes).axis;
    if (axis != -1 && axis != static_cast<int64_t>(*rank) - 1) return std::nullopt;
    ValueId scores = softmax->inputs[0];
    if (precision != DataType::undefined) {
      const Node* cast = view_.made_by(scores, "Cast");
      if (!cast || !view_.read_once(scores)) return std::nullopt;
      scores = cast->inputs[0];
    }
    if (view_.type(scores).elem != type) return std::nullopt;
    auto found = masked(scores, 4);
    if (!found || !same_but_columns(found->products, scores)) return std::nullopt;
    found->precision = precision;
    return found;
  }

 private:
  /// Returns x if `v` is x with 0 for NaN, which softmax makes of rows without a key; else `v`.
  ValueId without_nan_guard(ValueId v) {
    const Node* where = view_.made_by(v, "Where");
    const Node* is_nan = where ? view_.made_by(where->inputs[0], "IsNaN") : nullptr;
    if (!is_nan || is_nan->inputs[0] != where->inputs[2] || view_.uniform(where->inputs[1]) != 0.0 ||
        !view_.read_once(v) || !view_.read_once(where->inputs[0]) || view_.uses(where->inputs[2]).size() != 2)
      return v;
    guarded_ = where->inputs[2];
    return guarded_;
  }
  /// Returns whether both have the same heads and rows; columns agree because V has as many rows as keys.
  bool same_but_columns(ValueId a, ValueId b) const {
    const auto &x = view_.type(a).shape, &y = view_.type(b).shape;
    return x && y && x->size() == y->size() && std::equal(x->begin(), x->end() - 1, y->begin());
  }
  /// True if nothing but the chain reads the value.
  bool alone(ValueId v) const { return view_.read_once(v) || (v == guarded_ && !view_.is_output(v)); }

  std::optional<Decomposed> masked(ValueId v, int depth) {
    if (depth == 0 || !view_.read_once(v)) return std::nullopt;
    for (const Masked& m : readings(view_, v))
      if (auto s = masked(m.scores, depth - 1)) {
        s->masks.push_back(m.by);
        return s;
      }
    return capped(v);
  }

  std::optional<Decomposed> capped(ValueId v) {
    Decomposed s;
    const Node* mul = view_.made_by(v, "Mul");
    const auto outer = mul ? with_number(view_, *mul) : std::nullopt;
    const Node* tanh = outer && view_.read_once(outer->x) ? view_.made_by(outer->x, "Tanh") : nullptr;
    if (tanh && outer->number > 0) {
      // Inside, scores are scaled and divided by the cap.
      s.softcap = outer->number;
      s.scale = outer->number;
      v = tanh->inputs[0];
    }
    return scaled(v, std::move(s));
  }

  std::optional<Decomposed> scaled(ValueId v, Decomposed s) {
    for (ValueId at = v; at != no_id;) {
      if (!view_.read_once(at)) return std::nullopt;
      double factor = 1;
      const ValueId next = without_one_factor(at, factor);
      if (next == no_id) {
        v = at;
        break;
      }
      s.scale *= factor;
      at = next;
    }
    const Node* products = view_.made_by(v, "MatMul");
    if (!products) return std::nullopt;
    s.products = v;
    s.q = without_factors(view_, products->inputs[0], s.scale);
    s.keys = without_factors(view_, products->inputs[1], s.scale);
    return s;
  }
  ValueId without_one_factor(ValueId v, double& factor) {
    const NodeId at = view_.producer(v);
    if (at == no_id) return no_id;
    const Node& n = view_.node(at);
    const bool divides = View::is(n, "Div");
    if (!divides && !View::is(n, "Mul")) return no_id;
    const auto by = with_number(view_, n);
    if (!by || (divides && by->x != n.inputs[0])) return no_id;
    factor = divides ? 1 / by->number : by->number;
    return by->x;
  }

  const View& view_;
  ValueId guarded_ = no_id;
};

/// [batch, heads, rows, size] as a transposed value; without `perm` it is not transposed.
struct Heads {
  ValueId from = no_id;
  std::vector<int64_t> perm;
  size_t head_axis() const { return perm.empty() ? 1 : static_cast<size_t>(perm[1]); }
};

/// Returns the value whose heads Expand or Tile repeats for those of `h`: [.., kv, ..] → [.., kv, 1, ..] →
/// [.., kv, n, ..] → [.., kv * n, ..].
ValueId ungrouped(const View& view, const Heads& h) {
  const Node* join = view.made_by(h.from, "Reshape");
  if (!join) return no_id;
  const Node* repeat = view.made_by(join->inputs[0], "Expand");
  if (!repeat) repeat = view.made_by(join->inputs[0], "Tile");
  const Node* open = repeat ? view.made_by(repeat->inputs[0], "Unsqueeze") : nullptr;
  if (repeat && !open) open = view.made_by(repeat->inputs[0], "Reshape");
  if (!open) return no_id;
  const auto &few = view.type(open->inputs[0]).shape, &one = view.type(repeat->inputs[0]).shape,
             &wide = view.type(join->inputs[0]).shape, &all = view.type(h.from).shape;
  if (!few || !one || !wide || !all || few->size() != 4 || one->size() != 5 || wide->size() != 5 ||
      all->size() != 4)
    return no_id;
  const size_t axis = h.head_axis();
  SymShape opened = *few, joined = *wide;
  opened.insert(opened.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(1));
  joined[axis] = joined[axis] * joined[axis + 1];
  joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  SymShape repeated = opened;
  repeated[axis + 1] = (*wide)[axis + 1];
  return *one == opened && *wide == repeated && *all == joined ? open->inputs[0] : no_id;
}

ValueId add_heads(Patch& p, const Heads& h) {
  return h.perm.empty() ? h.from : add_transpose(p, h.from, h.perm);
}

/// The number that is chosen last instead of a score may be replaced by `unseen`, however low the others are:
/// both only hide, and give the keys of a row without any other the same weight. float16 has no such number
/// (Bias::see_all_where_none).
void deepen_last(std::vector<Masking>& masks, DataType type, Bias& bias) {
  if (masks.empty() || !masks.back().faint || masks.back().instead == no_id || type == DataType::float16)
    return;
  masks.back().instead = bias.number(unseen);
  masks.back().faint = false;
}

std::optional<Patch> attention(const View& view, NodeId id) {
  const Node& n = view.node(id);
  auto s = Reader(view).read(n.inputs[0]);
  const auto rank = view.rank(n.outputs[0]);
  if (!s || !rank || (*rank != 3 && *rank != 4)) return std::nullopt;
  if (view.rank(s->q) != rank || view.rank(s->keys) != rank || view.rank(n.inputs[1]) != rank)
    return std::nullopt;
  const SymShape q = *view.type(s->q).shape, k = *view.type(s->keys).shape, v = *view.type(n.inputs[1]).shape;
  const Dim &rows = q[*rank - 2], &keys = k[*rank - 1];
  // Batches must not be broadcast; one head of keys may be.
  if (!(q[0] == k[0]) || !(q[0] == v[0]) || !(v[*rank - 2] == keys)) return std::nullopt;
  if (*rank == 4 && (!(k[1] == v[1]) || !(k[1] == q[1] || k[1] == Dim(1)))) return std::nullopt;

  Heads key{s->keys, {0, 1, 2, 3}}, value{n.inputs[1], {}};
  key.perm.resize(*rank);
  if (const Node* swap = view.made_by(s->keys, "Transpose"))
    key = {swap->inputs[0], order_of(view, *swap)};
  else if (rows == Dim(1))
    return std::nullopt;  // to transpose all keys for one query takes longer than to attend to them
  std::swap(key.perm[*rank - 1], key.perm[*rank - 2]);
  if (std::ranges::is_sorted(key.perm)) {
    key.perm.clear();
    key.from = without_factors(view, key.from, s->scale);
  }
  if (*rank == 4 && !(k[1] == Dim(1))) {
    if (const Node* moved = view.made_by(value.from, "Transpose"))
      if (const Heads under{moved->inputs[0], order_of(view, *moved)}; ungrouped(view, under) != no_id)
        value = under;
    const ValueId k_few = ungrouped(view, key), v_few = ungrouped(view, value);
    const auto heads = [&](ValueId few, const Heads& h) { return (*view.type(few).shape)[h.head_axis()]; };
    if (k_few != no_id && v_few != no_id && heads(k_few, key) == heads(v_few, value) &&
        heads(k_few, key).is_constant() && q[1].is_constant()) {
      key.from = k_few;
      value.from = v_few;
    } else {
      value = {n.inputs[1], {}};
    }
  }
  const auto scale = static_cast<float>(s->scale);
  const DataType type = view.type(n.outputs[0]).elem;
  if (!(scale > 0) || !std::isfinite(scale) ||
      (type == DataType::float64 && static_cast<double>(scale) != s->scale))
    return std::nullopt;

  Patch p("a chain that computes Attention");
  Attributes a;
  Bias bias(view, p, type);
  const Masking* const only = s->masks.size() == 1 ? &s->masks[0] : nullptr;
  const bool sure = only && only->faint && every_row_keeps_a_key(view, *only);
  const bool opened = !sure && only && only->faint && only->instead != no_id && type == DataType::float16;
  if (!sure) deepen_last(s->masks, type, bias);
  if (!sure && !opened && std::ranges::any_of(s->masks, &Masking::faint)) return std::nullopt;
  if (only && keeps_the_past(view, *only, rows, keys))
    a.set("is_causal", int64_t{1});
  else if (sure || opened)
    bias.choose(*only);
  else
    for (const Masking& m : s->masks) bias.add(m);
  const ValueId query = opened ? bias.see_all_where_none(s->q) : s->q;
  if (!bias.fits()) return std::nullopt;
  bias.cover(s->q, n.inputs[1], rows, keys, *rank);
  if (*rank == 3) {
    bias.add_head_axis();
    a.set("q_num_heads", int64_t{1});
    a.set("kv_num_heads", int64_t{1});
  }
  a.set("scale", scale);
  if (s->softcap > 0) a.set("softcap", static_cast<float>(s->softcap));
  if (s->precision != DataType::undefined) a.set("softmax_precision", static_cast<int64_t>(s->precision));
  std::vector<ValueId> inputs{query, add_heads(p, key), add_heads(p, value)};
  if (bias.value() != no_id) inputs.push_back(bias.value());
  p.replace_uses(n.outputs[0], p.add("Attention", std::move(inputs), std::move(a)));
  p.remove(id);
  return p;
}

/// V P' as networks of images compute it, whose pixels are columns, becomes (P V')'.
std::optional<Patch> values_in_front(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* transpose = view.made_by(n.inputs[1], "Transpose");
  const auto rank = view.rank(n.inputs[0]);
  if (!transpose || !rank || *rank < 3 || view.rank(n.inputs[1]) != rank || !view.read_once(n.inputs[1]) ||
      !view.made_by(transpose->inputs[0], "Softmax") || !view.read_once(transpose->inputs[0]))
    return std::nullopt;
  std::vector<int64_t> transposed(*rank);
  std::iota(transposed.begin(), transposed.end(), 0);
  std::swap(transposed[*rank - 1], transposed[*rank - 2]);
  if (order_of(view, *transpose) != transposed) return std::nullopt;
  Patch p("values times transposed weights");
  const ValueId values = add_transpose(p, n.inputs[0], transposed);
  p.replace_uses(n.outputs[0], add_transpose(p, p.add("MatMul", {transpose->inputs[0], values}), transposed));
  p.remove(id);
  return p;
}

/// x [batch, rows, heads * size], if v is [batch, heads, rows, size], split and transposed.
struct HeadsLast {
  ValueId x = no_id;
  int64_t heads = 0;
};
std::optional<HeadsLast> heads_last(const View& view, ValueId v) {
  const Node* transpose = view.made_by(v, "Transpose");
  const Node* split = transpose ? view.made_by(transpose->inputs[0], "Reshape") : nullptr;
  if (!split || order_of(view, *transpose) != std::vector<int64_t>{0, 2, 1, 3}) return std::nullopt;
  const auto &x = view.type(split->inputs[0]).shape, &y = view.type(split->outputs[0]).shape;
  if (!x || !y || x->size() != 3 || !((*x)[0] == (*y)[0]) || !((*x)[1] == (*y)[1]) || !(*y)[2].is_constant())
    return std::nullopt;
  return HeadsLast{split->inputs[0], (*y)[2].constant()};
}

/// Attention takes heads side by side, too, and leaves them so; transpositions around it are removed.
std::optional<Patch> no_transposes(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() > 4 || n.outputs.size() != 1 || !view.read_once(n.outputs[0])) return std::nullopt;
  const auto q = heads_last(view, n.inputs[0]), k = heads_last(view, n.inputs[1]),
             v = heads_last(view, n.inputs[2]);
  if (!q || !k || !v || k->heads != v->heads) return std::nullopt;
  const NodeId back = view.uses(n.outputs[0])[0].node;
  const Node& transpose = view.node(back);
  if (!View::is(transpose, "Transpose") || order_of(view, transpose) != std::vector<int64_t>{0, 2, 1, 3} ||
      !view.read_once(transpose.outputs[0]))
    return std::nullopt;
  const NodeId join = view.uses(transpose.outputs[0])[0].node;
  const Node& reshape = view.node(join);
  const auto &heads = view.type(transpose.outputs[0]).shape, &y = view.type(reshape.outputs[0]).shape;
  if (!View::is(reshape, "Reshape") || view.uses(transpose.outputs[0])[0].input != 0 || !heads || !y)
    return std::nullopt;
  // A result that is not joined to three axes is reshaped; a 0 would then copy another size.
  const bool joined = y->size() == 3 && (*heads)[0] == (*y)[0] && (*heads)[1] == (*y)[1];
  const auto shape = view.integers(reshape.inputs[1]);
  if (!joined && (!shape || std::ranges::count(*shape, 0) > 0)) return std::nullopt;
  Patch p("heads stay side by side");
  Attributes a = n.attributes;
  a.set("q_num_heads", q->heads);
  a.set("kv_num_heads", k->heads);
  std::vector<ValueId> inputs{q->x, k->x, v->x};
  if (n.inputs.size() > 3) inputs.push_back(n.inputs[3]);
  const ValueId attended = p.add("Attention", std::move(inputs), std::move(a));
  p.replace_uses(reshape.outputs[0],
                 joined ? attended : p.add("Reshape", {attended, reshape.inputs[1]}, reshape.attributes));
  for (NodeId gone : {join, back, id}) p.remove(gone);
  return p;
}

/// The operands of a Concat along the rows of heads.
struct Continued {
  ValueId past = no_id, fresh = no_id;
};
std::optional<Continued> continued(const View& view, ValueId v) {
  const Node* concat = view.made_by(v, "Concat");
  if (!concat || concat->inputs.size() != 2 || view.rank(v) != 4 || view.uses(v).size() != 1)
    return std::nullopt;
  const auto axis = concat->attributes.get<int64_t>("axis", 0);
  if (axis != 2 && axis != -2) return std::nullopt;
  return Continued{concat->inputs[0], concat->inputs[1]};
}

/// Returns what an updated KV cache, an output of the graph, consists of: the cache, an input, and new rows.
std::optional<Continued> parts_of_updated(const View& view, ValueId updated) {
  if (view.rank(updated) != 4 || !view.graph().is_output(updated)) return std::nullopt;
  Continued parts;
  if (const Node* const concat = view.made_by(updated, "Concat")) {
    const auto axis = concat->attributes.get<int64_t>("axis", 0);
    if (concat->inputs.size() != 2 || (axis != 2 && axis != -2)) return std::nullopt;
    parts = {concat->inputs[0], concat->inputs[1]};
  } else if (const Node* const attention = view.made_by(updated, "Attention")) {
    const size_t i = attention->outputs[0] == updated ? 0 : attention->outputs[1] == updated ? 1 : 2;
    if (i == 0 || attention->inputs.size() < 6) return std::nullopt;
    parts = {attention->inputs[i + 3], attention->inputs[i]};
  }
  if (parts.past == no_id || !view.graph().value(parts.past).is_input || view.rank(parts.fresh) != 4)
    return std::nullopt;
  return parts;
}

/// Computes the sizes of an updated KV cache from those of its parts, so that masks, which are made for its
/// length, do not wait for it. The anchor is the Shape.
std::optional<Patch> sizes_of_updated(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const std::optional<Continued> parts = parts_of_updated(view, n.inputs[0]);
  if (!parts) return std::nullopt;
  const auto bound = [&](const char* name, int64_t otherwise) {
    const auto given = n.attributes.get<int64_t>(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + 4 : given, 0, 4);
  };
  const int64_t start = bound("start", 0), end = bound("end", 4);
  if (start > 2 || end < 3) return std::nullopt;
  Patch p("the sizes of keys or values follow from those of earlier calls and the new ones");
  Attributes range;
  range.set("start", start);
  range.set("end", end);
  const ValueId past = p.add("Shape", {parts->past}, range);
  ValueId fresh = p.add("Shape", {parts->fresh}, range);
  if (end - start > 1) {
    std::vector<int64_t> grows(static_cast<size_t>(end - start), 0);
    grows[static_cast<size_t>(2 - start)] = 1;
    fresh = p.add("Mul", {fresh, p.add_constant("grows", ints(grows))});
  }
  p.replace_uses(n.outputs[0], p.add("Add", {past, fresh}));
  p.remove(id);
  return p;
}

/// Keys and values that are appended to a KV cache: Attention concatenates them itself, and reads each once.
/// Causality and windows depend on the positions of queries, which a KV cache would shift.
std::optional<Patch> past(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() > 4 || n.outputs.size() != 1 || n.attributes.get<int64_t>("is_causal", 0) != 0 ||
      n.attributes.get<int64_t>("left_window_size", -1) >= 0 ||
      n.attributes.get<int64_t>("right_window_size", -1) >= 0)
    return std::nullopt;
  // Kernels of double do not support it.
  if (view.type(n.inputs[0]).elem == DataType::float64 || view.rank(n.inputs[0]) != 4) return std::nullopt;
  const auto k = continued(view, n.inputs[1]), v = continued(view, n.inputs[2]);
  if (!k || !v) return std::nullopt;
  Patch p("keys and values follow those of earlier calls");
  std::vector<ValueId> inputs{n.inputs[0], k->fresh, v->fresh, n.inputs.size() > 3 ? n.inputs[3] : no_id,
                              k->past,     v->past};
  const auto made = p.add_node("Attention", std::move(inputs), 3, n.attributes);
  p.replace_uses(n.outputs[0], made[0]);
  p.replace_uses(n.inputs[1], made[1]);
  p.replace_uses(n.inputs[2], made[2]);
  for (NodeId gone : {id, view.producer(n.inputs[1]), view.producer(n.inputs[2])}) p.remove(gone);
  return p;
}

}  // namespace

void pass_recognize_attention(PassList& all) {
  all.push_back({.name = "recognize-attention",
                 .description = "finds softmax(scale * Q K' + mask) V",
                 .level = OptimizationLevel::extended,
                 .anchors = {"MatMul"},
                 .propose = attention,
                 .finite_only = true});
  all.push_back({.name = "recognize-attention-transposed",
                 .description = "puts the weights of attention in front of its values",
                 .level = OptimizationLevel::extended,
                 .anchors = {"MatMul"},
                 .propose = values_in_front});
  all.push_back({.name = "recognize-attention-heads",
                 .description = "leaves heads side by side around Attention, without transpositions",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Attention"},
                 .propose = no_transposes});
  all.push_back({.name = "recognize-attention-sizes",
                 .description = "computes the sizes of an updated KV cache from those of its parts",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Shape"},
                 .propose = sizes_of_updated});
  all.push_back({.name = "recognize-attention-past",
                 .description = "lets Attention put its keys and values behind those of earlier calls",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Attention"},
                 .propose = past});
}

}  // namespace lathe
