// Finds the constants of a graph that have the same contents.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Reads each value once, when it is first needed after the value was made.
class ConstantIndex {
 public:
  /// Returns the first constant that has the same bits as constant `v`; `v` if there is none before it.
  ValueId first_like(const Graph& g, ValueId v);

 private:
  struct Known {
    std::vector<ValueId> first;                          // by value
    std::unordered_map<size_t, ValueId> by_look;         // the only one with this hash; no_id: there are more
    std::unordered_multimap<size_t, ValueId> by_sample;  // those that are not the only one
  };
  std::unordered_map<const Graph*, Known> known_;
};

/// Compares type, shape and elements.
bool same_contents(const Tensor& a, const Tensor& b);

}  // namespace lathe
