// What stands in a plan for a node that cannot run: constants turned out to be at odds with its operator once
// they were computed. Nothing may be concluded from such a node's operands, and nobody who looks for its
// operator finds it; a run that reaches it says what is wrong.
#pragma once

#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

inline constexpr const char* refused_operator = "Refused";

struct Refused {
  std::string op, expected, got, remedy;
  int64_t code = static_cast<int64_t>(Code::node_bad_shape);
  void fields(auto&& f) {
    f("refused_op", op);
    f("refused_expected", expected);
    f("refused_got", got);
    f("refused_remedy", remedy);
    f("refused_code", code);
  }
  /// Nothing is known of what it does not make.
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
