// RegexFullMatch: does all of a string match the pattern?
#pragma once

#include <memory>
#include <string>

#include "ops/regex/pattern.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct RegexFullMatch {
  std::string pattern;
  void fields(auto&& f) { f("pattern", pattern); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
  }

  /// Not an attribute: compiled when it is first matched, for all copies of this node's operator.
  std::shared_ptr<LazyPattern> compiled = std::make_shared<LazyPattern>();
};

}  // namespace lathe
