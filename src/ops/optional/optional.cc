#include "ops/optional/optional.h"

#include "schema/node_builder.h"

namespace lathe {
namespace {

void infer_optional(InferContext& c) {
  if (c.input(0).known()) return c.output(0, ValueType::optional(c.input(0)));
  const auto type = decode<MakeOptional>(c.node().attributes).type;
  if (type.empty() && (c.node().inputs.empty() || c.node().inputs[0] == no_id))
    throw Error(Code::node_bad_attribute, "infer", "the attribute 'type' of an empty optional", "none");
  if (!type.empty()) c.output(0, ValueType::optional(ValueType::parse(type)));
}

void infer_get_element(InferContext& c) {
  const ValueType& t = c.input(0);
  c.output(0, t.kind == ValueType::Kind::optional && t.inner ? *t.inner : t);
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// If the input's type is not optional, it is known whether there is an element.
std::vector<ValueId> has_element(DecomposeContext& c) {
  if (has(c, 0) && c.input_type(0).kind == ValueType::Kind::optional)
    unsupported("no optional values", c.input_type(0).str());
  Tensor truth(DataType::boolean, {});
  store_int(truth, 0, has(c, 0));
  return {c.add_constant(std::move(truth), "has_element")};
}

std::vector<ValueId> get_element(DecomposeContext& c) {
  if (c.input_type(0).kind == ValueType::Kind::optional)
    unsupported("no optional values", c.input_type(0).str());
  return {input(c, 0)};
}

}  // namespace
}  // namespace decomposition

void declare_optional(SchemaCatalog& c) {
  c.add("Optional")
      .version(15,
               "(input?: V) -> (output: O) {type: type} [V: @all seq(@all); O: optional(@all) "
               "optional(seq(@all))]")
      .version(28,
               "(input?: V) -> (output: O) {type: type} [V: @all_ir14 seq(@all_ir14); O: optional(@all_ir14) "
               "optional(seq(@all_ir14))]")
      .rule<MakeOptional>()
      .infer(infer_optional)
      .tolerance({.exact = true});
  c.add("OptionalHasElement")
      .version(15, "(input: O) -> (output: B) [O: optional(@all) optional(seq(@all)); B: bool]")
      .version(18,
               "(input?: O) -> (output: B) [O: @all seq(@all) optional(@all) optional(seq(@all)); B: bool]")
      .version(28,
               "(input?: O) -> (output: B) [O: @all_ir14 seq(@all_ir14) optional(@all_ir14) "
               "optional(seq(@all_ir14)); B: bool]")
      .rule<OptionalHasElement>()
      .decompose(decomposition::has_element)
      .partial()
      .tolerance({.exact = true});
  c.add("OptionalGetElement")
      .version(15, "(input: O) -> (output: V) [O: optional(@all) optional(seq(@all)); V: @all seq(@all)]")
      .version(18,
               "(input: O) -> (output: V) [O: @all seq(@all) optional(@all) optional(seq(@all)); V: @all "
               "seq(@all)]")
      .version(28,
               "(input: O) -> (output: V) [O: @all_ir14 seq(@all_ir14) optional(@all_ir14) "
               "optional(seq(@all_ir14)); V: @all_ir14 seq(@all_ir14)]")
      .rule<OptionalGetElement>()
      .decompose(decomposition::get_element)
      .infer(infer_get_element)
      .tolerance({.exact = true});
}

}  // namespace lathe
