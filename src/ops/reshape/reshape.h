// Operators that give the same elements another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.
#pragma once

#include <algorithm>

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"

namespace lathe {

/// The elements stay what they are.
template <class D>
void pass_values(ShapeContext<D>& c) {
  if (const auto* v = c.values(0)) c.output_values(0, *v);
}

struct Reshape {
  bool allowzero = false;
  void fields(auto&& f) { f("allowzero", allowzero); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    pass_values(c);
    const auto length = count_of_sizes(c, 1);
    const auto* wanted = c.values(1);
    if (!wanted) {
      if (length) output_of_rank(c, *length);
      return;
    }
    c.output(0, resolve(c, *wanted));
  }

 private:
  /// Sizes that are copied from the input cancel, so that the rest can be divided even when one of them is 0.
  template <class D>
  std::vector<D> resolve(const ShapeContext<D>& c, const std::vector<D>& wanted) const {
    const std::vector<D>& in = c.shape(0);
    std::vector<D> out = wanted;
    std::vector<bool> copied(in.size(), false);
    size_t open = wanted.size();
    bool empty = false;  // a copied size is 0: whatever the others are, there are no elements
    D given(1);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto n = known(out[i]);
      // Beyond the input's axes a 0 can only be a size, of a tensor without elements.
      if (n && *n == 0 && !allowzero && i < in.size()) {
        out[i] = in[i];
        copied[i] = true;
        empty = empty || known(in[i]) == std::optional<int64_t>(0);
      } else if (n && *n == -1) {
        c.require(open == wanted.size(), "at most one -1 in the shape", c.text(wanted));
        open = i;
      } else {
        c.require(!n || *n >= 0, "sizes that are -1, 0 or positive", c.text(wanted));
        given = times(given, out[i]);
      }
    }
    D rest(1);
    for (size_t i = 0; i < in.size(); ++i)
      if (!copied[i]) rest = times(rest, in[i]);
    const auto have = known(rest), want = known(given);
    if (open < out.size()) {
      c.require(!want || *want != 0, "a -1 that follows from the other sizes",
                c.text(wanted) + " for input " + c.text(in));
      c.require(!have || !want || *have % *want == 0, "a shape that holds the input's elements",
                c.text(wanted) + " for input " + c.text(in));
      out[open] = floor_div(rest, given);
    } else {
      c.require(!have || !want || *have == *want || empty, "a shape that holds the input's elements",
                c.text(wanted) + " for input " + c.text(in));
    }
    return out;
  }
};

struct Flatten {
  int64_t axis = 1;
  void fields(auto&& f) { f("axis", axis); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    pass_values(c);
    const auto& in = c.shape(0);
    const int64_t rank = c.rank(0);
    const auto split = static_cast<size_t>(axis == rank ? rank : c.axis(axis, std::max<int64_t>(rank, 1)));
    c.output(0, {c.product(in, 0, split), c.product(in, split)});
  }
};

/// The number of axes that input 1 names, if it is known: one for each element, a scalar names one.
template <class D>
std::optional<int64_t> count_of_axes(const ShapeContext<D>& c) {
  c.require(c.rank(1) <= 1, "axes of rank 1", "rank " + std::to_string(c.rank(1)));
  return c.rank(1) == 1 ? known(c.shape(1)[0]) : std::optional<int64_t>(1);
}

struct Squeeze {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    pass_values(c);
    const auto& in = c.shape(0);
    if (!c.has(1)) {
      std::vector<D> out;
      for (const D& d : in) {
        const auto n = known(d);
        if (!n) return;  // 1 or not decides the rank
        if (*n != 1) out.push_back(d);
      }
      return c.output(0, std::move(out));
    }
    const auto count = count_of_axes(c);
    const auto axes = axes_input(c, 1, c.rank(0));
    if (!axes) {
      if (count) output_of_rank(c, c.rank(0) - *count);
      return;
    }
    std::vector<D> out;
    for (size_t i = 0; i < in.size(); ++i) {
      if (!std::binary_search(axes->begin(), axes->end(), static_cast<int64_t>(i))) {
        out.push_back(in[i]);
        continue;
      }
      const auto n = known(in[i]);
      c.require(!n || *n == 1, "axis " + std::to_string(i) + " of size 1", to_text(in[i]));
    }
    c.output(0, std::move(out));
  }
};

struct Unsqueeze {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    pass_values(c);
    const auto count = count_of_axes(c);
    if (!count) return;
    c.require(*count <= static_cast<int64_t>(max_rank) - c.rank(0),
              "a rank of at most " + std::to_string(max_rank),
              std::to_string(*count) + " more axes than " + std::to_string(c.rank(0)));
    const int64_t rank = c.rank(0) + *count;
    const auto axes = axes_input(c, 1, rank);
    if (!axes) return output_of_rank(c, rank);
    std::vector<D> out = c.shape(0);
    for (int64_t a : *axes) out.insert(out.begin() + a, D(1));
    c.output(0, std::move(out));
  }
};

/// Passes values of every kind.
struct Identity {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (!c.ranked(0)) return;
    pass_values(c);
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
