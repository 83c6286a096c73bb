#include <cmath>

#include "ops/cases.h"

namespace lathe {
namespace {

/// Before version 28 logarithms were declared for integers too; they lose their fraction.
template <class T>
void integer_logarithms(CaseTable& t, const std::string& name) {
  const std::vector<T> x{1, 2, 3, 10, 20, 30}, log_sum{1, 4}, log_sum_exp{3, 30};
  for (const char* op : {"ReduceLogSum", "ReduceLogSumExp"}) {
    const std::vector<T>& rows = std::string(op) == "ReduceLogSum" ? log_sum : log_sum_exp;
    OpCase& by_attribute = t.add(op, name).attribute("axes", std::vector<int64_t>{-1}).at_opset(13);
    by_attribute.attribute("keepdims", int64_t{0}).input<T>({2, 3}, x);
    by_attribute.expect<T>({2}, rows);
    OpCase& by_input = t.add(op, name + ", axes given").at_opset(18);
    by_input.input<T>({2, 3}, x);
    by_input.input<int64_t>({1}, {1}).template expect<T>({2, 1}, rows);
  }
}

}  // namespace

void cases_reduce(CaseTable& t) {
  t.add("ReduceSum", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {2, -1.5});
  t.add("ReduceSum", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {5, -1.5, -3});
  t.add("ReduceSum", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {0.5});
  t.add("ReduceMean", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {0.666666667, -0.5});
  t.add("ReduceMean", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {2.5, -0.75, -1.5});
  t.add("ReduceMean", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {0.0833333333});
  t.add("ReduceMax", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {3, 4});
  t.add("ReduceMax", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {4, 0.5, 3});
  t.add("ReduceMax", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {4});
  t.add("ReduceMin", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {-2, -6});
  t.add("ReduceMin", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {1, -2, -6});
  t.add("ReduceMin", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {-6});
  t.add("ReduceProd", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {-6, -12});
  t.add("ReduceProd", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {4, -1, -18});
  t.add("ReduceProd", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {72});
  t.add("ReduceL1", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {6, 10.5});
  t.add("ReduceL1", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {5, 2.5, 9});
  t.add("ReduceL1", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {16.5});
  t.add("ReduceL2", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {3.74165739, 7.22841615});
  t.add("ReduceL2", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {4.12310563, 2.06155281, 6.70820393});
  t.add("ReduceL2", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {8.1394103});
  t.add("ReduceLogSumExp", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {3.13284523, 4.02979449});
  t.add("ReduceLogSumExp", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {4.04858735, 0.578889734, 3.0001234});
  t.add("ReduceLogSumExp", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {4.37183114});
  t.add("ReduceSumSquare", "rows")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<float>({2, 1}, {14, 52.25});
  t.add("ReduceSumSquare", "columns, computed axes")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .input<int64_t>({1}, {-2})
      .attribute("keepdims", int64_t{0})
      .expect<float>({3}, {17, 4.25, 45});
  t.add("ReduceSumSquare", "all")
      .input<float>({2, 3}, {1, -2, 3, 4, 0.5, -6})
      .attribute("keepdims", int64_t{0})
      .expect<float>({}, {66.25});
  t.add("ReduceLogSum", "rows")
      .input<float>({1, 2}, {1, 3})
      .input<int64_t>({1}, {1})
      .expect<float>({1, 1}, {1.38629436f});
  t.add("ReduceSumSquare", "nothing to reduce")
      .input<float>({2}, {3, -4})
      .attribute("noop_with_empty_axes", int64_t{1})
      .expect<float>({2}, {9, 16});
  t.add("ReduceMax", "empty set")
      .input<float>({2, 0}, {})
      .input<int64_t>({1}, {1})
      .expect<float>({2, 1}, {-INFINITY, -INFINITY});
  t.add("ReduceMin", "empty set of int8")
      .input<int8_t>({2, 0}, {})
      .input<int64_t>({1}, {1})
      .expect<int8_t>({2, 1}, {127, 127});
  t.add("ReduceSum", "empty set")
      .input<float>({0, 2}, {})
      .input<int64_t>({1}, {0})
      .expect<float>({1, 2}, {0, 0});
  t.add("ReduceProd", "empty set").input<int32_t>({0}, {}).expect<int32_t>({1}, {1});
  t.add("ReduceLogSumExp", "great numbers").input<float>({2}, {1000, 1000}).expect<float>({1}, {1000.69315f});
  t.add("ReduceLogSumExp", "all minus infinity")
      .input<float>({2}, {-INFINITY, -INFINITY})
      .expect<float>({1}, {-INFINITY});
  t.add("ReduceMax", "bool").input<bool>({3}, {false, true, false}).expect<bool>({1}, {true});
  t.add("ReduceMean", "int32").input<int32_t>({3}, {1, 2, -8}).expect<int32_t>({1}, {-1});
  integer_logarithms<int32_t>(t, "int32");
  integer_logarithms<int64_t>(t, "int64");
  integer_logarithms<uint32_t>(t, "uint32");
  integer_logarithms<uint64_t>(t, "uint64");
  t.add("ReduceSum", "axes attribute of version 11")
      .input<float>({2, 2}, {1, 2, 3, 4})
      .attribute("axes", std::vector<int64_t>{0})
      .at_opset(11)
      .expect<float>({1, 2}, {4, 6});
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"}) {
    t.add(op, "pool").random(DataType::float32, {2, 33, 7, 7}).input<int64_t>({2}, {2, 3}).as_constant();
    t.add(op, "tokens").random(DataType::float32, {3, 17, 129}).input<int64_t>({1}, {-1}).as_constant();
    t.add(op, "outer and inner")
        .random(DataType::float32, {5, 7, 9})
        .input<int64_t>({2}, {0, 2})
        .as_constant();
  }
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    const auto add = [&](const char* name, const Shape& shape, const std::vector<int64_t>& axes) -> OpCase& {
      OpCase& c = t.add(op, name).random(DataType::float32, shape, 0.5, 1.5);
      return c.input<int64_t>({static_cast<int64_t>(axes.size())}, axes);
    };
    add("channels stay", {3, 5, 6, 7}, {0, 2, -1}).as_constant();
    add("every other axis", {4, 3, 1, 5, 2, 6}, {0, 3, 5}).as_constant().attribute("keepdims", int64_t{0});
    add("computed axes that are no neighbors", {2, 9, 3, 4}, {-1, 1});
    add("a long axis outside", {70, 3, 5}, {2, 0}).as_constant();
    add("computed, none of them", {2, 3}, {}).attribute("noop_with_empty_axes", int64_t{1});
    add("computed, all of them", {2, 3, 4}, {}).attribute("keepdims", int64_t{0});
    add("nothing between others", {3, 0, 2, 5}, {3, 1}).as_constant();
    add("none left", {3, 0, 2, 5}, {0, 2}).as_constant();
  }
  for (DataType type : {DataType::int32, DataType::int64})
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
      const auto add = [&](const std::string& name, const Shape& shape, const std::vector<int64_t>& axes,
                           double most) -> OpCase& {
        OpCase& c = t.add(op, name + " of " + std::string(name_of(type))).random(type, shape, -most, most);
        return c.input<int64_t>({static_cast<int64_t>(axes.size())}, axes);
      };
      add("rows", {7, 45}, {1}, 1e6).as_constant();
      add("columns", {45, 131}, {0}, 2e9).as_constant();
      add("axes apart", {3, 5, 6, 7}, {0, 2, 3}, 2e9).as_constant();
      add("computed axes", {3, 5, 6}, {-1, 0}, 1e6);
      add("nothing", {3, 0, 2}, {1}, 1).as_constant();
    }
  for (DataType type : {DataType::float64, DataType::uint8, DataType::int8})
    for (const char* op :
         {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceLogSum", "ReduceL2"}) {
      const std::string_view name = op;
      const bool is_extreme = name == "ReduceMax" || name == "ReduceMin";
      if (type != DataType::float64 && !is_extreme) continue;
      const double least = !is_extreme ? 0.5 : type == DataType::uint8 ? 0 : -128;
      const auto add = [&](const std::string& what, const Shape& shape, const std::vector<int64_t>& axes) {
        t.add(op, what + " of " + std::string(name_of(type)))
            .random(type, shape, least, 127)
            .input<int64_t>({static_cast<int64_t>(axes.size())}, axes)
            .as_constant();
      };
      add("rows", {7, 145}, {1});
      add("columns", {15, 131}, {0});
      add("axes apart", {3, 5, 6, 7}, {0, 2, 3});
      if (type != DataType::int8) add("nothing", {3, 0, 2}, {1});
    }
  for (const char* op : {"ReduceMax", "ReduceMin"})
    t.add(op, "doubles that are no numbers, or infinite")
        .input<double>({3, 9}, {1,         2,         3,         4,         NAN,       6,         7,
                                8,         9,         0,         -INFINITY, 2,         INFINITY,  5,
                                6,         7,         8,         9,         -INFINITY, -INFINITY, -INFINITY,
                                -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY})
        .input<int64_t>({1}, {1})
        .as_constant()
        .expect<double>({3, 1}, {NAN, std::string_view(op) == "ReduceMax" ? INFINITY : -INFINITY, -INFINITY});
  t.add("ReduceSum", "int64 wraps around")
      .input<int64_t>({2, 2}, {INT64_MAX, 1, 1, INT64_MIN})
      .input<int64_t>({1}, {1})
      .as_constant()
      .attribute("keepdims", int64_t{0})
      .expect<int64_t>({2}, {INT64_MIN, INT64_MIN + 1});
  t.add("ReduceMean", "int32 is divided before it wraps around")
      .input<int32_t>({1, 3}, {INT32_MAX, INT32_MAX, INT32_MAX - 3})
      .input<int64_t>({1}, {1})
      .as_constant()
      .expect<int32_t>({1, 1}, {INT32_MAX - 1});
  t.add("ReduceMax", "no number, in another stage")
      .input<float>({2, 1, 2, 2}, {1, 2, 3, NAN, -INFINITY, -7, -INFINITY, -INFINITY})
      .input<int64_t>({2}, {0, 3})
      .as_constant()
      .attribute("keepdims", int64_t{0})
      .expect<float>({1, 2}, {2, NAN});
  t.add("ReduceProd", "the middle")
      .input<float>({2, 3, 2}, {-3.5f, 2.25f, -0.5f, 1.75f, 3.75f, 0.25f, 0, -3.5f, -1.75f, 0, 1.5f, 2.5f})
      .input<int64_t>({1}, {1})
      .expect<float>({2, 1, 2}, {6.5625f, 0.984375f, 0, 0});
}

}  // namespace lathe
