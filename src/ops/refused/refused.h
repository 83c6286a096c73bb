// A node of a plan that cannot run, because constants contradict its operator, as was found when they were
// computed. Nothing may be concluded from its operands, and no search for its operator finds it; a run that
// reaches it reports what is wrong.
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
  /// Nothing is known of its outputs.
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
