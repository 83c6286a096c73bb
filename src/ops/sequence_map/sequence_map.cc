#include "ops/sequence_map/sequence_map.h"

#include "ops/body_types.h"

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

void declare_sequence_map(SchemaCatalog& c) {
  c.add("SequenceMap")
      .version(17,
               "(input_sequence: S, additional_inputs~0: V) -> (out_sequence~1: S) {body: graph!} [S: "
               "seq(@all); V: @all seq(@all)]")
      .rule<SequenceMap>()
      .infer(infer_sequence_map)
      .contract({.exact = true});
}

}  // namespace lathe
