// Functions shared by the gradient rules of several folders: formulas of terms, and gradients of reductions.
#pragma once

#include <cstdint>
#include <vector>

#include "gradient/backward.h"

namespace lathe {

/// y = f(x): the gradient times f'(x), which the function says in terms of x and y.
template <Term f(Backward& b, Term x, Term y)>
void unary_rule(Backward& b) {
  const Term g{&b, b.gradient()};
  b.give(0, (g * f(b, {&b, b.x()}, {&b, b.y()})).id);
}

inline Term as_number(Term condition, Term like) {
  return {like.b, like.b->add("CastLike", {condition.id, like.id})};
}
inline Term square(Term x) { return x * x; }
inline Term positive(Term x) { return call("Greater", x, as_term(x, 0)); }

/// A term that broadcasts to x, in x's shape.
inline void give_expanded(Backward& b, Term v) { b.give(0, b.add("Expand", {v.id, b.shape_of(b.x())})); }

inline Term gradient_of_mean(Backward& b, Term g, Term x, Term y) {
  const Term all{&b, b.add("Size", {x.id})}, made{&b, b.add("Size", {y.id})};
  return g / Term{&b, b.add("CastLike", {(all / made).id, g.id})};
}

/// The axes behind the batch and the channels.
inline std::vector<int64_t> spatial_axes(const Backward& b) {
  std::vector<int64_t> axes;
  for (size_t k = 2; k < b.rank(b.x()); ++k) axes.push_back(static_cast<int64_t>(k));
  return axes;
}

}  // namespace lathe
