// Expand and Tile: the same elements many times.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Broadcasts the input with a shape; either may give way.
struct Expand {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(1) == 1, "a shape of rank 1", "rank " + std::to_string(c.rank(1)));
    const auto length = known(c.shape(1)[0]);
    c.require(!length || *length <= static_cast<int64_t>(max_rank),
              "at most " + std::to_string(max_rank) + " sizes", to_text(c.shape(1)[0]));
    const auto* wanted = c.values(1);
    if (!wanted) {
      if (!length) return;
      std::vector<D> out;
      for (int64_t i = 0; i < std::max(*length, c.rank(0)); ++i) {
        const auto d = c.data_dependent();
        if (!d) return;
        out.push_back(*d);
      }
      return c.output(0, std::move(out));
    }
    for (const D& d : *wanted) {
      const auto n = known(d);
      c.require(!n || *n >= 0, "sizes that are not negative", c.text(*wanted));
    }
    std::vector<D> out = c.broadcast_pair(c.shape(0), *wanted);
    values(c, out);
    c.output(0, std::move(out));
  }

 private:
  template <class D>
  static void values(ShapeContext<D>& c, const std::vector<D>& out) {
    const auto* v = c.values(0);
    const auto n = out.size() == 1 ? known(out[0]) : std::nullopt;
    if (v && v->size() == 1 && n && *n <= max_tracked_values)
      c.output_values(0, std::vector<D>(static_cast<size_t>(*n), (*v)[0]));
  }
};

struct Tile {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(1) == 1, "repeats of rank 1", "rank " + std::to_string(c.rank(1)));
    c.same(c.shape(1)[0], D(c.rank(0)), "the number of repeats and the rank of the input");
    std::vector<D> out = c.shape(0);
    const auto* repeats = c.values(1);
    c.require(!repeats || repeats->size() == out.size(), std::to_string(out.size()) + " repeats",
              std::to_string(repeats ? repeats->size() : 0));
    for (size_t a = 0; a < out.size(); ++a) {
      const auto unknown = repeats ? std::nullopt : c.data_dependent();
      if (!repeats && !unknown) return;
      const auto n = repeats ? known((*repeats)[a]) : std::nullopt;
      c.require(!n || *n >= 0, "repeats that are not negative", n ? std::to_string(*n) : "");
      out[a] = repeats ? times(out[a], (*repeats)[a]) : *unknown;
    }
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
