#include "network/cases.h"

namespace lathe::network_cases {

const std::vector<NetworkCase>& all_cases() {
  static const std::vector<NetworkCase> all = [] {
    std::vector<NetworkCase> list;
    for (auto make : {element_cases, compute_cases, movement_cases, control_cases, option_cases, edited_cases,
                      module_cases})
      for (NetworkCase& c : make()) list.push_back(std::move(c));
    return list;
  }();
  return all;
}

NamedValues NetworkCase::values() const {
  NamedValues v = inputs;
  uint64_t seed = 1;
  for (const TensorRef& t : network().inputs()) {
    if (v.contains(t.name())) continue;
    Shape shape;
    for (const Dim& d : t.shape()) shape.push_back(d.evaluate(sizes).value());
    v.emplace(t.name(), random_tensor(t.element_type(), shape, seed++));
  }
  return v;
}

}  // namespace lathe::network_cases
