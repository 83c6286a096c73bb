#include "ops/branch/branch.h"

#include "ops/body_types.h"
#include "schema/downgrade.h"

namespace lathe {
namespace {

void infer_if(InferContext& c) {
  const size_t outputs = c.node().outputs.size();
  const auto infer_branch = [&](size_t body) {
    auto types = c.infer_body(body, {});
    if (types.size() != outputs)
      throw Error(Code::node_bad_arity, "infer",
                  c.node().bodies[body].name + " with " + std::to_string(outputs) + " outputs",
                  std::to_string(types.size()), "give both branches as many outputs as the node has");
    return types;
  };
  const Tensor* condition = c.fact(0).constant;
  const std::vector<ValueType> otherwise = infer_branch(0), then = infer_branch(1);
  const BodyBoundary boundary(c);
  for (size_t i = 0; i < outputs; ++i) {
    if (condition && condition->size() == 1) {
      c.output(i, boundary.outward(condition->as<bool>()[0] ? then[i] : otherwise[i]));
      continue;
    }
    const auto both = join(then[i], otherwise[i]);
    if (!both)
      throw Error(Code::node_bad_type, "infer", "branches of one type",
                  then[i].str() + " and " + otherwise[i].str(),
                  "make both branches give the same kind and element type");
    c.output(i, boundary.outward(*both));
  }
}

/// Before version 11 both branches have to give outputs of one shape.
bool if_1_from_11(RewriteContext& c) {
  const auto& bodies = c.node().bodies;
  for (size_t i = 0; i < c.node().outputs.size(); ++i) {
    const std::optional<SymShape>* shape = nullptr;
    for (const Body& b : bodies) {
      if (i >= b.graph->outputs().size()) return c.cannot("its branches differ in the number of outputs");
      const auto& given = b.graph->value(b.graph->outputs()[i]).type.shape;
      if (!given || (shape && **shape != *given))
        return c.cannot("in older ones both branches have to give outputs of one shape, and output " +
                        std::to_string(i) + " need not be");
      shape = &given;
    }
  }
  return true;
}

}  // namespace

void declare_branch(SchemaCatalog& c) {
  c.add("If")
      .version(1, "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all; B: bool]")
      .version(11,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all; B: bool]",
               nullptr, if_1_from_11)
      .version(13,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all seq(@all); "
               "B: bool]")
      .version(16,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all_13 "
               "seq(@all_13) optional(@all_13) optional(seq(@all_13)); B: bool]")
      .version(19,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all_ir9 "
               "seq(@all_ir9) optional(@all_ir9) optional(seq(@all_13)); B: bool]")
      .version(21,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all_ir10 "
               "seq(@all_ir10) optional(@all_ir10) optional(seq(@all_13)); B: bool]")
      .version(23,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all_ir11 "
               "seq(@all_ir11) optional(@all_ir11) optional(seq(@all_13)); B: bool]")
      .version(24,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all_ir12 "
               "seq(@all_ir12) optional(@all_ir12) optional(seq(@all_13)); B: bool]")
      .version(25,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all_ir13 "
               "seq(@all_ir13) optional(@all_ir13) optional(seq(@all_13)); B: bool]")
      .rule<If>()
      .infer(infer_if)
      .tolerance({.exact = true});
}

}  // namespace lathe
