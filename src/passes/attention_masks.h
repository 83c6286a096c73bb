// Operations on the scores of attention before softmax, as exporters decompose them, and the mask of
// Attention that replaces them.
#pragma once

#include <limits>

#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {

/// One operation on the scores.
struct Masking {
  ValueId mask = no_id;     // added to the scores; or the condition, of booleans or of 0 and 1
  ValueId instead = no_id;  // replaces the score of a key that is not chosen, if it is a value
  bool negated = false;     // subtracted, not added
  bool chooses = false;
  bool unless = false;  // keys are kept where it is false
  /// The replacement is finite: it hides a key only if the row keeps another one.
  bool faint = false;
};

/// Numbers up to this one leave no trace of what they are added to, except in float16.
constexpr double unseen = -1e30;
/// True for elements that leave no trace of what they are added to, and nothing after softmax.
inline bool hides(DataType t, double number) {
  return number == -std::numeric_limits<double>::infinity() || (number <= unseen && t != DataType::float16);
}
/// True for elements that leave nothing after softmax if the row keeps a score that is not as low: -10000, as
/// 16 bits represent it, and less.
inline bool hides_beside_others(double number) { return number <= -9900; }

/// Masks with more elements are not read.
constexpr int64_t max_mask_elements = int64_t{1} << 22;

inline const Tensor* readable_mask(const View& view, ValueId v) {
  const Tensor* t = view.contents(v);
  return t && t->rank() > 0 && t->size() > 0 && t->size() <= max_mask_elements ? t : nullptr;
}

/// Returns the number that `instead` is wherever `keep` is 0, if it is 0 wherever `keep` is 1 and `keep` has
/// nothing else. Both are constants of one shape.
inline std::optional<double> number_where_not_kept(const View& view, ValueId keep, ValueId instead) {
  const Tensor *k = readable_mask(view, keep), *n = readable_mask(view, instead);
  if (!k || !n || k->shape() != n->shape()) return std::nullopt;
  std::optional<double> number;
  for (int64_t i = 0; i < k->size(); ++i) {
    const double kept = load_double(*k, i), x = load_double(*n, i);
    if (kept == 1 ? x != 0 : kept != 0 || (number && *number != x)) return std::nullopt;
    if (kept == 0) number = x;
  }
  return number;
}

/// The parts of scores * keep + (1 - keep) * number, as early GPT-2 hides keys.
struct ChosenByProduct {
  ValueId scores = no_id, keep = no_id;
  double number = 0;
};
inline std::optional<ChosenByProduct> chosen_by_product(const View& view, const Node& sum) {
  const bool subtracts = View::is(sum, "Sub");
  for (size_t i = 0; i < (subtracts ? 1 : 2); ++i) {
    const Node* kept = view.made_by(sum.inputs[i], "Mul");
    if (!kept || !view.read_once(sum.inputs[i])) continue;
    const ValueId rest = sum.inputs[1 - i];
    for (size_t k : {size_t{0}, size_t{1}})
      if (const auto number = number_where_not_kept(view, kept->inputs[k], rest))
        return ChosenByProduct{kept->inputs[1 - k], kept->inputs[k], subtracts ? -*number : *number};
    double factor = subtracts ? -1 : 1;
    const Node* others = view.made_by(without_factors(view, rest, factor), "Sub");
    if (!others || view.uniform(others->inputs[0]) != 1.0) continue;
    if (const ValueId scores = other_input(*kept, others->inputs[1]); scores != no_id)
      return ChosenByProduct{scores, others->inputs[1], factor};
  }
  return std::nullopt;
}

/// Scores, and an operation on them.
struct Masked {
  ValueId scores = no_id;
  Masking by;
};
/// Returns all operations on scores that may have made `v`.
inline std::vector<Masked> readings(const View& view, ValueId v) {
  std::vector<Masked> all;
  const Node *add = view.made_by(v, "Add"), *sub = view.made_by(v, "Sub"), *where = view.made_by(v, "Where");
  if (add || sub)
    if (const auto c = chosen_by_product(view, add ? *add : *sub); c && hides_beside_others(c->number))
      all.push_back({c->scores, {.mask = c->keep, .chooses = true, .faint = true}});
  if (add)
    for (size_t i : {size_t{0}, size_t{1}}) all.push_back({add->inputs[i], {.mask = add->inputs[1 - i]}});
  if (sub) all.push_back({sub->inputs[0], {.mask = sub->inputs[1], .negated = true}});
  if (where)
    for (size_t i : {size_t{1}, size_t{2}}) {
      const ValueId instead = where->inputs[3 - i];
      const auto number = view.uniform(instead);
      if (number && hides_beside_others(*number))
        all.push_back({where->inputs[i],
                       {.mask = where->inputs[0],
                        .instead = instead,
                        .chooses = true,
                        .unless = i == 2,
                        .faint = !hides(view.type(v).elem, *number)}});
    }
  return all;
}

/// Returns whether the Slice takes the last axis from its first element on, one by one.
inline bool begins_with_first_columns(const View& view, const Node& slice) {
  const auto rank = view.rank(slice.inputs[0]);
  if (!rank) return false;
  const auto list = [&](size_t i) {
    return i < slice.inputs.size() ? view.integers(slice.inputs[i]) : std::nullopt;
  };
  const auto starts = list(1), axes = list(3), steps = list(4);
  const bool counted = slice.inputs.size() <= 3 || slice.inputs[3] == no_id;
  if (counted ? !starts : !axes) return false;
  for (size_t i = 0; i < (counted ? starts : axes)->size(); ++i) {
    const int64_t axis = counted ? static_cast<int64_t>(i) : (*axes)[i];
    if (axis != -1 && axis != static_cast<int64_t>(*rank) - 1) continue;
    const bool one_by_one =
        slice.inputs.size() <= 4 || slice.inputs[4] == no_id || (steps && (*steps)[i] == 1);
    if (!starts || (*starts)[i] != 0 || !one_by_one) return false;
  }
  return true;
}

/// Returns whether every row of the condition is known to keep a key. It must be a constant, or the first
/// columns of one whose first column keeps all. Numbers must be 0 and 1.
inline bool every_row_keeps_a_key(const View& view, const Masking& m) {
  ValueId v = m.mask;
  bool first_column_only = false;
  while (!view.is_constant(v)) {
    if (const Node* cast = view.made_by(v, "Cast")) {
      v = cast->inputs[0];
      continue;
    }
    const Node* slice = view.made_by(v, "Slice");
    if (!slice || !begins_with_first_columns(view, *slice)) return false;
    first_column_only = true;
    v = slice->inputs[0];
  }
  const Tensor* t = readable_mask(view, v);
  if (!t) return false;
  const int64_t columns = t->dim(t->rank() - 1);
  for (int64_t row = 0; row < t->size(); row += columns) {
    bool keeps = false;
    for (int64_t i = 0; i < columns; ++i) {
      const double x = load_double(*t, row + i);
      if (x != 0 && x != 1) return false;
      keeps = keeps || ((x != 0) != m.unless && (i == 0 || !first_column_only));
    }
    if (!keeps) return false;
  }
  return true;
}

/// Returns whether this is a constant [.., n, n] that keeps the elements on the diagonal and below, and hides
/// the rest.
inline bool keeps_the_past(const View& view, const Masking& m, const Dim& rows, const Dim& keys) {
  const Tensor* t = readable_mask(view, m.mask);
  if (!t || m.negated || !rows.is_constant() || !(rows == keys) ||
      t->size() != rows.constant() * rows.constant() || t->rank() < 2)
    return false;
  const int64_t n = rows.constant();
  if (t->dim(t->rank() - 1) != n || t->dim(t->rank() - 2) != n) return false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const double x = load_double(*t, i * n + j);
      const bool hidden = m.chooses ? (x != 0) == m.unless : hides(t->type(), x);
      if (hidden != (j > i) || (!m.chooses && j <= i && x != 0)) return false;
    }
  return true;
}

/// The mask that replaces the operations: numbers to add to the scores, or booleans that select the keys that
/// a query sees.
class Bias {
 public:
  Bias(const View& view, Patch& p, DataType type) : view_(view), patch_(p), type_(type) {}

  void add(const Masking& m) {
    note(m.mask);
    if (m.chooses) {
      const ValueId kept = value_ == no_id ? number(0) : value_;
      value_ = patch_.add("Where", m.unless ? std::vector<ValueId>{m.mask, m.instead, kept}
                                            : std::vector<ValueId>{m.mask, kept, m.instead});
      return;
    }
    const ValueId added = m.negated ? patch_.add("Neg", {m.mask}) : m.mask;
    value_ = value_ == no_id ? added : patch_.add("Add", {value_, added});
  }
  /// Adds the only operation, as booleans.
  void choose(const Masking& m) {
    note(m.mask);
    value_ = m.mask;
    if (view_.type(value_).elem != DataType::boolean) {
      Attributes to;
      to.set("to", static_cast<int64_t>(DataType::boolean));
      value_ = patch_.add("Cast", {value_}, std::move(to));
    }
    if (m.unless) value_ = patch_.add("Not", {value_});
  }
  /// Lets a query that sees none of the chosen keys see all of them, and makes it 0, so that all count the
  /// same. Returns the queries.
  ValueId see_all_where_none(ValueId query) {
    Attributes number, boolean;
    number.set("to", static_cast<int64_t>(type_));
    boolean.set("to", static_cast<int64_t>(DataType::boolean));
    const ValueId any = patch_.add("ReduceMax", {patch_.add("Cast", {value_}, std::move(number)),
                                                 patch_.add_constant("axes", ints({-1}))});
    const ValueId none = patch_.add("Not", {patch_.add("Cast", {any}, std::move(boolean))});
    value_ = patch_.add("Or", {value_, none});
    return patch_.add("Mul", {query, any});
  }
  /// Adds an axis for the heads if scores have none: [rows, …] → [rows, 1, …].
  void add_head_axis() {
    if (rank_ == 3 && !one_batch_)
      value_ = patch_.add("Unsqueeze", {value_, patch_.add_constant("axes", ints({1}))});
  }
  /// Gives the mask a row for every query, which ONNX Runtime requires, and a column for every key: a mask
  /// with fewer columns would hide the keys that it lacks. Their numbers are the sizes of `q` and `v`.
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
  /// A constant of the type of the scores.
  ValueId number(double x) {
    Tensor t(type_, {});
    store_double(t, 0, x);
    return patch_.add_constant(x == 0 ? "zero" : "unseen", std::move(t));
  }
  /// True if all ranks are known, and masks may have them.
  bool fits() const { return known_ && rank_ <= 4; }

 private:
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

}  // namespace lathe
