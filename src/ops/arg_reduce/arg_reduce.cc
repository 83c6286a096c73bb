#include "ops/arg_reduce/arg_reduce.h"

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// The last of equals is the first from the other end.
std::vector<ValueId> arg_reduce(DecomposeContext& c) {
  Attributes a = c.node().attributes;
  const ValueId x = input(c, 0);
  if (c.opset() >= 12 || a.get<int64_t>("select_last_index", 0) == 0) unsupported({}, {});
  const int64_t axis = from_front(c, x, a.get<int64_t>("axis", 0));
  const ValueId last = plus(c, length(c, x, axis), -1);
  const ValueId flipped = gathered(c, x, one(c, "Sub", {last, indices_along(c, x, axis)}), axis);
  a.erase("select_last_index");
  return {one(c, "Sub", {scalar_of(c, last), one(c, c.node().op, {flipped}, std::move(a))})};
}

}  // namespace
}  // namespace decomposition

void declare_arg_reduce(SchemaCatalog& c) {
  for (const char* name : {"ArgMax", "ArgMin"})
    c.add(name)
        .version(1, "(data: T) -> (reduced: int64) {keepdims: int = 1, axis: int = 0} [T: @number]")
        .version(11, "(data: T) -> (reduced: int64) {keepdims: int = 1, axis: int = 0} [T: @number]", nullptr,
                 axes_from_front)
        .version(12,
                 "(data: T) -> (reduced: int64) {select_last_index: int = 0, keepdims: int = 1, axis: int = "
                 "0} [T: @number]")
        .version(13,
                 "(data: T) -> (reduced: int64) {select_last_index: int = 0, keepdims: int = 1, axis: int = "
                 "0} [T: @number_13]")
        .rule<ArgReduce>()
        .decompose(decomposition::arg_reduce)
        .tolerance({.exact = true});
}

}  // namespace lathe
