#include <cmath>
#include <limits>

#include "ops/cases.h"

namespace lathe {

void cases_activation(CaseTable& t) {
  t.add("Relu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7}, {0, 0, 0, 0, 0.25, 1, 4})
      .tolerance(1e-6, 1e-7);
  t.add("HardSwish", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7}, {-0, -0.333333333, -0.114583333, 0, 0.135416667, 0.666666667, 4})
      .tolerance(1e-6, 1e-7);
  t.add("Mish", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7}, {-0.145647461, -0.303401461, -0.129926964, 0, 0.16957241, 0.865098388, 3.99741281})
      .tolerance(1e-6, 1e-7);
  t.add("Softplus", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7},
                     {0.0485873516, 0.313261688, 0.57593942, 0.693147181, 0.82593942, 1.31326169, 4.01814993})
      .tolerance(1e-6, 1e-7);
  t.add("Softsign", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7}, {-0.75, -0.5, -0.2, 0, 0.2, 0.5, 0.8})
      .tolerance(1e-6, 1e-7);
  t.add("Sigmoid", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7}, {0.0474258732, 0.268941421, 0.437823499, 0.5, 0.562176501, 0.731058579, 0.98201379})
      .tolerance(1e-6, 1e-7);
  t.add("LeakyRelu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 0.1f)
      .expect<float>({7}, {-0.3, -0.1, -0.025, 0, 0.25, 1, 4})
      .tolerance(1e-6, 1e-7);
  t.add("Elu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 2.0f)
      .expect<float>({7}, {-1.90042586, -1.26424112, -0.442398434, 0, 0.25, 1, 4})
      .tolerance(1e-6, 1e-7);
  t.add("Celu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 2.0f)
      .expect<float>({7}, {-1.55373968, -0.786938681, -0.235006195, 0, 0.25, 1, 4})
      .tolerance(1e-6, 1e-7);
  t.add("ThresholdedRelu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 0.5f)
      .expect<float>({7}, {0, 0, 0, 0, 0, 1, 4})
      .tolerance(1e-6, 1e-7);
  t.add("ThresholdedRelu", "NaN is not above the threshold")
      .input<float>({3}, {NAN, INFINITY, -INFINITY})
      .expect<float>({3}, {0, INFINITY, 0});
  t.add("Swish", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 0.5f)
      .expect<float>({7}, {-0.547276571, -0.377540669, -0.117197657, 0, 0.132802343, 0.622459331, 3.52318831})
      .tolerance(1e-6, 1e-7);
  t.add("Selu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 2.0f)
      .attribute("gamma", 3.0f)
      .expect<float>({7}, {-5.70127759, -3.79272335, -1.3271953, 0, 0.75, 3, 12})
      .tolerance(1e-6, 1e-7);
  t.add("HardSigmoid", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("alpha", 0.5f)
      .attribute("beta", 0.6f)
      .expect<float>({7}, {0, 0.1, 0.475, 0.6, 0.725, 1, 1})
      .tolerance(1e-6, 1e-7);
  t.add("Shrink", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("bias", 0.25f)
      .attribute("lambd", 0.5f)
      .expect<float>({7}, {-2.75, -0.75, 0, 0, 0, 0.75, 3.75})
      .tolerance(1e-6, 1e-7);
  t.add("Shrink", "NaN is on neither side")
      .input<float>({3}, {NAN, INFINITY, -INFINITY})
      .expect<float>({3}, {0, INFINITY, -INFINITY});
  t.add("Gelu", "by hand")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .expect<float>({7},
                     {-0.00404969409, -0.158655254, -0.100323419, 0, 0.149676581, 0.841344746, 3.99987332})
      .tolerance(1e-6, 1e-7);
  t.add("Gelu", "by hand, tanh")
      .input<float>({7}, {-3, -1, -0.25, 0, 0.25, 1, 4})
      .attribute("approximate", std::string("tanh"))
      .expect<float>({7},
                     {-0.00363739208, -0.158808009, -0.100324649, 0, 0.149675351, 0.841191991, 3.99992975})
      .tolerance(1e-6, 1e-7);
  t.add("Sigmoid", "far out").input<float>({3}, {-1000, 1000, NAN}).expect<float>({3}, {0, 1, NAN});
  t.add("Softplus", "far out").input<float>({2}, {-1000, 1000}).expect<float>({2}, {0, 1000});
  t.add("Relu", "int8").input<int8_t>({3}, {-128, 0, 127}).expect<int8_t>({3}, {0, 0, 127});
  t.add("Selu", "constants of the first version")
      .input<float>({2}, {-1, 1})
      .at_opset(1)
      .expect<float>({2}, {-1.11129f, 1.0507f})
      .tolerance(1e-5, 0);
  t.add("Clip", "both bounds")
      .input<float>({4}, {-5, 0.5f, 5, NAN})
      .input<float>({}, {-1})
      .input<float>({}, {1})
      .expect<float>({4}, {-1, 0.5f, 1, NAN});
  t.add("Clip", "max wins over min")
      .input<float>({2}, {0, 9})
      .input<float>({}, {2})
      .input<float>({}, {1})
      .expect<float>({2}, {1, 1});
  t.add("Clip", "a bound left out is the type's own")
      .input<float>({2}, {-INFINITY, INFINITY})
      .absent()
      .input<float>({}, {6})
      .expect<float>({2}, {std::numeric_limits<float>::lowest(), 6});
  const auto half = [](const std::vector<uint16_t>& bits, Shape shape) {
    Tensor v(DataType::float16, std::move(shape));
    for (size_t i = 0; i < bits.size(); ++i) v.as<Float16>()[i].bits = bits[i];
    return Value(v);
  };
  OpCase& own = t.add("Clip", "a bound left out is that of float16");
  own.input(half({0xfc00, 0x7c00}, {2})).absent().input(half({0x4600}, {}));
  own.expected.push_back(half({0xfbff, 0x4600}, {2}));
  t.add("Clip", "only max")
      .input<int8_t>({3}, {-128, 5, 127})
      .absent()
      .input<int8_t>({}, {6})
      .expect<int8_t>({3}, {-128, 5, 6});
  t.add("Clip", "uint64")
      .input<uint64_t>({2}, {3, UINT64_MAX})
      .input<uint64_t>({}, {4})
      .expect<uint64_t>({2}, {4, UINT64_MAX});
  t.add("Clip", "attributes of version 6")
      .input<float>({3}, {-5, 0, 5})
      .attribute("min", -1.0f)
      .attribute("max", 2.0f)
      .at_opset(6)
      .expect<float>({3}, {-1, 0, 2});
  t.add("Clip", "bounds left out of version 6 are those of float")
      .input<double>({3}, {-1e300, 0, 1e300})
      .at_opset(6)
      .expect<double>({3}, {-3.4028234663852886e38, 0, 3.4028234663852886e38});
  t.add("PRelu", "slope for each channel")
      .input<float>({2, 2}, {-1, 2, -3, -4})
      .input<float>({2}, {0.5f, 0.25f})
      .expect<float>({2, 2}, {-0.5f, 2, -1.5f, -1});
  t.add("PRelu", "channels of version 6")
      .input<float>({1, 2, 2}, {-1, -2, -3, -4})
      .input<float>({2}, {0.5f, 0.25f})
      .at_opset(6)
      .expect<float>({1, 2, 2}, {-0.5f, -1, -0.75f, -1});
  t.add("PRelu", "int32").input<int32_t>({2}, {-3, 3}).input<int32_t>({}, {2}).expect<int32_t>({2}, {-6, 3});
  t.add("SwiGLU", "by hand")
      .input<float>({2}, {0, 2})
      .input<float>({2}, {5, 3})
      .expect<float>({2}, {0, 5.28478241f});
  t.add("SwiGLU", "tokens")
      .random(DataType::float32, {3, 17, 45}, -6, 6)
      .random(DataType::float32, {3, 17, 45}, -6, 6)
      .attribute("alpha", 1.702f);
  for (const char* op : {"Relu", "Sigmoid", "Gelu", "Mish", "HardSwish", "LeakyRelu", "Elu", "Softplus"}) {
    t.add(op, "empty").input<float>({2, 0}, {}).expect<float>({2, 0}, {});
    t.add(op, "odd length").random(DataType::float32, {5, 29}, -6, 6);
    t.add(op, "activations").random(DataType::float32, {1, 64, 28, 28}, -6, 6);
    t.add(op, "float16").random(DataType::float16, {33}, -6, 6);
  }
}

}  // namespace lathe
