// QuantizeLinear and DequantizeLinear, with one scale for the tensor, for each index of an axis, or for each
// block along an axis; DynamicQuantizeLinear.
#pragma once

#include <cmath>
#include <type_traits>

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/element.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// The attributes and checks that both directions share.
struct QuantizationParams {
  int64_t axis = 1;
  int64_t block_size = 0;
  int64_t output_dtype = 0;

  /// Requires that scale (input 1) and zero point (input 2) fit the data (input 0). `zero_scales`: constant
  /// scales may be 0.
  template <class D>
  void check(const ShapeContext<D>& c, bool zero_scales = false) const {
    if (block_size < 0)
      c.fail(Code::node_bad_attribute, "a block_size of 0 or more", std::to_string(block_size), {});
    if constexpr (std::is_same_v<D, Dim>)
      if (const Tensor* s = c.constant(1)) check_numbers(c, *s, zero_scales);
    const auto& x = c.shape(0);
    const auto& scale = c.shape(1);
    const bool one_scale = holds_one(scale);
    if (c.has(2) && !(one_scale && holds_one(c.shape(2)))) {
      c.require(c.rank(2) == c.rank(1), "a zero point of the scale's shape", c.text(c.shape(2)));
      for (size_t i = 0; i < scale.size(); ++i)
        c.same(scale[i], c.shape(2)[i], "sizes of scale and zero point");
    }
    if (one_scale) return;
    const auto a = static_cast<size_t>(c.axis(axis, c.rank(0)));
    if (block_size == 0) {
      c.require(scale.size() == 1, "a scale of rank 0 or 1", c.text(scale), "blocks need block_size");
      c.same(scale[0], x[a], "the number of scales and the size of axis " + std::to_string(a));
      return;
    }
    c.require(scale.size() == x.size(), "a scale of the data's rank", c.text(scale) + " for " + c.text(x));
    for (size_t i = 0; i < x.size(); ++i)
      c.same(scale[i], i == a ? ceil_div(x[i], D(block_size)) : x[i],
             "scales and blocks along axis " + std::to_string(i));
  }

 private:
  /// Constant scales that are 0 or not finite mean that a model is broken. Those that a run computes may be 0
  /// if all data are.
  static void check_numbers(const ShapeContext<Dim>& c, const Tensor& scale, bool zero_scales) {
    for (int64_t i = 0; i < scale.size(); ++i)
      if (const double s = load_double(scale, i); (s == 0 && !zero_scales) || !std::isfinite(s))
        c.fail(Code::node_bad_value, "scales that are numbers other than 0", std::to_string(s),
               "quantize the model again");
  }
  /// A scalar, or the vector of one element that many exporters write instead.
  template <class D>
  static bool holds_one(const std::vector<D>& shape) {
    return shape.empty() || (shape.size() == 1 && known(shape[0]) == std::optional<int64_t>(1));
  }
};

struct QuantizeLinear : QuantizationParams {
  int64_t precision = 0;
  bool saturate = true;
  void fields(auto&& f) {
    f("axis", axis);
    f("block_size", block_size);
    f("output_dtype", output_dtype);
    f("precision", precision);
    f("saturate", saturate);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    check(c);
    c.output(0, c.shape(0));
  }
};

struct DequantizeLinear : QuantizationParams {
  void fields(auto&& f) {
    f("axis", axis);
    f("block_size", block_size);
    f("output_dtype", output_dtype);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    // A block of numbers of a few bits whose elements are all 0, or all its minimum, has no other scale.
    check(c, block_size > 0);
    c.output(0, c.shape(0));
  }
};

/// Outputs: the bytes, their scale, their zero point.
struct DynamicQuantizeLinear {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
    c.output(1, {});
    c.output(2, {});
  }
};

}  // namespace lathe
