// Gather, GatherElements, GatherND: elements picked by indices.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Gather {
  int64_t axis = 0;
  void fields(auto&& f) { f("axis", axis); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto along = c.axis(axis, c.rank(0));
    std::vector<D> out = c.shape(0);
    out.erase(out.begin() + along);
    out.insert(out.begin() + along, c.shape(1).begin(), c.shape(1).end());
    c.output(0, std::move(out));
    if (c.rank(0) == 1) values(c);
  }

 private:
  /// Follows the elements of a list of sizes that constant indices pick.
  template <class D>
  static void values(ShapeContext<D>& c) {
    const auto* all = c.values(0);
    const auto indices = c.numbers(1);
    if (!all || !indices) return;
    const auto size = static_cast<int64_t>(all->size());
    std::vector<D> some;
    for (int64_t i : *indices) {
      if (i < -size || i >= size) return;  // an error when it runs
      some.push_back((*all)[static_cast<size_t>(i < 0 ? i + size : i)]);
    }
    c.output_values(0, std::move(some));
  }
};

struct GatherElements {
  int64_t axis = 0;
  void fields(auto&& f) { f("axis", axis); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(1) == c.rank(0), "indices of rank " + std::to_string(c.rank(0)),
              "rank " + std::to_string(c.rank(1)));
    c.axis(axis, c.rank(0));
    c.output(0, c.shape(1));
  }
};

struct GatherND {
  int64_t batch_dims = 0;
  void fields(auto&& f) { f("batch_dims", batch_dims); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const int64_t data = c.rank(0), indices = c.rank(1);
    c.require(data >= 1 && indices >= 1, "data and indices of rank 1 or more",
              "ranks " + std::to_string(data) + " and " + std::to_string(indices));
    if (batch_dims < 0 || batch_dims >= std::min(data, indices))
      c.fail(Code::node_bad_attribute, "batch_dims in [0, " + std::to_string(std::min(data, indices)) + ")",
             std::to_string(batch_dims), {});
    const auto tuple = known(c.shape(1).back());
    if (!tuple) return;  // decides the rank
    c.require(*tuple >= 1 && *tuple <= data - batch_dims,
              "index tuples of 1 to " + std::to_string(data - batch_dims) + " numbers",
              std::to_string(*tuple));
    std::vector<D> out(c.shape(1).begin(), c.shape(1).end() - 1);
    for (size_t a = 0; a < static_cast<size_t>(batch_dims); ++a)
      out[a] =
          c.same(c.shape(0)[a], c.shape(1)[a], "batch axis " + std::to_string(a) + " of data and indices");
    out.insert(out.end(), c.shape(0).begin() + batch_dims + *tuple, c.shape(0).end());
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
