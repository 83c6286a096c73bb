// Which constants of a graph hold the same.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Looks at each value once, when it is first needed after the value was made.
class ConstantIndex {
 public:
  /// The first constant that holds, bit for bit, what constant `v` does; `v` where there is none before it.
  ValueId first_like(const Graph& g, ValueId v);

 private:
  struct Known {
    std::vector<ValueId> first;                          // by value
    std::unordered_map<size_t, ValueId> by_look;         // the only one that begins so; no_id: there are more
    std::unordered_multimap<size_t, ValueId> by_sample;  // of those
  };
  std::unordered_map<const Graph*, Known> known_;
};

/// Type, shape and elements.
bool same_contents(const Tensor& a, const Tensor& b);

}  // namespace lathe
