// Expand and Tile: the same elements many times.
#pragma once

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"

namespace lathe {

/// Broadcasts the input with a shape; sizes of 1 in either are expanded.
struct Expand {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto length = count_of_sizes(c, 1);
    const auto* wanted = sizes_input(c, 1);
    if (!wanted) {
      if (length) unknown_sizes(c, *length);
      return;
    }
    std::vector<D> out = c.broadcast_pair(c.shape(0), *wanted);
    values(c, out);
    c.output(0, std::move(out));
  }

 private:
  /// If the sizes are not known, axes that they do not reach stay, and so does a size other than 1.
  template <class D>
  static void unknown_sizes(ShapeContext<D>& c, int64_t length) {
    const int64_t rank = std::max(length, c.rank(0));
    std::vector<D> out;
    for (int64_t a = 0; a < rank; ++a) {
      const auto any = c.data_dependent();
      if (!any) return;
      const int64_t from = a - (rank - c.rank(0));
      const D size = from < 0 ? D(1) : c.shape(0)[static_cast<size_t>(from)];
      const bool stays = a < rank - length || known(size).value_or(1) != 1;
      out.push_back(stays ? size : *any);
    }
    c.output(0, std::move(out));
  }
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
    count_of_sizes(c, 1);
    c.same(c.shape(1)[0], D(c.rank(0)), "the number of repeats and the rank of the input");
    const auto* repeats = sizes_input(c, 1);
    if (!repeats) return output_of_rank(c, c.rank(0));
    std::vector<D> out = c.shape(0);
    c.require(repeats->size() == out.size(), std::to_string(out.size()) + " repeats", c.text(*repeats));
    for (size_t a = 0; a < out.size(); ++a) out[a] = times(out[a], (*repeats)[a]);
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
