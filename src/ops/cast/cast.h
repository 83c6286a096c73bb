// Cast and CastLike change the values' type, BitCast only how their bits are read.
#pragma once

#include <string>

#include "ops/element_type.h"
#include "ops/elementwise/elementwise.h"

namespace lathe {

/// Integers that are known stay known, as floats too.
template <class D>
void propagate_cast(ShapeContext<D>& c, DataType to, const std::vector<D>& from) {
  std::vector<D> out;
  for (const D& d : from) {
    const auto n = known(d);
    if (to != DataType::boolean)
      out.push_back(d);
    else if (n)
      out.push_back(D(*n != 0 ? 1 : 0));
    else if (surely_at_least(d, 1))
      out.push_back(D(1));
    else
      return;
    if (!holds(to, out.back())) return;
  }
  c.output_values(0, std::move(out));
}

/// The attributes of both casts: how values that a float8 cannot hold are stored.
struct Rounding {
  bool saturate = true;
  std::string round_mode = "up";  // float8e8m0 only: up, down, nearest

  template <class D>
  void check(const ShapeContext<D>& c) const {
    if (round_mode != "up" && round_mode != "down" && round_mode != "nearest")
      c.fail(Code::node_bad_attribute, "round_mode to be up, down or nearest", "'" + round_mode + "'", {});
  }
};

struct Cast : Rounding {
  int64_t to = 0;
  void fields(auto&& f) {
    f("to", to);
    f("saturate", saturate);
    f("round_mode", round_mode);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check(c);
    const DataType type = element_type(to, "to");
    if (is_complex(type))
      c.fail(Code::node_bad_attribute, "to not to be a complex type", std::string(name_of(type)), {});
    c.output(0, c.shape(0));
    if (const auto* v = c.values(0)) propagate_cast(c, type, *v);
  }
};

/// Casts to the type of input 1, whose elements do not matter.
struct CastLike : Rounding {
  void fields(auto&& f) {
    f("saturate", saturate);
    f("round_mode", round_mode);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check(c);
    c.output(0, c.shape(0));
    // Only the type of the other operand is read.
    const auto* v = c.values(0);
    if (v) propagate_cast(c, c.type(1), *v);
  }
};

struct BitCast {
  int64_t to = 0;
  void fields(auto&& f) { f("to", to); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const DataType type = element_type(to, "to"), from = c.type(0);
    if (bits_of(type) == 0 || (from != DataType::undefined && bits_of(type) != bits_of(from)))
      c.fail(Code::node_bad_attribute, "a type of the width of " + std::string(name_of(from)),
             std::string(name_of(type)), {});
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
