// lathe.Append, lathe.UpdateCache and lathe.Contiguous: what runs do with states that grow (PlanState), and
// with KV caches that are inputs. The builder inserts them; they occur in plans, never in files of models.
#pragma once

#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Appends the second input to the first along an axis: Concat of two, where the first is a state. `joined`:
/// the second input has the first one's elements in front already, and only those behind them are appended.
struct Append {
  int64_t axis = 0;
  bool joined = false;
  void fields(auto&& f) {
    f("axis", axis);
    f("joined", joined);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out = c.shape(0);
    c.require(c.rank(1) == c.rank(0), "inputs of one rank", c.text(c.shape(1)));
    const auto along = static_cast<size_t>(c.axis(axis, c.rank(0)));
    for (size_t a = 0; a < out.size(); ++a)
      if (a != along) out[a] = c.same(out[a], c.shape(1)[a], "axis " + std::to_string(a) + " of the inputs");
    out[along] = joined ? c.shape(1)[along] : plus(out[along], c.shape(1)[along]);
    c.output(0, std::move(out));
  }
};

/// Writes rows into a KV cache that gets longer first: TensorScatter behind Pad. Inputs: cache, rows, the
/// index along the axis at which the rows of each sample begin [batch], by how many indices the cache gets
/// longer [1]. Indices that are new and not written are zeros.
struct UpdateCache {
  int64_t axis = 0;
  void fields(auto&& f) { f("axis", axis); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out = c.shape(0);
    const auto along = static_cast<size_t>(c.axis(axis, c.rank(0)));
    c.require(along != 0, "an axis other than the batch", "axis 0");
    c.require(c.rank(1) == c.rank(0), "rows of rank " + std::to_string(c.rank(0)),
              "rank " + std::to_string(c.rank(1)));
    c.require(c.rank(2) == 1 && c.rank(3) == 1, "lists of indices and of one size",
              "ranks " + std::to_string(c.rank(2)) + " and " + std::to_string(c.rank(3)));
    c.same(c.shape(2)[0], out[0], "the batch of cache and indices");
    for (size_t a = 0; a < out.size(); ++a)
      if (a != along)
        out[a] = c.same(out[a], c.shape(1)[a], "axis " + std::to_string(a) + " of cache and rows");
    if (const auto* more = c.values(3)) {
      c.require(more->size() == 1, "one size", std::to_string(more->size()));
      out[along] = plus(out[along], (*more)[0]);
      const auto size = known(out[along]);
      c.require(!size || *size >= 0, "a cache of 0 or more indices", c.text(c.shape(0)));
    } else {
      const auto unknown = c.data_dependent();
      if (!unknown) return;
      out[along] = *unknown;
    }
    c.output(0, std::move(out));
  }
};

/// A dense copy of a state.
struct Contiguous {
  int64_t axis = 0;
  void fields(auto&& f) { f("axis", axis); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.axis(axis, c.rank(0));
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
