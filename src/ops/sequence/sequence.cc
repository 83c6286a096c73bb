#include "ops/sequence/sequence.h"

#include "ops/element_type.h"
#include "schema/schema.h"

namespace lathe {
namespace {

[[noreturn]] void bad_axis(int64_t axis, int64_t rank) {
  throw Error(Code::node_bad_attribute, "infer",
              "axis in [" + std::to_string(-rank) + ", " + std::to_string(rank) + ")", std::to_string(axis));
}

/// The type that holds for elements of two types in one sequence.
ValueType element_join(const ValueType& a, const ValueType& b) {
  const auto both = join(a, b);
  if (!both)
    throw Error(Code::node_bad_type, "infer", "elements of one type, " + a.str(false), b.str(false),
                "insert a Cast, or use a sequence of that type");
  return *both;
}

void infer_construct(InferContext& c) {
  ValueType each = c.input(0);
  for (size_t i = 1; i < c.node().inputs.size(); ++i) each = element_join(each, c.input(i));
  if (each.known()) c.output(0, ValueType::sequence(std::move(each)));
}

void infer_empty(InferContext& c) {
  c.output(0, ValueType::sequence(ValueType::tensor(
                  element_type(decode<SequenceEmpty>(c.node().attributes).dtype, "dtype"))));
}

void infer_insert(InferContext& c) {
  const ValueType& sequence = c.input(0);
  if (!sequence.inner || !c.input(1).known()) return c.output(0, sequence);
  ValueType each = element_join(*sequence.inner, c.input(1));
  c.output(0, ValueType::sequence(std::move(each)));
}

void infer_erase(InferContext& c) { c.output(0, c.input(0)); }

void infer_at(InferContext& c) {
  if (c.input(0).inner) c.output(0, *c.input(0).inner);
}

void infer_split_to_sequence(InferContext& c) {
  const auto op = decode<SplitToSequence>(c.node().attributes);
  ValueType each = c.input(0);
  if (!each.known()) return;
  if (each.shape) {
    const auto rank = static_cast<int64_t>(each.shape->size());
    if (op.axis < -rank || op.axis >= rank) bad_axis(op.axis, rank);
    const auto at = each.shape->begin() + (op.axis < 0 ? op.axis + rank : op.axis);
    if (c.input(1).known())
      *at = Dim::unknown();  // a length of its own for each
    else if (op.keepdims)
      *at = Dim(1);
    else
      each.shape->erase(at);
  }
  c.output(0, ValueType::sequence(std::move(each)));
}

void infer_concat_from_sequence(InferContext& c) {
  const auto op = decode<ConcatFromSequence>(c.node().attributes);
  if (!c.input(0).inner) return;
  ValueType all = *c.input(0).inner;
  if (all.shape) {
    const int64_t rank = static_cast<int64_t>(all.shape->size()) + op.new_axis;
    if (op.axis < -rank || op.axis >= rank) bad_axis(op.axis, rank);
    const auto at = all.shape->begin() + (op.axis < 0 ? op.axis + rank : op.axis);
    if (op.new_axis)
      all.shape->insert(at, Dim::unknown());
    else
      *at = Dim::unknown();
  }
  c.output(0, std::move(all));
}

}  // namespace

void declare_sequence(SchemaCatalog& c) {
  c.add("SequenceConstruct")
      .version(11, "(inputs*1: T) -> (output_sequence: S) [T: @all; S: seq(@all)]")
      .rule<SequenceConstruct>()
      .infer(infer_construct)
      .tolerance({.exact = true});
  c.add("SequenceEmpty")
      .version(11, "() -> (output: S) {dtype: int} [S: seq(@all)]")
      .rule<SequenceEmpty>()
      .infer(infer_empty)
      .tolerance({.exact = true});
  c.add("SequenceInsert")
      .version(11,
               "(input_sequence: S, tensor: T, position?: I) -> (output_sequence: S) [T: @all; S: seq(@all); "
               "I: @index]")
      .rule<SequenceInsert>()
      .infer(infer_insert)
      .tolerance({.exact = true});
  c.add("SequenceErase")
      .version(11, "(input_sequence: S, position?: I) -> (output_sequence: S) [S: seq(@all); I: @index]")
      .rule<SequenceErase>()
      .infer(infer_erase)
      .tolerance({.exact = true});
  c.add("SequenceAt")
      .version(11, "(input_sequence: S, position: I) -> (tensor: T) [S: seq(@all); T: @all; I: @index]")
      .rule<SequenceAt>()
      .infer(infer_at)
      .tolerance({.exact = true});
  c.add("SequenceLength")
      .version(11, "(input_sequence: S) -> (length: I) [S: seq(@all); I: int64]")
      .rule<SequenceLength>()
      .tolerance({.exact = true});
  c.add("SplitToSequence")
      .version(11,
               "(input: T, split?: I) -> (output_sequence: S) {keepdims: int = 1, axis: int = 0} [T: @all; "
               "I: @index; S: seq(@all)]")
      .version(24,
               "(input: T, split?: I) -> (output_sequence: S) {keepdims: int = 1, axis: int = 0} [T: "
               "@all_13; I: @index; S: seq(@all_13)]")
      .rule<SplitToSequence>()
      .infer(infer_split_to_sequence)
      .tolerance({.exact = true});
  c.add("ConcatFromSequence")
      .version(
          11,
          "(input_sequence: S) -> (concat_result: T) {new_axis: int = 0, axis: int!} [S: seq(@all); T: @all]")
      .rule<ConcatFromSequence>()
      .infer(infer_concat_from_sequence)
      .tolerance({.exact = true});
}

}  // namespace lathe
