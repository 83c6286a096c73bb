// ScatterElements, ScatterND, TensorScatter: a copy of the data with some elements replaced or combined.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

enum class ScatterRule : uint8_t { none, add, mul, min, max };

inline ScatterRule scatter_rule(const std::string& name) {
  if (name == "none") return ScatterRule::none;
  if (name == "add") return ScatterRule::add;
  if (name == "mul") return ScatterRule::mul;
  if (name == "min") return ScatterRule::min;
  if (name == "max") return ScatterRule::max;
  throw Error(Code::node_bad_attribute, "infer", "reduction none, add, mul, min or max", name);
}

/// Strings can only be replaced.
template <class D>
void check_reduction(const std::string& reduction, const ShapeContext<D>& c) {
  if (scatter_rule(reduction) != ScatterRule::none && c.type(0) == DataType::string)
    c.fail(Code::node_bad_type, "numbers where reduction is " + reduction, "strings", {});
}

struct ScatterElements {
  int64_t axis = 0;
  std::string reduction = "none";
  void fields(auto&& f) {
    f("axis", axis);
    f("reduction", reduction);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check_reduction(reduction, c);
    c.axis(axis, c.rank(0));
    c.require(c.rank(1) == c.rank(0) && c.rank(2) == c.rank(0),
              "indices and updates of rank " + std::to_string(c.rank(0)),
              "ranks " + std::to_string(c.rank(1)) + " and " + std::to_string(c.rank(2)));
    for (size_t a = 0; a < c.shape(0).size(); ++a)
      c.same(c.shape(1)[a], c.shape(2)[a], "axis " + std::to_string(a) + " of indices and updates");
    c.output(0, c.shape(0));
  }
};

struct ScatterND {
  std::string reduction = "none";
  void fields(auto&& f) { f("reduction", reduction); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check_reduction(reduction, c);
    c.require(c.rank(0) >= 1 && c.rank(1) >= 1, "data and indices of rank 1 or more",
              "ranks " + std::to_string(c.rank(0)) + " and " + std::to_string(c.rank(1)));
    if (const auto tuple = known(c.shape(1).back())) {
      c.require(*tuple >= 0 && *tuple <= c.rank(0),
                "index tuples of at most " + std::to_string(c.rank(0)) + " numbers", std::to_string(*tuple));
      const auto rank = c.rank(1) - 1 + c.rank(0) - *tuple;
      c.require(c.rank(2) == rank, "updates of rank " + std::to_string(rank),
                "rank " + std::to_string(c.rank(2)));
    }
    c.output(0, c.shape(0));
  }
};

/// Writes new entries into a cache, along one axis, from an index of its own for each sample of the batch.
struct TensorScatter {
  int64_t axis = -2;
  std::string mode = "linear";
  void fields(auto&& f) {
    f("axis", axis);
    f("mode", mode);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (mode != "linear" && mode != "circular")
      c.fail(Code::node_bad_attribute, "mode linear or circular", mode, {});
    c.require(c.axis(axis, c.rank(0)) != 0, "an axis other than the batch", "axis 0");
    c.require(c.rank(1) == c.rank(0), "an update of rank " + std::to_string(c.rank(0)),
              "rank " + std::to_string(c.rank(1)));
    if (c.has(2)) {
      c.require(c.rank(2) == 1, "write_indices of rank 1", "rank " + std::to_string(c.rank(2)));
      c.same(c.shape(2)[0], c.shape(0)[0], "the batch of cache and write_indices");
    }
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
