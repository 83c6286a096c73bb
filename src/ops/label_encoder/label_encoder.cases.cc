#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_label_encoder(CaseTable& t) {
  t.add("LabelEncoder", "words to numbers", "ai.onnx.ml")
      .input<std::string>({3}, {"b", "a", "c"})
      .attribute("keys_strings", std::vector<std::string>{"a", "b"})
      .attribute("values_int64s", std::vector<int64_t>{5, 6})
      .attribute("default_int64", int64_t{-7})
      .at_opset(4)
      .expect<int64_t>({3}, {6, 5, -7});
  t.add("LabelEncoder", "NaN is a key", "ai.onnx.ml")
      .input<float>({3}, {NAN, 2, 3})
      .attribute("keys_floats", std::vector<float>{2, NAN})
      .attribute("values_strings", std::vector<std::string>{"two", "none"})
      .attribute("default_string", std::string("?"))
      .at_opset(4)
      .expect<std::string>({3}, {"none", "two", "?"});
  t.add("LabelEncoder", "tensors; the last of equal keys", "ai.onnx.ml")
      .input<int32_t>({2}, {1, 2})
      .attribute("keys_tensor", Tensor::from<int32_t>({3}, std::vector<int32_t>{1, 2, 1}))
      .attribute("values_tensor", Tensor::from<double>({3}, std::vector<double>{0.5, 1.5, 2.5}))
      .attribute("default_tensor", Tensor::from<double>({1}, std::vector<double>{9.0}))
      .at_opset(4)
      .expect<double>({2}, {2.5, 1.5});
  t.add("LabelEncoder", "version 1, numbers to words", "ai.onnx.ml")
      .input<int64_t>({3}, {1, 0, 7})
      .attribute("classes_strings", std::vector<std::string>{"x", "y"})
      .attribute("default_string", std::string("z"))
      .at_opset(1)
      .expect<std::string>({3}, {"y", "x", "z"});
  t.add("LabelEncoder", "version 1, words to numbers", "ai.onnx.ml")
      .input<std::string>({2}, {"y", "q"})
      .attribute("classes_strings", std::vector<std::string>{"x", "y"})
      .at_opset(1)
      .expect<int64_t>({2}, {1, -1});
  t.add("CategoryMapper", "words to numbers", "ai.onnx.ml")
      .input<std::string>({2}, {"b", "q"})
      .attribute("cats_strings", std::vector<std::string>{"a", "b"})
      .attribute("cats_int64s", std::vector<int64_t>{3, 4})
      .attribute("default_int64", int64_t{-2})
      .expect<int64_t>({2}, {4, -2});
  t.add("CategoryMapper", "numbers to words", "ai.onnx.ml")
      .input<int64_t>({2, 1}, {3, 9})
      .attribute("cats_strings", std::vector<std::string>{"a", "b"})
      .attribute("cats_int64s", std::vector<int64_t>{3, 4})
      .attribute("default_string", std::string("none"))
      .expect<std::string>({2, 1}, {"a", "none"});
  t.add("OneHotEncoder", "numbers", "ai.onnx.ml")
      .input<float>({3}, {3.7f, 1, 8})
      .attribute("cats_int64s", std::vector<int64_t>{1, 3})
      .expect<float>({3, 2}, {0, 1, 1, 0, 0, 0});
  t.add("OneHotEncoder", "words", "ai.onnx.ml")
      .input<std::string>({2, 1}, {"b", "a"})
      .attribute("cats_strings", std::vector<std::string>{"a", "b"})
      .expect<float>({2, 1, 2}, {0, 1, 1, 0});
}

}  // namespace lathe
