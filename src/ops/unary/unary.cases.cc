#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_unary(CaseTable& t) {
  t.add("Ceil", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-2, -1, -0, 0, 1, 2, 3, 10});
  t.add("Floor", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-3, -1, -1, 0, 0, 1, 2, 10});
  t.add("Round", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-2, -1, -0, 0, 0, 2, 2, 10});
  for (const char* op : {"Floor", "Ceil", "Round"})
    t.add(op, "double, large and small")
        .input<double>({6}, {0x1p52 + 0.5, -0x1p53, 0.49999999999999994, -0.3, -0.0, 4503599627370495.5});
  t.add("Abs", "int16").input<int16_t>({3}, {INT16_MIN, -5, 5}).expect<int16_t>({3}, {INT16_MIN, 5, 5});
  t.add("Sign", "int8").input<int8_t>({3}, {-128, 0, 9}).expect<int8_t>({3}, {-1, 0, 1});
  t.add("Sqrt", "by hand").input<float>({4}, {0, 1, 2, 0.25}).expect<float>({4}, {0, 1, 1.41421356, 0.5});
  t.add("Reciprocal", "by hand").input<float>({3}, {-4, 0.5, 3}).expect<float>({3}, {-0.25, 2, 0.333333333});
  t.add("Exp", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>(
          {8}, {0.0820849986, 0.367879441, 0.60653066, 1, 1.64872127, 4.48168907, 12.182494, 22026.4658});
  t.add("Log", "by hand").input<float>({3}, {0.5, 1, 10}).expect<float>({3}, {-0.693147181, 0, 2.30258509});
  t.add("Sin", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-0.598472144, -0.841470985, -0.479425539, 0, 0.479425539, 0.997494987, 0.598472144,
                           -0.544021111});
  t.add("Cos", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-0.801143616, 0.540302306, 0.877582562, 1, 0.877582562, 0.0707372017, -0.801143616,
                           -0.839071529});
  t.add("Tan", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>(
          {8}, {0.747022297, -1.55740772, -0.54630249, 0, 0.54630249, 14.1014199, -0.747022297, 0.648360827});
  t.add("Asin", "by hand")
      .input<float>({4}, {-1, -0.5, 0, 0.75})
      .expect<float>({4}, {-1.57079633, -0.523598776, 0, 0.848062079});
  t.add("Acos", "by hand")
      .input<float>({4}, {-1, -0.5, 0, 0.75})
      .expect<float>({4}, {3.14159265, 2.0943951, 1.57079633, 0.722734248});
  t.add("Atan", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-1.19028995, -0.785398163, -0.463647609, 0, 0.463647609, 0.982793723, 1.19028995,
                           1.47112767});
  t.add("Sinh", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>(
          {8}, {-6.05020448, -1.17520119, -0.521095305, 0, 0.521095305, 2.12927946, 6.05020448, 11013.2329});
  t.add("Cosh", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8},
                     {6.13228948, 1.54308063, 1.12762597, 1, 1.12762597, 2.35240962, 6.13228948, 11013.2329});
  t.add("Tanh", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-0.986614298, -0.761594156, -0.462117157, 0, 0.462117157, 0.905148254, 0.986614298,
                           0.999999996});
  t.add("Asinh", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>(
          {8}, {-1.64723115, -0.881373587, -0.481211825, 0, 0.481211825, 1.19476322, 1.64723115, 2.99822295});
  t.add("Acosh", "by hand").input<float>({3}, {1, 1.5, 10}).expect<float>({3}, {0, 0.96242365, 2.99322285});
  t.add("Atanh", "by hand")
      .input<float>({3}, {-0.5, 0, 0.9})
      .expect<float>({3}, {-0.549306144, 0, 1.47221936});
  t.add("Erf", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8},
                     {-0.999593048, -0.842700793, -0.520499878, 0, 0.520499878, 0.966105146, 0.999593048, 1});
  t.add("Erf", "integers of version 9")
      .input<int32_t>({7}, {-6, -1, 0, 1, 3, 4, 100})
      .at_opset(9)
      .expect<int32_t>({7}, {-1, 0, 0, 0, 0, 1, 1});
  t.add("Abs", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {2.5, 1, 0.5, 0, 0.5, 1.5, 2.5, 10});
  t.add("Neg", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {2.5, 1, 0.5, -0, -0.5, -1.5, -2.5, -10});
  t.add("Sign", "by hand")
      .input<float>({8}, {-2.5, -1, -0.5, 0, 0.5, 1.5, 2.5, 10})
      .expect<float>({8}, {-1, -1, -1, 0, 1, 1, 1, 1});
  t.add("Abs", "int8 wraps around").input<int8_t>({3}, {-128, -5, 7}).expect<int8_t>({3}, {-128, 5, 7});
  t.add("Neg", "int32").input<int32_t>({3}, {INT32_MIN, 0, 4}).expect<int32_t>({3}, {INT32_MIN, 0, -4});
  t.add("Sign", "uint64").input<uint64_t>({2}, {0, UINT64_MAX}).expect<uint64_t>({2}, {0, 1});
  t.add("Not", "both").input<bool>({2}, {true, false}).expect<bool>({2}, {false, true});
  t.add("BitwiseNot", "int16").input<int16_t>({3}, {0, -1, 5}).expect<int16_t>({3}, {-1, 0, -6});
  t.add("BitwiseNot", "uint8").input<uint8_t>({2}, {0, 200}).expect<uint8_t>({2}, {255, 55});
  t.add("IsNaN", "float").input<float>({3}, {NAN, 1, INFINITY}).expect<bool>({3}, {true, false, false});
  t.add("IsInf", "both signs")
      .input<float>({3}, {-INFINITY, NAN, INFINITY})
      .expect<bool>({3}, {true, false, true});
  t.add("IsInf", "negative only")
      .input<double>({3}, {-INFINITY, 1, INFINITY})
      .attribute("detect_positive", int64_t{0})
      .expect<bool>({3}, {true, false, false});
  t.add("IsNaN", "long").random(DataType::float32, {3, 701}, -4, 4);
  t.add("IsInf", "positive only")
      .input<float>({5}, {-INFINITY, NAN, INFINITY, 3, -0.0f})
      .attribute("detect_negative", int64_t{0})
      .expect<bool>({5}, {false, false, true, false, false});
  t.add("Sign", "long").random(DataType::float32, {3, 701}, -4, 4);
  t.add("Tan", "far away, and nowhere")
      .input<float>({6}, {1e5f, -3e7f, 1e30f, -0.0f, INFINITY, NAN})
      .expect<float>({6}, {-0.035771663f, 3.63234172f, 1.29358608f, -0.0f, NAN, NAN});
  for (const char* op : {"Asin", "Acos", "Atanh"}) {
    t.add(op, "of all that there is").random(DataType::float32, {3, 37}, -1, 1);
    t.add(op, "outside")
        .input<float>({4}, {1.5f, -2, INFINITY, NAN})
        .expect<float>({4}, {NAN, NAN, NAN, NAN});
  }
  t.add("Acosh", "of all that there is").random(DataType::float32, {3, 37}, 1, 30);
  t.add("Acosh", "outside")
      .input<float>({4}, {0.5f, -2, -INFINITY, NAN})
      .expect<float>({4}, {NAN, NAN, NAN, NAN});
  t.add("Atanh", "at the ends")
      .input<float>({3}, {-1, 1, -0.0f})
      .expect<float>({3}, {-INFINITY, INFINITY, -0.0f});
  t.add("Sinh", "greatest")
      .input<float>({4}, {89.4f, -89.4f, 90, -INFINITY})
      .expect<float>({4}, {3.34886275e+38f, -3.34886275e+38f, INFINITY, -INFINITY});
  t.add("Cosh", "greatest")
      .input<float>({3}, {-89.4f, 90, -INFINITY})
      .expect<float>({3}, {3.34886275e+38f, INFINITY, INFINITY});
  t.add("Asinh", "greatest")
      .input<float>({3}, {3e38f, -1e-42f, -INFINITY})
      .expect<float>({3}, {89.289993f, -1e-42f, -INFINITY});
  for (const char* op : {"Exp", "Log", "Tanh", "Sigmoid", "Softplus"}) {
    t.add(op, "doubles near 0").random(DataType::float64, {41, 37}, -2, 2);
    t.add(op, "doubles").random(DataType::float64, {41, 37}, -800, 800);
    t.add(op, "doubles at the edge of something")
        .input<double>({30}, {0.0,
                              -0.0,
                              1,
                              -1,
                              NAN,
                              INFINITY,
                              -INFINITY,
                              0x1p-1074,
                              -0x1p-1074,
                              0x1p-1022,
                              0x1.8p-1030,
                              0x1p-60,
                              -0x1p-60,
                              1e300,
                              -1e300,
                              709.78,
                              709.79,
                              -708.4,
                              -745.13,
                              -745.14,
                              -750,
                              0.625,
                              -0.625,
                              0.6249999,
                              1.5,
                              0x1.fffffffffffffp-1,
                              0x1.0000000000001p0,
                              0x1.6a09ep-1,
                              22,
                              36.75});
  }
  t.add("Exp", "scalar").input<double>({}, {1}).expect<double>({}, {2.718281828459045});
  t.add("Exp", "empty").input<float>({0, 3}, {}).expect<float>({0, 3}, {});
  t.add("Exp", "first version").input<float>({1}, {0}).at_opset(1).expect<float>({1}, {1});
  for (const char* op :
       {"Exp", "Tanh", "Erf", "Sin", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Neg", "Floor"}) {
    t.add(op, "odd length").random(DataType::float32, {3, 37}, -4, 4);
    t.add(op, "activations").random(DataType::float32, {1, 64, 28, 28}, -4, 4);
    t.add(op, "float16").random(DataType::float16, {33}, -4, 4);
  }
}

}  // namespace lathe
