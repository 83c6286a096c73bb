#include "ops/cases.h"

namespace lathe {

void cases_matmul(CaseTable& t) {
  t.add("MatMul", "2x3 by 3x2")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .expect<float>({2, 2}, {3, -2, 4, 3});
  t.add("MatMul", "vectors")
      .input<float>({4}, {-1, 3, 2, -2})
      .input<float>({4}, {3, 1, 3, 2})
      .expect<float>({}, {2});
  t.add("MatMul", "row vector")
      .input<float>({3}, {-1, -3, -2})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .expect<float>({2}, {-10, 0});
  t.add("MatMul", "column vector")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3}, {-1, -3, -2})
      .expect<float>({2}, {1, -2});
  t.add("MatMul", "batches broadcast")
      .input<float>({2, 1, 2, 3}, {2, 1, 1, -3, 1, 3, 3, 0, 1, -3, 1, 2})
      .input<float>({3, 3, 2}, {-3, 2, 1, 2, -3, 1, 0, 0, 2, 3, 2, -2, 2, -3, 3, -1, 1, -2})
      .expect<float>({2, 3, 2, 2},
                     {-8, 7, 1, -1, 4, 1, 8, -3, 8, -9, 0, 2, -12, 7, 4, -2, 2, -2, 6, -1, 7, -11, -1, 4});
  t.add("MatMul", "nothing to sum")
      .input<float>({2, 0}, {})
      .input<float>({0, 3}, {})
      .expect<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  t.add("MatMul", "no rows")
      .input<float>({0, 3}, {})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .expect<float>({0, 2}, {});
  t.add("MatMul", "many empty matrices")
      .input<double>({int64_t{1} << 50, 0, 3}, {})
      .input<double>({3, 2}, {1, -2, 3, 0, 0, 1})
      .expect<double>({int64_t{1} << 50, 0, 2}, {});
  t.add("MatMul", "double")
      .input<double>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<double>({3, 2}, {1, -2, 3, 0, 0, 1})
      .expect<double>({2, 2}, {3, -2, 4, 3});
  t.add("MatMul", "int32")
      .input<int32_t>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<int32_t>({3, 2}, {1, -2, 3, 0, 0, 1})
      .expect<int32_t>({2, 2}, {3, -2, 4, 3});
  t.add("MatMul", "uint64 wraps")
      .input<uint64_t>({1, 2}, {9223372036854775808u, 3})
      .input<uint64_t>({2, 1}, {2, 5})
      .expect<uint64_t>({1, 1}, {15});
  t.add("MatMul", "opset 1")
      .input<float>({2, 2}, {-1, -2, 0, 1})
      .input<float>({2, 2}, {-1, -3, -2, 0})
      .expect<float>({2, 2}, {5, 3, -2, 0})
      .at_opset(1);
  t.add("MatMul", "float16").random(DataType::float16, {3, 5}).random(DataType::float16, {5, 4});
  t.add("MatMul", "bfloat16").random(DataType::bfloat16, {3, 5}).random(DataType::bfloat16, {5, 4});
  t.add("MatMul", "odd sizes").random(DataType::float32, {2, 17, 31}).random(DataType::float32, {31, 67});
  t.add("MatMul", "projection")
      .random(DataType::float32, {1, 128, 256})
      .random(DataType::float32, {256, 384})
      .as_constant();
  t.add("MatMul", "one row")
      .random(DataType::float32, {1, 512})
      .random(DataType::float32, {512, 300})
      .as_constant();
}

}  // namespace lathe
