// lathe.Append and lathe.Contiguous: what runs do with states that grow (PlanState). The builder inserts
// them; they occur in plans, never in graphs.
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
