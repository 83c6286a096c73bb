// ReduceSum and its kin: one function over the axes that input 1 names.
#pragma once

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"

namespace lathe {

enum class ReduceFunction : uint8_t { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };

template <ReduceFunction function>
struct Reduce {
  bool keepdims = true;
  bool noop_with_empty_axes = false;
  void fields(auto&& f) {
    f("keepdims", keepdims);
    f("noop_with_empty_axes", noop_with_empty_axes);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const int64_t rank = c.rank(0);
    std::vector<int64_t> axes;
    if (c.has(1)) {
      c.require(c.rank(1) <= 1, "axes of rank 1", "rank " + std::to_string(c.rank(1)));
      const auto given = axes_input(c, 1, rank);
      if (!given) return shape_by_count(c, c.rank(1) == 0 ? D(1) : c.shape(1)[0]);
      axes = *given;
    }
    if (axes.empty() && !noop_with_empty_axes)
      for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
    std::vector<D> out;
    for (int64_t a = 0; a < rank; ++a) {
      if (!std::binary_search(axes.begin(), axes.end(), a))
        out.push_back(c.shape(0)[static_cast<size_t>(a)]);
      else if (keepdims)
        out.push_back(D(1));
    }
    if (static_cast<int64_t>(axes.size()) == rank) whole(c);
    c.output(0, std::move(out));
  }

 private:
  /// The axes are computed: the rank may still follow from their number.
  template <class D>
  void shape_by_count(ShapeContext<D>& c, const D& count) const {
    const auto n = known(count);
    if (keepdims)
      output_of_rank(c, c.rank(0));
    else if (n && *n > 0)
      output_of_rank(c, std::max<int64_t>(c.rank(0) - *n, 0));
  }
  /// Sum and product of sizes that are known, as exporters write the number of elements.
  template <class D>
  void whole(ShapeContext<D>& c) const {
    const auto* v = c.values(0);
    if (!v || !(c.type(0) == DataType::int64 || c.type(0) == DataType::int32)) return;
    if constexpr (function == ReduceFunction::sum || function == ReduceFunction::prod) {
      try {
        D r(function == ReduceFunction::prod ? 1 : 0);
        for (const D& d : *v) r = function == ReduceFunction::prod ? times(r, d) : plus(r, d);
        const auto n = known(r);
        if (c.type(0) == DataType::int64 || !n || (*n >= INT32_MIN && *n <= INT32_MAX))
          c.output_values(0, {r});
      } catch (const Error&) {  // it wraps around; not followed
      }
    } else if constexpr (function == ReduceFunction::max || function == ReduceFunction::min) {
      if (v->empty()) return;
      D r = (*v)[0];
      for (const D& d : *v) r = function == ReduceFunction::max ? max(r, d) : min(r, d);
      c.output_values(0, {r});
    }
  }
};

}  // namespace lathe
