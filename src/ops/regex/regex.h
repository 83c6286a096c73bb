// RegexFullMatch: true for strings that match the pattern as a whole.
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

  std::shared_ptr<LazyPatterns> compiled = std::make_shared<LazyPatterns>();  // not an attribute
};

}  // namespace lathe
