#include "ops/sequence_map/sequence_map.h"

#include "ops/body_types.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

void infer_sequence_map(InferContext& c) {
  std::vector<ValueType> in;
  for (size_t i = 0; i < c.node().inputs.size(); ++i) {
    const ValueType& t = c.input(i);
    const bool element = t.kind == ValueType::Kind::sequence && t.inner;
    in.push_back(element ? *t.inner : t);
  }
  const auto given = c.infer_body(0, in);
  if (given.size() < c.node().outputs.size())
    throw Error(Code::node_bad_arity, "infer",
                "a body of " + std::to_string(c.node().outputs.size()) + " outputs",
                std::to_string(given.size()), "compare the body's outputs with the node's");
  const BodyBoundary boundary(c);
  for (size_t i = 0; i < c.node().outputs.size(); ++i) {
    ValueType each = boundary.outward(given[i]);
    if (each.known()) c.output(i, ValueType::sequence(std::move(each)));
  }
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// A Loop over the elements that appends the body's outputs to the sequences.
std::vector<ValueId> sequence_map(DecomposeContext& c) {
  const Node node = c.node();
  auto body = std::make_shared<Graph>(&c.graph());
  const auto inside = c.inside(*body);
  const ValueId place = body->add_input("place", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId go_on = body->add_input("go_on", ValueType::tensor(DataType::boolean, SymShape{}));
  std::vector<ValueId> inputs{one(c, "SequenceLength", {input(c, 0)}), no_id}, grown;
  for (ValueId v : node.outputs) {
    const ValueType type = v == no_id ? ValueType{} : c.type(v);
    if (type.kind != ValueType::Kind::sequence || !type.inner || !type.inner->is_tensor())
      unsupported("outputs whose types are known", type.str());
    inputs.push_back(one(c, "SequenceEmpty", {}, with("dtype", static_cast<int64_t>(type.inner->elem))));
    grown.push_back(body->add_input("grown", c.type(inputs.back())));
  }
  std::vector<ValueId> elements;
  for (ValueId v : node.inputs) {
    const ValueId here = body->capture(v);
    const bool is_sequence = c.type(v).kind == ValueType::Kind::sequence;
    elements.push_back(is_sequence ? one(*inside, "SequenceAt", {here, place}) : here);
  }
  const std::vector<ValueId> made = inside->insert_body("body", elements);
  std::vector<ValueId> outputs{go_on};
  for (size_t i = 0; i < grown.size(); ++i)
    outputs.push_back(one(*inside, "SequenceInsert", {grown[i], made[i]}));
  body->set_outputs(std::move(outputs));
  return c.insert_with_bodies("Loop", std::move(inputs), {}, {{"body", body}}, grown.size());
}

}  // namespace
}  // namespace decomposition

void declare_sequence_map(SchemaCatalog& c) {
  c.add("SequenceMap")
      .version(17,
               "(input_sequence: S, additional_inputs~0: V) -> (out_sequence~1: S) {body: graph!} [S: "
               "seq(@all); V: @all seq(@all)]")
      .rule<SequenceMap>()
      .decompose(decomposition::sequence_map)
      .infer(infer_sequence_map)
      .tolerance({.exact = true});
}

}  // namespace lathe
