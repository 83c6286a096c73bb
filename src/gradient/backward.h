// The interface in which rules of derivatives are written: one node of the backward pass.
//
//   void rule_of_relu(Backward& b) { b.give(0, b.add("Where", {…, b.gradient(), …})); }
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradient/gradient.h"

namespace lathe {

class Backward {
 public:
  Backward(Graph& g, Node node, std::vector<ValueId> gradients, std::vector<bool> wanted, const AddNode& add)
      : g_(g),
        node_(std::move(node)),
        gradients_(std::move(gradients)),
        wanted_(std::move(wanted)),
        add_(add) {
    given_.resize(node_.inputs.size(), no_id);
  }

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  bool has(size_t input) const { return input < node_.inputs.size() && node_.inputs[input] != no_id; }
  ValueId x(size_t input = 0) const { return has(input) ? node_.inputs[input] : no_id; }
  ValueId y(size_t output = 0) const { return node_.outputs[output]; }
  /// The derivative with respect to an output; no_id if there is none.
  ValueId gradient(size_t output = 0) const { return gradients_[output]; }
  /// Returns whether the derivative with respect to this input is needed.
  bool wants(size_t input) const { return input < wanted_.size() && wanted_[input]; }

  const ValueType& type(ValueId v) const { return g_.value(v).type; }
  /// Throws if the rank is not known.
  size_t rank(ValueId v) const;
  /// Throws if the size is not a number.
  int64_t size(ValueId v, size_t axis) const;
  const Tensor* constant(ValueId v) const { return v == no_id ? nullptr : g_.constant_tensor(v); }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return add_all(op, std::move(inputs), 1, std::move(attributes))[0];
  }
  std::vector<ValueId> add_all(std::string_view op, std::vector<ValueId> inputs, size_t outputs,
                               Attributes attributes = {});
  /// A scalar of the element type of `like`.
  ValueId number(double v, ValueId like);
  ValueId ints(const std::vector<int64_t>& v);
  ValueId shape_of(ValueId v) { return add("Shape", {v}); }
  /// Returns the same elements in the shape of another value.
  ValueId shaped_like(ValueId v, ValueId like);
  ValueId zeros_like(ValueId v) { return filled_like(v, 0); }
  ValueId filled_like(ValueId v, double with);
  /// Returns `v` summed over the axes along which `like` would be repeated to v's shape.
  ValueId summed_to(ValueId v, ValueId like);

  /// Sets the gradient of an input, of the input's shape. give_broadcast() takes one of the output's shape,
  /// and sums it over broadcast axes.
  void give(size_t input, ValueId gradient) { given_[input] = gradient; }
  void give_broadcast(size_t input, ValueId gradient) { give(input, summed_to(gradient, x(input))); }
  const std::vector<ValueId>& given() const { return given_; }

  /// Throws node_cannot_convert at this node.
  [[noreturn]] void refuse(std::string expected, std::string got) const;

 private:
  Graph& g_;
  const Node node_;  // a copy: the graph's nodes move as others are added
  std::vector<ValueId> gradients_;
  std::vector<bool> wanted_;
  const AddNode& add_;
  std::vector<ValueId> given_;
};

/// A value in a formula.
struct Term {
  Backward* b;
  ValueId id;
};
inline Term operator+(Term x, Term y) { return {x.b, x.b->add("Add", {x.id, y.id})}; }
inline Term operator-(Term x, Term y) { return {x.b, x.b->add("Sub", {x.id, y.id})}; }
inline Term operator*(Term x, Term y) { return {x.b, x.b->add("Mul", {x.id, y.id})}; }
inline Term operator/(Term x, Term y) { return {x.b, x.b->add("Div", {x.id, y.id})}; }
inline Term operator-(Term x) { return {x.b, x.b->add("Neg", {x.id})}; }
inline Term as_term(Term like, double v) { return {like.b, like.b->number(v, like.id)}; }
inline Term operator+(double x, Term y) { return as_term(y, x) + y; }
inline Term operator-(double x, Term y) { return as_term(y, x) - y; }
inline Term operator-(Term x, double y) { return x - as_term(x, y); }
inline Term operator*(double x, Term y) { return as_term(y, x) * y; }
inline Term operator/(double x, Term y) { return as_term(y, x) / y; }
inline Term call(std::string_view op, Term x) { return {x.b, x.b->add(op, {x.id})}; }
inline Term call(std::string_view op, Term x, Term y) { return {x.b, x.b->add(op, {x.id, y.id})}; }
inline Term choose(Term condition, Term yes, Term no) {
  return {yes.b, yes.b->add("Where", {condition.id, yes.id, no.id})};
}

using GradientRule = void (*)(Backward&);
/// The rules by the names of their operators, all of the default domain.
using GradientTable = std::map<std::string, GradientRule, std::less<>>;

/// Generated: the rules of all operators' folders, from src/ops/<folder>/<folder>.gradient.cc.
void collect_all_gradients(GradientTable& all);

}  // namespace lathe
