// Activations: functions of one element with at most two numbers as parameters; Clip and PRelu, whose
// parameters are inputs.
#pragma once

#include <string>

#include "ops/elementwise/elementwise.h"

namespace lathe {

struct Relu : SameShape {};
struct HardSwish : SameShape {};
struct Mish : SameShape {};
struct Softplus : SameShape {};
struct Softsign : SameShape {};
struct Sigmoid : SameShape {};

struct WithAlpha : SameShape {
  float alpha = 1;
  void fields(auto&& f) { f("alpha", alpha); }
};
struct LeakyRelu : WithAlpha {
  LeakyRelu() { alpha = 0.01f; }
};
struct Elu : WithAlpha {};
struct Celu : WithAlpha {};
struct ThresholdedRelu : WithAlpha {};
struct Swish : WithAlpha {};

struct Selu : SameShape {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;
  void fields(auto&& f) {
    f("alpha", alpha);
    f("gamma", gamma);
  }
};
struct HardSigmoid : SameShape {
  float alpha = 0.2f;
  float beta = 0.5f;
  void fields(auto&& f) {
    f("alpha", alpha);
    f("beta", beta);
  }
};
struct Shrink : SameShape {
  float bias = 0;
  float lambd = 0.5f;
  void fields(auto&& f) {
    f("bias", bias);
    f("lambd", lambd);
  }
};

struct Gelu : SameShape {
  std::string approximate = "none";
  void fields(auto&& f) { f("approximate", approximate); }
  bool by_tanh() const { return approximate == "tanh"; }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (approximate != "none" && approximate != "tanh")
      c.fail(Code::node_bad_attribute, "approximate to be 'none' or 'tanh'", "'" + approximate + "'", {});
    SameShape::shape(c);
  }
};

/// Inputs 1 and 2 are the bounds: tensors of one element, or absent.
struct Clip : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i = 1; i < c.inputs(); ++i)
      if (c.has(i)) {
        const auto n = known(c.product(c.shape(i)));
        c.require(!n || *n == 1, "bounds of one element", c.text(c.shape(i)));
      }
    SameShape::shape(c);
    const auto* x = c.values(0);
    if (!x || (c.has(1) && !bound(c, 1)) || (c.has(2) && !bound(c, 2))) return;
    std::vector<D> out = *x;
    for (D& d : out) {
      if (c.has(1)) d = max(d, *bound(c, 1));
      if (c.has(2)) d = min(d, *bound(c, 2));
    }
    c.output_values(0, std::move(out));
  }

 private:
  template <class D>
  static const D* bound(const ShapeContext<D>& c, size_t i) {
    const auto* v = c.values(i);
    return v && v->size() == 1 ? v->data() : nullptr;
  }
};

/// The slope broadcasts to the input, not the other way round.
struct PRelu {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const std::vector<D> both = c.broadcast_pair(c.shape(0), c.shape(1));
    bool fits = both.size() == c.shape(0).size();
    for (size_t i = 0; fits && i < both.size(); ++i) {
      const auto in = known(c.shape(0)[i]), out = known(both[i]);
      fits = !in || !out || *in == *out;
    }
    c.require(fits, "a slope that broadcasts to the input", c.text(c.shape(1)) + " for " + c.text(c.shape(0)),
              "reshape the slope");
    c.output(0, c.shape(0));
  }
};

/// Swish of input 0 times input 1, both of one shape.
struct SwiGLU {
  float alpha = 1;
  void fields(auto&& f) { f("alpha", alpha); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) == c.rank(1), "inputs of one shape",
              c.text(c.shape(0)) + " and " + c.text(c.shape(1)));
    std::vector<D> out;
    for (size_t i = 0; i < c.shape(0).size(); ++i)
      out.push_back(c.same(c.shape(0)[i], c.shape(1)[i], "sizes"));
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
