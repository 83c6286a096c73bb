// RNN, GRU and LSTM: one layer, one or both directions.
//   X [seq, batch, input], W [dirs, gates * hidden, input], R [dirs, gates * hidden, hidden],
//   B [dirs, 2 * gates * hidden], initial_h [dirs, batch, hidden] → Y [seq, dirs, batch, hidden], Y_h like
//   initial_h
// With layout 1 the batch comes first: X [batch, seq, input], initial_h [batch, dirs, hidden],
// Y [batch, seq, dirs, hidden].
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/recurrent_function.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// The activations for all directions, with alphas and betas assigned to those that take them, in order, then
/// defaults. Names are compared without case. Throws node_bad_attribute.
using RecurrentActivations = InlineVector<RecurrentActivation, 6>;
inline RecurrentActivations recurrent_activations(std::span<const std::string_view> names,
                                                  std::span<const float> alphas,
                                                  std::span<const float> betas) {
  struct Known {
    std::string_view name;
    RecurrentFunction function;
    std::optional<float> alpha, beta;  // the defaults of those that take them
  };
  using enum RecurrentFunction;
  static constexpr Known all[] = {
      {"relu", relu, {}, {}},
      {"tanh", tanh, {}, {}},
      {"sigmoid", sigmoid, {}, {}},
      {"affine", affine, 1.f, 0.f},
      {"leakyrelu", leaky_relu, 0.01f, {}},
      {"thresholdedrelu", thresholded_relu, 1.f, {}},
      {"scaledtanh", scaled_tanh, 1.f, 1.f},
      {"hardsigmoid", hard_sigmoid, 0.2f, 0.5f},
      {"elu", elu, 1.f, {}},
      {"softsign", softsign, {}, {}},
      {"softplus", softplus, {}, {}},
  };
  const auto same_word = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; });
  };
  RecurrentActivations r;
  size_t alpha = 0, beta = 0;
  for (std::string_view name : names) {
    const Known* k = std::find_if(std::begin(all), std::end(all),
                                  [&](const Known& candidate) { return same_word(name, candidate.name); });
    if (k == std::end(all))
      throw Error(Code::node_bad_attribute, "infer", "an activation function of the specification",
                  std::string(name));
    RecurrentActivation a{k->function, k->alpha.value_or(0), k->beta.value_or(0)};
    if (k->alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (k->beta && beta < betas.size()) a.beta = betas[beta++];
    r.push_back(a);
  }
  return r;
}

/// The attributes and checks that the three operators share.
struct Recurrent {
  std::vector<std::string> activations;  // empty: the operator's defaults
  std::vector<float> activation_alpha, activation_beta;
  std::optional<float> clip;  // inputs of activations are clamped to [-clip, clip]
  std::string direction = "forward";
  std::optional<int64_t> hidden_size;
  bool batch_first = false;
  void fields(auto&& f) {
    f("activations", activations);
    f("activation_alpha", activation_alpha);
    f("activation_beta", activation_beta);
    f("clip", clip);
    f("direction", direction);
    f("hidden_size", hidden_size);
    f("layout", batch_first);
  }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  /// Returns whether the d-th direction runs from the end.
  bool backward(int64_t d) const { return direction == "reverse" || d == 1; }

  /// Both matrices, for every step of every sequence.
  template <class D>
  D operations(const OperandShapes<D>& s) const {
    const auto& x = counting::at(s.inputs, 0);
    if (x.size() != 3) throw counting::Unknown{};
    return D(2) * x[0] * x[1] *
           (counting::product(counting::at(s.inputs, 1)) + counting::product(counting::at(s.inputs, 2)));
  }

 protected:
  /// The activations of all directions; `defaults` are those of each direction.
  RecurrentActivations resolve(std::initializer_list<std::string_view> defaults) const {
    InlineVector<std::string_view, 6> names;
    for (const std::string& name : activations) names.push_back(name);
    for (int64_t d = 0; activations.empty() && d < directions(); ++d)
      for (std::string_view name : defaults) names.push_back(name);
    return recurrent_activations({names.data(), names.size()}, activation_alpha, activation_beta);
  }

  /// Checks all inputs and declares Y and the last states.
  template <class D>
  void shape(ShapeContext<D>& c, int64_t gates, size_t functions, size_t states) const {
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      c.fail(Code::node_bad_attribute, "direction forward, reverse or bidirectional", direction, {});
    const size_t needed = functions * static_cast<size_t>(directions());
    if (!activations.empty() && activations.size() < needed)
      c.fail(Code::node_bad_attribute, std::to_string(needed) + " activations",
             std::to_string(activations.size()), "name the activations of every direction");
    if (clip && !(*clip >= 0))
      c.fail(Code::node_bad_attribute, "clip of at least 0", std::to_string(*clip), {});
    for (size_t i : {0, 1, 2})
      c.require(c.rank(i) == 3, "X, W and R of rank 3",
                c.text(c.shape(i)) + " at input " + std::to_string(i));
    const auto &x = c.shape(0), &r = c.shape(2);
    const D dirs(directions()), batch = x[batch_first ? 0 : 1], seq = x[batch_first ? 1 : 0];
    D hidden = r[2];
    if (hidden_size) {
      if (*hidden_size < 1 || *hidden_size > INT32_MAX)
        c.fail(Code::node_bad_attribute, "hidden_size of at least 1", std::to_string(*hidden_size), {});
      hidden = c.same(D(*hidden_size), r[2], "hidden_size and the last axis of R");
    }
    const D rows = times(hidden, D(gates));
    expect(c, 1, {dirs, rows, x[2]}, "W");
    expect(c, 2, {dirs, rows, hidden}, "R");
    expect(c, 3, {dirs, times(rows, D(2))}, "B");
    expect(c, 4, {batch}, "sequence_lens");
    const std::vector<D> state =
        batch_first ? std::vector<D>{batch, dirs, hidden} : std::vector<D>{dirs, batch, hidden};
    for (size_t i = 0; i < states; ++i) {
      expect(c, 5 + i, state, "an initial state");
      c.output(1 + i, state);
    }
    if (batch_first)
      c.output(0, {batch, seq, dirs, hidden});
    else
      c.output(0, {seq, dirs, batch, hidden});
  }
  template <class D>
  static void expect(const ShapeContext<D>& c, size_t input, const std::vector<D>& want, const char* what) {
    if (!c.has(input)) return;
    const auto& have = c.shape(input);
    c.require(have.size() == want.size(), std::string(what) + " of shape " + c.text(want), c.text(have));
    for (size_t i = 0; i < want.size(); ++i) c.same(have[i], want[i], std::string("the sizes of ") + what);
  }
};

/// H = f(X W' + H R' + Wb + Rb)
struct Rnn : Recurrent {
  RecurrentActivations functions() const { return resolve({"Tanh"}); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Recurrent::shape(c, 1, 1, 1);
    (void)functions();
  }
};

/// Gates in the order update, reset, hidden; functions f (gates) and g (hidden) for each direction.
struct Gru : Recurrent {
  bool linear_before_reset = false;
  void fields(auto&& f) {
    Recurrent::fields(f);
    f("linear_before_reset", linear_before_reset);
  }
  RecurrentActivations functions() const { return resolve({"Sigmoid", "Tanh"}); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Recurrent::shape(c, 3, 2, 1);
    (void)functions();
  }
};

/// Gates in the order input, output, forget, cell; functions f (gates), g (cell) and h (hidden) for each
/// direction. Inputs 6 and 7 are initial_c, like initial_h, and the peepholes P [dirs, 3 * hidden] of input,
/// output, forget.
struct Lstm : Recurrent {
  bool input_forget = false;
  void fields(auto&& f) {
    Recurrent::fields(f);
    f("input_forget", input_forget);
  }
  RecurrentActivations functions() const { return resolve({"Sigmoid", "Tanh", "Tanh"}); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Recurrent::shape(c, 4, 3, 2);
    expect(c, 7, {D(directions()), times(c.shape(2)[2], D(3))}, "P");
    (void)functions();
  }
};

}  // namespace lathe
