// Derivatives of what writes to places of a tensor.
#include <cstdint>
#include <string>

#include "gradient/backward.h"

namespace lathe {
namespace {

void scatter_elements(Backward& b) {
  const std::string how = b.attributes().get<std::string>("reduction", "none");
  if (how != "none" && how != "add") b.refuse("ScatterElements that adds or replaces", "reduction " + how);
  const Attributes axis = with("axis", b.attributes().get<int64_t>("axis", 0));
  if (b.wants(2)) b.give(2, b.add("GatherElements", {b.gradient(), b.x(1)}, axis));
  if (b.wants(0))
    b.give(0, how == "add" ? b.gradient()
                           : b.add("ScatterElements", {b.gradient(), b.x(1), b.zeros_like(b.x(2))}, axis));
}

void scatter_nd(Backward& b) {
  const std::string how = b.attributes().get<std::string>("reduction", "none");
  if (how != "none" && how != "add") b.refuse("ScatterND that adds or replaces", "reduction " + how);
  if (b.wants(2)) b.give(2, b.add("GatherND", {b.gradient(), b.x(1)}));
  if (b.wants(0))
    b.give(0, how == "add" ? b.gradient() : b.add("ScatterND", {b.gradient(), b.x(1), b.zeros_like(b.x(2))}));
}

}  // namespace

void gradient_scatter(GradientTable& t) {
  t["ScatterElements"] = scatter_elements;
  t["ScatterND"] = scatter_nd;
}

}  // namespace lathe
