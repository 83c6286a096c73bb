#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_arg_reduce(CaseTable& t) {
  t.add("ArgMax", "columns").input<float>({2, 2}, {2, 1, 3, 10}).expect<int64_t>({1, 2}, {1, 1});
  t.add("ArgMax", "rows, dropped")
      .input<float>({2, 3}, {2, 5, 5, 3, 1, 2})
      .attribute("axis", int64_t{-1})
      .attribute("keepdims", int64_t{0})
      .expect<int64_t>({2}, {1, 0});
  t.add("ArgMax", "last of equals")
      .input<float>({2, 3}, {2, 5, 5, 3, 1, 3})
      .attribute("axis", int64_t{1})
      .attribute("select_last_index", int64_t{1})
      .expect<int64_t>({2, 1}, {2, 2});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    t.add(op, "NaN wins")
        .input<float>({3, 3}, {1, NAN, 3, NAN, 2, 1, 0, 5, NAN})
        .attribute("axis", int64_t{1})
        .expect<int64_t>({3, 1}, {1, 0, 2});
    t.add(op, "the last NaN wins")
        .input<double>({5}, {1, NAN, 3, NAN, 0})
        .attribute("select_last_index", int64_t{1})
        .expect<int64_t>({1}, {3});
    for (const DataType type : {DataType::uint8, DataType::int8})
      for (const int64_t axis : {0, 1})
        t.add(op, std::string(axis ? "rows" : "columns") + " of " + std::string(name_of(type)))
            .random(type, {150, 141}, type == DataType::uint8 ? 0 : -128, 127)
            .attribute("axis", axis)
            .attribute("select_last_index", axis);
  }
  t.add("ArgMin", "columns of integers").input<int32_t>({3, 1}, {4, -7, 2}).expect<int64_t>({1, 1}, {1});
  t.add("ArgMin", "vocabulary").random(DataType::float32, {4, 5001}).attribute("axis", int64_t{1});
}

}  // namespace lathe
