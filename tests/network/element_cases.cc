#include <cstring>
#include <limits>

#include "network/cases.h"

namespace lathe::network_cases {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

NetworkCase activation(const std::string& name, ActivationType type, ActivationOptions o = {}) {
  return {"activation_" + name, [=](Network& n) { out(n, n.add_activation(in(n, "x", {"N", 5}), type, o)); }};
}

NetworkCase unary(const std::string& name, UnaryOperation op, std::vector<float> x) {
  const auto count = static_cast<int64_t>(x.size());
  return {"unary_" + name,
          [=](Network& n) { out(n, n.add_unary(in(n, "x", {"K"}), op)); },
          {{"x", floats({count}, x)}},
          {},
          {{"K", count}}};
}

NetworkCase elementwise(const std::string& name, ElementWiseOperation op) {
  return {"elementwise_" + name, [=](Network& n) {
            out(n, n.add_elementwise(in(n, "a", {"N", 1, 4}), in(n, "b", {3, 1}), op));
          }};
}

NetworkCase logical(const std::string& name, ElementWiseOperation op, std::vector<bool> want) {
  return {"elementwise_" + name,
          [=](Network& n) {
            const auto a = n.add_input("a", DataType::boolean, {4}),
                       b = n.add_input("b", DataType::boolean, {4});
            out(n, n.add_elementwise(a, b, op));
          },
          {{"a", bools({4}, {false, false, true, true})}, {"b", bools({4}, {false, true, false, true})}},
          {{"y", bools({4}, want)}}};
}

}  // namespace

std::vector<NetworkCase> element_cases() {
  using A = ActivationType;
  using U = UnaryOperation;
  using E = ElementWiseOperation;
  const std::vector<float> some = {-2.5f, -1, -0.25f, 0, 0.5f, 1.5f, 3},
                           small = {-0.9f, -0.5f, 0, 0.25f, 0.75f}, positive = {0.25f, 1, 2, 9},
                           above_one = {1, 1.5f, 3};
  std::vector<NetworkCase> list = {
      activation("relu", A::relu),
      activation("sigmoid", A::sigmoid),
      activation("tanh", A::tanh),
      activation("leaky_relu", A::leaky_relu, {.alpha = 0.2}),
      activation("elu", A::elu, {.alpha = 0.5}),
      activation("selu", A::selu),
      activation("softsign", A::softsign),
      activation("softplus", A::softplus, {.alpha = 2, .beta = 3}),
      activation("clip", A::clip, {.alpha = -0.5, .beta = 0.25}),
      activation("clip_above", A::clip, {.beta = 0.25}),
      activation("hard_sigmoid", A::hard_sigmoid, {.alpha = 0.3, .beta = 0.4}),
      activation("scaled_tanh", A::scaled_tanh, {.alpha = 1.5, .beta = 0.5}),
      activation("thresholded_relu", A::thresholded_relu, {.alpha = 0.3}),
      activation("gelu_erf", A::gelu_erf),
      activation("gelu_tanh", A::gelu_tanh),
      unary("exp", U::exp, some),
      unary("log", U::log, positive),
      unary("sqrt", U::sqrt, positive),
      unary("recip", U::recip, positive),
      unary("abs", U::abs, some),
      unary("neg", U::neg, some),
      unary("sin", U::sin, some),
      unary("cos", U::cos, some),
      unary("tan", U::tan, small),
      unary("sinh", U::sinh, some),
      unary("cosh", U::cosh, some),
      unary("asin", U::asin, small),
      unary("acos", U::acos, small),
      unary("atan", U::atan, some),
      unary("asinh", U::asinh, some),
      unary("acosh", U::acosh, above_one),
      unary("atanh", U::atanh, small),
      unary("ceil", U::ceil, some),
      unary("floor", U::floor, some),
      unary("erf", U::erf, some),
      unary("sign", U::sign, some),
      unary("round", U::round, some),
      unary("isinf", U::isinf, {1, inf, -inf, 0}),
      unary("isnan", U::isnan, {1, std::numeric_limits<float>::quiet_NaN(), inf}),
      {"unary_not",
       [](Network& n) { out(n, n.add_unary(n.add_input("x", DataType::boolean, {2}), U::logical_not)); },
       {{"x", bools({2}, {true, false})}},
       {{"y", bools({2}, {false, true})}}},
      elementwise("sum", E::sum),
      elementwise("prod", E::prod),
      elementwise("max", E::max),
      elementwise("min", E::min),
      elementwise("sub", E::sub),
      elementwise("div", E::div),
      elementwise("equal", E::equal),
      elementwise("greater", E::greater),
      elementwise("less", E::less),
      elementwise("floor_div", E::floor_div),
      logical("and", E::logical_and, {false, false, false, true}),
      logical("or", E::logical_or, {false, true, true, true}),
      logical("xor", E::logical_xor, {false, true, true, false}),
  };
  list.push_back({"elementwise_pow",
                  [](Network& n) { out(n, n.add_elementwise(in(n, "a", {3}), in(n, "b", {3}), E::pow)); },
                  {{"a", floats({3}, {2, 3, 4})}, {"b", floats({3}, {3, 2, 0.5f})}},
                  {{"y", floats({3}, {8, 9, 2})}}});
  list.push_back({"elementwise_floor_div_int",
                  [](Network& n) {
                    const auto a = n.add_input("a", DataType::int64, {8}),
                               b = n.add_input("b", DataType::int64, {8});
                    out(n, n.add_elementwise(a, b, E::floor_div));
                  },
                  {{"a", longs({8}, {7, -7, 7, -7, 6, -6, INT64_MIN, -1})},
                   {"b", longs({8}, {2, 2, -2, -2, 3, 3, 3, INT64_MAX})}},
                  {{"y", longs({8}, {3, -4, -4, 3, 2, -2, -3074457345618258603, -1})}}});
  list.push_back({"elementwise_floor_div_unsigned",
                  [](Network& n) {
                    const auto a = n.add_input("a", DataType::uint8, {2}),
                               b = n.add_input("b", DataType::uint8, {2});
                    out(n, n.add_elementwise(a, b, E::floor_div));
                  },
                  {{"a", tensor<uint8_t>({2}, {250, 9})}, {"b", tensor<uint8_t>({2}, {7, 10})}},
                  {{"y", tensor<uint8_t>({2}, {35, 0})}}});
  list.push_back({"scale_channels",
                  [](Network& n) {
                    const auto x = in(n, "x", {1, 2, 1, 2});
                    out(n, n.add_scale(x, {.scale = n.add_constant(floats({2}, {2, 3})),
                                           .shift = n.add_constant(floats({2}, {1, -1})),
                                           .power = n.add_constant(floats({}, {2}))}));
                  },
                  {{"x", floats({1, 2, 1, 2}, {1, 2, 3, 4})}},
                  {{"y", floats({1, 2, 1, 2}, {9, 25, 64, 121})}}});
  list.push_back({"scale_nothing", [](Network& n) { out(n, n.add_scale(in(n, "x", {"N", 2}), {})); }});
  list.push_back(
      {"parametric_relu", [](Network& n) {
         out(n, n.add_parametric_relu(in(n, "x", {"N", 2}), n.add_constant(floats({2}, {0.5f, 2}))));
       }});
  list.push_back({"select", [](Network& n) {
                    const auto c = n.add_input("c", DataType::boolean, {"N", 1});
                    out(n, n.add_select(c, in(n, "a", {"N", 3}), in(n, "b", {3})));
                  }});
  list.push_back({"identity", [](Network& n) { out(n, n.add_identity(in(n, "x", {"N", "S"}))); }});
  list.push_back({"cast", [](Network& n) {
                    out(n, n.add_cast(n.add_cast(in(n, "x", {"N"}), DataType::float16), DataType::int32));
                  }});
  list.push_back({"constant", [](Network& n) {
                    const auto c = n.add_constant(
                        floats({4}, {-0.0f, inf, std::numeric_limits<float>::quiet_NaN(), 1e-42f}), "c");
                    out(n, n.add_select(n.add_input("pick", DataType::boolean, {4}), c, in(n, "x", {4})));
                  }});
  list.push_back(
      {"constants_of_all_types", [](Network& n) {
         int64_t i = 0;
         for (const DataType t : {DataType::float16, DataType::bfloat16, DataType::float64, DataType::int8,
                                  DataType::uint8, DataType::int16, DataType::uint16, DataType::int32,
                                  DataType::uint32, DataType::uint64, DataType::boolean}) {
           Tensor c(t, {3});
           std::memset(c.data(), t == DataType::boolean ? 1 : 0x93, c.bytes());
           out(n, n.add_identity(n.add_constant(c)), "y" + std::to_string(i++));
         }
         const Tensor words = tensor<std::string>({2}, {"\"q\" \\ ?\?=", std::string("\0\xff", 2)});
         out(n, n.add_identity(n.add_constant(words)), "words");
       }});
  return list;
}

}  // namespace lathe::network_cases
