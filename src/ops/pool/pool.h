// Pooling: one number from each window of the spatial axes of X [N, C, in…].
#pragma once

#include "ops/window.h"

namespace lathe {

/// The attributes and sizes that MaxPool, AveragePool and LpPool share.
struct Pooling {
  Windowing window;
  std::vector<int64_t> kernel_shape;
  void fields(auto&& f) {
    f("auto_pad", window.auto_pad);
    f("ceil_mode", window.ceil_mode);
    f("dilations", window.dilations);
    f("kernel_shape", kernel_shape);
    f("pads", window.pads);
    f("strides", window.strides);
  }

  template <class D>
  std::vector<D> pooled(const ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(x.size() >= 3, "X of rank 3 or more: [N, C, spatial axes]", c.text(x));
    const size_t spatial = x.size() - 2;
    if (kernel_shape.empty()) c.fail(Code::node_bad_attribute, "attribute kernel_shape", "none", {});
    Windowing::check_list(c, "kernel_shape", kernel_shape, spatial, 1);
    window.check(c, spatial);
    std::vector<D> y{x[0], x[1]};
    for (size_t i = 0; i < spatial; ++i) y.push_back(window.output_size(c, i, x[i + 2], D(kernel_shape[i])));
    return y;
  }

  /// The spatial axes for shapes that the rule accepted.
  WindowAxes axes(const Shape& x, const Shape& y) const {
    WindowAxes a;
    for (size_t i = 2; i < x.size(); ++i) a.push_back(window.axis(i - 2, x[i], kernel_shape[i - 2], y[i]));
    return a;
  }
};

/// Padding never wins; the second output holds the flat position of each maximum in X, spatial axes counted
/// row by row or, with storage_order 1, column by column.
struct MaxPool : Pooling {
  bool column_major = false;
  void fields(auto&& f) {
    Pooling::fields(f);
    f("storage_order", column_major);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, pooled(c));
    c.output(1, pooled(c));
  }
};

struct AveragePool : Pooling {
  bool count_include_pad = false;
  void fields(auto&& f) {
    Pooling::fields(f);
    f("count_include_pad", count_include_pad);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, pooled(c));
  }
};

/// (sum |x|^p)^(1/p)
struct LpPool : Pooling {
  int64_t p = 2;
  void fields(auto&& f) {
    Pooling::fields(f);
    f("p", p);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (p < 1) c.fail(Code::node_bad_attribute, "p of at least 1", std::to_string(p), {});
    c.output(0, pooled(c));
  }
};

/// [N, C, in…] → [N, C, 1…]
template <class D>
std::vector<D> globally_pooled(const ShapeContext<D>& c) {
  std::vector<D> y = c.shape(0);
  c.require(y.size() >= 2, "X of rank 2 or more: [N, C, spatial axes]", c.text(y));
  std::fill(y.begin() + 2, y.end(), D(1));
  return y;
}

/// GlobalAveragePool and GlobalMaxPool.
struct GlobalPool {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, globally_pooled(c));
  }
};

struct GlobalLpPool {
  int64_t p = 2;
  void fields(auto&& f) { f("p", p); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (p < 1) c.fail(Code::node_bad_attribute, "p of at least 1", std::to_string(p), {});
    c.output(0, globally_pooled(c));
  }
};

/// Puts each element of X at its flat position in the output, which the second output of MaxPool gave.
struct MaxUnpool {
  std::vector<int64_t> kernel_shape, pads, strides;
  void fields(auto&& f) {
    f("kernel_shape", kernel_shape);
    f("pads", pads);
    f("strides", strides);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(x.size() >= 3, "X of rank 3 or more: [N, C, spatial axes]", c.text(x));
    c.require(c.rank(1) == c.rank(0), "indices of the shape of X", c.text(c.shape(1)));
    for (size_t i = 0; i < x.size(); ++i) c.same(x[i], c.shape(1)[i], "the sizes of X and of its indices");
    const size_t spatial = x.size() - 2;
    if (kernel_shape.empty()) c.fail(Code::node_bad_attribute, "attribute kernel_shape", "none", {});
    Windowing::check_list(c, "kernel_shape", kernel_shape, spatial, 1);
    Windowing::check_list(c, "strides", strides, spatial, 1);
    Windowing::check_list(c, "pads", pads, 2 * spatial, 0);
    std::vector<D> y{x[0], x[1]};
    for (size_t i = 0; i < spatial; ++i) {
      y.push_back(implied_size(i, x[i + 2]));
      const auto size = known(y.back());
      c.require(!size || *size >= 0, "an output of 0 or more elements", to_text(y.back()));
    }
    if (c.has(2)) return infer_from_output_shape(c);
    c.output(0, std::move(y));
  }

  /// The shape of the output if output_shape is absent, for an X that the rule accepted.
  Shape implied_shape(const Shape& x) const {
    Shape y = x;
    for (size_t i = 2; i < x.size(); ++i) y[i] = implied_size(i - 2, x[i]);
    return y;
  }

 private:
  template <class D>
  D implied_size(size_t i, const D& in) const {
    const int64_t stride = strides.empty() ? 1 : strides[i];
    const int64_t padding = pads.empty() ? 0 : pads[i] + pads[pads.size() / 2 + i];
    return plus(times(minus(in, D(1)), D(stride)), D(kernel_shape[i] - padding));
  }
  template <class D>
  static void infer_from_output_shape(ShapeContext<D>& c) {
    const size_t rank = c.shape(0).size();
    if (const auto* sizes = c.values(2)) {
      c.require(sizes->size() == rank, "output_shape of " + std::to_string(rank) + " sizes",
                std::to_string(sizes->size()));
      for (const D& d : *sizes) {
        const auto size = known(d);
        c.require(!size || *size >= 0, "sizes of 0 or more", c.text(*sizes));
      }
      return c.output(0, *sizes);
    }
    std::vector<D> y;
    for (size_t i = 0; i < rank; ++i) {
      const auto d = c.data_dependent();
      if (!d) return;
      y.push_back(*d);
    }
    c.output(0, std::move(y));
  }
};

}  // namespace lathe
