#include <complex>
#include <string>

#include "ops/cases.h"

namespace lathe {

void cases_where(CaseTable& t) {
  t.add("Where", "broadcast")
      .input<bool>({2, 1}, {true, false})
      .input<float>({2}, {1, 2})
      .input<float>({}, {9})
      .expect<float>({2, 2}, {1, 2, 9, 9});
  t.add("Where", "strings")
      .input<bool>({2}, {false, true})
      .input<std::string>({2}, {"a", "b"})
      .input<std::string>({1}, {"c"})
      .expect<std::string>({2}, {"c", "b"});
  t.add("Where", "int64")
      .input<bool>({}, {true})
      .input<int64_t>({2}, {INT64_MIN, 2})
      .input<int64_t>({2}, {3, 4})
      .expect<int64_t>({2}, {INT64_MIN, 2});
  t.add("Where", "empty")
      .input<bool>({0}, {})
      .input<float>({1}, {1})
      .input<float>({0}, {})
      .expect<float>({0}, {});
  t.add("Where", "a condition a row")
      .random(DataType::boolean, {37, 1}, 0, 2)
      .random(DataType::float32, {37, 29})
      .random(DataType::float32, {});
  t.add("Where", "a condition a column")
      .random(DataType::boolean, {29}, 0, 2)
      .random(DataType::float32, {37, 1})
      .random(DataType::float32, {37, 29});
  t.add("Where", "one condition, long row")
      .input<bool>({1}, {true})
      .random(DataType::int16, {1}, -100, 100)
      .random(DataType::int16, {70001}, -100, 100);
  t.add("Where", "between two numbers")
      .random(DataType::boolean, {3, 171}, 0, 2)
      .random(DataType::float64, {1, 1})
      .random(DataType::float64, {});
  for (DataType type : {DataType::uint8, DataType::int8, DataType::float16, DataType::bfloat16,
                        DataType::int32, DataType::int64, DataType::float64, DataType::boolean})
    t.add("Where", std::string(name_of(type)) + " of every length")
        .random(DataType::boolean, {3, 5, 41}, 0, 2)
        .random(type, {5, 41}, 0, 9)
        .random(type, {3, 1, 41}, 0, 9);
  using Complex = std::complex<double>;
  t.add("Where", "complex")
      .input<bool>({3}, {true, false, true})
      .input<Complex>({3}, {{1, 2}, {3, 4}, {5, 6}})
      .input<Complex>({}, {{7, 8}})
      .expect<Complex>({3}, {{1, 2}, {7, 8}, {5, 6}});
  t.add("Where", "attention mask")
      .random(DataType::boolean, {1, 1, 33, 33}, 0, 2)
      .random(DataType::float32, {4, 8, 33, 33})
      .random(DataType::float32, {});
}

}  // namespace lathe
