#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_cast(CaseTable& t) {
  t.add("Cast", "float to int towards zero")
      .input<float>({4}, {-2.9f, 2.9f, 0, 1e6f})
      .attribute("to", int64_t{6})
      .expect<int32_t>({4}, {-2, 2, 0, 1000000});
  t.add("Cast", "integers wrap around")
      .input<int32_t>({3}, {200, -1, 256})
      .attribute("to", int64_t{3})
      .expect<int8_t>({3}, {-56, -1, 0});
  t.add("Cast", "negative to unsigned")
      .input<int8_t>({2}, {-1, 5})
      .attribute("to", int64_t{13})
      .expect<uint64_t>({2}, {UINT64_MAX, 5});
  t.add("Cast", "double to uint64")
      .input<double>({5}, {0x1p63, 1.9, -1, 0x1p64, NAN})
      .attribute("to", int64_t{13})
      .expect<uint64_t>({5}, {uint64_t{1} << 63, 1, UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 63});
  t.add("Cast", "uint16 to double")
      .input<uint16_t>({2}, {65535, 0})
      .attribute("to", int64_t{11})
      .expect<double>({2}, {65535, 0});
  t.add("Cast", "float to bool")
      .input<float>({4}, {0, -0.0f, 0.1f, NAN})
      .attribute("to", int64_t{9})
      .expect<bool>({4}, {false, false, true, true});
  t.add("Cast", "bool to float")
      .input<bool>({2}, {true, false})
      .attribute("to", int64_t{1})
      .expect<float>({2}, {1, 0});
  t.add("Cast", "int64 to double")
      .input<int64_t>({2}, {9007199254740993, -1})
      .attribute("to", int64_t{11})
      .expect<double>({2}, {9007199254740992.0, -1});
  t.add("Cast", "strings to floats")
      .input<std::string>({6}, {"3.14", "-1e-5", "+INF", "-inf", "NaN", " 7"})
      .attribute("to", int64_t{1})
      .expect<float>({6}, {3.14f, -1e-5f, INFINITY, -INFINITY, NAN, 7});
  t.add("Cast", "strings to integers")
      .input<std::string>({3}, {"100", "-7", "2.7"})
      .attribute("to", int64_t{7})
      .expect<int64_t>({3}, {100, -7, 2});
  t.add("Cast", "floats to strings")
      .input<float>({5}, {0.5f, -0.25f, INFINITY, NAN, 3})
      .attribute("to", int64_t{8})
      .expect<std::string>({5}, {"0.5", "-0.25", "INF", "NaN", "3"});
  t.add("Cast", "integers to strings")
      .input<int8_t>({2}, {-128, 7})
      .attribute("to", int64_t{8})
      .expect<std::string>({2}, {"-128", "7"});
  t.add("Cast", "empty").input<float>({0}, {}).attribute("to", int64_t{3}).expect<int8_t>({0}, {});
  t.add("Cast", "word of version 1")
      .input<float>({2}, {1.5f, -2})
      .attribute("to", std::string("INT32"))
      .at_opset(1)
      .expect<int32_t>({2}, {1, -2});
  t.add("CastLike", "float to int64")
      .input<float>({2}, {1.5f, -2})
      .input<int64_t>({1}, {0})
      .expect<int64_t>({2}, {1, -2});
  t.add("BitCast", "float to int32")
      .input<float>({2}, {1, -2})
      .attribute("to", int64_t{6})
      .expect<int32_t>({2}, {0x3f800000, -1073741824});
  t.add("Cast", "float to float16")
      .random(DataType::float32, {3, 333}, -100, 100)
      .attribute("to", int64_t{10});
  t.add("Cast", "float16 to float")
      .random(DataType::float16, {3, 333}, -100, 100)
      .attribute("to", int64_t{1});
  t.add("Cast", "int64 to float").random(DataType::int64, {1000}, -1000, 1000).attribute("to", int64_t{1});
}

}  // namespace lathe
