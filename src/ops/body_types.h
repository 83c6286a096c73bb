// Types of loop states and of what leaves a body, for the inference of operators with bodies.
#pragma once

#include <set>

#include "schema/schema.h"

namespace lathe {

/// Converts types of a body's outputs for the graph around it: sizes in symbols that only the body knows
/// (those that it declares for itself, or that its data decide) become unknown outside.
class BodyBoundary {
 public:
  explicit BodyBoundary(const InferContext& c) {
    for (size_t i = 0; i < c.node().inputs.size(); ++i) note(c.input(i));
    for (const Body& b : c.node().bodies)
      for (ValueId v : b.graph->captures()) note(b.graph->value(v).type);
  }
  ValueType outward(ValueType t) const {
    if (t.shape)
      for (Dim& d : *t.shape)
        for (const std::string& s : d.symbols())
          if (!outside_.contains(s)) {
            d = Dim::unknown();
            break;
          }
    if (t.inner) t.inner = std::make_shared<const ValueType>(outward(*t.inner));
    return t;
  }

 private:
  void note(const ValueType& t) {
    if (t.shape)
      for (const Dim& d : *t.shape)
        for (std::string& s : d.symbols()) outside_.insert(std::move(s));
    if (t.inner) note(*t.inner);
  }
  std::set<std::string, std::less<>> outside_;
};

/// Whether states may change their shape in an iteration: those of a Loop may, those of a Scan may not.
enum class StateShapes : uint8_t { change, stay };

/// The types of a loop's states, widened until the body returns the types that it takes: a size that changes
/// becomes unknown, then, if the rank changes, the shape. Each can happen once, so this ends.
class LoopStates {
 public:
  explicit LoopStates(std::vector<ValueType> initial, StateShapes shapes = StateShapes::change)
      : types_(std::move(initial)), shapes_(shapes) {}
  const std::vector<ValueType>& types() const { return types_; }
  /// Widens the states by the types that one pass through the body returned; false if nothing had to be
  /// widened. A state that changes its kind or element type is an error.
  bool widen(std::span<const ValueType> given) {
    bool changed = false;
    for (size_t i = 0; i < types_.size(); ++i) changed |= widen(i, types_[i], given[i]);
    return changed;
  }
  /// The type of a state after the loop if the body returned `given`: an optional may leave as its element.
  ValueType leaving(size_t i, const ValueType& given) const {
    const ValueType& state = types_[i];
    return unwraps(state, given) ? join(*state.inner, given).value_or(given) : state;
  }

 private:
  static bool unwraps(const ValueType& state, const ValueType& given) {
    return state.kind == ValueType::Kind::optional && state.inner && given.known() &&
           given.kind != ValueType::Kind::optional;
  }
  bool widen(size_t i, ValueType& state, const ValueType& given) {
    if (!given.known()) return false;
    if (!state.known()) {
      state = given;
      return true;
    }
    if (!(unwraps(state, given) ? join(*state.inner, given) : join(state, given)))
      throw Error(Code::node_bad_type, "infer",
                  "state " + std::to_string(i) + " to leave the body with the type that it enters with, " +
                      state.str(),
                  given.str(), "cast or reshape the state at the end of the body");
    return !unwraps(state, given) && widen(state, given);
  }
  /// Widens `state` by `given`, which have a common type.
  bool widen(ValueType& state, const ValueType& given) {
    if (state.inner && given.inner) {
      ValueType inner = *state.inner;
      if (!widen(inner, *given.inner)) return false;
      state.inner = std::make_shared<ValueType>(std::move(inner));
      return true;
    }
    if (!state.shape || shapes_ == StateShapes::stay) return false;
    if (!given.shape || state.shape->size() != given.shape->size()) {
      state.shape.reset();
      return true;
    }
    bool changed = false;
    for (size_t a = 0; a < state.shape->size(); ++a) {
      Dim& d = (*state.shape)[a];
      if (d == (*given.shape)[a]) continue;
      const auto name = d.symbol_name();
      if (name && widened_.contains(*name)) continue;
      d = Dim::unknown();
      widened_.insert(*d.symbol_name());
      changed = true;
    }
    return changed;
  }
  std::vector<ValueType> types_;
  StateShapes shapes_;
  std::set<std::string, std::less<>> widened_;
};

}  // namespace lathe
