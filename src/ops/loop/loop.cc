#include "ops/loop/loop.h"

#include "ops/body_types.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// The type of what the loop itself passes to its body: a scalar, or one element if the body declares rank 1.
ValueType counter_type(const Graph& body, size_t input, DataType type) {
  const auto& declared =
      body.inputs().size() > input ? body.value(body.inputs()[input]).type.shape : std::nullopt;
  return ValueType::tensor(type, declared && declared->size() == 1 ? SymShape{1} : SymShape{});
}

bool is_true(const Tensor* t) {
  return t && t->size() == 1 && t->type() == DataType::boolean && t->as<bool>()[0];
}

/// The number of iterations, if only the trip count ends the loop: its condition is true at the start and
/// passed on.
std::optional<Dim> trips(const InferContext& c, const Graph& body) {
  const auto& inputs = c.node().inputs;
  const bool starts = inputs.size() < 2 || inputs[1] == no_id || is_true(c.fact(1).constant);
  if (!starts || !c.fact(0).valued || c.fact(0).values.size() != 1 || body.outputs().empty())
    return std::nullopt;
  ValueId condition = body.outputs()[0];
  for (NodeId n; (n = body.value(condition).producer) != no_id && body.node(n).op == "Identity";)
    condition = body.node(n).inputs[0];
  if (condition != body.inputs()[1] && !is_true(body.constant_tensor(condition))) return std::nullopt;
  const Dim& count = c.fact(0).values[0];
  return surely_at_least(count, 0) ? count : max(count, Dim(0));
}

void infer_loop(InferContext& c) {
  const size_t states = c.node().inputs.size() > 2 ? c.node().inputs.size() - 2 : 0;
  std::vector<ValueType> initial;
  for (size_t i = 0; i < states; ++i) initial.push_back(c.input(i + 2));
  LoopStates carried(std::move(initial));
  const Graph& body = *c.node().bodies.at(0).graph;
  const ValueType iteration = counter_type(body, 0, DataType::int64),
                  condition = counter_type(body, 1, DataType::boolean);
  std::vector<ValueType> given;
  do {
    std::vector<ValueType> in{iteration, condition};
    in.insert(in.end(), carried.types().begin(), carried.types().end());
    given = c.infer_body(0, in);
    if (given.size() < states + 1 || given.size() - 1 < c.node().outputs.size())
      throw Error(Code::node_bad_arity, "infer",
                  "a body that gives a condition, " + std::to_string(states) + " states and the scan outputs",
                  std::to_string(given.size()) + " outputs of the body and " +
                      std::to_string(c.node().outputs.size()) + " of the node",
                  "compare the body's outputs with the node's");
  } while (carried.widen(std::span(given).subspan(1, states)));

  const BodyBoundary boundary(c);
  const Dim count = trips(c, body).value_or(Dim::unknown());
  for (size_t i = 0; i < c.node().outputs.size(); ++i) {
    if (i < states) {
      c.output(i, boundary.outward(carried.leaving(i, given[i + 1])));
      continue;
    }
    ValueType each = boundary.outward(given[i + 1]);
    if (each.known() && !each.is_tensor())
      throw Error(Code::node_bad_type, "infer", "scan outputs that are tensors", each.str());
    if (each.shape) each.shape->insert(each.shape->begin(), count);
    c.output(i, std::move(each));
  }
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Before version 11 a Loop needs a state.
std::vector<ValueId> loop(DecomposeContext& c) {
  const Node node = c.node();
  if (c.opset() >= 11 || node.inputs.size() > 2) unsupported({}, {});
  const Graph& own = *node.body("body");
  auto body = std::make_shared<Graph>(&c.graph());
  std::vector<ValueId> given;
  for (ValueId v : own.inputs()) given.push_back(body->add_input(own.value(v).name, own.value(v).type));
  const ValueId nothing = body->add_input("nothing", ValueType::tensor(DataType::boolean, SymShape{}));
  const auto in = c.inside(*body);
  std::vector<ValueId> outputs = in->insert_body("body", given);
  for (ValueId& v : outputs) v = one(*in, "Identity", {v});
  outputs.insert(outputs.begin() + 1, nothing);
  body->set_outputs(outputs);
  const ValueId start = c.add_constant(zeros(DataType::boolean, {}), "nothing");
  std::vector<ValueId> made = c.insert_with_bodies("Loop", {input(c, 0), input(c, 1), start}, {},
                                                   {{"body", body}}, outputs.size() - 1);
  made.erase(made.begin());
  made.resize(node.outputs.size(), no_id);
  return made;
}

}  // namespace
}  // namespace decomposition

void declare_loop(SchemaCatalog& c) {
  c.add("Loop")
      .version(1,
               "(M?: I, cond?: B, v_initial~1: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all; I: int64; B: bool]")
      .version(11,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all; I: int64; B: bool]")
      .version(13,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: @all "
               "seq(@all); I: int64; B: bool]")
      .version(16,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all_13 seq(@all_13) optional(@all_13) optional(seq(@all_13)); I: int64; B: bool]")
      .version(19,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all_ir9 seq(@all_ir9) optional(@all_ir9) optional(seq(@all_13)); I: int64; B: bool]")
      .version(21,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all_ir10 seq(@all_ir10) optional(@all_ir10) optional(seq(@all_13)); I: int64; B: bool]")
      .version(23,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all_ir11 seq(@all_ir11) optional(@all_ir11) optional(seq(@all_13)); I: int64; B: bool]")
      .version(24,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all_ir12 seq(@all_ir12) optional(@all_ir12) optional(seq(@all_13)); I: int64; B: bool]")
      .version(25,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all_ir13 seq(@all_ir13) optional(@all_ir13) optional(seq(@all_13)); I: int64; B: bool]")
      .rule<Loop>()
      .decompose(decomposition::loop)
      .infer(infer_loop)
      .tolerance({.exact = true});
}

}  // namespace lathe
