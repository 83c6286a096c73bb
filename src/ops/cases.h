// Named problems of an operator: they feed the tests of every runner and the micro-benchmarks.
//
//   void cases_softmax(CaseTable& t) {
//     t.add("Softmax", "1x4").input<float>({1, 4}, {1, 2, 3, 4}).attribute("axis", int64_t{-1})
//         .expect<float>({1, 4}, {0.0320586f, 0.0871443f, 0.2368828f, 0.6439143f});
//     t.add("Softmax", "bert").random(DataType::float32, {12, 128, 128});   // judged by the reference
//   }
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lathe/value.h"
#include "tensor/attributes.h"

namespace lathe {

struct OpCase {
  std::string op, name, domain;
  int opset = 0;  // 0: newest; older ones test the upgrade
  Attributes attributes;
  std::vector<Value> inputs;    // an empty Value: left out
  std::vector<bool> constant;   // per input: given as an initializer instead of an input
  std::vector<Value> expected;  // empty: judged by the reference kernel
  size_t outputs = 1;
  double rtol = 0, atol = 0;  // 0: from the operator's tolerance

  template <class T>
  OpCase& input(Shape shape, const std::vector<T>& v) {
    if constexpr (std::is_same_v<T, bool>) {
      Tensor t(DataType::boolean, shape);
      for (size_t i = 0; i < v.size(); ++i) t.as<bool>()[i] = v[i];
      return input(Value(t));
    } else {
      return input(Value(Tensor::from<T>(std::move(shape), v)));
    }
  }
  OpCase& input(Value v) {
    inputs.push_back(std::move(v));
    constant.push_back(false);
    return *this;
  }
  OpCase& absent() { return input(Value()); }
  /// The last input is an initializer.
  OpCase& as_constant() {
    constant.back() = true;
    return *this;
  }
  /// Uniform in [low, high), the same on every machine; seeded by the case's name and the input's position.
  OpCase& random(DataType type, Shape shape, double low = -1, double high = 1);
  OpCase& attribute(std::string key, AttributeValue v) {
    attributes.set(std::move(key), std::move(v));
    return *this;
  }
  template <class T>
  OpCase& expect(Shape shape, const std::vector<T>& v) {
    OpCase made;
    made.input<T>(std::move(shape), v);
    expected.push_back(made.inputs[0]);
    outputs = std::max(outputs, expected.size());
    return *this;
  }
  OpCase& outputs_wanted(size_t n) {
    outputs = n;
    return *this;
  }
  OpCase& at_opset(int version) {
    opset = version;
    return *this;
  }
  OpCase& tolerance(double relative, double absolute) {
    rtol = relative;
    atol = absolute;
    return *this;
  }
};

class CaseTable {
 public:
  OpCase& add(std::string op, std::string name, std::string domain = {}) {
    cases_.emplace_back();
    cases_.back().op = std::move(op);
    cases_.back().name = std::move(name);
    cases_.back().domain = std::move(domain);
    return cases_.back();
  }
  const std::deque<OpCase>& all() const { return cases_; }

 private:
  std::deque<OpCase> cases_;
};

/// Generated: the cases of all operators.
void collect_all_cases(CaseTable& all);

}  // namespace lathe
