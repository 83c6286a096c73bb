// Adagrad, Adam and Momentum: one step of training. Inputs: learning rate, count of updates, then the
// tensors, their gradients and the states of earlier gradients, n of each; outputs: the new tensors and
// states, n of each.
#pragma once

#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// `kept` tensors accompany each that is trained.
template <size_t kept>
struct OptimizerStep {
  static constexpr size_t groups = 2 + kept;
  /// The input that output i is the next of.
  static size_t source(size_t i, size_t trained) { return 2 + i + (i < trained ? 0 : trained); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.inputs() >= 2 + groups && (c.inputs() - 2) % groups == 0,
              "tensors, gradients and what is kept of them, as many of each",
              std::to_string(c.inputs() < 2 ? 0 : c.inputs() - 2) + " inputs");
    const size_t trained = (c.inputs() - 2) / groups;
    for (size_t i = 0; i < 2; ++i) {
      const auto count = known(c.product(c.shape(i)));
      c.require(!count || *count == 1, "one number", c.text(c.shape(i)));
    }
    for (size_t i = 0; i < trained; ++i) {
      std::vector<D> shape = c.shape(2 + i);
      for (size_t g = 1; g < groups; ++g) {
        const auto& other = c.shape(2 + i + g * trained);
        c.require(other.size() == shape.size(), "gradients of the shape of their tensors",
                  c.text(other) + " for " + c.text(shape));
        for (size_t a = 0; a < shape.size(); ++a)
          shape[a] = c.same(shape[a], other[a], "sizes of a tensor and its gradient");
      }
      for (size_t g = 0; g <= kept; ++g) c.output(i + g * trained, shape);
    }
  }
};

struct Adagrad : OptimizerStep<1> {
  float norm_coefficient = 0, decay_factor = 0, epsilon = 1e-6f;
  void fields(auto&& f) {
    f("norm_coefficient", norm_coefficient);
    f("decay_factor", decay_factor);
    f("epsilon", epsilon);
  }
};

struct Momentum : OptimizerStep<1> {
  float norm_coefficient = 0, alpha = 0, beta = 0;
  std::string mode = "standard";
  void fields(auto&& f) {
    f("norm_coefficient", norm_coefficient);
    f("alpha", alpha);
    f("beta", beta);
    f("mode", mode);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (mode != "standard" && mode != "nesterov")
      c.fail(Code::node_bad_attribute, "mode standard or nesterov", mode, {});
    OptimizerStep::shape(c);
  }
};

struct Adam : OptimizerStep<2> {
  float norm_coefficient = 0, norm_coefficient_post = 0, alpha = 0.9f, beta = 0.999f, epsilon = 1e-6f;
  void fields(auto&& f) {
    f("norm_coefficient", norm_coefficient);
    f("norm_coefficient_post", norm_coefficient_post);
    f("alpha", alpha);
    f("beta", beta);
    f("epsilon", epsilon);
  }
};

}  // namespace lathe
