#include <climits>

#include "ops/cases.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

OpCase& slice_case(CaseTable& t, const char* name, Ints starts, Ints ends, Ints axes, Ints steps) {
  auto& c = t.add("Slice", name);
  c.input<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const Ints& v : {starts, ends, axes, steps}) c.input<int64_t>({static_cast<int64_t>(v.size())}, v);
  return c;
}

}  // namespace

void cases_slice(CaseTable& t) {
  slice_case(t, "columns", {1}, {3}, {1}, {1}).expect<float>({2, 2}, {1, 2, 5, 6});
  slice_case(t, "steps", {0, 0}, {2, 4}, {0, 1}, {1, 2}).expect<float>({2, 2}, {0, 2, 4, 6});
  slice_case(t, "negative_bounds", {-3}, {-1}, {-1}, {1}).expect<float>({2, 2}, {1, 2, 5, 6});
  slice_case(t, "reversed", {-1}, {INT64_MIN}, {1}, {-1}).expect<float>({2, 4}, {3, 2, 1, 0, 7, 6, 5, 4});
  slice_case(t, "reversed_by_two", {10}, {-10}, {1}, {-2}).expect<float>({2, 2}, {3, 1, 7, 5});
  slice_case(t, "to_the_end", {2}, {INT64_MAX}, {1}, {1}).expect<float>({2, 2}, {2, 3, 6, 7});
  slice_case(t, "extremes", {INT64_MIN}, {INT64_MAX}, {1}, {INT64_MAX}).expect<float>({2, 1}, {0, 4});
  slice_case(t, "extremes_backwards", {INT64_MAX}, {INT64_MIN}, {1}, {INT64_MIN})
      .expect<float>({2, 1}, {3, 7});
  slice_case(t, "nothing", {3}, {1}, {1}, {1}).expect<float>({2, 0}, {});
  t.add("Slice", "defaults")
      .input<std::string>({3}, {"a", "b", "c"})
      .input<int32_t>({1}, {1})
      .input<int32_t>({1}, {100})
      .expect<std::string>({2}, {"b", "c"});
  t.add("Slice", "opset_1")
      .at_opset(1)
      .input<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})
      .attribute("starts", Ints{0, 1})
      .attribute("ends", Ints{-1, 1000})
      .expect<float>({1, 3}, {1, 2, 3});
  t.add("Slice", "empty_backwards")
      .input<float>({0}, {})
      .input<int64_t>({1}, {-1})
      .input<int64_t>({1}, {-100})
      .input<int64_t>({1}, {0})
      .input<int64_t>({1}, {-1})
      .expect<float>({0}, {});
}

}  // namespace lathe
