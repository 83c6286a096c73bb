#include "ops/cases.h"

namespace lathe {

void cases_concat(CaseTable& t) {
  t.add("Concat", "axis_0")
      .input<float>({1, 2}, {1, 2})
      .input<float>({2, 2}, {3, 4, 5, 6})
      .attribute("axis", int64_t{0})
      .expect<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  t.add("Concat", "axis_minus_1")
      .input<int64_t>({2, 1}, {1, 2})
      .input<int64_t>({2, 0}, {})
      .input<int64_t>({2, 2}, {3, 4, 5, 6})
      .attribute("axis", int64_t{-1})
      .expect<int64_t>({2, 3}, {1, 3, 4, 2, 5, 6});
  t.add("Concat", "one")
      .input<bool>({2}, {true, false})
      .attribute("axis", int64_t{0})
      .expect<bool>({2}, {true, false});
  t.add("Concat", "strings")
      .input<std::string>({1}, {"long enough not to be inlined"})
      .input<std::string>({2}, {"b", ""})
      .attribute("axis", int64_t{0})
      .expect<std::string>({3}, {"long enough not to be inlined", "b", ""});
  t.add("Concat", "opset_1_default_axis")
      .at_opset(1)
      .input<float>({2, 1}, {1, 2})
      .input<float>({2, 1}, {3, 4})
      .expect<float>({2, 2}, {1, 3, 2, 4});
  auto& channels = t.add("Concat", "channels");
  channels.random(DataType::float32, {2, 64, 28, 28})
      .random(DataType::float32, {2, 32, 28, 28})
      .attribute("axis", int64_t{1});
}

}  // namespace lathe
