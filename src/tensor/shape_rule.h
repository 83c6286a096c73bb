// The interface of shape rules. A rule is a member of the operator's struct, written once for both types of
// dimensions: Dim while a model is imported or planned, int64_t while it runs:
//
//   struct Softmax {
//     int64_t axis = -1;
//     void fields(auto&& f) { f("axis", axis); }
//     template <class D> void shape(ShapeContext<D>& c) const {
//       c.axis(axis, c.rank(0), "axis");      // checks the range
//       c.output(0, c.shape(0));
//     }
//   };
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lathe/dim.h"
#include "lathe/error.h"
#include "lathe/tensor.h"
#include "tensor/contents.h"

namespace lathe {

/// The known facts about one value.
template <class D>
struct Fact {
  bool present = false;                 // false: an optional input left out, or an output nobody wants
  DataType type = DataType::undefined;  // undefined: not a tensor
  bool ranked = false;                  // is `shape` known?
  std::vector<D> shape;
  bool valued = false;  // are all elements known, and integers (of tensors of floats too)? Small tensors only
  std::vector<D> values;  // … row-major
  const Tensor* constant =
      nullptr;  // the whole tensor, of any type, where it is a constant (or, at run time, host data)
};

template <class D>
class ShapeContext {
 public:
  /// `bounding`: sizes of inputs may be upper bounds, and so may those of outputs; contents are then unknown.
  ShapeContext(std::span<const Fact<D>> inputs, std::span<Fact<D>> outputs, bool bounding = false)
      : in_(inputs), out_(outputs), bounding_(bounding) {}

  size_t inputs() const { return in_.size(); }
  size_t outputs() const { return out_.size(); }
  bool has(size_t i) const { return i < in_.size() && in_[i].present; }
  bool wants(size_t i) const { return i < out_.size() && out_[i].present; }
  /// Returns the facts about an input. For one beyond the last nothing is known: plans from files may have
  /// steps with too few inputs.
  const Fact<D>& in(size_t i) const {
    static const Fact<D> absent;
    return i < in_.size() ? in_[i] : absent;
  }
  DataType type(size_t i) const { return in(i).type; }

  /// Shape of an input. A rule runs only when every present tensor input has a known rank, unless its
  /// operator is declared `.partial()`; then it asks ranked(i) first.
  const std::vector<D>& shape(size_t i) const { return in(i).shape; }
  int64_t rank(size_t i) const { return static_cast<int64_t>(in(i).shape.size()); }
  bool ranked(size_t i) const { return has(i) && in_[i].ranked; }

  /// Elements of an integer input, where they are known (a shape computed by Shape → Gather → Concat, a
  /// constant, host data).
  const std::vector<D>* values(size_t i) const { return has(i) && in_[i].valued ? &in_[i].values : nullptr; }
  /// The same as numbers, where every one is a number.
  std::optional<std::vector<int64_t>> numbers(size_t i) const {
    const std::vector<D>* v = values(i);
    if (!v) return std::nullopt;
    std::vector<int64_t> n;
    for (const D& d : *v) {
      auto k = known(d);
      if (!k) return std::nullopt;
      n.push_back(*k);
    }
    return n;
  }
  const Tensor* constant(size_t i) const { return has(i) ? in_[i].constant : nullptr; }

  /// Declares an output. An output not declared has unknown shape: at run time its kernel allocates it.
  void output(size_t i, std::vector<D> shape) {
    if (i >= out_.size()) return;
    out_[i].ranked = true;
    out_[i].shape = std::move(shape);
  }
  /// Declares the elements of an integer output (data propagation); ignored beyond max_tracked_values.
  void output_values(size_t i, std::vector<D> values) {
    if (i >= out_.size() || static_cast<int64_t>(values.size()) > max_tracked_values) return;
    out_[i].valued = true;
    out_[i].values = std::move(values);
  }
  /// A dimension that only the data decide. When planning: a fresh unknown. At run time: none, so leave the
  /// output undeclared; `if (auto d = c.data_dependent()) c.output(0, {*d, …});` does both. `most`: its upper
  /// bound, if that is known, to estimate memory.
  std::optional<D> data_dependent(std::optional<D> most = std::nullopt) const {
    if constexpr (std::is_same_v<D, Dim>)
      return Dim::unknown();
    else
      return bounding_ ? most : std::nullopt;
  }
  /// Returns whether sizes are upper bounds. Rules whose result may shrink when an input grows must then give
  /// the greatest.
  bool bounding() const { return bounding_; }

  /// An axis in [-rank, rank), made non-negative; `node_bad_attribute` otherwise.
  int64_t axis(int64_t a, int64_t rank, std::string_view name = "axis") const {
    if (a < -rank || a >= rank)
      fail(Code::node_bad_attribute,
           std::string(name) + " in [" + std::to_string(-rank) + ", " + std::to_string(rank) + ")",
           std::to_string(a), "choose an axis within the rank of the input");
    return a < 0 ? a + rank : a;
  }
  void require(bool ok, std::string expected, std::string got, std::string remedy = {}) const {
    if (!ok) fail(Code::node_bad_shape, std::move(expected), std::move(got), std::move(remedy));
  }
  /// Returns the better known of two sizes. It is an error if both are known and differ.
  D same(const D& a, const D& b, std::string_view what) const {
    auto x = known(a), y = known(b);
    if (x && y && *x != *y)
      fail(Code::node_bad_shape, std::string(what) + " to be equal", to_text(a) + " and " + to_text(b), {});
    return x ? a : b;
  }
  /// NumPy broadcasting of any number of shapes; a contradiction is an error.
  std::vector<D> broadcast_shapes(std::span<const size_t> which) const {
    std::vector<D> r;
    for (size_t i : which) r = broadcast_pair(r, shape(i));
    return r;
  }
  std::vector<D> broadcast_pair(const std::vector<D>& a, const std::vector<D>& b) const {
    const size_t n = a.size() > b.size() ? a.size() : b.size();
    std::vector<D> r(n, D(1));
    for (size_t k = 0; k < n; ++k) {
      const D x = k + a.size() >= n ? a[k + a.size() - n] : D(1);
      const D y = k + b.size() >= n ? b[k + b.size() - n] : D(1);
      auto m = broadcast(x, y);
      if (!m)
        fail(Code::node_bad_shape, "shapes that broadcast", text(a) + " and " + text(b),
             "insert Reshape or Expand so that each axis is equal or 1");
      r[k] = *m;
    }
    return r;
  }
  static D product(const std::vector<D>& s, size_t from = 0, size_t to = static_cast<size_t>(-1)) {
    D p(1);
    for (size_t i = from; i < s.size() && i < to; ++i) p = p * s[i];
    return p;
  }
  static std::string text(const std::vector<D>& s) {
    std::string t = "[";
    for (size_t i = 0; i < s.size(); ++i) t += (i ? ", " : "") + to_text(s[i]);
    return t + "]";
  }
  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy) const {
    throw Error(code, "infer", std::move(expected), std::move(got), std::move(remedy));
  }

 private:
  std::span<const Fact<D>> in_;
  std::span<Fact<D>> out_;
  bool bounding_;
};

}  // namespace lathe
