#include "ops/arg_reduce/arg_reduce.h"

#include "schema/downgrade.h"

namespace lathe {

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
        .contract({.exact = true});
}

}  // namespace lathe
