#include "ops/cases.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

void reshape_case(CaseTable& t, const char* name, Shape from, Ints shape, Shape to, bool allowzero = false) {
  std::vector<float> v(static_cast<size_t>(count_of(from)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  auto& c = t.add("Reshape", name);
  c.input<float>(std::move(from), v).input<int64_t>({static_cast<int64_t>(shape.size())}, shape);
  c.expect<float>(std::move(to), v);
  if (allowzero) c.attribute("allowzero", int64_t{1});
}

}  // namespace

void cases_reshape(CaseTable& t) {
  reshape_case(t, "plain", {2, 3, 4}, {4, 6}, {4, 6});
  reshape_case(t, "minus_one", {2, 3, 4}, {2, -1}, {2, 12});
  reshape_case(t, "zero_copies", {2, 3, 4}, {0, -1}, {2, 12});
  reshape_case(t, "zero_and_size", {2, 3, 4}, {0, 0, 2, 2}, {2, 3, 2, 2});
  reshape_case(t, "empty_batch", {0, 3, 4}, {0, -1}, {0, 12});
  reshape_case(t, "allowzero", {0, 3, 4}, {3, 4, 0}, {3, 4, 0}, true);
  reshape_case(t, "to_scalar", {1, 1}, {}, {});
  reshape_case(t, "from_scalar", {}, {1, 1, 1}, {1, 1, 1});
  t.add("Reshape", "constant_shape")
      .input<std::string>({2, 2}, {"a", "b", "c", "d"})
      .input<int64_t>({1}, {-1})
      .as_constant()
      .expect<std::string>({4}, {"a", "b", "c", "d"});
  t.add("Reshape", "opset_1")
      .at_opset(1)
      .input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
      .attribute("shape", Ints{3, -1})
      .expect<float>({3, 2}, {1, 2, 3, 4, 5, 6});

  t.add("Flatten", "axis_1")
      .input<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .expect<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  t.add("Flatten", "axis_0")
      .input<int8_t>({2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .attribute("axis", int64_t{0})
      .expect<int8_t>({1, 6}, {1, 2, 3, 4, 5, 6});
  t.add("Flatten", "axis_rank")
      .input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
      .attribute("axis", int64_t{2})
      .expect<float>({6, 1}, {1, 2, 3, 4, 5, 6});
  t.add("Flatten", "axis_minus_1")
      .input<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .attribute("axis", int64_t{-1})
      .expect<float>({2, 3}, {1, 2, 3, 4, 5, 6});

  t.add("Squeeze", "axes")
      .input<float>({1, 3, 1}, {1, 2, 3})
      .input<int64_t>({2}, {0, -1})
      .expect<float>({3}, {1, 2, 3});
  t.add("Squeeze", "all_ones").input<float>({1, 3, 1}, {1, 2, 3}).expect<float>({3}, {1, 2, 3});
  t.add("Squeeze", "opset_11")
      .at_opset(11)
      .input<float>({1, 3, 1}, {1, 2, 3})
      .attribute("axes", Ints{-1})
      .expect<float>({1, 3}, {1, 2, 3});
  t.add("Unsqueeze", "axes")
      .input<float>({3}, {1, 2, 3})
      .input<int64_t>({2}, {-1, 0})
      .expect<float>({1, 3, 1}, {1, 2, 3});
  t.add("Unsqueeze", "scalar").input<double>({}, {5}).input<int64_t>({1}, {0}).expect<double>({1}, {5});
  t.add("Unsqueeze", "opset_1")
      .at_opset(1)
      .input<float>({2}, {1, 2})
      .attribute("axes", Ints{0, 2})
      .expect<float>({1, 2, 1}, {1, 2});

  t.add("Identity", "float").input<float>({3}, {1, -2, 3}).expect<float>({3}, {1, -2, 3});
  t.add("Identity", "empty").input<float>({0, 3}, {}).expect<float>({0, 3}, {});
}

}  // namespace lathe
