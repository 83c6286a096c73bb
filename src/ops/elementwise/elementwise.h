// Shape rules of operators that work element by element, and how the contents of small tensors pass
// through them.
#pragma once

#include <algorithm>
#include <utility>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// One input, one output of the same shape.
struct SameShape {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
  }
};

/// … and of the same contents, if they are integers already: Floor and its kin.
struct SameIntegers : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    if (const auto* v = c.values(0)) c.output_values(0, *v);
  }
};

/// Any number of inputs that broadcast to the output.
struct Broadcasting {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out = c.shape(0);
    for (size_t i = 1; i < c.inputs(); ++i) out = c.broadcast_pair(out, c.shape(i));
    c.output(0, std::move(out));
  }
};

/// Returns whether a tensor of this type can hold the number. Numbers that wrap around or are rounded are not
/// followed; a symbolic size is assumed to be one that floats hold.
template <class D>
bool holds(DataType type, const D& d) {
  const auto n = known(d);
  if (!is_tracked(type)) return false;
  if (const int64_t most = exact_integers(type)) return !n || (*n >= -most && *n <= most);
  if (!n) return type != DataType::boolean;
  const int bits = type == DataType::boolean ? 1 : bits_of(type);
  if (is_signed_integer(type))
    return bits == 64 || (*n >= -(int64_t{1} << (bits - 1)) && *n < int64_t{1} << (bits - 1));
  return *n >= 0 && (bits == 64 || *n < int64_t{1} << bits);
}

/// Arithmetic that gives up instead of overflowing: at run time these numbers may be any data.
template <class D, class Checked, class Symbolic>
std::optional<D> try_arithmetic(const D& a, const D& b, Checked checked, Symbolic symbolic) {
  const auto x = known(a), y = known(b);
  if (x && y) {
    int64_t r;
    return checked(*x, *y, &r) ? std::nullopt : std::optional<D>(r);
  }
  if constexpr (!std::is_same_v<D, int64_t>) {
    try {
      return symbolic(a, b);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Computes the output's contents from those of the inputs, if all are known: `f(values) -> optional<D>` is
/// called with one value of each input, of which it reads the first `least`. Tensors of one element
/// broadcast; other broadcasts are not followed.
template <class D, class F>
void propagate_values(ShapeContext<D>& c, DataType out_type, F f, size_t least = 1) {
  size_t n = 1;
  std::vector<const std::vector<D>*> in;
  size_t longest = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const auto* v = c.values(i);
    if (!v) return;
    in.push_back(v);
    if (v->size() == 1) continue;
    if (n != 1 && (v->size() != n || c.shape(i) != c.shape(longest))) return;
    n = v->size();
    longest = i;
  }
  if (in.size() < least) return;  // a step of a plan from a file
  std::vector<D> out, one(in.size());
  out.reserve(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < in.size(); ++i) one[i] = (*in[i])[in[i]->size() == 1 ? 0 : k];
    std::optional<D> r = f(one);
    if (!r || !holds(out_type, *r)) return;
    out.push_back(std::move(*r));
  }
  c.output_values(0, std::move(out));
}

/// The same for functions of two values.
template <class D, class F>
void propagate_binary(ShapeContext<D>& c, DataType out_type, F f) {
  propagate_values(c, out_type, std::move(f), 2);
}

}  // namespace lathe
