// Split: cuts a tensor into parts along an axis.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Split {
  int64_t axis = 0;
  std::optional<int64_t> num_outputs;
  void fields(auto&& f) {
    f("axis", axis);
    f("num_outputs", num_outputs);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto along = static_cast<size_t>(c.axis(axis, c.rank(0)));
    c.require(c.outputs() > 0, "one part or more", "none");
    if (num_outputs) {
      c.require(!c.has(1), "either num_outputs or the input split", "both");
      c.require(*num_outputs > 0 && static_cast<size_t>(*num_outputs) == c.outputs(),
                "num_outputs to be the number of outputs, " + std::to_string(c.outputs()),
                std::to_string(*num_outputs));
    }
    // A longer axis may have a shorter last part.
    const auto sizes = c.bounding() ? std::nullopt : part_sizes(c, c.shape(0)[along]);
    for (size_t i = 0; i < c.outputs(); ++i) {
      std::vector<D> out = c.shape(0);
      if (sizes) {
        out[along] = (*sizes)[i];
      } else {
        const auto d = c.data_dependent(c.shape(0)[along]);
        if (!d) return;
        out[along] = *d;
      }
      c.output(i, std::move(out));
    }
    if (sizes && c.rank(0) == 1) values(c, *sizes);
  }

 private:
  template <class D>
  std::optional<std::vector<D>> part_sizes(const ShapeContext<D>& c, const D& total) const {
    const auto count = static_cast<int64_t>(c.outputs());
    if (c.has(1)) {
      const auto* wanted = c.values(1);
      if (!wanted) return std::nullopt;
      D sum(0);
      for (const D& d : *wanted) {
        const auto n = known(d);
        c.require(!n || *n >= 0, "sizes of parts that are not negative", to_text(d));
        sum = plus(sum, d);
      }
      c.require(wanted->size() == c.outputs(), std::to_string(count) + " sizes of parts", c.text(*wanted));
      c.same(sum, total, "the sum of split and the size of the axis");
      return *wanted;
    }
    // Equal parts; by num_outputs the last ones may be smaller.
    const auto n = known(total);
    if (!num_outputs) {
      c.require(!n || *n % count == 0, "an axis that " + std::to_string(count) + " divides", to_text(total));
      return std::vector<D>(c.outputs(), floor_div(total, D(count)));
    }
    const D part = ceil_div(total, D(count));
    std::vector<D> sizes(c.outputs(), part);
    if (times(part, D(count)) == total) return sizes;
    if (n) {  // the last ones take the remainder, which may be empty
      int64_t left = *n;
      for (D& size : sizes) {
        const int64_t taken = min(left, *known(part));
        size = D(taken);
        left -= taken;
      }
    } else {
      sizes.back() = minus(total, times(part, D(count - 1)));
    }
    return sizes;
  }
  template <class D>
  static void values(ShapeContext<D>& c, const std::vector<D>& sizes) {
    const auto* all = c.values(0);
    if (!all) return;
    size_t at = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto n = known(sizes[i]);
      if (!n || static_cast<size_t>(*n) > all->size() - at) return;
      c.output_values(
          i, {all->begin() + static_cast<int64_t>(at), all->begin() + static_cast<int64_t>(at) + *n});
      at += static_cast<size_t>(*n);
    }
  }
};

}  // namespace lathe
