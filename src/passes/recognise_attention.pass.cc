// Attention as exporters spell it: softmax(scale * Q K' + mask) V, for one head or for all of them.
//
// Read from the last MatMul backwards. Scores may be scaled before or after the first MatMul, on one side or
// on both; masks may be added, or chosen by Where; key heads may be repeated for groups of query heads. Keys
// that would be masked by minus infinity all together make the chain NaN and Attention 0, and so does the
// Where that looks for NaN: for finite Q, K and V that is the only difference.
#include <cmath>
#include <limits>

#include "ops/softmax/softmax.h"
#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// One thing that is done to the scores before softmax.
struct Masking {
  ValueId mask = no_id;     // added; or the condition, where `instead` is given
  ValueId instead = no_id;  // what stands where the condition is `unless`
  bool unless = false;
};

struct Spelled {
  ValueId q = no_id, keys = no_id, products = no_id;  // keys: as the MatMul takes them, transposed
  double scale = 1, softcap = 0;
  std::vector<Masking> masks;  // in the order they are done
  DataType precision = DataType::undefined;
};

/// Elements that leave no trace of what they are added to, and nothing after softmax.
bool hides(DataType t, double number) {
  return number == -std::numeric_limits<double>::infinity() || (number <= -1e30 && t != DataType::float16);
}

/// Reads the chain that ends in a softmax, from its end.
class Reader {
 public:
  explicit Reader(const View& view) : view_(view) {}

  /// `v`: the probabilities that the last MatMul takes.
  std::optional<Spelled> read(ValueId v) {
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
  /// x where `v` is x with 0 for NaN: what softmax makes of rows without a key.
  ValueId without_nan_guard(ValueId v) {
    const Node* where = view_.made_by(v, "Where");
    const Node* is_nan = where ? view_.made_by(where->inputs[0], "IsNaN") : nullptr;
    if (!is_nan || is_nan->inputs[0] != where->inputs[2] || view_.uniform(where->inputs[1]) != 0.0 ||
        !view_.read_once(v) || !view_.read_once(where->inputs[0]) || view_.uses(where->inputs[2]).size() != 2)
      return v;
    guarded_ = where->inputs[2];
    return guarded_;
  }
  /// As many rows for as many heads; as many columns they have because V has as many rows as keys.
  bool same_but_columns(ValueId a, ValueId b) const {
    const auto &x = view_.type(a).shape, &y = view_.type(b).shape;
    return x && y && x->size() == y->size() && std::equal(x->begin(), x->end() - 1, y->begin());
  }
  /// Read by nothing but the chain.
  bool alone(ValueId v) const { return view_.read_once(v) || (v == guarded_ && !view_.is_output(v)); }

  std::optional<Spelled> masked(ValueId v, int depth) {
    if (depth == 0 || !view_.read_once(v)) return std::nullopt;
    if (const Node* add = view_.made_by(v, "Add"))
      for (size_t i : {size_t{0}, size_t{1}})
        if (auto s = masked(add->inputs[i], depth - 1)) {
          s->masks.push_back({.mask = add->inputs[1 - i]});
          return s;
        }
    if (const Node* where = view_.made_by(v, "Where"))
      for (size_t i : {size_t{1}, size_t{2}}) {
        const auto number = view_.uniform(where->inputs[3 - i]);
        if (!number || !hides(view_.type(v).elem, *number)) continue;
        auto s = masked(where->inputs[i], depth - 1);
        if (!s) continue;
        s->masks.push_back({where->inputs[0], where->inputs[3 - i], i == 2});
        return s;
      }
    return capped(v);
  }

  std::optional<Spelled> capped(ValueId v) {
    Spelled s;
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

  std::optional<Spelled> scaled(ValueId v, Spelled s) {
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

/// [batch, heads, rows, size] as some other value, transposed. Without `perm` as it is.
struct Heads {
  ValueId from = no_id;
  std::vector<int64_t> perm;
  size_t head_axis() const { return perm.empty() ? 1 : static_cast<size_t>(perm[1]); }
};

/// The value that these heads repeat, each as often as they say, in Expand or Tile: [.., kv, ..] → [.., kv,
/// 1, ..] → [.., kv, n, ..] → [.., kv * n, ..].
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

/// What the masks come to, as something to add to the scores.
class Bias {
 public:
  Bias(const View& view, Patch& p, DataType type) : view_(view), patch_(p), type_(type) {}

  void add(const Masking& m) {
    note(m.mask);
    if (m.instead == no_id) {
      value_ = value_ == no_id ? m.mask : patch_.add("Add", {value_, m.mask});
      return;
    }
    const ValueId kept = value_ == no_id ? patch_.add_constant("zero", zero()) : value_;
    value_ = patch_.add("Where", m.unless ? std::vector<ValueId>{m.mask, m.instead, kept}
                                          : std::vector<ValueId>{m.mask, kept, m.instead});
  }
  /// With an axis for the heads, where scores have none: [rows, …] → [rows, 1, …].
  void add_head_axis() {
    if (rank_ == 3 && !one_batch_)
      value_ = patch_.add("Unsqueeze", {value_, patch_.add_constant("axes", ints({1}))});
  }
  /// Has a row for every query, which ONNX Runtime wants, and a column for every key: a mask with fewer
  /// columns would hide the keys that it lacks. `q` and `v` tell how many there are.
  void cover(ValueId q, ValueId v, const Dim& rows, const Dim& keys, size_t rank) {
    const auto among = [](const std::vector<Dim>& list, const Dim& d) {
      return std::ranges::find(list, d) != list.end();
    };
    if (value_ == no_id || (among(rows_, rows) && among(columns_, keys))) return;
    Attributes along;
    along.set("axis", int64_t{0});
    const ValueId shape =
        patch_.add("Concat", {count(q, rows, rank), count(v, keys, rank)}, std::move(along));
    value_ = patch_.add("Expand", {value_, shape});
  }
  ValueId value() const { return value_; }
  /// Ranks are known, and are those that masks may have.
  bool fits() const { return known_ && rank_ <= 4; }

 private:
  Tensor zero() const {
    Tensor t(type_, {});
    store_double(t, 0, 0);
    return t;
  }
  /// [the size of the axis before the last]
  ValueId count(ValueId of, const Dim& size, size_t rank) {
    if (size.is_constant()) return patch_.add_constant("size", ints({size.constant()}));
    Attributes axis;
    axis.set("start", static_cast<int64_t>(rank) - 2);
    axis.set("end", static_cast<int64_t>(rank) - 1);
    return patch_.add("Shape", {of}, std::move(axis));
  }
  void note(ValueId v) {
    const auto& shape = view_.type(v).shape;
    known_ = known_ && shape;
    if (!shape) return;
    rank_ = std::max(rank_, shape->size());
    if (!shape->empty()) columns_.push_back(shape->back());
    if (shape->size() > 1) rows_.push_back((*shape)[shape->size() - 2]);
    if (shape->size() == 3) one_batch_ = one_batch_ && (*shape)[0] == Dim(1);
  }
  const View& view_;
  Patch& patch_;
  DataType type_;
  ValueId value_ = no_id;
  size_t rank_ = 0;
  bool known_ = true, one_batch_ = true;
  std::vector<Dim> rows_, columns_;
};

/// Whether this is a constant [.., n, n] that keeps what lies on the diagonal and below, and hides the rest.
bool keeps_the_past(const View& view, const Masking& m, const Dim& rows, const Dim& keys) {
  const Tensor* t = view.contents(m.mask);
  constexpr int64_t most_elements = int64_t{1} << 22;
  if (!t || !rows.is_constant() || !(rows == keys) || t->size() != rows.constant() * rows.constant() ||
      t->rank() < 2 || t->size() > most_elements)
    return false;
  const int64_t n = rows.constant();
  if (t->dim(t->rank() - 1) != n || t->dim(t->rank() - 2) != n) return false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const double x = load_double(*t, i * n + j);
      const bool hidden = m.instead == no_id ? hides(t->type(), x) : (x != 0) == m.unless;
      if (hidden != (j > i) || (m.instead == no_id && j <= i && x != 0)) return false;
    }
  return true;
}

std::optional<Patch> attention(const View& view, NodeId id) {
  const Node& n = view.node(id);
  auto s = Reader(view).read(n.inputs[0]);
  const auto rank = view.rank(n.outputs[0]);
  if (!s || !rank || (*rank != 3 && *rank != 4)) return std::nullopt;
  const Node* swap = view.made_by(s->keys, "Transpose");
  if (!swap || view.rank(s->q) != rank || view.rank(s->keys) != rank || view.rank(n.inputs[1]) != rank)
    return std::nullopt;
  const SymShape q = *view.type(s->q).shape, k = *view.type(s->keys).shape, v = *view.type(n.inputs[1]).shape;
  const Dim &rows = q[*rank - 2], &keys = k[*rank - 1];
  // Batches must not be broadcast; one head of keys may be.
  if (!(q[0] == k[0]) || !(q[0] == v[0]) || !(v[*rank - 2] == keys)) return std::nullopt;
  if (*rank == 4 && (!(k[1] == v[1]) || !(k[1] == q[1] || k[1] == Dim(1)))) return std::nullopt;

  Heads key{swap->inputs[0], order_of(view, *swap)}, value{n.inputs[1], {}};
  if (key.perm.size() != *rank) return std::nullopt;
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

  Patch p("a chain that spells Attention");
  Attributes a;
  Bias bias(view, p, type);
  if (s->masks.size() == 1 && keeps_the_past(view, s->masks[0], rows, keys))
    a.set("is_causal", int64_t{1});
  else
    for (const Masking& m : s->masks) bias.add(m);
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
  std::vector<ValueId> inputs{s->q, add_heads(p, key), add_heads(p, value)};
  if (bias.value() != no_id) inputs.push_back(bias.value());
  p.replace_uses(n.outputs[0], p.add("Attention", std::move(inputs), std::move(a)));
  p.remove(id);
  return p;
}

/// x [batch, rows, heads * size] where v is [batch, heads, rows, size], split and transposed.
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

/// Attention takes heads side by side, too, and leaves them so.
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
  if (!View::is(reshape, "Reshape") || view.uses(transpose.outputs[0])[0].input != 0 || !heads || !y ||
      y->size() != 3 || !((*heads)[0] == (*y)[0]) || !((*heads)[1] == (*y)[1]))
    return std::nullopt;
  Patch p("heads stay side by side");
  Attributes a = n.attributes;
  a.set("q_num_heads", q->heads);
  a.set("kv_num_heads", k->heads);
  std::vector<ValueId> inputs{q->x, k->x, v->x};
  if (n.inputs.size() > 3) inputs.push_back(n.inputs[3]);
  p.replace_uses(reshape.outputs[0], p.add("Attention", std::move(inputs), std::move(a)));
  for (NodeId gone : {join, back, id}) p.remove(gone);
  return p;
}

}  // namespace

void pass_recognise_attention(PassList& all) {
  all.push_back({.name = "recognise-attention",
                 .says = "finds softmax(scale * Q K' + mask) V",
                 .level = OptimizationLevel::extended,
                 .anchors = {"MatMul"},
                 .propose = attention});
  all.push_back({.name = "recognise-attention-heads",
                 .says = "leaves heads side by side around Attention, without transpositions",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Attention"},
                 .propose = no_transposes});
}

}  // namespace lathe
