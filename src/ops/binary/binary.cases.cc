#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_binary(CaseTable& t) {
  auto binary = [&](const char* op, const char* name, std::vector<float> a, std::vector<float> b) -> OpCase& {
    const auto n = static_cast<int64_t>(a.size());
    return t.add(op, name).input<float>({n}, a).input<float>({n}, b);
  };
  binary("Add", "by hand", {1, -2, 0.5f}, {3, 5, 0.25f}).expect<float>({3}, {4, 3, 0.75f});
  binary("Sub", "by hand", {1, -2, 0.5f}, {3, 5, 0.25f}).expect<float>({3}, {-2, -7, 0.25f});
  binary("Mul", "by hand", {1, -2, 0.5f}, {3, 5, 0.25f}).expect<float>({3}, {3, -10, 0.125f});
  binary("Div", "by hand", {1, -2, 1}, {4, 5, 0}).expect<float>({3}, {0.25f, -0.4f, INFINITY});
  binary("Pow", "by hand", {2, 9, -2}, {10, 0.5f, 3}).expect<float>({3}, {1024, 3, -8});
  binary("Mod", "fmod", {-4.5f, 7, 5}, {2, -3, INFINITY})
      .attribute("fmod", int64_t{1})
      .expect<float>({3}, {-0.5f, 1, 5});
  binary("Mod", "sign of the divisor", {-4.5f, 7, 5}, {2, -3, 3}).expect<float>({3}, {1.5f, -2, 2});
  binary("Max", "NaN wins", {1, NAN, 3}, {2, 5, -3}).expect<float>({3}, {2, NAN, 3});
  binary("Min", "NaN wins", {1, 4, 3}, {2, NAN, -3}).expect<float>({3}, {1, NAN, -3});
  binary("Less", "floats", {1, 2, NAN}, {2, 2, 1}).expect<bool>({3}, {true, false, false});
  binary("LessOrEqual", "floats", {1, 2, NAN}, {2, 2, 1}).expect<bool>({3}, {true, true, false});
  binary("Greater", "floats", {3, 2, NAN}, {2, 2, 1}).expect<bool>({3}, {true, false, false});
  binary("GreaterOrEqual", "floats", {3, 2, NAN}, {2, 2, 1}).expect<bool>({3}, {true, true, false});
  binary("Equal", "floats", {0, 2, NAN}, {-0.0f, 1, NAN}).expect<bool>({3}, {true, false, false});
  t.add("Equal", "strings, broadcast")
      .input<std::string>({2}, {"a", "b"})
      .input<std::string>({1}, {"b"})
      .expect<bool>({2}, {false, true});
  t.add("Div", "integers towards zero")
      .input<int32_t>({4}, {7, -7, 7, INT32_MIN})
      .input<int32_t>({4}, {2, 2, -2, -1})
      .expect<int32_t>({4}, {3, -3, -3, INT32_MIN});
  t.add("Div", "uint64")
      .input<uint64_t>({1}, {UINT64_MAX})
      .input<uint64_t>({1}, {2})
      .expect<uint64_t>({1}, {INT64_MAX});
  t.add("Add", "uint8 wraps around")
      .input<uint8_t>({2}, {200, 1})
      .input<uint8_t>({1}, {100})
      .expect<uint8_t>({2}, {44, 101});
  t.add("Mul", "int64 wraps around")
      .input<int64_t>({1}, {INT64_MAX})
      .input<int64_t>({1}, {2})
      .expect<int64_t>({1}, {-2});
  t.add("Mod", "integers")
      .input<int64_t>({4}, {-4, 7, 5, -7})
      .input<int64_t>({4}, {3, -3, 8, -3})
      .expect<int64_t>({4}, {2, -2, 5, -1});
  t.add("Mod", "integers, fmod")
      .input<int64_t>({2}, {-4, 7})
      .input<int64_t>({2}, {3, -3})
      .attribute("fmod", int64_t{1})
      .expect<int64_t>({2}, {-1, 1});
  t.add("Pow", "integer base, float exponent")
      .input<int32_t>({3}, {1, 2, 3})
      .input<float>({3}, {4, 5, 2})
      .expect<int32_t>({3}, {1, 32, 9});
  t.add("Pow", "exact integers")
      .input<int64_t>({2}, {3, -3})
      .input<int32_t>({2}, {39, 3})
      .expect<int64_t>({2}, {4052555153018976267, -27});
  t.add("Div", "the smallest of 16 bits by -1")
      .input<int16_t>({4}, {INT16_MIN, 32767, -7, 6})
      .input<int16_t>({4}, {-1, -1, 2, -4})
      .expect<int16_t>({4}, {INT16_MIN, -32767, -3, -1});
  t.add("Div", "uint32")
      .input<uint32_t>({2}, {UINT32_MAX, 7})
      .input<uint32_t>({}, {2})
      .expect<uint32_t>({2}, {2147483647, 3});
  t.add("Mod", "uint8")
      .input<uint8_t>({3}, {255, 7, 3})
      .input<uint8_t>({3}, {16, 7, 200})
      .expect<uint8_t>({3}, {15, 0, 3});
  t.add("Mod", "double")
      .input<double>({3}, {-4.5, 7, 0})
      .input<double>({3}, {2, -3, -1})
      .expect<double>({3}, {1.5, -2, -0.0});
  t.add("Pow", "double by int32")
      .input<double>({3}, {1.5, -2, 0.1})
      .input<int32_t>({3}, {2, 3, 0})
      .expect<double>({3}, {2.25, -8, 1});
  t.add("Equal", "booleans")
      .input<bool>({2, 1}, {true, false})
      .input<bool>({2}, {true, false})
      .expect<bool>({2, 2}, {true, false, false, true});
  t.add("Less", "uint64 beyond int64")
      .input<uint64_t>({2}, {UINT64_MAX, 1})
      .input<uint64_t>({2}, {1, UINT64_MAX})
      .expect<bool>({2}, {false, true});
  t.add("Max", "int8, three")
      .input<int8_t>({2}, {-128, 5})
      .input<int8_t>({}, {-3})
      .input<int8_t>({2, 1}, {0, 7})
      .expect<int8_t>({2, 2}, {0, 5, 7, 7});
  t.add("Mean", "double")
      .input<double>({2}, {1, 2})
      .input<double>({2}, {3, 5})
      .input<double>({}, {2})
      .expect<double>({2}, {2, 3});
  t.add("BitShift", "left")
      .input<uint8_t>({3}, {1, 255, 3})
      .input<uint8_t>({3}, {1, 4, 8})
      .attribute("direction", std::string("LEFT"))
      .expect<uint8_t>({3}, {2, 240, 0});
  t.add("BitShift", "right keeps the sign")
      .input<int16_t>({3}, {-8, 8, -1})
      .input<int16_t>({3}, {1, 2, 99})
      .attribute("direction", std::string("RIGHT"))
      .expect<int16_t>({3}, {-4, 2, -1});
  t.add("BitwiseAnd", "int32")
      .input<int32_t>({2}, {-1, 12})
      .input<int32_t>({2}, {7, 10})
      .expect<int32_t>({2}, {7, 8});
  t.add("BitwiseOr", "int32")
      .input<int32_t>({2}, {-2, 12})
      .input<int32_t>({2}, {1, 3})
      .expect<int32_t>({2}, {-1, 15});
  t.add("BitwiseXor", "uint8")
      .input<uint8_t>({2}, {255, 12})
      .input<uint8_t>({2}, {1, 10})
      .expect<uint8_t>({2}, {254, 6});
  t.add("And", "columns and rows")
      .input<bool>({2, 1}, {true, false})
      .input<bool>({2}, {true, false})
      .expect<bool>({2, 2}, {true, false, false, false});
  t.add("Or", "columns and rows")
      .input<bool>({2, 1}, {true, false})
      .input<bool>({2}, {true, false})
      .expect<bool>({2, 2}, {true, true, true, false});
  t.add("Xor", "columns and rows")
      .input<bool>({2, 1}, {true, false})
      .input<bool>({2}, {true, false})
      .expect<bool>({2, 2}, {false, true, true, false});
  t.add("Sum", "three, broadcast")
      .input<float>({2, 1}, {1, 2})
      .input<float>({2}, {10, 20})
      .input<float>({}, {100})
      .expect<float>({2, 2}, {111, 121, 112, 122});
  t.add("Mean", "two").input<float>({2}, {1, 2}).input<float>({2}, {3, 5}).expect<float>({2}, {2, 3.5f});
  t.add("Max", "one").input<int8_t>({2}, {-1, 2}).expect<int8_t>({2}, {-1, 2});
  t.add("Add", "axis of version 6")
      .input<float>({1, 2, 2}, {1, 2, 3, 4})
      .input<float>({2}, {10, 20})
      .attribute("axis", int64_t{1})
      .attribute("broadcast", int64_t{1})
      .at_opset(6)
      .expect<float>({1, 2, 2}, {11, 12, 23, 24});
  t.add("Add", "empty").input<float>({0, 3}, {}).input<float>({3}, {1, 2, 3}).expect<float>({0, 3}, {});
  for (const char* op : {"Sum", "Max", "Min"}) {
    OpCase& many = t.add(op, "eight, broadcast");
    for (Shape s : {Shape{3, 1, 37}, {5, 1}, {37}, {}, {3, 5, 37}, {1, 5, 37}, {3, 1, 1}, {3, 5, 1}})
      many.random(DataType::float32, s);
    OpCase& more = t.add(op, "nine");
    for (int i = 0; i < 9; ++i) more.random(DataType::float32, {19});
  }
  for (int64_t fmod : {0, 1})
    t.add("Mod", fmod ? "fmod, broadcast" : "sign of the divisor, broadcast")
        .random(DataType::float32, {7, 33}, -9, 9)
        .random(DataType::float32, {7, 1}, 0.5, 2)
        .attribute("fmod", fmod);
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    t.add(op, "same shape")
        .random(DataType::float32, {8, 197, 5})
        .random(DataType::float32, {8, 197, 5}, 0.5, 2);
    t.add(op, "last axis").random(DataType::float32, {4, 31, 77}).random(DataType::float32, {77}, 0.5, 2);
    t.add(op, "channels")
        .random(DataType::float32, {2, 32, 14, 14})
        .random(DataType::float32, {32, 1, 1}, 0.5, 2);
    t.add(op, "outer and inner")
        .random(DataType::float32, {3, 1, 5, 1})
        .random(DataType::float32, {1, 7, 1, 9}, 0.5, 2);
    t.add(op, "scalar").random(DataType::float32, {}).random(DataType::float32, {129}, 0.5, 2);
    t.add(op, "float16").random(DataType::float16, {65}).random(DataType::float16, {65}, 0.5, 2);
  }
  t.add("Mean", "nine")
      .input<float>({2, 3}, {0.5f, 1.75f, 0.75f, 0.25f, -0.5f, 1.25f})
      .input<float>({2, 3}, {-0.75f, 1.75f, -4, -1.5f, -2.75f, -3.25f})
      .input<float>({2, 3}, {-0.5f, -3.75f, 0.5f, -0.5f, -0.75f, -1.25f})
      .input<float>({2, 3}, {0.5f, 1.75f, -1.75f, 0, 3.25f, 3.25f})
      .input<float>({2, 3}, {3.75f, 0.5f, 3.75f, 1.75f, 1.5f, -2.25f})
      .input<float>({2, 3}, {-2.25f, 3, -2.25f, 3.25f, 0, 1})
      .input<float>({2, 3}, {3.25f, -1.25f, 2.5f, -3.75f, -3.25f, 0.75f})
      .input<float>({2, 3}, {-3.5f, 2.25f, -0.5f, 1.75f, 3.75f, 0.25f})
      .input<float>({2, 3}, {3, 3.75f, 3, 0.25f, -2.25f, -4})
      .expect<float>({2, 3},
                     {0.444444448f, 1.08333337f, 0.222222224f, 0.166666672f, -0.111111112f, -0.472222209f});
  t.add("Max", "three sizes of integers")
      .input<int64_t>({1}, {3})
      .input<int64_t>({2, 1}, {1, 5})
      .input<int64_t>({2, 3}, {4, 2, 9, 0, 7, -1})
      .expect<int64_t>({2, 3}, {4, 3, 9, 5, 7, 5});
  t.add("Sum", "ten, broadcast")
      .input<float>({1}, {1})
      .input<float>({2}, {2, 3})
      .input<float>({2, 2}, {0.5f, 1.75f, 0.75f, 0.25f})
      .input<float>({2, 2}, {-0.75f, 1.75f, -4, -1.5f})
      .input<float>({2, 2}, {-0.5f, -3.75f, 0.5f, -0.5f})
      .input<float>({2, 2}, {0.5f, 1.75f, -1.75f, 0})
      .input<float>({2, 2}, {3.75f, 0.5f, 3.75f, 1.75f})
      .input<float>({2, 2}, {-2.25f, 3, -2.25f, 3.25f})
      .input<float>({2, 2}, {3.25f, -1.25f, 2.5f, -3.75f})
      .input<float>({2, 2}, {-3.5f, 2.25f, -0.5f, 1.75f})
      .expect<float>({2, 2}, {4, 10, 2, 5.25f});
  t.add("BitShift", "by as much as there are bits, and by less than nothing")
      .input<int8_t>({4}, {-5, 5, -5, 5})
      .input<int8_t>({4}, {8, 8, -1, -1})
      .attribute("direction", std::string("RIGHT"))
      .expect<int8_t>({4}, {-1, 0, -1, 0});
  t.add("BitwiseXor", "rows and columns of int16")
      .input<int16_t>({2, 1}, {12, -3})
      .input<int16_t>({2}, {5, -1})
      .expect<int16_t>({2, 2}, {9, -13, -8, 2});
}

}  // namespace lathe
