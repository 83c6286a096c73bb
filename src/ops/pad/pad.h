// Pad: grows (or, with negative pads, crops) axes at both ends.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Pad {
  std::string mode = "constant";
  void fields(auto&& f) { f("mode", mode); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
      c.fail(Code::node_bad_attribute, "mode constant, reflect, edge or wrap", mode, {});
    c.require(c.rank(1) == 1, "pads of rank 1", "rank " + std::to_string(c.rank(1)));
    std::vector<D> out = c.shape(0);
    const auto* pads = c.values(1);
    const auto axes = padded_axes(c);
    if (!pads || !axes) {
      for (D& d : out) {
        const auto unknown = c.data_dependent();
        if (!unknown) return;
        d = *unknown;
      }
      return c.output(0, std::move(out));
    }
    const size_t n = axes->size();
    c.require(pads->size() == 2 * n, std::to_string(2 * n) + " pads", std::to_string(pads->size()));
    for (size_t i = 0; i < n; ++i) {
      D& d = out[static_cast<size_t>((*axes)[i])];
      d = plus(plus(d, (*pads)[i]), (*pads)[n + i]);
      const auto size = known(d);
      c.require(!size || *size >= 0, "pads that leave sizes of 0 or more",
                c.text(*pads) + " for input " + c.text(c.shape(0)));
    }
    c.output(0, std::move(out));
  }

 private:
  template <class D>
  static std::optional<std::vector<int64_t>> padded_axes(const ShapeContext<D>& c) {
    std::vector<int64_t> all;
    if (!c.has(3)) {
      for (int64_t a = 0; a < c.rank(0); ++a) all.push_back(a);
      return all;
    }
    const auto named = c.numbers(3);
    if (!named) return std::nullopt;
    for (int64_t a : *named) {
      a = c.axis(a, c.rank(0), "axes");
      for (int64_t other : all)
        if (a == other)
          c.fail(Code::node_bad_value, "axes that differ from each other",
                 "axis " + std::to_string(a) + " twice", {});
      all.push_back(a);
    }
    return all;
  }
};

}  // namespace lathe
