// Products and convolutions of quantized numbers: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.
#pragma once

#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "tensor/arithmetic.h"

namespace lathe {

/// The axis of a matrix that a vector of scales or zero points runs along.
enum class QuantizedAlong : uint8_t { rows, columns };

/// Refuses a scale or zero point at `input` that is neither one number, nor a vector along the rows (or
/// columns) of the matrices at `data`, nor broadcasts to them.
template <class D>
void require_quantization(const ShapeContext<D>& c, size_t input, const std::vector<D>& data,
                          QuantizedAlong along, const char* what) {
  if (!c.has(input)) return;
  std::vector<D> p = c.shape(input);
  if (p.size() == 1 && along == QuantizedAlong::rows && data.size() > 1) p.push_back(D(1));
  const auto fits = [&] {
    if (p.size() > data.size()) return c.product(p) == D(1);
    for (size_t i = 0; i < p.size(); ++i) {
      const auto have = known(p[p.size() - 1 - i]), want = known(data[data.size() - 1 - i]);
      if (have && *have != 1 && want && *have != *want) return false;
    }
    return true;
  };
  c.require(fits(), std::string(what) + " of one number, or one for each row of A or column of B",
            c.text(c.shape(input)) + " for " + c.text(data));
}

/// Refuses a scale or zero point at `input` that is neither one number nor, with `channels`, a vector of one
/// for each.
template <class D>
void require_channel_quantization(const ShapeContext<D>& c, size_t input, const D* channels,
                                  const char* what) {
  if (!c.has(input)) return;
  const auto& p = c.shape(input);
  const auto count = known(c.product(p));
  if (p.empty() || (count && *count == 1)) return;
  c.require(
      channels && p.size() == 1,
      std::string(what) + (channels ? " of one number, or one for each output channel" : " of one number"),
      c.text(p));
  if (channels) c.same(p[0], *channels, std::string("the size of ") + what + " and the output channels");
}

struct MatMulInteger {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, matmul_shape(c, 0, 1));
    require_quantization(c, 2, c.shape(0), QuantizedAlong::rows, "a_zero_point");
    require_quantization(c, 3, c.shape(1), QuantizedAlong::columns, "b_zero_point");
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::matrix_product(s);
  }
};

/// lathe.ScaledMatMulInteger: the product as floats, times (a_scale * b_scale). The builder inserts it; it
/// occurs in plans, never in graphs.
///   A, B […, k, n] or a transposed matrix [n, k], a_zero_point, b_zero_point, a_scale, b_scale → Y
struct ScaledMatMulInteger {
  bool transposed = false;
  void fields(auto&& f) { f("transposed", transposed); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y;
    if (transposed) {
      y = c.shape(0);
      const auto& b = c.shape(1);
      c.require(!y.empty() && b.size() == 2, "A of rank 1 or more and a matrix B",
                c.text(y) + " and " + c.text(b));
      c.same(y.back(), b[1], "the last axis of A and the terms of B");
      y.back() = b[0];
    } else {
      y = matmul_shape(c, 0, 1);
      c.require(c.rank(1) >= 2, "a matrix B, or several", c.text(c.shape(1)));
    }
    for (size_t i : {2u, 4u}) require_channel_quantization<D>(c, i, nullptr, "a scale or zero point of A");
    for (size_t i : {3u, 5u}) require_channel_quantization(c, i, &y.back(), "scales or zero points of B");
    c.output(0, std::move(y));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::matrix_product(s);
  }
};

/// y = round(a * b * a_scale * b_scale / y_scale) + y_zero_point, clamped to the type of y; a and b are
/// differences to their zero points.
struct QLinearMatMul {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = matmul_shape(c, 0, 3);
    require_quantization(c, 1, c.shape(0), QuantizedAlong::rows, "a_scale");
    require_quantization(c, 2, c.shape(0), QuantizedAlong::rows, "a_zero_point");
    require_quantization(c, 4, c.shape(3), QuantizedAlong::columns, "b_scale");
    require_quantization(c, 5, c.shape(3), QuantizedAlong::columns, "b_zero_point");
    require_quantization(c, 6, y, QuantizedAlong::rows, "y_scale");
    require_quantization(c, 7, y, QuantizedAlong::rows, "y_zero_point");
    c.output(0, std::move(y));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::matrix_product(s);
  }
};

struct ConvInteger : Conv {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, convolved(c, 0, 1, SIZE_MAX));
    require_channel_quantization<D>(c, 2, nullptr, "x_zero_point");
    require_channel_quantization(c, 3, &c.shape(1)[0], "w_zero_point");
  }
};

/// Like QLinearMatMul; scale and zero point of w may differ by output channel, the bias is in units of
/// x_scale * w_scale.
struct QLinearConv : Conv {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, convolved(c, 0, 3, 8));
    require_channel_quantization<D>(c, 1, nullptr, "x_scale");
    require_channel_quantization<D>(c, 2, nullptr, "x_zero_point");
    require_channel_quantization(c, 4, &c.shape(3)[0], "w_scale");
    require_channel_quantization(c, 5, &c.shape(3)[0], "w_zero_point");
    require_channel_quantization<D>(c, 6, nullptr, "y_scale");
    require_channel_quantization<D>(c, 7, nullptr, "y_zero_point");
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::convolution(s, 3);
  }
};

}  // namespace lathe
